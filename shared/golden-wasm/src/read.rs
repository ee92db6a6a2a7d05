//! Typed access to a vector's JSON. An unexpected value is a mismatch, never a default.

use rds_shared::scoring::MilliPoints;
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// Why a vector differs or cannot be read.
#[derive(Debug)]
pub struct Mismatch(String);

impl Mismatch {
    /// A field that is missing or has an unexpected type.
    pub fn unreadable(field: &str) -> Self {
        Mismatch(format!("cannot read {field}"))
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Compares the computed value with the vector's.
pub fn expect(name: &Value, computed: &Value, expected: &Value) -> Result<(), Mismatch> {
    if computed == expected {
        return Ok(());
    }
    Err(Mismatch(format!("{name}: computed {computed}, expected {expected}")))
}

/// An optional member; `None` when missing or null.
pub fn optional<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    object.get(field).filter(|value| !value.is_null())
}

/// An integer that fits `N`; `None` when missing or null.
pub fn integer<N: TryFrom<i64>>(object: &Value, field: &str) -> Result<Option<N>, Mismatch> {
    let read = |value: &Value| value.as_i64().and_then(|value| N::try_from(value).ok());
    optional(object, field).map(|value| read(value).ok_or_else(|| Mismatch::unreadable(field))).transpose()
}

/// A required integer.
pub fn required<N: TryFrom<i64>>(object: &Value, field: &str) -> Result<N, Mismatch> {
    integer(object, field)?.ok_or_else(|| Mismatch::unreadable(field))
}

/// A boolean; false when missing or null.
pub fn flag(object: &Value, field: &str) -> Result<bool, Mismatch> {
    let read = |value: &Value| value.as_bool().ok_or_else(|| Mismatch::unreadable(field));
    optional(object, field).map_or(Ok(false), read)
}

/// A value of an enumeration, given by its name; `None` when missing or null.
pub fn name<T: FromStr>(object: &Value, field: &str) -> Result<Option<T>, Mismatch> {
    let read = |value: &Value| value.as_str().and_then(|text| text.parse().ok());
    optional(object, field).map(|value| read(value).ok_or_else(|| Mismatch::unreadable(field))).transpose()
}

/// A required value of an enumeration, given by its name.
pub fn required_name<T: FromStr>(object: &Value, field: &str) -> Result<T, Mismatch> {
    name(object, field)?.ok_or_else(|| Mismatch::unreadable(field))
}

/// A list; empty when missing or null.
pub fn list<'a>(object: &'a Value, field: &str) -> Result<&'a [Value], Mismatch> {
    let read = |value: &'a Value| value.as_array().map(Vec::as_slice).ok_or_else(|| Mismatch::unreadable(field));
    optional(object, field).map_or(Ok(&[]), read)
}

/// A score in milli-points, or null.
pub fn score(value: &Value) -> Result<Option<MilliPoints>, Mismatch> {
    if value.is_null() {
        return Ok(None);
    }
    let milli = value.as_i64().and_then(|milli| i32::try_from(milli).ok()).and_then(MilliPoints::new);
    milli.map(Some).ok_or_else(|| Mismatch::unreadable("score"))
}

/// A score in milli-points; `None` when missing or null.
pub fn score_of(object: &Value, field: &str) -> Result<Option<MilliPoints>, Mismatch> {
    optional(object, field).map_or(Ok(None), score)
}

/// A score as the fixtures write it: milli-points, or null.
pub fn milli(score: Option<MilliPoints>) -> Value {
    score.map_or(Value::Null, |score| score.get().into())
}

/// A required string.
pub fn text(value: &Value) -> Result<String, Mismatch> {
    value.as_str().map(Into::into).ok_or_else(|| Mismatch::unreadable("text"))
}
