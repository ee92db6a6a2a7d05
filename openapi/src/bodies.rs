//! Schemas of the JSON request bodies. The service parses bodies field by field to report every fault; these schemas repeat
//! its rules.

use rds_shared::graph::amount::Usd;
use rds_shared::graph::limits::Dimension;
use rds_shared::graph::portfolio::MAX_POSITIONS;
use rds_shared::model::spelling;
use rds_shared::push::event_type::EventType;
use rds_shared::push::target::MAX_URL_LEN;
use rds_shared::route::bounds::{BATCH_ITEMS, PORTFOLIO_REF_CHARS, VERSION_ID_CHARS, WEBHOOK_DESCRIPTION_CHARS};
use rds_shared::route::{Body, Route, RouteId};
use rds_shared::wire::headers;
use serde_json::{Map, Value, json};

use crate::examples::Example;
use crate::mcp;

/// The `requestBody` of a route, if it takes one.
pub fn of(route: &Route, example: Option<&Example>) -> Option<Value> {
    let Body::Json { max_bytes } = route.body else { return None };
    let mut media = json!({"schema": schema(route.id)});
    if let (Some(body), Some(members)) = (example.and_then(|example| example.body.as_ref()), media.as_object_mut()) {
        members.insert("example".into(), body.clone());
    }
    let rule =
        if route.id == RouteId::Mcp { "A JSON-RPC request or notification" } else { "Unknown fields are refused" };
    let about = format!("JSON of at most {} KiB. {rule}.", max_bytes / 1024);
    Some(json!({"required": true, "description": about, "content": {headers::JSON: media}}))
}

fn schema(id: RouteId) -> Value {
    match id {
        RouteId::VaultBatch => json!({
            "type": "object", "additionalProperties": false,
            "properties": {
                "ids": {"type": "array", "maxItems": BATCH_ITEMS, "items": {"type": "string"},
                    "description": format!("Vault ids. At most {BATCH_ITEMS} ids and addresses together; more are answered with 400 `TOO_MANY_ITEMS`.")},
                "addresses": {"type": "array", "maxItems": BATCH_ITEMS, "items": {"type": "string", "pattern": spelling::ADDRESS},
                    "description": "Addresses of share tokens; each is looked up on every chain. An invalid address is answered with 400 `INVALID_ADDRESS`."},
            },
        }),
        RouteId::WebhookCreate => json!({
            "type": "object", "additionalProperties": false, "required": ["url", "families"],
            "properties": {
                "url": url(),
                "families": {
                    "type": "array", "minItems": 1,
                    "items": {"type": "string", "enum": EventType::GENERIC.map(EventType::as_str)},
                    "description": "The event types to deliver.",
                },
                "description": {"type": ["string", "null"], "maxLength": WEBHOOK_DESCRIPTION_CHARS, "pattern": spelling::TEXT,
                    "description": "Your description of the subscription."},
            },
        }),
        RouteId::BasketWebhookCreate => json!({
            "type": "object", "additionalProperties": false, "required": ["url"],
            "properties": {
                "url": url(),
                "pinned_version_id": {
                    "type": ["string", "null"], "maxLength": VERSION_ID_CHARS, "pattern": spelling::TEXT,
                    "description": "The version whose deprecation and retirement are delivered. Without it, the basket's rebalances are delivered.",
                },
            },
        }),
        RouteId::GraphCheck => check(),
        RouteId::Mcp => mcp::body(),
        // Unreachable for routes with a body: a test requires a schema for each.
        _ => Value::Null,
    }
}

fn url() -> Value {
    json!({
        "type": "string", "format": "uri", "pattern": "^[hH][tT][tT][pP][sS]://", "maxLength": MAX_URL_LEN,
        "description": "The URL that deliveries are sent to: HTTPS, without user name and fragment, on port 443 or a port of 1024 or above. Its \
            host must resolve to public addresses only, now and at each delivery, so a well-formed URL may be refused too. A refused URL is \
            answered with 400 `WEBHOOK_URL_REJECTED`; `details` gives the reason.",
    })
}

fn check() -> Value {
    let limit = |dimension: &Dimension| {
        let about = format!(
            "Maximum share of the portfolio that may be exposed to one `{}`, as a fraction.",
            dimension.as_str()
        );
        let schema = json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1, "description": about});
        (dimension.limit_field().to_owned(), schema)
    };
    let limits: Map<String, Value> = Dimension::ALL.iter().map(limit).collect();
    json!({
        "type": "object", "additionalProperties": false, "required": ["portfolioRef", "positions"],
        "properties": {
            "portfolioRef": {"type": "string", "minLength": 1, "maxLength": PORTFOLIO_REF_CHARS, "pattern": spelling::TEXT,
                "description": "Your name for the portfolio. It is signed with the decision."},
            "positions": {
                "type": "array", "minItems": 1, "maxItems": MAX_POSITIONS,
                "description": "The portfolio's positions; their total value must be greater than 0. Entries with the same vault are added up.",
                "items": {
                    "type": "object", "additionalProperties": false, "required": ["vaultKey", "amountUsd"],
                    "properties": {
                        "vaultKey": {"type": "string", "pattern": spelling::VAULT_KEY,
                            "description": "The chain id, a colon, and the share token's address in that chain's format."},
                        "amountUsd": {"type": "number", "minimum": 0, "exclusiveMaximum": Usd::BOUND_DOLLARS as f64,
                            "description": "The position's value in USD, rounded to six decimals, half to even."},
                    },
                },
            },
            "limits": {
                "type": ["object", "null"], "additionalProperties": false, "properties": limits,
                "description": "Limits on exposure; each is a fraction greater than 0 and at most 1.",
            },
            "issue": {"type": ["boolean", "null"], "description": "Whether to issue a signed decision."},
            "loss": {"deprecated": true, "description": "Retired; its value is ignored."},
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
    fn a_check_takes_a_limit_for_every_dimension() {
        assert_eq!(check()["properties"]["limits"]["properties"].as_object().unwrap().len(), Dimension::ALL.len());
    }
}
