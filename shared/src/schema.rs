//! JSON schemas of the types with a hand-written `Serialize`; all other types derive theirs.
//!
//! Built only for the OpenAPI document. The schema of a scalar is inlined, so that the doc comment of each field describes the value.

use crate::graph::amount::{Share, Usd};
use crate::graph::check::{Exposure, Finding, FindingKind};
use crate::graph::limits::Dimension as ExposureDimension;
use crate::graph::signature::DecisionSignature;
use crate::model::basket::Shown;
use crate::model::content_hash::ContentHash;
use crate::model::facets::AssetFacets;
use crate::model::ids::{Address, VaultId, VaultKey};
use crate::model::money::{Cents, DecimalUsd};
use crate::model::rwa;
use crate::model::webhook::SentHeaders;
use crate::push::cursor::Cursor;
use crate::push::delivery::EventId;
use crate::rules::baskets::definition::Caps;
use crate::rules::indices::Level;
use crate::rules::reference_rates::Rate;
use crate::rules::tiers::Tier;
use crate::scoring::asset::{AssetFlag, Dimension, Dimensions, HardFailFlag, HardFailSet, OverlayRule};
use crate::scoring::methodology::ByName;
use crate::scoring::number::{Decimal, MilliPoints, Ppm, SumUnits};
use crate::scoring::vault::{Signers, Timelock, WorstDependency};
use crate::wire::time::{Day, Micros, Timestamp};
use crate::wire::{ErrorCode, RequestId};
use alloc::borrow::Cow;
use alloc::vec::Vec;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// Types with a constant schema, inlined where they are used.
macro_rules! scalars {
    ($($name:ty => $schema:tt;)*) => {$(
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn schema_id() -> Cow<'static, str> {
                core::any::type_name::<$name>().into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

scalars! {
    Timestamp => {"type": "string", "format": "date-time"};
    Micros => {"type": "string", "format": "date-time"};
    Day => {"type": "string", "format": "date"};
    rwa::Day => {"type": "string", "format": "date"};
    MilliPoints => {"type": "number", "minimum": 0, "maximum": 10};
    SumUnits => {"type": "number"};
    Ppm => {"type": "number"};
    Decimal => {"type": "number"};
    Share => {"type": "number", "minimum": 0};
    Rate => {"type": "number"};
    Level => {"type": "number", "exclusiveMinimum": 0};
    Cents => {"type": "number"};
    rwa::Cents => {"type": "number"};
    DecimalUsd => {"type": "string", "pattern": "^-?[0-9]+\\.[0-9]{2}$"};
    Usd => {"type": "string", "pattern": "^[0-9]+(\\.[0-9]{1,6})?$"};
    ContentHash => {"type": "string", "pattern": "^[0-9a-f]{64}$"};
    DecisionSignature => {"type": "string", "pattern": "^0x[0-9a-f]{130}$"};
    Address => {"type": "string", "pattern": "^(0x[0-9a-f]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$"};
    VaultId => {"type": "string", "pattern": "^.+-[0-9]+-(0x[0-9a-f]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$"};
    VaultKey => {"type": "string", "pattern": "^[1-9][0-9]*:(0x[0-9a-f]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$"};
    EventId => {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"};
    Cursor => {"type": "string", "pattern": "^v2:[0-9]+$"};
    RequestId => {"type": "string", "pattern": "^[0-9a-f]{32}$"};
    AssetFlag => {"type": "string"};
    OverlayRule => {"type": "string"};
    SentHeaders => {"type": "object", "additionalProperties": {"type": "string"}};
    WorstDependency => {"type": "string", "enum": ["none", "unknown", "Prime", "Core", "Edge"]};
    Timelock => {"anyOf": [{"type": "integer", "minimum": 0}, {"const": "immutable"}, {"type": "null"}]};
    Signers => {"anyOf": [
        {"type": "object", "required": ["threshold", "owners"], "properties": {
            "threshold": {"type": "integer", "minimum": 0, "description": "Number of signatures required."},
            "owners": {"type": "integer", "minimum": 0, "description": "Number of accounts that may sign."}
        }},
        {"type": "string", "enum": ["immutable", "dao", "eoa"]},
        {"type": "null"}
    ]};
    Caps => {"type": "object", "required": ["single_name_pct", "issuer_pct", "floor_pct"], "properties": {
        "single_name_pct": {"type": "number", "description": "Largest weight of one constituent, in percent."},
        "issuer_pct": {"type": "number", "description": "Largest total weight of one issuer's constituents, in percent."},
        "floor_pct": {"type": "number", "description": "Smallest weight, in percent; a constituent that would weigh less is left out."}
    }};
}

/// Types that appear as named schemas in the document.
macro_rules! named {
    ($($name:ty as $title:literal => |$generator:ident| $schema:expr;)*) => {$(
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                $title.into()
            }
            fn schema_id() -> Cow<'static, str> {
                core::any::type_name::<$name>().into()
            }
            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    )*};
}

named! {
    ErrorCode as "ErrorCode" => |_generator| {
        let codes: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        json_schema!({"type": "string", "enum": codes, "description": "The error code, one of a closed set."})
    };
    HardFailSet as "HardFailFlags" => |generator| {
        json_schema!({
            "type": "array", "uniqueItems": true, "items": generator.subschema_for::<HardFailFlag>(),
            "description": "Hard-fail flags, lowest cap first."
        })
    };
    Dimensions as "Dimensions" => |generator| {
        let value = generator.subschema_for::<Option<MilliPoints>>();
        object("Scores of an asset in the sixteen risk dimensions.",
            Dimension::ALL.iter().map(|dimension| (dimension.as_str(), value.clone(),
                "0 (worst) to 10 (best); null without evidence, or if the asset's category does not use the dimension.")))
    };
    Shown as "BasketConstituent" => |generator| {
        let (score, weight) = (generator.subschema_for::<Option<MilliPoints>>(), generator.subschema_for::<Ppm>());
        object("A constituent of a basket. If its chain is withheld, all fields except the weights are null.", [
            ("id", json_schema!({"type": ["string", "null"]}), "Id of the vault or asset."),
            ("issuer", json_schema!({"type": ["string", "null"]}), "The issuer, by which the issuer cap groups constituents."),
            ("score", score, "The published score that the weight was computed from, 0 to 10."),
            ("score_mp", json_schema!({"type": ["integer", "null"]}), "`score` in thousandths of a point; covered by the content hash."),
            ("weight", weight, "Weight in the basket, as a fraction."),
            ("weight_ppm", json_schema!({"type": "integer"}), "`weight` in parts per million; covered by the content hash."),
        ])
    };
    Exposure as "CheckExposure" => |generator| {
        let (usd, share) = (generator.subschema_for::<Usd>(), generator.subschema_for::<Ppm>());
        object("A portfolio's exposure to one key of a dimension.", [
            ("key", json_schema!({"type": "string"}), "Identifier of the asset, curator, bridge, feed or other key."),
            ("usd", usd, "Amount through all mappings, in USD as decimal text."),
            ("share", share.clone(), "Share of the portfolio, as a fraction."),
            ("verified", json_schema!({"type": "boolean"}), "Whether every contributing mapping is backed by a source."),
            ("confidence", share, "Lowest confidence of the contributing mappings, 0 to 1."),
        ])
    };
    Finding as "CheckFinding" => |generator| {
        let (usd, share) = (generator.subschema_for::<Usd>(), generator.subschema_for::<Ppm>());
        object("An exposure that is near or above its limit.", [
            ("limit", json_schema!({"type": "string"}), "The field of `limits` that sets the limit."),
            ("dimension", generator.subschema_for::<ExposureDimension>(), "The dimension that the limit applies to."),
            ("key", json_schema!({"type": "string"}), "Identifier of the asset, curator, bridge, feed or other key."),
            ("kind", generator.subschema_for::<FindingKind>(), "How the exposure relates to the limit."),
            ("maxShare", share.clone(), "The limit, as a fraction of the portfolio."),
            ("share", share.clone(), "Exposure to the key, as a fraction of the portfolio."),
            ("usd", usd.clone(), "Exposure to the key, in USD as decimal text."),
            ("verifiedUsd", usd, "Part of `usd` through verified mappings with a confidence of at least 0.80, which alone can cause a rejection."),
            ("verified", json_schema!({"type": "boolean"}), "Whether every contributing mapping is backed by a source."),
            ("confidence", share, "Lowest confidence of the contributing mappings, 0 to 1."),
        ])
    };
    AssetFacets as "AssetFacets" => |_generator| {
        let (text, chain) = (json_schema!({"type": "string"}), json_schema!({"type": "integer"}));
        let tier = Tier::ALL.iter().map(|tier| tier.as_str()).chain(["unknown"]).collect::<Vec<_>>();
        let tier = json_schema!({"type": "string", "enum": tier});
        object("Assets per value of each field, most frequent first; unknown values count as `(unknown)`, in `risk_tiers` as `unknown`.", [
            ("chains", "chain_id", chain),
            ("categories", "category", text.clone()),
            ("review_statuses", "review_status", text.clone()),
            ("risk_tiers", "risk_tier", tier),
            ("regulatory_wrappers", "regulatory_wrapper", text.clone()),
            ("kyc_gates", "kyc_gate", text.clone()),
            ("jurisdictions", "jurisdiction", text.clone()),
            ("custodians", "custodian", text.clone()),
            ("auditors", "auditor", text),
        ].map(|(list, field, value)| {
            let count = json_schema!({"type": "integer", "minimum": 0});
            let row = object("", [(field, value, "A value of the field."), ("count", count, "Number of assets with this value.")]);
            (list, json_schema!({"type": "array", "items": row}), "Values of the field with their number of assets.")
        }))
    };
}

/// An optional value whose field is left out if there is none. Such a field is never null when written, and may be null when read.
pub struct LeftOut<T>(core::marker::PhantomData<T>);

impl<T: JsonSchema> JsonSchema for LeftOut<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        alloc::format!("LeftOut{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        if generator.contract().is_serialize() {
            T::json_schema(generator)
        } else {
            Option::<T>::json_schema(generator)
        }
    }
}

impl<V: JsonSchema> JsonSchema for ByName<V> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        alloc::format!("{}ByName", V::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "additionalProperties": generator.subschema_for::<V>()})
    }
}

/// An object with the given members, all of them required.
fn object<'a>(about: &str, members: impl IntoIterator<Item = (&'a str, Schema, &'a str)>) -> Schema {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, mut schema, about) in members {
        if !about.is_empty() {
            schema.insert("description".into(), about.into());
        }
        required.push(Value::from(name));
        properties.insert(name.into(), schema.into());
    }
    let mut object = json_schema!({"type": "object", "required": required, "properties": properties});
    if !about.is_empty() {
        object.insert("description".into(), json!(about));
    }
    object
}
