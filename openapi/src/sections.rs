//! Tags: the sections of the document, and the section of each route.

use rds_shared::route::Route;
use serde_json::{Value, json};

/// A tag with the routes that it groups.
#[derive(Debug)]
pub struct Section {
    pub name: &'static str,
    /// Path prefixes of the section's routes; the longest matching prefix decides.
    prefixes: &'static [&'static str],
    /// The tag's description.
    about: &'static str,
}

/// Every section, in the order in which a newcomer reads them.
pub const SECTIONS: &[Section] = &[
    Section {
        name: "Vaults",
        prefixes: &["/v1/vaults"],
        about: "Yield vaults with their scores, rates and deposit status: lists, bulk scores, the change feed, batch look-ups.",
    },
    Section {
        name: "Vault detail",
        prefixes: &["/v1/vault/"],
        about: "Everything about one vault: how its score is derived, its history, its holders, where its deposits are.",
    },
    Section {
        name: "Markets",
        prefixes: &["/v1/markets"],
        about: "Lending markets with their totals, reserves and administrators.",
    },
    Section { name: "Protocols", prefixes: &["/v1/protocols"], about: "Protocols, with totals over their vaults." },
    Section { name: "Curators", prefixes: &["/v1/curators"], about: "Curators, with totals over their vaults." },
    Section {
        name: "Events",
        prefixes: &["/v1/events"],
        about: "Events of vaults, markets and protocols: the feed, single events, and the live stream.",
    },
    Section {
        name: "Signals",
        prefixes: &["/v1/signals"],
        about: "Risk signals, with the vaults that each signal affects.",
    },
    Section {
        name: "Security events",
        prefixes: &["/v1/security-events"],
        about: "The registry of published attacks, and the loss board with its coverage.",
    },
    Section {
        name: "Portfolio",
        prefixes: &["/v1/portfolio", "/v1/royco"],
        about: "Positions of an address, and the vaults of the protocol royco with their rewards.",
    },
    Section {
        name: "Chains",
        prefixes: &["/v1/chains"],
        about: "Chains with active vaults, and the slugs that paths take.",
    },
    Section {
        name: "Assets",
        prefixes: &["/v1/assets"],
        about: "Base assets with their scores and the evidence behind them. Per-dimension values need a key.",
    },
    Section {
        name: "RWA",
        prefixes: &["/v1/rwa"],
        about: "Real-world assets: product identity, canonical value, and the health of each source.",
    },
    Section {
        name: "Baskets",
        prefixes: &["/v1/baskets"],
        about: "Reference baskets. A version never changes, and its content hash identifies it.",
    },
    Section {
        name: "Indices",
        prefixes: &["/v1/indices", "/v1/rates"],
        about: "Daily levels of vault indices, and reference rates of the vaults of an asset. Requires an index token.",
    },
    Section {
        name: "Webhooks",
        prefixes: &["/v1/webhooks", "/v1/baskets/webhooks", "/v1/baskets/{id}/webhooks"],
        about: "Subscriptions that push signed events to you. Requires a key of plan `decisioning` or higher; subscriptions belong to the organisation.",
    },
    Section {
        name: "Graph",
        prefixes: &["/v1/graph/"],
        about: "Look-through exposure of vaults, checks of portfolios against limits, and signed decisions that anyone can verify. \
                If the feature is switched off, these routes answer 404.",
    },
    Section {
        name: "Research",
        prefixes: &["/v1/research/"],
        about: "Results of validating the service's own scores; each row states its method and its known weaknesses.",
    },
    Section {
        name: "Reviewers",
        prefixes: &["/v1/reviewers"],
        about: "The reviewers of assets, with the public keys that verify their attestations.",
    },
    Section {
        name: "Methodology",
        prefixes: &["/v1/methodology"],
        about: "The scoring rules in force, as data. Together with the detail of a vault or an asset, they let anyone recompute its score.",
    },
    Section { name: "Stats", prefixes: &["/v1/stats"], about: "Coverage of the platform in figures." },
    Section {
        name: "Oracle",
        prefixes: &["/v1/oracle"],
        about: "Price feeds and similar oracles, each with its age and whether it keeps its heartbeat.",
    },
    Section {
        name: "Service",
        prefixes: &["/v1/me", "/v1/health", "/v1/status", "/v1/openapi.json", "/v1/docs", "/v1/mcp", "/ready"],
        about: "The calling key, the state of the service, this document, and the server for agents.",
    },
];

/// The tag of webhook deliveries. No route has this tag.
pub const DELIVERIES: &str = "Deliveries";

/// The section of a route; `None` if no section has a prefix of the route's path.
pub fn of(route: &Route) -> Option<&'static Section> {
    let length = |section: &&Section| {
        section.prefixes.iter().filter(|prefix| route.path.starts_with(**prefix)).map(|prefix| prefix.len()).max()
    };
    SECTIONS.iter().filter(|section| length(section).is_some()).max_by_key(length)
}

/// The document's `tags`.
pub fn tags() -> Vec<Value> {
    let tag = |name: &str, about: &str| json!({"name": name, "description": about});
    let mut all: Vec<Value> = SECTIONS.iter().map(|section| tag(section.name, section.about)).collect();
    all.push(tag(DELIVERIES, "Webhook deliveries: the requests that this service sends to your endpoint."));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::route::ROUTES;

    #[test]
    fn every_route_has_a_section_and_every_section_a_route() {
        for route in ROUTES {
            assert!(of(route).is_some(), "{}", route.path);
        }
        for section in SECTIONS {
            assert!(ROUTES.iter().any(|route| of(route).is_some_and(|it| it.name == section.name)), "{}", section.name);
        }
    }

    #[test]
    fn webhooks_of_baskets_are_webhooks() {
        let of_path = |path: &str| of(ROUTES.iter().find(|route| route.path == path).unwrap()).unwrap().name;
        assert_eq!(of_path("/v1/baskets/{id}/webhooks/{whId}/enable"), "Webhooks");
        assert_eq!(of_path("/v1/baskets/{id}/versions"), "Baskets");
    }
}
