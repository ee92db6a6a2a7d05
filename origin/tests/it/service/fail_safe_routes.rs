//! Fail-closed mode closes exactly the routes whose response schema has current scores.

use rds_shared::route::{ROUTES, Route};
use serde_json::Value;
use std::collections::BTreeSet;

const DOCUMENT: &str = include_str!("../../../../openapi/openapi.json");

/// Fields of open routes whose names contain `score` or `tier`, but which hold no score of a vault or an asset; each with its meaning.
const NO_SCORES: [(&str, &str); 7] = [
    ("ChainRow.scored_vault_count", "how many have a score, whatever it is"),
    ("EvidenceCoverage.scoredTvlPercent", "how much has a score, whatever it is"),
    ("Health.lastScoreRun", "when, and no score"),
    ("KeyIdentity.tier", "the plan of a key"),
    ("SecurityEvent.netScore", "readers' votes on a report"),
    ("Universe.scored", "how many have a score, whatever it is"),
    ("Universe.unscored", "how many have none"),
];

/// Routes that return scores and stay open in fail-closed mode, each with the reason.
const OPEN: [(&str, &str); 3] = [
    ("Backtests", "what scores of the past were worth"),
    ("BasketVersion", "a version by its id: what was published then, under a hash, and never changes"),
    ("Methodology", "the rules, and nothing that came of them"),
];

/// The fields below `schema` whose names contain score or tier, as `Type.field`.
fn scores(document: &Value, schema: &Value, owner: &str, seen: &mut BTreeSet<String>, found: &mut BTreeSet<String>) {
    if let Some(target) = schema["$ref"].as_str() {
        if seen.insert(target.to_owned()) {
            let name = target.rsplit('/').next().unwrap();
            scores(document, document.pointer(&target[1..]).unwrap(), name, seen, found);
        }
        return;
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let spoken = name.to_lowercase();
        if spoken.contains("score") || spoken.contains("tier") {
            found.insert(format!("{owner}.{name}"));
        }
        scores(document, field, owner, seen, found);
    }
    for word in ["items", "additionalProperties"] {
        if schema[word].is_object() {
            scores(document, &schema[word], owner, seen, found);
        }
    }
    for word in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        for part in schema[word].as_array().into_iter().flatten() {
            scores(document, part, owner, seen, found);
        }
    }
}

/// The fields of a route's success response whose names contain score or tier.
fn told(document: &Value, route: &Route) -> BTreeSet<String> {
    let operation = &document["paths"][route.path][route.method.as_str().to_lowercase()];
    let mut found = BTreeSet::new();
    for (_, media) in operation["responses"]["200"]["content"].as_object().unwrap() {
        scores(document, &media["schema"], route.id.name(), &mut BTreeSet::new(), &mut found);
    }
    found
}

#[test]
fn a_route_is_closed_where_its_answer_has_a_score_of_the_present_and_only_there() {
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let mut unused: BTreeSet<&str> = NO_SCORES.iter().chain(&OPEN).map(|(name, _)| *name).collect();
    for route in ROUTES {
        let mut told = told(&document, route);
        for (name, _) in NO_SCORES {
            if told.remove(name) {
                unused.remove(name);
            }
        }
        let is_open = OPEN.iter().any(|(name, _)| *name == route.id.name());
        if is_open && !told.is_empty() {
            unused.remove(route.id.name());
        }
        assert_eq!(route.scores, !told.is_empty() && !is_open, "{}: {told:?}", route.id.name());
    }
    assert!(unused.is_empty(), "exceptions that are none: {unused:?}");
}

#[test]
fn open_routes_cannot_be_filtered_or_sorted_by_score() {
    for route in ROUTES.iter().filter(|route| !route.scores) {
        let asks = |name: &str| name.to_lowercase().contains("score") || name.to_lowercase().contains("tier");
        let asked: Vec<_> = route.query.iter().map(|param| param.name).filter(|name| asks(name)).collect();
        let expected: &[&str] = if asked.contains(&"affectsProtocolScore") { &["affectsProtocolScore"] } else { &[] };
        assert_eq!(asked, expected, "{}", route.id.name());
    }
}
