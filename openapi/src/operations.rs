//! One route as an operation.

use crate::examples::{Example, Examples};
use crate::{bodies, parameters, responses, sections};
use rds_shared::route::{Access, RateLimitClass, Route};
use schemars::SchemaGenerator;
use serde_json::{Value, json};

/// Longest summary that is a whole clause, in bytes.
const LINE: usize = 90;

/// The operation of a route.
pub fn of(route: &Route, generator: &mut SchemaGenerator, examples: &Examples) -> Value {
    let example: Option<&Example> = examples.of(route.id);
    let mut operation = json!({
        "operationId": route.id.name(),
        "summary": summary(route.about),
        "description": format!("{}\n\n{}", route.about, access(route)),
        "tags": sections::of(route).map(|section| section.name).into_iter().collect::<Vec<_>>(),
        "security": security(route.access),
        // Which plan a key must have is no matter of OpenAPI's; programs read it here, and so does the check for breaks.
        "x-access": circle(route.access),
        "parameters": parameters::of(route, example),
        "responses": responses::of(route, generator, examples),
    });
    if let (Some(body), Some(members)) = (bodies::of(route, example), operation.as_object_mut()) {
        members.insert("requestBody".into(), body);
    }
    operation
}

/// What the table says of the route, up to its first stop.
fn summary(about: &str) -> &str {
    let up_to = |stops: &[char]| about.get(..about.find(stops).unwrap_or(about.len())).unwrap_or(about);
    let clause = up_to(&['.', ':', ';']);
    if clause.len() <= LINE { clause } else { up_to(&['.', ':', ';', ',']) }
}

fn security(access: Access) -> Value {
    match access {
        Access::Public => json!([{}, {"ApiKey": []}]),
        Access::Key | Access::Data | Access::Decisioning => json!([{"ApiKey": []}]),
        Access::Index => json!([{"IndexToken": []}]),
    }
}

fn circle(access: Access) -> &'static str {
    match access {
        Access::Public => "public",
        Access::Key => "key",
        Access::Data => "data",
        Access::Decisioning => "decisioning",
        Access::Index => "index",
    }
}

fn access(route: &Route) -> String {
    let who = match route.access {
        Access::Public => "Open to everybody",
        Access::Key => "Needs a key",
        Access::Data => "Needs a key of plan `data` or higher",
        Access::Decisioning => "Needs a key of plan `decisioning` or higher",
        Access::Index => "Needs an index token; no API key opens it",
    };
    let budget = match route.family {
        RateLimitClass::Public => "charged to the general allowance",
        RateLimitClass::GraphRead => "charged to the graph's allowance of reads",
        RateLimitClass::GraphCheck => "charged to the allowance of checks",
        RateLimitClass::BasketWebhooks => "charged to the allowance of basket webhooks",
        RateLimitClass::Status | RateLimitClass::Health => "charged to an allowance of its own",
        RateLimitClass::Unmetered => "not metered",
    };
    format!("{who}; {budget}.")
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
