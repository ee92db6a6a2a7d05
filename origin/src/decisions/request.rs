//! Parses the body of a check and reports every fault with its field.
//!
//! Numbers are read from the text exactly, without a conversion to floating point, because they are compared and signed. A value that JSON
//! cannot express, such as `NaN`, is reported with its field if the field can be determined.

use super::json_error_location::Misspelt;
use super::members::Members;
use rds_shared::graph::amount::{AmountError, Usd};
use rds_shared::graph::limits::{Dimension, LimitError, Limits};
use rds_shared::graph::portfolio::{MAX_POSITIONS, Portfolio, PortfolioError};
use rds_shared::model::ids::{ChainId, Namespace, VaultKey};
use rds_shared::route::bounds::PORTFOLIO_REF_CHARS;
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, ErrorCode};
use serde::Deserialize;
use serde_json::error::Category;
use serde_json::value::RawValue;

/// Maximum number of faults reported at once.
const MAX_FAULTS: usize = 20;

/// A valid request for a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRequest {
    /// The caller's name for the portfolio.
    pub portfolio_ref: String,
    /// The portfolio's positions; positions in the same vault are merged.
    pub portfolio: Portfolio,
    pub limits: Limits,
    /// Whether a signed decision is requested.
    pub issue: bool,
}

impl CheckRequest {
    /// Parses a check's body. `namespace` gives each chain's address format. The deprecated member `loss` is ignored.
    pub fn read(body: &[u8], namespace: impl Fn(ChainId) -> Option<Namespace>) -> Result<Self, ApiError> {
        let mut members: Members<'_> = serde_json::from_slice(body).map_err(|error| no_object(&error, body))?;
        let mut faults = Faults::default();
        faults.add_repeated(&members, "");
        let portfolio_ref = reference(members.remove("portfolioRef"), &mut faults);
        let positions = positions(members.remove("positions"), &namespace, &mut faults)?;
        let limits = limits(members.remove("limits"), &mut faults);
        let issue = switch(members.remove("issue"), &mut faults);
        members.remove("loss");
        members.rest().for_each(|(name, _)| faults.add(name, "is not a field of this body"));
        let portfolio = match Portfolio::new(positions) {
            // Invalid positions are left out, so after another fault an empty portfolio says nothing about the request.
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

/// The faults of a body, in the order in which its members are checked; at most [`MAX_FAULTS`].
#[derive(Default)]
struct Faults(Vec<Detail>);

impl Faults {
    fn add(&mut self, name: impl Into<String>, reason: impl Into<String>) {
        self.push(Detail::new(In::Body, name.into(), reason));
    }

    /// Reports members that occur more than once, because their meaning is ambiguous. `within` is the path of their object.
    fn add_repeated(&mut self, members: &Members<'_>, within: &str) {
        members.repeated.iter().for_each(|name| self.add(format!("{within}{name}"), "is given more than once"));
    }

    fn push(&mut self, detail: Detail) {
        if self.0.len() < MAX_FAULTS {
            self.0.push(detail);
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn no_object(error: &serde_json::Error, body: &[u8]) -> ApiError {
    if let Some(Misspelt { field, reason }) = Misspelt::find(body).filter(|_| !error.is_data()) {
        return ApiError::invalid(ErrorCode::InvalidBody, vec![Detail::new(In::Body, field, reason)]);
    }
    let message = match error.classify() {
        Category::Data => "the body must be a JSON object with portfolioRef and positions".to_owned(),
        _ => format!("the body is not JSON: {error}"),
    };
    ApiError::new(ErrorCode::InvalidBody, message)
}

/// The value, if it has the type `T`.
fn read<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Option<T> {
    serde_json::from_str(value.get()).ok()
}

/// An optional member: absent or null gives `None`.
fn given(value: Option<&RawValue>) -> Option<&RawValue> {
    value.filter(|value| value.get() != "null")
}

/// The text of a JSON number, exactly as written; `None` for another JSON type.
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
    if !(1..=PORTFOLIO_REF_CHARS).contains(&length) {
        let reason = format!("must have 1 to {PORTFOLIO_REF_CHARS} characters");
        faults.push(Detail {
            minimum: Some(1.0),
            maximum: Some(PORTFOLIO_REF_CHARS as f64),
            ..Detail::new(In::Body, NAME, reason)
        });
        return None;
    }
    if text.chars().any(char::is_control) {
        faults.add(NAME, "must not contain control characters");
        return None;
    }
    Some(text)
}

/// The valid positions. Fails if there are more than [`MAX_POSITIONS`], which has an error code of its own.
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
    faults.add_repeated(&members, &name(""));
    let vault = match members.remove("vaultKey") {
        None => Err("is required"),
        Some(value) => read::<String>(value)
            .and_then(|text| VaultKey::parse_on(&text, namespace))
            .ok_or("must be <chain id>:<address>, with the address in that chain's format"),
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
    members.rest().for_each(|(field, _)| faults.add(name(&field), "is not a field of a position"));
    vault.zip(amount)
}

fn limits(value: Option<&RawValue>, faults: &mut Faults) -> Limits {
    let mut limits = Limits::default();
    let Some(value) = given(value) else { return limits };
    let Some(members) = read::<Members<'_>>(value) else {
        faults.add("limits", "must be an object of limits");
        return limits;
    };
    faults.add_repeated(&members, "limits.");
    for (field, value) in members.rest() {
        let name = format!("limits.{field}");
        let Some(number) = number(value) else {
            let known = Dimension::of_limit_field(&field).is_some();
            faults.add(name, if known { "must be a number".to_owned() } else { LimitError::UnknownField.to_string() });
            continue;
        };
        if let Err(error) = limits.set(&field, number) {
            let allowed = matches!(error, LimitError::UnknownField).then_some(LIMIT_FIELDS);
            faults.push(Detail { allowed, ..Detail::new(In::Body, name, error.to_string()) });
        }
    }
    limits
}

/// The members that `limits` may have.
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
#[path = "request_tests.rs"]
mod tests;
