//! What every observation has in common: a table, a key, and the rule which of two observations is the truth.

use super::At;
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};

/// A row that one observation leaves behind. Its JSON fields are the columns of its table, so nothing maps one to the other.
pub trait Fact: Serialize {
    /// The table.
    const TABLE: &'static str;
    /// The columns that say which row it is.
    const KEY: &'static [&'static str];
    /// All columns that the observation fills.
    const COLUMNS: &'static [&'static str];
    /// A column that keeps the earliest instant ever observed of the row, whichever observation wins.
    const EARLIEST: Option<&'static str> = None;

    /// When it was observed.
    fn observed_at(&self) -> At;
    /// The key as one text: what `RETURNING` answers and duplicates are found by.
    fn key(&self) -> String;

    /// The tie-break between two observations of one instant: the greater digest wins, whoever writes first.
    fn content_hash(&self) -> [u8; 32] {
        // A fact is a plain struct of numbers, texts and lists: writing it as JSON cannot fail.
        content_hash(&serde_json::to_string(self).unwrap_or_default())
    }
}

/// The digest of a fact that is written as `json`.
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

/// The `kind` of a line, already read: it fills no column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kind;

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Kind)
    }
}

/// Declares observations: the struct that a line is read into is the row that is written.
macro_rules! observations {
    ($($(#[$about:meta])* $name:ident in $table:literal by [$($key:ident),+] $(earliest $earliest:ident)? {
        $($(#[$field_about:meta])* $field:ident: $type:ty,)*
    })+) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// Read before the rest of the line.
            #[serde(default, skip_serializing)]
            pub kind: $crate::facts::fact::Kind,
            /// When the source saw this.
            pub observed_at: $crate::facts::At,
            /// Who saw it.
            pub source: String,
            $($(#[$field_about])* pub $field: $type,)*
        }

        impl $crate::facts::fact::Fact for $name {
            const TABLE: &'static str = $table;
            const KEY: &'static [&'static str] = &[$(stringify!($key)),+];
            const COLUMNS: &'static [&'static str] = &["observed_at", "source", $(stringify!($field)),*];
            $(const EARLIEST: Option<&'static str> = Some(stringify!($earliest));)?

            fn observed_at(&self) -> $crate::facts::At {
                self.observed_at
            }

            fn key(&self) -> String {
                let parts = [$($crate::facts::fact::KeyPart::part(&self.$key)),+];
                parts.join("|")
            }
        }
    )+};
}
pub(crate) use observations;

/// A column that may be part of a key.
pub trait KeyPart {
    /// Its text, the same as Postgres casts it to.
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
