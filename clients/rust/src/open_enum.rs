//! Enums that accept what a newer server adds.

/// Declares an enum of texts. A text that is not listed is `Unrecognized`, with the text.
macro_rules! open_enum {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $value:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $variant,)*
            /// A value that this version of the library does not know.
            Unrecognized(String),
        }

        impl $name {
            /// The values that this version of the library knows.
            pub const KNOWN: &[&str] = &[$($value),*];

            /// The value on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $($name::$variant => $value,)*
                    $name::Unrecognized(text) => text,
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $name::Unrecognized(String::new())
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($value => $name::$variant,)*
                    other => $name::Unrecognized(other.into()),
                }
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                $name::from(text.as_str())
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.as_str() == other
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::lenient::text(deserializer, |text| $name::from(text))
            }
        }
    };
}

pub(crate) use open_enum;
