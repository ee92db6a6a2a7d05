//! Tags: the families that the document is read by, and which of them a route belongs to.

use rds_shared::route::Route;
use serde_json::{Value, json};

/// A family of routes.
#[derive(Debug)]
pub struct Section {
    /// The tag.
    pub name: &'static str,
    /// Paths that begin so; the longest prefix decides.
    prefixes: &'static [&'static str],
    /// What a reader finds here.
    about: &'static str,
}

/// Every family, in the order in which a newcomer reads.
pub const SECTIONS: &[Section] = &[
    Section {
        name: "Vaults",
        prefixes: &["/v1/vaults"],
        about: "Yield vaults with their scores, rates and gates: lists, bulk scores, the feed of changes, batch look-ups.",
    },
    Section {
        name: "Vault detail",
        prefixes: &["/v1/vault/"],
        about: "Everything about one vault: why it scores as it does, its history, its holders, where its deposits are.",
    },
    Section {
        name: "Markets",
        prefixes: &["/v1/markets"],
        about: "Lending markets with their totals, their reserves and those who administer them.",
    },
    Section { name: "Protocols", prefixes: &["/v1/protocols"], about: "Protocols, and what their vaults add up to." },
    Section { name: "Curators", prefixes: &["/v1/curators"], about: "Curators, and what their vaults add up to." },
    Section {
        name: "Events",
        prefixes: &["/v1/events"],
        about: "What happened to vaults, markets and protocols: the feed, single events, and the live stream.",
    },
    Section {
        name: "Signals",
        prefixes: &["/v1/signals"],
        about: "Risk signals, with the vaults that each of them touches.",
    },
    Section {
        name: "Security events",
        prefixes: &["/v1/security-events"],
        about: "The registry of published attacks, and the loss board with what the corpus covers.",
    },
    Section {
        name: "Portfolio",
        prefixes: &["/v1/portfolio", "/v1/royco"],
        about: "Positions of an address, and rewarded vaults.",
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
        about: "Real-world assets: product identity, canonical value, and how well each source does.",
    },
    Section {
        name: "Baskets",
        prefixes: &["/v1/baskets"],
        about: "Reference baskets. A version never changes, and its content hash is its name for anybody.",
    },
    Section {
        name: "Indices",
        prefixes: &["/v1/indices", "/v1/rates"],
        about: "What baskets of vaults are worth day by day, and what the vaults of an asset pay. For holders of an index token.",
    },
    Section {
        name: "Webhooks",
        prefixes: &["/v1/webhooks", "/v1/baskets/webhooks", "/v1/baskets/{id}/webhooks"],
        about: "Subscriptions that push signed events to you. For keys of plan `decisioning` or higher; they belong to the organisation.",
    },
    Section {
        name: "Graph",
        prefixes: &["/v1/graph/"],
        about: "What stands behind vaults, checks of portfolios against limits, and signed decisions that anyone can verify. \
                These routes are there where the feature is on, and 404 otherwise.",
    },
    Section {
        name: "Research",
        prefixes: &["/v1/research/"],
        about: "What the service finds when it puts its own scores to the test, with method and weakness in each row.",
    },
    Section {
        name: "Reviewers",
        prefixes: &["/v1/reviewers"],
        about: "Who reviews assets, with the public keys that their attestations are checked with.",
    },
    Section {
        name: "Methodology",
        prefixes: &["/v1/methodology"],
        about: "The rules in force, as data. With a vault's or an asset's detail anyone can make its score again.",
    },
    Section { name: "Stats", prefixes: &["/v1/stats"], about: "What the platform covers, in figures." },
    Section {
        name: "Oracle",
        prefixes: &["/v1/oracle"],
        about: "Price feeds and their like, each with its age and whether it keeps its heartbeat.",
    },
    Section {
        name: "Service",
        prefixes: &["/v1/me", "/v1/health", "/v1/status", "/v1/openapi.json", "/v1/docs", "/ready"],
        about: "The calling key, whether the service does well, and this document.",
    },
];

/// The tag of what is pushed to subscribers, which no route has.
pub const DELIVERIES: &str = "Deliveries";

/// The family of a route; none only where a new path has not been given one.
pub fn of(route: &Route) -> Option<&'static Section> {
    let length = |section: &&Section| {
        section.prefixes.iter().filter(|prefix| route.path.starts_with(**prefix)).map(|prefix| prefix.len()).max()
    };
    SECTIONS.iter().filter(|section| length(section).is_some()).max_by_key(length)
}

/// `tags` of the document.
pub fn tags() -> Vec<Value> {
    let tag = |name: &str, about: &str| json!({"name": name, "description": about});
    let mut all: Vec<Value> = SECTIONS.iter().map(|section| tag(section.name, section.about)).collect();
    all.push(tag(DELIVERIES, "What subscriptions deliver: the requests that this service sends to your endpoint."));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::route::ROUTES;

    #[test]
    fn every_route_has_a_family_and_every_family_a_route() {
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
