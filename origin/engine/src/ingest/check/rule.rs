//! The rules that checks hold fields to. A check names its rule, so the description of a kind states exactly what is checked.

use crate::attestation;
use rds_shared::model::ids::{Address, VaultId};
use rds_shared::rules::holders::parse_balance;

/// Maximum bytes of a text.
pub const MAX_TEXT: usize = 4_000;
/// Maximum digits of a balance; the largest of an EVM token has 78.
const MAX_DIGITS: usize = 1_000;

/// What a field must be.
#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// A text that is not blank, without NUL characters, of at most [`MAX_TEXT`] bytes.
    Text,
    /// A text of at most this many bytes.
    MaxBytes(usize),
    /// A text of at most this many characters.
    MaxChars(usize),
    /// A text of this form.
    Form(&'static Form),
    /// A number between these bounds, both included; [`f64::MAX`] as the upper bound is none.
    Number { low: f64, high: f64, unit: Unit },
    /// A whole number between these bounds, both included.
    Whole { low: i128, high: i128, unit: Unit },
    /// A number above 0.
    Positive,
    /// A list or an object with a number of entries between these bounds, both included.
    Entries { low: usize, high: usize },
    /// One of these texts.
    OneOf(Vec<&'static str>),
    /// An object with these names.
    Names(Vec<&'static str>),
    /// A rule that no bound expresses, often about other fields, as the predicate of a sentence whose subject is the field.
    Must(String),
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A count, or a number without a unit.
    One,
    Usd,
    /// 1 is the whole.
    Fraction,
    /// A fraction of the amount for each year.
    FractionAYear,
    Percent,
    PercentAYear,
    Seconds,
    Days,
    /// Whole units of a token or a currency.
    Units,
    UsdPerUnit,
}

impl Unit {
    /// The unit's name for readers; `None` for a number without a unit.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Unit::One => return None,
            Unit::Usd => "USD",
            Unit::Fraction => "fraction",
            Unit::FractionAYear => "fraction a year",
            Unit::Percent => "percent",
            Unit::PercentAYear => "percent a year",
            Unit::Seconds => "seconds",
            Unit::Days => "days",
            Unit::Units => "whole units",
            Unit::UsdPerUnit => "USD per unit",
        })
    }
}

/// The form of a text.
pub struct Form {
    /// The rule, as the predicate of a sentence whose subject is the field.
    pub must: &'static str,
    /// A regular expression that every text of the form matches, in the common part of ECMAScript's and Rust's syntax.
    pub pattern: &'static str,
    /// Whether the expression matches no other text of at most `max_chars` characters.
    pub is_exact: bool,
    /// Maximum characters, unless the expression states them.
    pub max_chars: Option<usize>,
    holds: fn(&str) -> bool,
}

impl Form {
    /// Whether the text has the form.
    pub fn holds(&self, text: &str) -> bool {
        (self.holds)(text)
    }
}

impl PartialEq for Form {
    fn eq(&self, other: &Form) -> bool {
        self.must == other.must
    }
}

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.must)
    }
}

/// Expressions of the two formats of addresses, without anchors.
macro_rules! address {
    () => {
        "(0[xX][0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})"
    };
}

pub static SLUG: Form = Form {
    must: "must be a slug: a-z, 0-9, '-', '_', '.', beginning with a letter or digit, at most 96 characters",
    pattern: "^[a-z0-9][a-z0-9._-]*$",
    is_exact: true,
    max_chars: Some(MAX_SLUG),
    holds: is_slug,
};
/// Maximum characters of a slug.
const MAX_SLUG: usize = 96;

/// The expression of an http or https URL, without anchors.
macro_rules! url {
    () => {
        "https?://[^\\u0000-\\u0020\\u007f-\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]*"
    };
}

pub static URL: Form = Form {
    must: "must be an http or https URL of at most 4000 bytes",
    pattern: concat!("^", url!(), "$"),
    is_exact: true,
    max_chars: Some(MAX_TEXT),
    holds: is_url,
};

/// The source of an answer: a page, or the contract of which the service read it (CAIP-10).
pub static CITED: Form = Form {
    must: "must be an http or https URL of at most 4000 bytes, or eip155:{chain_id}:{contract}",
    pattern: concat!("^(", url!(), "|eip155:[0-9]+:0x[0-9a-f]{40})$"),
    is_exact: true,
    max_chars: Some(MAX_TEXT),
    holds: |text| is_url(text) || is_contract_source(text),
};

pub static ADDRESS: Form = Form {
    must: "must be an address: 0x and 40 hex digits, or base58 of 32 bytes",
    pattern: concat!("^", address!(), "$"),
    is_exact: false,
    max_chars: None,
    holds: |text| Address::parse_any(text).is_some(),
};

pub static VAULT_ID: Form = Form {
    must: "must be a vault id: {protocol_id}-{chain_id}-{address}",
    pattern: concat!("^[A-Za-z0-9][A-Za-z0-9._-]*-[1-9][0-9]{0,18}-", address!(), "$"),
    is_exact: false,
    max_chars: None,
    holds: |text| VaultId::parse(text).is_some(),
};

pub static CONTRACT: Form = Form {
    must: "must be a contract: {chain_id}:{address}",
    pattern: concat!("^[+]?[0-9]{1,40}:", address!(), "$"),
    is_exact: false,
    max_chars: None,
    holds: |text| contract_parts(text).is_some(),
};

pub static MAPPING_ID: Form = Form {
    must: "must be 1 to 200 printable ASCII characters without spaces and quotes",
    pattern: "^[!#-\\[\\]-~]{1,200}$",
    is_exact: true,
    max_chars: None,
    holds: is_mapping_id,
};

pub static HASH: Form = Form {
    must: "must be 64 lower-case hex digits",
    pattern: "^[0-9a-f]{64}$",
    is_exact: true,
    max_chars: None,
    holds: |text| attestation::bytes::<32>(text).is_some(),
};

pub static SIGNATURE: Form = Form {
    must: "must be 128 lower-case hex digits",
    pattern: "^[0-9a-f]{128}$",
    is_exact: true,
    max_chars: None,
    holds: |text| attestation::bytes::<64>(text).is_some(),
};

pub static PUBLIC_KEY: Form = Form {
    must: "must be an Ed25519 public key, 64 lower-case hex digits",
    pattern: "^[0-9a-f]{64}$",
    is_exact: false,
    max_chars: None,
    holds: attestation::is_public_key,
};

pub static BLOCK_HASH: Form = Form {
    must: "must be 0x and 64 lower-case hex digits",
    pattern: "^0x[0-9a-f]{64}$",
    is_exact: true,
    max_chars: None,
    holds: |text| is_hex(text) && text.len() == 66,
};

pub static EVM_CONTRACT: Form = Form {
    must: "must be 0x and 40 lower-case hex digits",
    pattern: "^0x[0-9a-f]{40}$",
    is_exact: true,
    max_chars: None,
    holds: |text| is_hex(text) && text.len() == 42,
};

pub static CALL_BYTES: Form = Form {
    must: "must be 0x and lower-case hex digits, at most 32770 characters",
    pattern: "^0x[0-9a-f]*$",
    is_exact: true,
    max_chars: Some(MAX_CALL_HEX),
    holds: |text| is_hex(text) && text.len() <= MAX_CALL_HEX,
};
/// Maximum characters of a call's data or answer: 16 KiB and `0x`.
const MAX_CALL_HEX: usize = 32_770;

pub static SUPPLY: Form = Form {
    must: "must be a whole number as decimal digits without leading zeros, at most 1000 digits",
    pattern: "^(0|[1-9][0-9]{0,999})$",
    is_exact: true,
    max_chars: None,
    holds: is_balance,
};

pub static POSITIVE_BALANCE: Form = Form {
    must: "must be a whole number above 0 as decimal digits without leading zeros, at most 1000 digits",
    pattern: "^[1-9][0-9]{0,999}$",
    is_exact: true,
    max_chars: None,
    holds: |text| is_balance(text) && text != "0",
};

/// A balance with as many digits as 2^256 has, leading zeros included.
pub static BALANCE: Form = Form {
    must: "must be 1 to 78 decimal digits",
    pattern: "^[0-9]{1,78}$",
    is_exact: true,
    max_chars: None,
    holds: |text| (1..=78).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()),
};

pub static DECIMAL: Form = Form {
    must: "must be a decimal number as a string, at most 100 characters",
    pattern: "^-?[0-9]+([.][0-9]+)?$",
    is_exact: true,
    max_chars: Some(100),
    holds: is_decimal,
};

/// Every form.
#[cfg(test)]
pub static FORMS: [&Form; 17] = [
    &SLUG,
    &URL,
    &CITED,
    &ADDRESS,
    &VAULT_ID,
    &CONTRACT,
    &MAPPING_ID,
    &HASH,
    &SIGNATURE,
    &PUBLIC_KEY,
    &BLOCK_HASH,
    &EVM_CONTRACT,
    &CALL_BYTES,
    &SUPPLY,
    &POSITIVE_BALANCE,
    &BALANCE,
    &DECIMAL,
];

fn is_slug(text: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let allowed = |byte: u8| letters(byte) || matches!(byte, b'-' | b'_' | b'.');
    text.bytes().next().is_some_and(letters) && text.bytes().all(allowed) && text.len() <= MAX_SLUG
}

fn is_url(text: &str) -> bool {
    let http = text.starts_with("https://") || text.starts_with("http://");
    http && text.len() <= MAX_TEXT && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

fn is_contract_source(text: &str) -> bool {
    let place = text.strip_prefix("eip155:").and_then(|place| place.split_once(':'));
    place.is_some_and(|(chain, contract)| {
        let is_number = !chain.is_empty() && chain.bytes().all(|byte| byte.is_ascii_digit());
        is_number && EVM_CONTRACT.holds(contract) && text.len() <= MAX_TEXT
    })
}

fn is_mapping_id(text: &str) -> bool {
    let well_formed = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    (1..=200).contains(&text.len()) && text.bytes().all(well_formed)
}

/// The chain and the address of a contract's id.
pub fn contract_parts(id: &str) -> Option<(i64, Address)> {
    let (chain, address) = id.split_once(':')?;
    let chain: i64 = chain.parse().ok().filter(|chain| *chain > 0)?;
    Some((chain, Address::parse_any(address)?.1))
}

/// `0x` and lower-case hex digits.
pub fn is_hex(text: &str) -> bool {
    let digits = text.strip_prefix("0x");
    digits.is_some_and(|digits| digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
}

fn is_balance(text: &str) -> bool {
    (1..=MAX_DIGITS).contains(&text.len()) && parse_balance(text).is_some()
}

fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.len() <= 100 && all_digits(whole) && all_digits(fraction)
}
