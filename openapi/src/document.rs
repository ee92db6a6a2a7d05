//! Assembles the OpenAPI document from the parts that the other modules generate.

use crate::examples::Examples;
use crate::schemas::{generator, published};
use crate::{deprecations, headers, operations, parameters, push, responses, sections};
use rds_shared::VERSION;
use rds_shared::access::budget::AddressBudget;
use rds_shared::access::paging::MAX_ROWS_WITHOUT_KEY;
use rds_shared::route::ROUTES;
use serde_json::{Map, Value, json};

/// Generates the document from the route table, the types and the recorded examples.
pub fn document(examples: &Examples) -> Value {
    let mut generator = generator();
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let operation = operations::of(route, &mut generator, examples);
        let item = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(item) = item.as_object_mut() {
            item.insert(route.method.as_str().to_lowercase(), operation);
        }
    }
    let webhooks = push::webhooks(&mut generator, examples);
    let mut named = push::frames(&mut generator);
    named.push(("Error".to_owned(), responses::envelope(&mut generator)));
    let mut schemas: Map<String, Value> =
        generator.take_definitions(true).into_iter().map(|(name, schema)| (name, published(schema))).collect();
    schemas.extend(named);
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Risk Data Service",
            "version": VERSION,
            "summary": "Risk scores of on-chain yield vaults, lending markets and assets.",
            "description": about(),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "The service that serves this document."}],
        "tags": sections::tags(),
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "securitySchemes": {
                "ApiKey": {"type": "http", "scheme": "bearer", "bearerFormat": "pk_live_ and 32 hex digits",
                    "description": "A key of plan `data`, `decisioning` or `embedded`; each plan includes those before it."},
                "IndexToken": {"type": "http", "scheme": "bearer", "bearerFormat": "ix_live_ and 32 hex digits",
                    "description": "A token that is valid only for indices and reference rates."},
            },
            "parameters": parameters::components(),
            "headers": headers::components(),
            "responses": responses::components(examples),
            "schemas": schemas,
        },
    });
    deprecations::mark(&mut document);
    document
}

/// The general description of the API.
fn about() -> String {
    format!(
        "\
Risk of yield vaults, lending markets and the assets behind them: scores from 0 to 10, tiers, and the evidence behind every number.

**Keys.** Send `Authorization: Bearer pk_live_…`. Without a key, an IP address may make {limit} requests per minute and read the first \
{MAX_ROWS_WITHOUT_KEY} rows of a list. A request with an invalid key is answered with 401; it is never treated as anonymous.

**Responses.** `{{data, meta}}`. Times are ISO 8601 in UTC, amounts are US dollars, rates and shares are fractions (0.05 is 5 %). An unknown value is \
`null`; the field is not left out.

**Errors.** `{{error: {{code, message, request_id}}}}`, with `details` that name each invalid parameter. 429, 503 and 504 carry `Retry-After`: the seconds \
to wait before a retry.

**Headers.** Headers that a client of this API may need are listed with the responses that carry them. Headers that only browsers and proxies \
evaluate are not listed: `Vary`, `Content-Security-Policy` and similar headers, and the CORS headers.

**Caching.** Every GET route also answers HEAD. If a response has an `ETag`, send it back as `If-None-Match`. When a fresh read fails, the last \
good response is served with `X-Cache: STALE-ERROR`.",
        limit = AddressBudget::Anonymous.limit()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn walk<'a>(value: &'a Value, path: &str, visit: &mut impl FnMut(&str, &'a Value)) {
        visit(path, value);
        match value {
            Value::Object(members) => {
                members.iter().for_each(|(name, value)| walk(value, &format!("{path}/{name}"), visit))
            }
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(index, value)| walk(value, &format!("{path}/{index}"), visit))
            }
            _ => {}
        }
    }

    #[test]
    fn every_route_of_the_table_is_an_operation() {
        let document = document(&Examples::default());
        for route in ROUTES {
            let operation = &document["paths"][route.path][route.method.as_str().to_lowercase()];
            assert_eq!(operation["operationId"], route.id.name(), "{}", route.path);
            assert!(operation["responses"]["200"]["content"].is_object(), "{}", route.path);
        }
    }

    #[test]
    fn every_reference_resolves_and_every_component_is_used() {
        let document = document(&Examples::default());
        let mut used = BTreeSet::new();
        walk(&document, "", &mut |path, value| {
            if let Some(target) = value.get("$ref").and_then(Value::as_str) {
                assert!(document.pointer(target.trim_start_matches('#')).is_some(), "{path} refers to {target}");
                used.insert(target.to_owned());
            }
        });
        for kind in ["schemas", "responses", "headers", "parameters"] {
            for name in document["components"][kind].as_object().unwrap().keys() {
                assert!(used.contains(&format!("#/components/{kind}/{name}")), "{kind}/{name} is used nowhere");
            }
        }
    }

    #[test]
    fn no_rust_syntax_appears_in_descriptions() {
        walk(&document(&Examples::default()), "", &mut |path, value| {
            if let (true, Some(text)) = (path.ends_with("/description"), value.as_str()) {
                let traces = [
                    "::",
                    "Source:",
                    "[`",
                    "`Self",
                    "Serialize",
                    "`V`",
                    "`P`",
                    "`M`",
                    "encoded bytes",
                    "The same with",
                ];
                for trace in traces {
                    assert!(!text.contains(trace), "{path}: {text}");
                }
            }
        });
    }

    #[test]
    fn every_alternative_that_contains_a_map_is_a_named_type() {
        // Client generators invent a name for an unnamed alternative; two may get the same name, and the second is lost.
        let document = document(&Examples::default());
        walk(&document["components"]["schemas"], "", &mut |path, value| {
            for choice in
                value.get("anyOf").or_else(|| value.get("oneOf")).and_then(Value::as_array).into_iter().flatten()
            {
                let maps = |field: &Value| field.get("additionalProperties").is_some();
                let fields = choice["properties"].as_object().into_iter().flatten();
                for (field, schema) in fields {
                    assert!(!maps(schema), "{path}: an unnamed alternative contains the map {field}");
                }
            }
        });
    }

    #[test]
    fn every_field_is_explained_and_no_two_types_share_a_name() {
        let document = document(&Examples::default());
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            assert!(!name.ends_with(|last: char| last.is_ascii_digit()), "{name}: two types share this name");
            let fields = schema["properties"].as_object().into_iter().flatten();
            for (field, schema) in fields {
                let explained =
                    schema.get("description").is_some() || schema.get("const").is_some() || name.ends_with("Frame");
                assert!(explained, "{name}.{field} is not explained");
            }
        }
    }
}
