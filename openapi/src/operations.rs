//! Converts a route to an OpenAPI operation.

use crate::examples::{Example, Examples};
use crate::{bodies, mcp, parameters, responses, sections};
use rds_shared::route::{Access, RateLimitClass, Route, RouteId};
use schemars::SchemaGenerator;
use serde_json::{Value, json};

/// Maximum length of a summary in bytes; a longer clause is cut at its first comma.
const MAX_SUMMARY: usize = 90;

/// The operation object of a route.
pub fn of(route: &Route, generator: &mut SchemaGenerator, examples: &Examples) -> Value {
    let example: Option<&Example> = examples.of(route.id);
    let mut operation = json!({
        "operationId": route.id.name(),
        "summary": summary(route.about),
        "description": format!("{}\n\n{}", route.about, access(route)),
        "tags": sections::of(route).map(|section| section.name).into_iter().collect::<Vec<_>>(),
        "security": security(route.access),
        // OpenAPI has no field for the required plan; programs and the compatibility check read this extension.
        "x-access": access_level(route.access),
        "parameters": parameters::of(route, example),
        "responses": responses::of(route, generator, examples),
    });
    if route.id == RouteId::Mcp {
        operation["x-protocol"] = mcp::PROTOCOL.into();
    }
    if let (Some(body), Some(members)) = (bodies::of(route, example), operation.as_object_mut()) {
        members.insert("requestBody".into(), body);
    }
    operation
}

/// The first clause of the route's description.
fn summary(about: &str) -> &str {
    let up_to = |stops: &[char]| about.get(..about.find(stops).unwrap_or(about.len())).unwrap_or(about);
    let clause = up_to(&['.', ':', ';']);
    if clause.len() <= MAX_SUMMARY { clause } else { up_to(&['.', ':', ';', ',']) }
}

fn security(access: Access) -> Value {
    match access {
        Access::Public => json!([{}, {"ApiKey": []}]),
        Access::Key | Access::Data | Access::Decisioning => json!([{"ApiKey": []}]),
        Access::Index => json!([{"IndexToken": []}]),
    }
}

fn access_level(access: Access) -> &'static str {
    match access {
        Access::Public => "public",
        Access::Key => "key",
        Access::Data => "data",
        Access::Decisioning => "decisioning",
        Access::Index => "index",
    }
}

fn access(route: &Route) -> String {
    let credential = match route.access {
        Access::Public => "No key is required",
        Access::Key => "Requires a key",
        Access::Data => "Requires a key of plan `data` or higher",
        Access::Decisioning => "Requires a key of plan `decisioning` or higher",
        Access::Index => "Requires an index token; API keys are not accepted",
    };
    let budget = match route.rate_limit_class {
        RateLimitClass::Public => "Counts against the general rate limit",
        RateLimitClass::GraphRead => "Counts against the rate limit of graph reads",
        RateLimitClass::GraphCheck => "Counts against the rate limit of portfolio checks",
        RateLimitClass::BasketWebhooks => "Counts against the rate limit of basket webhooks",
        RateLimitClass::Status | RateLimitClass::Health => "Has its own rate limit",
        RateLimitClass::Unmetered => "Not rate limited",
    };
    format!("{credential}. {budget}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::route::ROUTES;

    #[test]
    fn every_route_has_a_summary_of_one_line() {
        for route in ROUTES {
            assert!((4..=120).contains(&summary(route.about).len()), "{}: {}", route.path, summary(route.about));
        }
    }
}
