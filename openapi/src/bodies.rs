//! The JSON bodies that callers send. They are read field by field, so that every fault is named; these schemas say the same rules.

use rds_shared::graph::amount::Usd;
use rds_shared::graph::limits::Dimension;
use rds_shared::graph::portfolio::MAX_POSITIONS;
use rds_shared::model::spelling;
use rds_shared::push::target::LONGEST_URL;
use rds_shared::push::webhook::EventType;
use rds_shared::route::bounds::{BATCH_ITEMS, PORTFOLIO_REF_CHARS, VERSION_ID_CHARS, WEBHOOK_DESCRIPTION_CHARS};
use rds_shared::route::{Body, Route, RouteId};
use rds_shared::wire::headers;
use serde_json::{Map, Value, json};

use crate::examples::Example;

/// `requestBody` of a route that takes one.
pub fn of(route: &Route, example: Option<&Example>) -> Option<Value> {
    let Body::Json { max_bytes } = route.body else { return None };
    let mut media = json!({"schema": schema(route.id)});
    if let (Some(body), Some(members)) = (example.and_then(|example| example.body.as_ref()), media.as_object_mut()) {
        members.insert("example".into(), body.clone());
    }
    let about = format!("JSON of at most {} KiB. Fields that are not listed are refused.", max_bytes / 1024);
    Some(json!({"required": true, "description": about, "content": {headers::JSON: media}}))
}

fn schema(id: RouteId) -> Value {
    match id {
        RouteId::VaultBatch => json!({
            "type": "object", "additionalProperties": false,
            "properties": {
                "ids": {"type": "array", "maxItems": BATCH_ITEMS, "items": {"type": "string"}, "description": format!("Ids of vaults. Ids and addresses together may be at most {BATCH_ITEMS}; more is 400 `TOO_MANY_ITEMS`.")},
                "addresses": {"type": "array", "maxItems": BATCH_ITEMS, "items": {"type": "string", "pattern": spelling::ADDRESS}, "description": "Addresses of share tokens; each is looked for on every chain. One that is no address is 400 `INVALID_ADDRESS`."},
            },
        }),
        RouteId::WebhookCreate => json!({
            "type": "object", "additionalProperties": false, "required": ["url", "families"],
            "properties": {
                "url": url(),
                "families": {
                    "type": "array", "minItems": 1,
                    "items": {"type": "string", "enum": EventType::FAMILIES.map(EventType::as_str)},
                    "description": "The events that shall be delivered.",
                },
                "description": {"type": ["string", "null"], "maxLength": WEBHOOK_DESCRIPTION_CHARS, "pattern": spelling::TEXT, "description": "Your words for it."},
            },
        }),
        RouteId::BasketWebhookCreate => json!({
            "type": "object", "additionalProperties": false, "required": ["url"],
            "properties": {
                "url": url(),
                "pinned_version_id": {
                    "type": ["string", "null"], "maxLength": VERSION_ID_CHARS, "pattern": spelling::TEXT,
                    "description": "The version whose deprecation and retirement shall be told of; without it, the basket's rebalances are.",
                },
            },
        }),
        RouteId::GraphCheck => check(),
        // A new body is described above; a test sees to it.
        _ => Value::Null,
    }
}

fn url() -> Value {
    json!({
        "type": "string", "format": "uri", "pattern": "^[hH][tT][tT][pP][sS]://", "maxLength": LONGEST_URL,
        "description": "Where deliveries go: an HTTPS URL without user name and fragment, on port 443 or one from 1024 up. Its host must \
            resolve, now and at each delivery, to public addresses only: a well-formed URL may be refused too. What is refused is 400 \
            `WEBHOOK_URL_REJECTED`, with the reason in `details`.",
    })
}

fn check() -> Value {
    let limit = |dimension: &Dimension| {
        let about = format!("Most of the portfolio that may be behind one `{}`, as a fraction.", dimension.as_str());
        let schema = json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1, "description": about});
        (dimension.limit_field().to_owned(), schema)
    };
    let limits: Map<String, Value> = Dimension::ALL.iter().map(limit).collect();
    json!({
        "type": "object", "additionalProperties": false, "required": ["portfolioRef", "positions"],
        "properties": {
            "portfolioRef": {"type": "string", "minLength": 1, "maxLength": PORTFOLIO_REF_CHARS, "pattern": spelling::TEXT, "description": "Your name for the portfolio. It is signed with the decision."},
            "positions": {
                "type": "array", "minItems": 1, "maxItems": MAX_POSITIONS,
                "description": "What the portfolio holds, together worth more than 0. A vault that is named twice is one position.",
                "items": {
                    "type": "object", "additionalProperties": false, "required": ["vaultKey", "amountUsd"],
                    "properties": {
                        "vaultKey": {"type": "string", "pattern": spelling::VAULT_KEY, "description": "The chain's number, a colon, and the share token's address as that chain writes it."},
                        "amountUsd": {"type": "number", "minimum": 0, "exclusiveMaximum": Usd::BOUND_DOLLARS as f64, "description": "The position's value in USD, rounded to six decimals, half to even."},
                    },
                },
            },
            "limits": {
                "type": ["object", "null"], "additionalProperties": false, "properties": limits,
                "description": "Limits on shares; each is a fraction above 0 and at most 1.",
            },
            "issue": {"type": ["boolean", "null"], "description": "Whether a signed decision is wished for."},
            "loss": {"deprecated": true, "description": "Retired; whatever it holds is passed over."},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::route::ROUTES;

    #[test]
    fn every_body_is_described() {
        for route in ROUTES.iter().filter(|route| route.body != Body::None) {
            assert!(schema(route.id).is_object(), "{}", route.path);
        }
    }

    #[test]
    fn a_check_knows_every_limit() {
        assert_eq!(check()["properties"]["limits"]["properties"].as_object().unwrap().len(), Dimension::ALL.len());
    }
}
