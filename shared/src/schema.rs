//! JSON schemas of the types that write themselves by hand; all others derive theirs.
//!
//! Only built for the OpenAPI document. A scalar's schema stands where it is used, so that its field's words describe it.

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
use crate::push::webhook::EventId;
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

/// A type whose schema is always the same, and stands where the type is used.
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
            "threshold": {"type": "integer", "minimum": 0, "description": "Signatures that are needed."},
            "owners": {"type": "integer", "minimum": 0, "description": "Accounts that may sign."}
        }},
        {"type": "string", "enum": ["immutable", "dao", "eoa"]},
        {"type": "null"}
    ]};
    Caps => {"type": "object", "required": ["single_name_pct", "issuer_pct", "floor_pct"], "properties": {
        "single_name_pct": {"type": "number", "description": "No name weighs more; in percent."},
        "issuer_pct": {"type": "number", "description": "All names of one issuer together weigh no more; in percent."},
        "floor_pct": {"type": "number", "description": "A name that would weigh less is left out; in percent."}
    }};
}

/// A type with a name of its own in the document.
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
        json_schema!({"type": "string", "enum": codes, "description": "What went wrong, in one word of a closed vocabulary."})
    };
    HardFailSet as "HardFailFlags" => |generator| {
        json_schema!({
            "type": "array", "uniqueItems": true, "items": generator.subschema_for::<HardFailFlag>(),
            "description": "Hard-fail flags, lowest cap first."
        })
    };
    Dimensions as "Dimensions" => |generator| {
        let value = generator.subschema_for::<Option<MilliPoints>>();
        object("The sixteen dimensions of an asset.",
            Dimension::ALL.iter().map(|dimension| (dimension.as_str(), value.clone(), "0 to 10; null where there is no evidence, or the category does not ask.")))
    };
    Shown as "BasketConstituent" => |generator| {
        let (score, weight) = (generator.subschema_for::<Option<MilliPoints>>(), generator.subschema_for::<Ppm>());
        object("A constituent with its weight. One on a withheld chain keeps its weight; everything else of it is null.", [
            ("id", json_schema!({"type": ["string", "null"]}), "A vault's id, or an asset's."),
            ("issuer", json_schema!({"type": ["string", "null"]}), "Who stands behind it: what the issuer cap groups by."),
            ("score", score, "The published score that it was weighed by, 0 to 10."),
            ("score_mp", json_schema!({"type": ["integer", "null"]}), "The same in thousandths of a point: what the content hash covers."),
            ("weight", weight, "Its part of the basket, as a fraction."),
            ("weight_ppm", json_schema!({"type": "integer"}), "The same in parts per million: what the content hash covers."),
        ])
    };
    Exposure as "CheckExposure" => |generator| {
        let (usd, share) = (generator.subschema_for::<Usd>(), generator.subschema_for::<Ppm>());
        object("What of the portfolio is behind one key.", [
            ("key", json_schema!({"type": "string"}), "The curator, bridge, feed and so on."),
            ("usd", usd, "Through all mappings, in USD as decimal text; the amounts of a dimension add up."),
            ("share", share.clone(), "Of the portfolio, as a fraction."),
            ("verified", json_schema!({"type": "boolean"}), "Whether every mapping that contributes is backed by a source."),
            ("confidence", share, "The least confidence of those mappings, 0 to 1."),
        ])
    };
    Finding as "CheckFinding" => |generator| {
        let (usd, share) = (generator.subschema_for::<Usd>(), generator.subschema_for::<Ppm>());
        object("An exposure that its limit has something to say about.", [
            ("limit", json_schema!({"type": "string"}), "The field of `limits` that was asked for."),
            ("dimension", generator.subschema_for::<ExposureDimension>(), "What is grouped."),
            ("key", json_schema!({"type": "string"}), "The curator, bridge, feed and so on."),
            ("kind", generator.subschema_for::<FindingKind>(), "How it stands to the limit."),
            ("maxShare", share.clone(), "The limit, as a fraction."),
            ("share", share.clone(), "What is behind the key, as a fraction of the portfolio."),
            ("usd", usd.clone(), "The same in USD, as decimal text."),
            ("verifiedUsd", usd, "What of it is there through mappings that can reject alone."),
            ("verified", json_schema!({"type": "boolean"}), "Whether every mapping that contributes is backed by a source."),
            ("confidence", share, "The least confidence of those mappings, 0 to 1."),
        ])
    };
    AssetFacets as "AssetFacets" => |_generator| {
        let (text, chain) = (json_schema!({"type": "string"}), json_schema!({"type": "integer"}));
        let tier = Tier::ALL.iter().map(|tier| tier.as_str()).chain(["unknown"]).collect::<Vec<_>>();
        let tier = json_schema!({"type": "string", "enum": tier});
        object("How many assets carry each value, most frequent first; what is not known counts as `(unknown)`.", [
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
            let row = object("", [(field, value, "The value."), ("count", count, "Assets that carry it.")]);
            (list, json_schema!({"type": "array", "items": row}), "How often each value occurs.")
        }))
    };
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

/// An object all of whose members are always written.
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
