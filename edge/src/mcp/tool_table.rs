//! The tools: which routes each one groups, and what to do after its answer.
//!
//! Parameters, bounds and descriptions of the views come from the route table.

use super::tool::{Tool, View};
use rds_shared::route::RouteId;

/// The members of a vault that say where its score comes from.
pub const SCORE: &[&str] = &[
    "id",
    "name",
    "asset_symbol",
    "protocol_name",
    "total_score",
    "risk_tier",
    "score_status",
    "score_basis",
    "score_coverage",
    "lowest_score",
    "highest_score",
    "score_updated_at",
    "needs_risk_review",
    "risk_vectors",
    "score_provenance",
    "score_evidence",
];

/// Every tool, in the order of the list.
pub static TOOLS: &[Tool] = &[
    Tool {
        name: "search_vaults",
        title: "Search vaults",
        about: "Finds vaults by asset, tier, score, value, chain, protocol, curator or name. Start here if you have no vault id.",
        views: &[View::of("list", RouteId::VaultList).preset(&[("limit", "10")])],
        next: &["For one vault, call get_vault or explain_score with `vault` set to the row's `id`."],
    },
    Tool {
        name: "get_vault",
        title: "One vault",
        about: "One vault: rates, value, liquidity, holders, where its deposits are.",
        views: &[
            View::of("detail", RouteId::VaultDetail).preset(&[("points", "12")]),
            View::of("events", RouteId::VaultEvents).preset(&[("limit", "20")]),
            View::of("holders", RouteId::VaultHolders),
            View::of("markets", RouteId::VaultMarkets),
            View::of("strategies", RouteId::VaultStrategies),
            View::of("strategy", RouteId::VaultStrategy),
        ],
        next: &["explain_score says why the score is what it is; vault_history shows how value and score changed."],
    },
    Tool {
        name: "explain_score",
        title: "Explain a score",
        about: "Why a vault has its score: vectors with weights, caps and which one binds, inputs with source and date, and how far unknown inputs could move it.",
        views: &[View::of("score", RouteId::VaultDetail)
            .preset(&[("points", "1")])
            .kept(&[("data", &["vault"]), ("data.vault", SCORE)])],
        next: &[
            "A cap with `binding` true sets the score. methodology has the rules by which the score can be computed again.",
            "vault_history with view `scores` shows when the score changed.",
        ],
    },
    Tool {
        name: "vault_history",
        title: "A vault's history",
        about: "How a vault's value, rate, score or holders changed over time. To find out why a score fell, use view `scores`, then get_vault with view `events`.",
        views: &[
            View::of("values", RouteId::VaultSnapshots).preset(&[("points", "30")]),
            View::of("scores", RouteId::VaultScoreHistory).preset(&[("limit", "50")]),
            View::of("holders", RouteId::VaultHolderHistory).preset(&[("limit", "50")]),
        ],
        next: &["get_vault with view `events` lists what happened to the vault at these times."],
    },
    Tool {
        name: "what_changed",
        title: "What changed",
        about: "What happened lately in the whole market or to one entity.",
        views: &[
            View::of("events", RouteId::EventList).preset(&[("limit", "10")]),
            View::of("event", RouteId::EventById),
            View::of("signals", RouteId::SignalList).preset(&[("limit", "10")]),
            View::of("signal", RouteId::SignalById),
            View::of("vaults", RouteId::VaultChanges).preset(&[("limit", "20")]),
        ],
        next: &[
            "For one row, call again with view `event` or `signal` and its `id`.",
            "With view `vaults`, call again with `since` set to `answer.data.cursor` to read what follows.",
        ],
    },
    Tool {
        name: "list_incidents",
        title: "Incidents and losses",
        about: "Vaults with critical incidents, and the board of losses in the field.",
        views: &[
            View::of("critical_vaults", RouteId::VaultsWithCriticalIncidents).preset(&[("limit", "20")]),
            View::of("losses", RouteId::LossBoard).preset(&[("limit", "10")]),
        ],
        next: &[
            "An empty list is no proof that nothing happened. what_changed has the events of one vault, protocol or chain.",
        ],
    },
    Tool {
        name: "search_assets",
        title: "Search assets",
        about: "Finds the assets that vaults hold, or real-world assets, with their scores.",
        views: &[
            View::of("assets", RouteId::AssetList).preset(&[("limit", "10")]),
            View::of("real_world", RouteId::RwaList).preset(&[("limit", "5")]),
            View::of("symbols", RouteId::AssetSymbols).preset(&[("limit", "100")]),
            View::of("facets", RouteId::AssetFacets),
        ],
        next: &[
            "get_asset shows one asset by `chain_id` and `address`; search_vaults with `asset` finds the vaults that take it.",
        ],
    },
    Tool {
        name: "get_asset",
        title: "One asset",
        about: "One asset with its score, evidence and history.",
        views: &[
            View::of("detail", RouteId::AssetDetail),
            View::of("real_world", RouteId::RwaById),
            View::of("history", RouteId::AssetSymbolHistory),
        ],
        next: &["search_vaults with `asset` set to the symbol finds the vaults that take it."],
    },
    Tool {
        name: "markets",
        title: "Lending markets",
        about: "Lending markets: totals, reserves, collateral, administrators and risk events.",
        views: &[
            View::of("list", RouteId::MarketList).preset(&[("limit", "10")]),
            View::of("market", RouteId::MarketById),
            View::of("events", RouteId::MarketEvents).preset(&[("limit", "20")]),
        ],
        next: &["For one market, call again with view `market` or `events` and its `id`."],
    },
    Tool {
        name: "oracles",
        title: "Price feeds",
        about: "Price feeds and other oracles: age, and whether each keeps its heartbeat.",
        views: &[View::of("list", RouteId::OracleList), View::of("feed", RouteId::OracleByAddress)],
        next: &[
            "A feed with status `stale` is older than its heartbeat. look_through says which vaults depend on a feed.",
        ],
    },
    Tool {
        name: "curators",
        title: "Curators",
        about: "Who decides where vaults put deposits, with totals, vaults and events.",
        views: &[
            View::of("list", RouteId::CuratorList),
            View::of("curator", RouteId::CuratorById).preset(&[("vaultLimit", "10")]),
            View::of("events", RouteId::CuratorEvents).preset(&[("limit", "20")]),
        ],
        next: &["search_vaults with `curator` set to the id lists the curator's vaults with every filter."],
    },
    Tool {
        name: "protocols",
        title: "Protocols",
        about: "Protocols with totals, versions, vaults and incidents.",
        views: &[
            View::of("list", RouteId::ProtocolList).preset(&[("limit", "50")]),
            View::of("protocol", RouteId::ProtocolById).preset(&[("vaultLimit", "10")]),
        ],
        next: &["search_vaults with `protocol` set to the id lists the protocol's vaults with every filter."],
    },
    Tool {
        name: "overview",
        title: "The market in figures",
        about: "Totals over all vaults, by tier, chain, protocol, curator and asset category; and the chains with their slugs.",
        views: &[View::of("totals", RouteId::Stats), View::of("chains", RouteId::Chains).preset(&[("limit", "100")])],
        next: &["search_vaults lists the vaults behind a figure."],
    },
    Tool {
        name: "baskets",
        title: "Baskets",
        about: "Reference baskets: constituents with weights, versions and changes.",
        views: &[
            View::of("list", RouteId::BasketList).preset(&[("limit", "20")]),
            View::of("basket", RouteId::BasketById),
            View::of("versions", RouteId::BasketVersions).preset(&[("pageSize", "20")]),
            View::of("version", RouteId::BasketVersion),
            View::of("changes", RouteId::BasketChanges).preset(&[("limit", "5")]),
        ],
        next: &[
            "A version never changes; its content hash identifies it. View `changes` says what a new version added, removed or reweighted.",
        ],
    },
    Tool {
        name: "look_through",
        title: "What stands behind vaults",
        about: "What vaults are exposed to, through vaults inside vaults, and the vault positions of an address. A vault key is the chain id, a colon and the address, \
                as in a vault's id.",
        views: &[
            View::of("exposures", RouteId::LookThrough),
            View::of("incidents", RouteId::IncidentExposure),
            View::of("incident_summary", RouteId::IncidentSummary),
            View::of("price_fall", RouteId::Breach),
            View::of("address", RouteId::Portfolio),
        ],
        next: &["check_portfolio checks positions against limits on these exposures."],
    },
    Tool {
        name: "check_portfolio",
        title: "Check a portfolio",
        about: "Whether positions in vaults keep limits on their exposure. With `issue` the service signs the result as a decision.",
        views: &[View::of("check", RouteId::GraphCheck)],
        next: &[
            "`verdict` is approve, caution or reject; `findings` says why. verify_decision proves a signed decision later, by its `decisionId`.",
        ],
    },
    Tool {
        name: "verify_decision",
        title: "Verify a decision",
        about: "Whether a signed decision is genuine: issued by this service, unchanged, and signed by a key that was valid then.",
        views: &[
            View::of("verify", RouteId::DecisionVerify),
            View::of("decision", RouteId::DecisionById),
            View::of("signers", RouteId::SignerList).preset(&[("limit", "20")]),
        ],
        next: &[
            "A decision is genuine only if all five answers are true. View `decision` has the signed text, which any Ethereum library can check.",
        ],
    },
    Tool {
        name: "methodology",
        title: "Methodology and its tests",
        about: "The scoring rules as data, and how the service tests its own scores.",
        views: &[
            View::of("rules", RouteId::Methodology),
            View::of("claims", RouteId::Claims).preset(&[("limit", "20")]),
            View::of("validation", RouteId::ValidationReports).preset(&[("limit", "5")]),
            View::of("backtests", RouteId::Backtests).preset(&[("limit", "5")]),
            View::of("predictions", RouteId::Predictions).preset(&[("limit", "20")]),
            View::of("model_health", RouteId::ModelHealth).preset(&[("limit", "5")]),
            View::of("sources", RouteId::ResearchSources).preset(&[("limit", "20")]),
        ],
        next: &["The resource rds://methodology has all rules without gaps; rds://docs/methodology.md explains them."],
    },
    Tool {
        name: "service_status",
        title: "State of the service",
        about: "Whether the service works, how fresh its data is, and what your key may do.",
        views: &[
            View::of("status", RouteId::Status),
            View::of("health", RouteId::Health),
            View::of("key", RouteId::Me),
        ],
        next: &["If a component is degraded, answers may be stale; each answer says so in `stale`."],
    },
];
