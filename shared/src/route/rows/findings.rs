//! What the service makes of the facts: its rules, its research, and baskets.

macro_rules! findings_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            Methodology: Get "/v1/methodology" {
                access: Public, family: Public, cache: Cache::public(300), tags: [Research],
                query: [], answers: "Data<Methodology>", errors: [],
                about: "The rules in force as data: weights, caps, overlays, thresholds, tiers. With a vault's detail they are all that its score is made of.",
            }
            ValidationReports: Get "/v1/research/validation-reports" {
                access: Public, family: Public, cache: Cache::public(60), tags: [Research],
                query: [MODEL_VERSION, RESEARCH_LIMIT], answers: "WithMeta<Vec<Recorded<ValidationReport>>, ResearchMeta>", errors: [],
                about: "What was found when the model was put to the test, with what stood in the way of finding more.",
            }
            Claims: Get "/v1/research/claims" {
                access: Public, family: Public, cache: Cache::public(60), tags: [Research],
                query: [LEVEL, SURFACE, RESEARCH_LIMIT], answers: "WithMeta<Vec<Recorded<Claim>>, ResearchMeta>", errors: [],
                about: "What the service says of itself, each with the rows that it was checked against.",
            }
            ResearchSources: Get "/v1/research/sources" {
                access: Public, family: Public, cache: Cache::public(60), tags: [Research],
                query: [SOURCE_LIMIT], answers: "WithMeta<Vec<Recorded<Source>>, ResearchMeta>", errors: [],
                about: "Where the facts come from: how many of which kind, and from when.",
            }
            Predictions: Get "/v1/research/predictions" {
                access: Public, family: Public, cache: Cache::public(60), tags: [Research], scores: true,
                query: [PREDICTED_VAULT, PREDICTION_OUTCOME, HORIZON, RESEARCH_LIMIT], answers: "WithMeta<Vec<Prediction>, ResearchMeta>", errors: [AddressNamespaceMismatch],
                about: "Scores written down before their window began, and what became of them. A preview; not investment guidance.",
            }
            Backtests: Get "/v1/research/backtests" {
                access: Public, family: Public, cache: Cache::public(60), tags: [Research],
                query: [MODEL_VERSION, BACKTEST_OUTCOME, RESEARCH_LIMIT], answers: "WithMeta<Vec<Recorded<Backtest>>, ResearchMeta>", errors: [],
                about: "Whether low values preceded losses, with method and weakness in the row. A preview; not investment guidance.",
            }
            ModelHealth: Get "/v1/research/model-health" {
                access: Public, family: Public, cache: Cache::public(60), tags: [Research],
                query: [RESEARCH_LIMIT], answers: "WithMeta<Vec<Recorded<ModelHealth>>, ResearchMeta>", errors: [],
                about: "How well the model is fed and how still it stands: coverage, freshness, overrides, moves. A preview.",
            }
            BasketList: Get "/v1/baskets" {
                access: Public, family: Public, cache: Cache::current_basket(), tags: [Baskets],
                query: [Param::page("page"), Param::optional_size()], answers: "Data<Vec<BasketRow>>", errors: [],
                about: "The published baskets, each with the version in force.",
            }
            BasketById: Get "/v1/baskets/{id}" {
                access: Public, family: Public, cache: Cache::current_basket(), tags: [Baskets], scores: true,
                query: [BASKET_AT], answers: "Data<BasketDetail>", errors: [VersionRetired],
                about: "A basket's version in force now, or at an instant: constituents, weights, and the rules it was made by.",
            }
            BasketVersions: Get "/v1/baskets/{id}/versions" {
                access: Public, family: Public, cache: Cache::by_class(60), tags: [Baskets],
                pages: Pages::named("page", "pageSize"),
                query: [Param::page("page"), Param::size("pageSize", 50, 200).alias(&["limit"])], answers: "Paged<Vec<ListedBasketVersion>>", errors: [Forbidden],
                about: "Every version of a basket, newest first, each linked to the one before it.",
            }
            BasketVersion: Get "/v1/baskets/{id}/version/{versionId}" {
                access: Public, family: Public, cache: Cache::immutable(), tags: [Baskets],
                query: [], answers: "Data<BasketDetail>", errors: [VersionRetired],
                about: "One version, which never changes. A retired one is 410 and names its successor.",
            }
            BasketChanges: Get "/v1/baskets/{id}/changes" {
                access: Public, family: Public, cache: Cache::public(60), tags: [Baskets], scores: true,
                query: [CHANGED_VERSIONS], answers: "Data<Vec<BasketChangeRow>>", errors: [],
                about: "What each of the newest versions changed: who came, who went, whose weight moved.",
            }
            BasketMethodologyVersions: Get "/v1/baskets/{id}/methodology/versions" {
                access: Public, family: Public, cache: Cache::public(60), tags: [Baskets],
                query: [Param::page("page"), Param::optional_size()], answers: "Data<Vec<BasketMethodologyRow>>", errors: [],
                about: "The versions of the basket's rules, newest first.",
            }
        }
    };
}

pub(in crate::route) use findings_rows;
