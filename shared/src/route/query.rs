//! Parses query strings by a route's parameters, and prints them in canonical form.
//!
//! Unknown parameters are dropped here, so they reach neither a cache key nor the origin. Their names are reported to the caller; with
//! `strict=true` the request is refused. An error lists all invalid parameters or, if no parameter is invalid, all missing parameters.

use super::bounds::LIST_NAMES;
use super::param::{Default, Kind, MAX_VERBATIM_CHARS, OnInvalid, OnOverflow, Param, Value};
use super::unknown::{Ignored, STRICT};
use crate::wire::error::{ApiError, Detail, ErrorCode, In};
use crate::wire::{Timestamp, percent};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

/// The canonical text of [`Value::Nothing`]. No word list contains it and no text may contain it, so parsing yields `Nothing` again.
const NOTHING: &str = "\0";

/// A parsed query: the value of each parameter of the route, given or by default.
#[derive(Debug, Clone)]
pub struct Query {
    params: &'static [Param],
    values: Vec<Option<Value>>,
    ignored: Ignored,
    strict: bool,
}

/// Compares parameters and values only; ignored parameters and `strict` may differ.
impl PartialEq for Query {
    fn eq(&self, other: &Self) -> bool {
        self.params == other.params && self.values == other.values
    }
}

impl Query {
    /// Parses the text after `?`. The error is a 400 that names every invalid or missing parameter with its bounds.
    pub fn parse(params: &'static [Param], text: &str) -> Result<Query, ApiError> {
        let mut values: Vec<Option<Value>> = params.iter().map(|_| None).collect();
        let mut seen: Vec<bool> = params.iter().map(|_| false).collect();
        let (mut ignored, mut strict) = (Ignored::default(), None);
        let mut faults = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (raw_name, raw_value) = pair.split_once('=').unwrap_or((pair, ""));
            let Some(name) = percent::decode(raw_name, true) else {
                ignored.add(raw_name);
                continue;
            };
            let slots = params.iter().zip(values.iter_mut()).zip(seen.iter_mut());
            let Some(((param, slot), seen)) = slots.into_iter().find(|((param, _), _)| param.is_called(&name)) else {
                match (STRICT.is_called(&name), strict) {
                    (false, _) => ignored.add(&name),
                    (true, Some(_)) => faults.push(fault(&STRICT, "may be given only once")),
                    (true, None) => {
                        let value = percent::decode(raw_value, true).unwrap_or_default();
                        strict = Some(
                            read(&STRICT, &value).map_err(|detail| faults.push(detail)) == Ok(Some(Value::Flag(true))),
                        );
                    }
                }
                continue;
            };
            if core::mem::replace(seen, true) {
                faults.push(fault(param, "may be given only once"));
                continue;
            }
            match percent::decode(raw_value, true) {
                None => faults.push(fault(param, "is not percent-encoded UTF-8")),
                Some(value) => match read(param, &value) {
                    Ok(value) => *slot = value,
                    Err(detail) => match param.on_invalid {
                        OnInvalid::Reject => faults.push(detail),
                        OnInvalid::Ignore => {}
                        OnInvalid::SelectsNothing => *slot = Some(Value::Nothing),
                    },
                },
            }
        }
        let strict = strict.unwrap_or(false);
        if strict {
            faults.extend(ignored.faults(params));
        }
        if !faults.is_empty() {
            return Err(ApiError::invalid(ErrorCode::InvalidParameter, faults));
        }
        let missing =
            params.iter().zip(&values).filter(|(param, value)| param.default == Default::Required && value.is_none());
        let missing: Vec<Detail> = missing.map(|(param, _)| fault(param, "is required")).collect();
        if !missing.is_empty() {
            return Err(ApiError::invalid(ErrorCode::MissingParameter, missing));
        }
        for (param, slot) in params.iter().zip(values.iter_mut()) {
            if slot.is_none() {
                *slot = match param.default {
                    Default::Absent | Default::Required => None,
                    Default::Int(number) => Some(Value::Int(number)),
                    Default::Choice(word) => Some(Value::Choice(word)),
                };
            }
        }
        Ok(Query { params, values, ignored, strict })
    }

    /// The value of `X-Service-Ignored-Parameters`: the given parameters that the route does not have; `None` if there are none.
    pub fn ignored(&self) -> Option<String> {
        self.ignored.header()
    }

    /// Whether the caller set `strict=true`: unknown parameters and names are then refused instead of ignored.
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    pub(super) fn params(&self) -> &'static [Param] {
        self.params
    }

    /// The parameters that have a value, given or by default.
    pub(super) fn given(&self) -> impl Iterator<Item = (&'static Param, &Value)> {
        self.params.iter().zip(&self.values).filter_map(|(param, value)| Some((param, value.as_ref()?)))
    }

    /// The value of the parameter at this position of the row; `None` if it is absent and has no default.
    pub(super) fn value(&self, index: usize) -> Option<&Value> {
        self.values.get(index)?.as_ref()
    }

    /// The whole number at this position; 0 if it is absent and has no default.
    pub(super) fn count(&self, index: usize) -> u64 {
        match self.value(index) {
            Some(Value::Int(number)) => number.unsigned_abs(),
            _ => 0,
        }
    }

    /// The canonical form of this query: the known parameters in alphabetical order, with their parsed values in one spelling. Parameters
    /// with their default value are left out.
    ///
    /// Equivalent queries have the same canonical form, which is part of the cache key and of the request to the origin.
    pub fn canonical(&self) -> String {
        let mut parts: Vec<(&str, String)> = Vec::new();
        for (param, value) in self.params.iter().zip(&self.values) {
            let Some(value) = value else { continue };
            let is_default = match (&param.default, value) {
                (Default::Int(default), Value::Int(number)) => default == number,
                (Default::Choice(default), Value::Choice(word)) => default == word,
                _ => false,
            };
            if !is_default {
                parts.push((param.name, print(value)));
            }
        }
        parts.sort_unstable();
        let mut out = String::new();
        for (name, value) in parts {
            if !out.is_empty() {
                out.push('&');
            }
            out.push_str(name);
            out.push('=');
            percent::encode_into(&value, b",:", &mut out);
        }
        out
    }
}

fn print(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Decimal(number) => number.to_string(),
        Value::Flag(flag) => flag.to_string(),
        Value::Choice(word) => (*word).to_owned(),
        Value::Choices(words) => words.join(","),
        Value::Names(names) => names.join(","),
        Value::Text(text) => text.clone(),
        Value::Instant(instant) => {
            let mut out = String::new();
            let _ = write!(out, "{}", crate::wire::time::Micros(*instant));
            out
        }
        Value::Nothing => NOTHING.to_owned(),
    }
}

fn fault(param: &Param, reason: &str) -> Detail {
    let detail = Detail::new(In::Query, param.name, reason);
    match param.kind {
        Kind::Int { min, max, .. } => Detail { minimum: Some(min as f64), maximum: Some(max as f64), ..detail },
        Kind::Decimal { min, max } => Detail { minimum: Some(min), maximum: Some(max), ..detail },
        Kind::Choice(words) | Kind::Word(words) | Kind::Choices(words) => Detail { allowed: Some(words), ..detail },
        Kind::Text { max } => Detail { maximum: Some(max as f64), ..detail },
        Kind::Flag => Detail { allowed: Some(&["true", "false"]), ..detail },
        Kind::Names | Kind::Verbatim | Kind::Instant => detail,
    }
}

/// Parses one value. An empty text, list or choice counts as absent; an empty number is a fault.
fn read(param: &Param, text: &str) -> Result<Option<Value>, Detail> {
    let verbatim = text;
    let text = text.trim();
    let refuse = |reason: String| Err(fault(param, &reason));
    match param.kind {
        Kind::Int { min, max, above } => {
            let reason = || format!("must be a whole number from {min} to {max}");
            let Some(number) = whole_number(text) else { return refuse(reason()) };
            match above {
                _ if number < min => refuse(reason()),
                OnOverflow::Reject if number > max => refuse(reason()),
                OnOverflow::Clamp | OnOverflow::Reject => Ok(Some(Value::Int(number.min(max)))),
            }
        }
        Kind::Decimal { min, max } => match decimal_number(text) {
            // Adding zero turns -0 into 0, so that both are printed the same.
            Some(number) if (min..=max).contains(&number) => Ok(Some(Value::Decimal(number + 0.0))),
            _ => refuse(format!("must be a number from {min} to {max}")),
        },
        Kind::Flag => match () {
            () if text.eq_ignore_ascii_case("true") => Ok(Some(Value::Flag(true))),
            () if text.eq_ignore_ascii_case("false") => Ok(Some(Value::Flag(false))),
            () => refuse("must be true or false".to_owned()),
        },
        Kind::Choice(_) | Kind::Word(_) | Kind::Choices(_) | Kind::Names | Kind::Text { .. } if text.is_empty() => {
            Ok(None)
        }
        Kind::Choice(words) => match words.iter().find(|word| **word == text) {
            Some(word) => Ok(Some(Value::Choice(word))),
            None => refuse(format!("must be one of {}", words.join(", "))),
        },
        Kind::Word(words) => match words.iter().find(|word| word.eq_ignore_ascii_case(text)) {
            Some(word) => Ok(Some(Value::Choice(word))),
            None => refuse(format!("must be one of {}", words.join(", "))),
        },
        Kind::Choices(words) => {
            let given: Vec<&str> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
            if given.is_empty() || given.iter().any(|word| !words.iter().any(|known| known.eq_ignore_ascii_case(word)))
            {
                return refuse(format!("must be a comma-separated list of these values: {}", words.join(", ")));
            }
            Ok(Some(Value::Choices(
                words
                    .iter()
                    .filter(|known| given.iter().any(|word| known.eq_ignore_ascii_case(word)))
                    .copied()
                    .collect(),
            )))
        }
        Kind::Names => {
            let mut names: Vec<String> =
                text.split(',').map(|name| name.trim().to_lowercase()).filter(|name| !name.is_empty()).collect();
            if names.iter().any(|name| name.chars().any(char::is_control)) {
                return refuse("must not contain control characters".to_owned());
            }
            names.sort_unstable();
            names.dedup();
            match names.len() {
                0 => Ok(None),
                1..=LIST_NAMES => Ok(Some(Value::Names(names))),
                _ => refuse(format!("may list at most {LIST_NAMES} values")),
            }
        }
        Kind::Verbatim => Ok(Some(Value::Text(verbatim.chars().take(MAX_VERBATIM_CHARS.saturating_add(1)).collect()))),
        Kind::Text { max } => {
            if text.chars().count() > max {
                return refuse(format!("may have at most {max} characters"));
            }
            if text.chars().any(char::is_control) {
                return refuse("must not contain control characters".to_owned());
            }
            Ok(Some(Value::Text(text.to_owned())))
        }
        Kind::Instant => match Timestamp::parse(text) {
            Some(instant) => Ok(Some(Value::Instant(instant))),
            None => refuse("must be an ISO 8601 instant such as 2026-11-21T00:00:00Z".to_owned()),
        },
    }
}

/// Parses decimal digits with an optional sign. A number outside `i64` becomes `i64::MIN` or `i64::MAX`, so that the bounds of the
/// parameter still apply.
fn whole_number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(if text.starts_with('-') { i64::MIN } else { i64::MAX }))
}

/// Parses a decimal number with an optional exponent; `inf`, `nan` and hexadecimal are not accepted.
fn decimal_number(text: &str) -> Option<f64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b)) {
        return None;
    }
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
