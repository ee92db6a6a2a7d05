//! The document's patterns and the service's parsers accept the same texts.

use proptest::prelude::*;
use proptest::string::string_regex;
use rds_shared::model::ids::{Address, VaultId, VaultKey};
use rds_shared::model::spelling;
use regex::Regex;
use std::sync::LazyLock;

/// A text format: its pattern, and whether the parser accepts a text.
struct Spelling {
    pattern: Regex,
    takes: fn(&str) -> bool,
}

static SPELLINGS: LazyLock<[Spelling; 5]> = LazyLock::new(|| {
    let address = |text: &str| Address::parse_any(text).is_some();
    [
        (spelling::ADDRESS, address as fn(&str) -> bool),
        (spelling::ADDRESS_OR_NATIVE, |text| text == "native" || Address::parse_any(text).is_some()),
        (spelling::VAULT_ID, |text| VaultId::parse(text).is_some()),
        (spelling::VAULT_KEY, |text| VaultKey::parse(text).is_some()),
        (spelling::VAULT_KEYS, |text| {
            let keys: Vec<&str> = text.split(',').collect();
            keys.len() <= 50 && keys.iter().all(|key| VaultKey::parse(key).is_some())
        }),
    ]
    .map(|(pattern, takes)| Spelling { pattern: Regex::new(pattern).unwrap(), takes })
});

/// Random texts that match the pattern.
fn described(spelling: &Spelling) -> impl Strategy<Value = String> + use<> {
    string_regex(spelling.pattern.as_str().trim_start_matches('^').trim_end_matches('$')).unwrap()
}

/// Replaces base58 texts by the encoding of a 32-byte account, because a pattern cannot require a length of 32 bytes.
fn with_an_account(text: &str, account: &[u8; 32]) -> String {
    static BASE58: LazyLock<Regex> = LazyLock::new(|| Regex::new("(^|[:-])[1-9A-HJ-NP-Za-km-z]{32,44}(,|$)").unwrap());
    let account = base58(account);
    let mut text = text.to_owned();
    // Adjacent matches share the comma between them, so one pass may skip every second match.
    for _ in 0..2 {
        text = BASE58.replace_all(&text, format!("${{1}}{account}${{2}}")).into_owned();
    }
    text
}

fn base58(bytes: &[u8; 32]) -> String {
    const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let mut digits = vec![0u32; 44];
    for &byte in bytes {
        let mut carry = u32::from(byte);
        for digit in digits.iter_mut().rev() {
            carry += *digit << 8;
            *digit = carry % 58;
            carry /= 58;
        }
    }
    let ones = bytes.iter().take_while(|byte| **byte == 0).count();
    let rest = digits.into_iter().skip_while(|digit| *digit == 0);
    let letters = std::iter::repeat_n(0, ones).chain(rest);
    letters.map(|digit| char::from(ALPHABET[digit as usize])).collect()
}

/// A valid text with a few characters replaced, inserted or removed.
fn near(spelling: usize) -> impl Strategy<Value = String> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), 0..3u8, "[ -~é\n]"), 0..3);
    (described(&SPELLINGS[spelling]), any::<[u8; 32]>(), edits).prop_map(|(text, account, edits)| {
        let mut letters: Vec<char> = with_an_account(&text, &account).chars().collect();
        for (position, kind, letter) in edits {
            let position = position.index(letters.len());
            let letter = letter.chars().next().unwrap_or('x');
            match kind {
                0 => letters[position] = letter,
                1 => letters.insert(position, letter),
                _ => drop(letters.remove(position)),
            }
        }
        letters.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn texts_that_match_a_pattern_are_accepted(
        texts in SPELLINGS.iter().map(described).collect::<Vec<_>>(), account in any::<[u8; 32]>(),
    ) {
        for (spelling, text) in SPELLINGS.iter().zip(texts) {
            let text = with_an_account(&text, &account);
            prop_assert!(spelling.pattern.is_match(&text) && (spelling.takes)(&text), "{text}");
        }
    }

    #[test]
    fn accepted_texts_match_the_pattern(texts in (0..SPELLINGS.len()).map(near).collect::<Vec<_>>()) {
        for (spelling, text) in SPELLINGS.iter().zip(texts) {
            prop_assert!(!(spelling.takes)(&text) || spelling.pattern.is_match(&text), "{text:?}");
        }
    }
}

#[test]
fn patterns_and_parsers_agree_on_boundary_cases() {
    let evm = format!("0x{}", "aB".repeat(20));
    for (spelling, text, taken) in [
        (0, evm.clone(), true),
        (0, evm.replacen("0x", "0X", 1), true),
        (0, format!("{evm}0"), false),
        (0, "1".repeat(32), true),
        (0, "1".repeat(33), false),
        (1, "native".to_owned(), true),
        (1, "Native".to_owned(), false),
        (2, format!("llama-lend-1-{evm}"), true),
        (2, format!("aave-01-{evm}"), false),
        (2, format!("aave-+1-{evm}"), false),
        (2, format!("aave-9999999999999999999-{evm}"), true),
        (2, format!("aave-10000000000000000000-{evm}"), false),
        (3, format!("0:{evm}"), false),
        (4, vec![format!("1:{evm}"); 50].join(","), true),
        (4, vec![format!("1:{evm}"); 51].join(","), false),
    ] {
        assert_eq!((SPELLINGS[spelling].takes)(&text), taken, "{text}");
        // In base58, 33 ones encode 33 zero bytes, one more than an account has; a pattern cannot count bytes.
        assert!(SPELLINGS[spelling].pattern.is_match(&text) == taken || text == "1".repeat(33), "{text}");
    }
}
