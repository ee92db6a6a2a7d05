//! What all facts share: a table, a key, and the rule that decides which of two observations wins.

use super::At;
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};

/// A row written for one observation. Its JSON fields are the columns of its table, so there is no mapping code.
pub trait Fact: Serialize {
    const TABLE: &'static str;
    /// The primary-key columns.
    const KEY: &'static [&'static str];
    /// All columns filled from the observation.
    const COLUMNS: &'static [&'static str];
    /// A column that keeps the earliest `observed_at` ever seen for the row, whichever observation wins.
    const EARLIEST: Option<&'static str> = None;

    fn observed_at(&self) -> At;
    /// The values of the key columns as one text. Within a batch, facts with equal texts are observations of the same row.
    fn key(&self) -> String;

    /// Tie-break between observations of the same instant: the greater digest wins, so the order of writing does not matter.
    fn content_hash(&self) -> [u8; 32] {
        // A fact is a plain struct of numbers, texts and lists; serialising it as JSON cannot fail.
        content_hash(&serde_json::to_string(self).unwrap_or_default())
    }
}

/// SHA-256 of a fact's JSON text.
pub fn content_hash(json: &str) -> [u8; 32] {
    Sha256::digest(json).into()
}

impl<F: Fact> Fact for &F {
    const TABLE: &'static str = F::TABLE;
    const KEY: &'static [&'static str] = F::KEY;
    const COLUMNS: &'static [&'static str] = F::COLUMNS;
    const EARLIEST: Option<&'static str> = F::EARLIEST;

    fn observed_at(&self) -> At {
        (**self).observed_at()
    }

    fn key(&self) -> String {
        (**self).key()
    }
}

/// Placeholder for the field `kind`, which was read before the struct is parsed; it is not a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kind;

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Kind)
    }
}

/// Declares facts: one struct is both the ingest line and the row.
macro_rules! observations {
    ($($(#[$about:meta])* $name:ident in $table:literal by [$($key:ident),+] $(earliest $earliest:ident)? {
        $($(#[$field_about:meta])* $field:ident: $type:ty,)*
    })+) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            // Placeholder: the line's `kind` is read before the struct is parsed; see [`Kind`](crate::fact::Kind).
            /// Name of the kind.
            #[serde(default, skip_serializing)]
            pub kind: $crate::fact::Kind,
            /// When the source observed the fact.
            pub observed_at: $crate::At,
            /// Name of the source.
            pub source: String,
            $($(#[$field_about])* pub $field: $type,)*
        }

        impl $crate::fact::Fact for $name {
            const TABLE: &'static str = $table;
            const KEY: &'static [&'static str] = &[$(stringify!($key)),+];
            const COLUMNS: &'static [&'static str] = &["observed_at", "source", $(stringify!($field)),*];
            $(const EARLIEST: Option<&'static str> = Some(stringify!($earliest));)?

            fn observed_at(&self) -> $crate::At {
                self.observed_at
            }

            fn key(&self) -> String {
                let parts = [$($crate::fact::KeyPart::part(&self.$key)),+];
                parts.join("|")
            }
        }
    )+};
}
pub(crate) use observations;

/// A column that may be part of a key.
pub trait KeyPart {
    /// The text of the value; different values have different texts.
    fn part(&self) -> String;
}

impl KeyPart for String {
    fn part(&self) -> String {
        self.clone()
    }
}

impl KeyPart for i64 {
    fn part(&self) -> String {
        self.to_string()
    }
}

impl KeyPart for At {
    fn part(&self) -> String {
        self.0.as_micros().to_string()
    }
}

impl KeyPart for serde_json::Value {
    fn part(&self) -> String {
        self.to_string()
    }
}

impl KeyPart for rds_shared::scoring::rubric::ProtocolInput {
    fn part(&self) -> String {
        self.as_str().to_owned()
    }
}

impl KeyPart for rds_shared::scoring::asset::Dimension {
    fn part(&self) -> String {
        self.as_str().to_owned()
    }
}

impl KeyPart for rds_shared::model::status::RewardSide {
    fn part(&self) -> String {
        self.as_str().to_owned()
    }
}

impl KeyPart for rds_shared::model::mapping::MappingType {
    fn part(&self) -> String {
        self.as_str().to_owned()
    }
}
