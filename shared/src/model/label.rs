//! Closed sets of words: one declaration gives the enum, its text, the reader of that text and the JSON.

/// Declares an enum whose every case is one word on the wire and in the store.
macro_rules! labels {
    ($(#[$about:meta])* $name:ident { $($(#[$case_about:meta])* $case:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$case_about])* $case,)+
        }

        impl $name {
            /// Every case, in the interface's order.
            pub const ALL: &'static [$name] = &[$($name::$case,)+];

            /// The word on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$case => $text,)+
                }
            }

            /// Reads the exact word; `None` for any other text.
            pub fn parse(text: &str) -> Option<Self> {
                match text {
                    $($text => Some($name::$case),)+
                    _ => None,
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

pub(crate) use labels;
