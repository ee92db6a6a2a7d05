//! Reading what a newer server may change: a promised member that is missing or null has an empty value.
//!
//! A missing number is NaN and not 0, because 0 is a meaningful score, share or amount.

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::fmt;

/// Reads a value; null is the default.
pub(crate) fn value<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads a number; null is NaN.
pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Option::<f64>::deserialize(deserializer).map(|it| it.unwrap_or(f64::NAN))
}

/// A number that is missing.
pub(crate) fn no_number() -> f64 {
    f64::NAN
}

/// Reads a text without a copy where the format allows it.
pub(crate) fn text<'de, D: Deserializer<'de>, T>(deserializer: D, read: fn(&str) -> T) -> Result<T, D::Error> {
    deserializer.deserialize_str(Text(read))
}

struct Text<T>(fn(&str) -> T);

impl<T> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        Ok(self.0(text))
    }
}
