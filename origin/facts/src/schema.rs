//! JSON schemas of the types with a hand-written `Deserialize`; all other types derive theirs. Built only for the documentation of ingest.

use super::fact::Kind;
use super::{At, Percent, Points, Share, Usd};
use rds_shared::wire::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// Types with a constant schema, inlined where they are used.
macro_rules! scalars {
    ($($name:ty => $schema:expr;)*) => {$(
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    )*};
}

scalars! {
    Kind => json_schema!({"type": "string"});
    Points => json_schema!({"type": "number", "minimum": 0, "maximum": Points::MAX, "x-max-decimals": Points::DECIMALS, "x-unit": "points"});
    Share => json_schema!({"type": "number", "minimum": 0, "maximum": Share::MAX, "x-unit": "fraction"});
    Percent => json_schema!({"type": "number", "minimum": 0, "maximum": Percent::MAX, "x-max-decimals": Percent::DECIMALS, "x-unit": "percent"});
    Usd => json_schema!({"type": "number", "minimum": 0, "maximum": Usd::MAX, "x-unit": "USD"});
}

impl JsonSchema for At {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "At".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Timestamp::json_schema(generator)
    }
}
