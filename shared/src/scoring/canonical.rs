//! Canonical JSON (the integer subset of RFC 8785): equal values have equal texts, and so equal hashes.
//!
//! Object keys are ASCII and sorted, numbers are integers, and there is no whitespace. Floats cannot be expressed.

use super::MilliPoints;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// A value whose `Display` is its canonical text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Canonical {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer
    Integer(i64),
    /// A string
    Text(String),
    /// An array
    List(Vec<Canonical>),
    /// An object; sorted by key
    Object(BTreeMap<&'static str, Canonical>),
}

/// A value whose canonical JSON is hashed or signed.
pub trait Canonicalize {
    fn canonical(&self) -> Canonical;
}

impl Canonical {
    pub fn list(values: impl IntoIterator<Item = Canonical>) -> Self {
        Canonical::List(values.into_iter().collect())
    }

    /// An object. The keys must be ASCII, so that their byte order is the order that RFC 8785 requires.
    pub fn object(members: impl IntoIterator<Item = (&'static str, Canonical)>) -> Self {
        Canonical::Object(members.into_iter().collect())
    }
}

impl From<bool> for Canonical {
    fn from(value: bool) -> Self {
        Canonical::Bool(value)
    }
}

impl From<i64> for Canonical {
    /// An integer with a magnitude above 2^53 becomes a string, because JSON readers that use doubles would lose precision.
    fn from(value: i64) -> Self {
        if value.unsigned_abs() <= 1 << 53 { Canonical::Integer(value) } else { Canonical::Text(value.to_string()) }
    }
}

impl From<u32> for Canonical {
    fn from(value: u32) -> Self {
        Canonical::Integer(value.into())
    }
}

impl From<u64> for Canonical {
    fn from(value: u64) -> Self {
        i64::try_from(value).map_or_else(|_| Canonical::Text(value.to_string()), Canonical::from)
    }
}

impl From<MilliPoints> for Canonical {
    fn from(value: MilliPoints) -> Self {
        Canonical::Integer(value.get().into())
    }
}

impl From<&str> for Canonical {
    fn from(value: &str) -> Self {
        Canonical::Text(value.into())
    }
}

impl<T: Into<Canonical>> From<Option<T>> for Canonical {
    fn from(value: Option<T>) -> Self {
        value.map_or(Canonical::Null, Into::into)
    }
}

impl fmt::Display for Canonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Canonical::Null => f.write_str("null"),
            Canonical::Bool(value) => write!(f, "{value}"),
            Canonical::Integer(value) => write!(f, "{value}"),
            Canonical::Text(text) => write_text(f, text),
            Canonical::List(values) => {
                f.write_str("[")?;
                for (place, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", comma(place))?;
                }
                f.write_str("]")
            }
            Canonical::Object(members) => {
                f.write_str("{")?;
                for (place, (key, value)) in members.iter().enumerate() {
                    write!(f, "{}\"{key}\":{value}", comma(place))?;
                }
                f.write_str("}")
            }
        }
    }
}

fn comma(place: usize) -> &'static str {
    if place == 0 { "" } else { "," }
}

/// A JSON string with RFC 8785's escapes: the short form where there is one, `\u00xx` for other control characters.
pub(super) fn write_text(f: &mut impl fmt::Write, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for character in text.chars() {
        match character {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\u{8}' => f.write_str("\\b")?,
            '\t' => f.write_str("\\t")?,
            '\n' => f.write_str("\\n")?,
            '\u{c}' => f.write_str("\\f")?,
            '\r' => f.write_str("\\r")?,
            control if control < ' ' => write!(f, "\\u{:04x}", u32::from(control))?,
            other => f.write_char(other)?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_and_there_is_no_whitespace() {
        let value = Canonical::object([
            ("b", Canonical::list([1_i64.into(), Option::<bool>::None.into()])),
            ("a", true.into()),
            ("c", u64::MAX.into()),
        ]);
        assert_eq!(value.to_string(), r#"{"a":true,"b":[1,null],"c":"18446744073709551615"}"#);
    }

    #[test]
    fn text_is_escaped_as_every_json_reader_expects() {
        let text: String = (0_u8..128).map(char::from).chain("é\u{1F600}\u{2028}".chars()).collect();
        let canonical = Canonical::from(text.as_str()).to_string();
        assert_eq!(canonical, serde_json::to_string(&text).unwrap());
        assert!(canonical.contains("\\u001f") && canonical.contains("\\b"));
    }
}
