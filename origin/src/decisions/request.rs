//! What a check is asked with, read out of its body with every fault named.
//!
//! Numbers are read from the body's own text: an amount is what is written there to the last digit, and a limit that no float holds
//! is a fault of its field and not of the whole body.

use rds_shared::graph::amount::{AmountError, Usd};
use rds_shared::graph::limits::{Dimension, LimitError, Limits};
use rds_shared::graph::portfolio::{MAX_POSITIONS, Portfolio, PortfolioError};
use rds_shared::model::ids::{ChainId, Namespace, VaultKey};
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, ErrorCode};
use serde::Deserialize;
use serde_json::error::Category;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The longest reference, in characters: it is signed with every decision.
const REFERENCE: usize = 200;
/// Faults that are told at once: whoever sends a thousand has made one.
const MOST_FAULTS: usize = 20;

/// A check that can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRequest {
    /// The customer's name for the portfolio.
    pub portfolio_ref: String,
    /// Its positions, those in one vault merged.
    pub portfolio: Portfolio,
    /// Its limits.
    pub limits: Limits,
    /// Whether a signed decision is wished for.
    pub issue: bool,
}

/// The members of a JSON object, each in its own text.
type Members<'a> = BTreeMap<String, &'a RawValue>;

impl CheckRequest {
    /// Reads a check's body, given how chains write addresses. `loss` is passed over, whatever it holds.
    pub fn read(body: &[u8], namespace: impl Fn(ChainId) -> Option<Namespace>) -> Result<Self, ApiError> {
        let mut members: Members<'_> = serde_json::from_slice(body).map_err(|error| no_object(&error))?;
        let mut faults = Faults::default();
        let portfolio_ref = reference(members.remove("portfolioRef"), &mut faults);
        let positions = positions(members.remove("positions"), &namespace, &mut faults)?;
        let limits = limits(members.remove("limits"), &mut faults);
        let issue = switch(members.remove("issue"), &mut faults);
        members.remove("loss");
        members.keys().for_each(|name| faults.add(name.clone(), "is not a field of this body"));
        let portfolio = match Portfolio::new(positions) {
            // Where positions are at fault, what the rest comes to does not matter.
            Err(error) if faults.is_empty() => {
                faults.add("positions", error.to_string());
                None
            }
            portfolio => portfolio.ok(),
        };
        match (portfolio_ref, portfolio) {
            (Some(portfolio_ref), Some(portfolio)) if faults.is_empty() => {
                Ok(CheckRequest { portfolio_ref, portfolio, limits, issue })
            }
            _ => Err(ApiError::invalid(ErrorCode::InvalidBody, faults.0)),
        }
    }
}

/// What is wrong with a body, in its order.
#[derive(Default)]
struct Faults(Vec<Detail>);

impl Faults {
    fn add(&mut self, name: impl Into<String>, reason: impl Into<String>) {
        self.tell(Detail::new(In::Body, name.into(), reason));
    }

    fn tell(&mut self, detail: Detail) {
        if self.0.len() < MOST_FAULTS {
            self.0.push(detail);
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn no_object(error: &serde_json::Error) -> ApiError {
    let message = match error.classify() {
        Category::Data => "the body must be a JSON object with portfolioRef and positions".to_owned(),
        _ => format!("the body is not JSON: {error}"),
    };
    ApiError::new(ErrorCode::InvalidBody, message)
}

/// The value, if it is of this kind.
fn read<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Option<T> {
    serde_json::from_str(value.get()).ok()
}

/// A member that may be left out, or null.
fn given(value: Option<&RawValue>) -> Option<&RawValue> {
    value.filter(|value| value.get() != "null")
}

/// The number as it is written there.
fn number(value: &RawValue) -> Option<&str> {
    Some(value.get()).filter(|text| text.starts_with(|first: char| first == '-' || first.is_ascii_digit()))
}

fn reference(value: Option<&RawValue>, faults: &mut Faults) -> Option<String> {
    const NAME: &str = "portfolioRef";
    let text: Option<String> = value.and_then(read);
    let Some(text) = text else {
        faults.add(NAME, if value.is_none() { "is required" } else { "must be a string" });
        return None;
    };
    let length = text.chars().count();
    if !(1..=REFERENCE).contains(&length) {
        let reason = format!("must have 1 to {REFERENCE} characters");
        faults.tell(Detail {
            minimum: Some(1.0),
            maximum: Some(REFERENCE as f64),
            ..Detail::new(In::Body, NAME, reason)
        });
        return None;
    }
    if text.chars().any(char::is_control) {
        faults.add(NAME, "may not hold control characters");
        return None;
    }
    Some(text)
}

/// Those positions that are in order. Too many of them is an error of its own.
fn positions(
    value: Option<&RawValue>,
    namespace: &impl Fn(ChainId) -> Option<Namespace>,
    faults: &mut Faults,
) -> Result<Vec<(VaultKey, Usd)>, ApiError> {
    const NAME: &str = "positions";
    let items: Option<Vec<&RawValue>> = value.and_then(read);
    let Some(items) = items else {
        let reason = if value.is_none() { "is required" } else { "must be an array of {vaultKey, amountUsd}" };
        faults.add(NAME, reason);
        return Ok(Vec::new());
    };
    if items.len() > MAX_POSITIONS {
        let detail = Detail {
            maximum: Some(MAX_POSITIONS as f64),
            ..Detail::new(In::Body, NAME, PortfolioError::TooMany.to_string())
        };
        return Err(ApiError::invalid(ErrorCode::TooManyItems, vec![detail]));
    }
    let read = items.into_iter().enumerate().filter_map(|(place, item)| position(place, item, namespace, faults));
    Ok(read.collect())
}

fn position(
    place: usize,
    item: &RawValue,
    namespace: &impl Fn(ChainId) -> Option<Namespace>,
    faults: &mut Faults,
) -> Option<(VaultKey, Usd)> {
    let name = |field: &str| format!("positions[{place}].{field}");
    let Some(mut members) = read::<Members<'_>>(item) else {
        faults.add(format!("positions[{place}]"), "must be an object with vaultKey and amountUsd");
        return None;
    };
    let vault = match members.remove("vaultKey") {
        None => Err("is required"),
        Some(value) => read::<String>(value)
            .and_then(|text| VaultKey::parse_on(&text, namespace))
            .ok_or("must be a chain's number, a colon, and an address as that chain writes it"),
    };
    let amount = match members.remove("amountUsd") {
        None => Err("is required".to_owned()),
        Some(value) => match number(value) {
            None => Err("must be a number".to_owned()),
            Some(number) => Usd::from_json(number).map_err(|error: AmountError| error.to_string()),
        },
    };
    let vault = vault.map_err(|reason| faults.add(name("vaultKey"), reason)).ok();
    let amount = amount.map_err(|reason| faults.add(name("amountUsd"), reason)).ok();
    members.keys().for_each(|field| faults.add(name(field), "is not a field of a position"));
    vault.zip(amount)
}

fn limits(value: Option<&RawValue>, faults: &mut Faults) -> Limits {
    let mut limits = Limits::default();
    let Some(value) = given(value) else { return limits };
    let Some(members) = read::<Members<'_>>(value) else {
        faults.add("limits", "must be an object of limits");
        return limits;
    };
    for (field, value) in members {
        let name = format!("limits.{field}");
        let Some(number) = number(value).and_then(|text| text.parse().ok()) else {
            let known = Dimension::of_limit_field(&field).is_some();
            faults.add(name, if known { "must be a number".to_owned() } else { LimitError::UnknownField.to_string() });
            continue;
        };
        if let Err(error) = limits.set(&field, number) {
            let allowed = matches!(error, LimitError::UnknownField).then_some(LIMIT_FIELDS);
            faults.tell(Detail { allowed, ..Detail::new(In::Body, name, error.to_string()) });
        }
    }
    limits
}

/// The names that `limits` may hold.
const LIMIT_FIELDS: &[&str] = &{
    let mut names = [""; Dimension::ALL.len()];
    let mut place = 0;
    while place < names.len() {
        names[place] = Dimension::ALL[place].limit_field();
        place += 1;
    }
    names
};

fn switch(value: Option<&RawValue>, faults: &mut Faults) -> bool {
    match given(value).map(read::<bool>) {
        None => false,
        Some(Some(issue)) => issue,
        Some(None) => {
            faults.add("issue", "must be true or false");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VAULT: &str = "1:0x000000000000000000000000000000000000000a";

    fn body(positions: &str, rest: &str) -> String {
        format!(r#"{{"portfolioRef":"book-1","positions":{positions}{rest}}}"#)
    }

    fn amount(text: &str) -> String {
        body(&format!(r#"[{{"vaultKey":"{VAULT}","amountUsd":{text}}}]"#), "")
    }

    /// Read where one chain is known.
    fn read(body: &str) -> Result<CheckRequest, ApiError> {
        CheckRequest::read(body.as_bytes(), |chain| (chain.0 == 1).then_some(Namespace::Evm))
    }

    /// Each fault: the field, and what is wrong with it.
    fn faults(body: &str) -> Vec<(String, String)> {
        let error = read(body).unwrap_err();
        error.details.into_iter().map(|detail| (detail.name.into_owned(), detail.reason)).collect()
    }

    fn only_fault(body: &str) -> (String, String) {
        let mut faults = faults(body);
        assert_eq!(faults.len(), 1, "{faults:?}");
        faults.remove(0)
    }

    #[test]
    fn a_vault_named_twice_is_one_position_in_exact_dollars() {
        let upper = VAULT.to_uppercase().replace("0X", "0x");
        let positions =
            format!(r#"[{{"vaultKey":"{VAULT}","amountUsd":0.1}},{{"amountUsd":0.2,"vaultKey":"{upper}"}}]"#);
        let rest = r#","limits":{"maxSharePerChain":0.5},"issue":true,"loss":{"any":[1e999]}"#;
        let merged = read(&body(&positions, rest)).unwrap();
        assert_eq!(merged.portfolio.positions().count(), 1);
        assert_eq!(merged.portfolio.total().to_string(), "0.3");
        assert!(merged.issue);
        let plain = read(&body(&positions, r#","limits":null,"issue":null"#)).unwrap();
        assert_eq!((plain.limits, plain.issue), (Limits::default(), false));
    }

    #[test]
    fn every_bad_amount_is_told_of_its_field() {
        for (text, reason) in [
            ("-1", "must not be negative"),
            ("1e15", "must have at most 15 digits before the point"),
            ("1000000000000000.5", "must have at most 15 digits before the point"),
            ("1e999", "must have at most 15 digits before the point"),
            ("\"5\"", "must be a number"),
            ("null", "must be a number"),
            ("true", "must be a number"),
        ] {
            assert_eq!(only_fault(&amount(text)), ("positions[0].amountUsd".to_owned(), reason.to_owned()), "{text}");
        }
        let exact = read(&amount("999999999999999.999999")).unwrap();
        assert_eq!(exact.portfolio.total().to_string(), "999999999999999.999999", "to the last digit");
    }

    #[test]
    fn positions_that_are_no_portfolio_are_told_so() {
        assert_eq!(only_fault(&body("[]", "")), ("positions".to_owned(), "must not be empty".to_owned()));
        assert_eq!(only_fault(&amount("0")).0, "positions");
        assert_eq!(only_fault(r#"{"portfolioRef":"a"}"#), ("positions".to_owned(), "is required".to_owned()));
        assert_eq!(only_fault(&body("{}", "")).0, "positions");
        assert_eq!(only_fault(&body("[7]", "")).0, "positions[0]");
        let item = format!(r#"{{"vaultKey":"{VAULT}","amountUsd":1}}"#);
        let full = |count: usize| body(&format!("[{}]", vec![item.as_str(); count].join(",")), "");
        assert!(read(&full(1_000)).is_ok());
        let error = read(&full(1_001)).unwrap_err();
        assert_eq!((error.code, error.details[0].name.as_ref()), (ErrorCode::TooManyItems, "positions"));
    }

    #[test]
    fn vault_keys_limits_and_everything_else_are_told_by_name() {
        for key in [
            "",
            "0xabc",
            "1:",
            "1:0xabc",
            "one:0x000000000000000000000000000000000000000a",
            "01:0x000000000000000000000000000000000000000a",
            "1:TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
        ] {
            let positions = format!(r#"[{{"vaultKey":"{key}","amountUsd":1}}]"#);
            assert_eq!(only_fault(&body(&positions, "")).0, "positions[0].vaultKey", "{key}");
        }
        let good = format!(r#"[{{"vaultKey":"{VAULT}","amountUsd":1}}]"#);
        for limit in ["0", "-0.1", "1.000001", "1e999", "\"0.5\"", "null"] {
            let rest = format!(r#","limits":{{"maxSharePerAsset":{limit}}}"#);
            assert_eq!(only_fault(&body(&good, &rest)).0, "limits.maxSharePerAsset", "{limit}");
        }
        for (rest, name) in [
            (r#","limits":{"maxShare":0.5}"#, "limits.maxShare"),
            (r#","limits":{"maxShare":{}}"#, "limits.maxShare"),
            (r#","limits":[]"#, "limits"),
            (r#","issue":"yes""#, "issue"),
            (r#","shock":1"#, "shock"),
        ] {
            assert_eq!(only_fault(&body(&good, rest)).0, name);
        }
        for reference in ["\"\"".to_owned(), format!("\"{}\"", "x".repeat(201)), "\"a\\n\"".to_owned(), "7".to_owned()]
        {
            let body = format!(r#"{{"portfolioRef":{reference},"positions":{good}}}"#);
            assert_eq!(only_fault(&body).0, "portfolioRef", "{reference}");
        }
        assert_eq!(LIMIT_FIELDS.len(), 9);
    }

    #[test]
    fn all_faults_are_told_at_once_but_not_a_thousand() {
        let body =
            r#"{"positions":[{"vaultKey":"x"},{"vaultKey":"1:0x","amountUsd":-1,"usd":2}],"limits":{"a":2},"issue":0}"#;
        let names: Vec<_> = faults(body).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            [
                "portfolioRef",
                "positions[0].vaultKey",
                "positions[0].amountUsd",
                "positions[1].vaultKey",
                "positions[1].amountUsd",
                "positions[1].usd",
                "limits.a",
                "issue"
            ]
        );
        let many = format!(r#"{{"portfolioRef":"a","positions":[{}]}}"#, vec!["{}"; 1_000].join(","));
        assert_eq!(faults(&many).len(), MOST_FAULTS);
        for other in ["", "[]", "null", "{", "7", "NaN", r#"{"positions":NaN}"#] {
            let error = read(other).unwrap_err();
            assert_eq!((error.code, error.details.len()), (ErrorCode::InvalidBody, 0), "{other}");
        }
    }
}
