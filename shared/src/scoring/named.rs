//! Closed vocabularies: enums with a fixed list of values, each with exactly one text form in JSON and in URLs.

use core::fmt;

/// Parse error: the text is not a value of the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// Type name of the vocabulary, for example `Oracle`.
    pub vocabulary: &'static str,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a known {}", self.vocabulary)
    }
}

impl core::error::Error for UnknownName {}

/// Declares a vocabulary from one list: the enum, the text form of each value, the parser and the JSON form.
macro_rules! named_enum {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$about:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        $(#[$meta])*
        pub enum $name { $(#[doc = concat!("`", $text, "`")] #[doc = ""] $(#[$about])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The text form in JSON and in URLs.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl core::str::FromStr for $name {
            type Err = $crate::scoring::UnknownName;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text { $($text => Ok(Self::$variant),)+ _ => Err($crate::scoring::UnknownName { vocabulary: stringify!($name) }) }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use named_enum;
