//! Vaults, the registries they belong to, lending markets and price feeds.

macro_rules! registry_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            VaultList: Get "/v1/vaults" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults], scores: true,
                pages: Pages::numbered(),
                query: [Param::page("page"), Param::size("limit", 20, 100), CHAIN, PROTOCOL, CURATOR, ASSET, RISK_TIER, MIN_RISK_SCORE, MAX_RISK_SCORE,
                        SEARCH, MIN_TVL, STABLECOIN, LSD, SINGLE_EXPOSURE, NO_IL, AUDITED, HIGH_CONFIDENCE, DEPOSITABLE, SORT_BY, SORT_ORDER],
                answers: "Paged<Vec<VaultRow>>", errors: [Forbidden],
                about: "Vaults with their scores, rates and gates: filtered, sorted and paged.",
            }
            VaultById: Get "/v1/vaults/{id}" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Assets, Events], scores: true,
                fold: [0: VaultId],
                query: [POINTS], answers: "Data<VaultPage>", errors: [],
                about: "One vault by its id: the row, the evidence behind its score, history, events and rewards.",
            }
            VaultsWithCriticalIncidents: Get "/v1/vaults/with-critical-incidents" {
                access: Public, family: Public, cache: Cache::by_class(15), tags: [Vaults, Events],
                query: [Param::size("limit", 100, 500), AFFECTS_PROTOCOL_SCORE],
                answers: "Data<Vec<CriticalVault>>", errors: [],
                about: "Active vaults with a critical incident in the last 365 days, largest first; at most 50 without a key. An empty list proves no absence.",
            }
            VaultScores: Get "/v1/vaults/scores" {
                access: Data, family: Public, cache: Cache::by_class(15), tags: [Vaults], scores: true,
                pages: Pages::numbered(),
                query: [Param::page("page"), Param::size("limit", 500, 1000), CHAIN, PROTOCOL, CURATOR, ASSET, RISK_TIER, MIN_RISK_SCORE, MAX_RISK_SCORE,
                        SEARCH, MIN_TVL, STABLECOIN, LSD, SINGLE_EXPOSURE, NO_IL, AUDITED, HIGH_CONFIDENCE, DEPOSITABLE, SORT_BY, SORT_ORDER],
                answers: "Paged<Vec<VaultScoreRow>>", errors: [],
                about: "The scores of vaults in bulk, with the run behind each: the filters and the order of the vault list.",
            }
            VaultChanges: Get "/v1/vaults/changes" {
                access: Data, family: Public, cache: Cache::NEVER, scores: true,
                query: [SINCE, Param::size("limit", 100, 500), CHANGED],
                answers: "WithMeta<VaultChanges, ChangesMeta>", errors: [MissingParameter, InvalidCursor],
                about: "Vaults whose reading or published score changed since an instant or a cursor, at least once each, in the order in which the changes became visible. A vault whose chain is shown again, and one that begins or ceases to be active, is given once more with the instants it has.",
            }
            VaultBatch: Post "/v1/vaults/batch" {
                access: Public, family: Public, cache: Cache::NEVER, scores: true,
                body: BATCH_BODY,
                query: [], answers: "Data<Vec<VaultRow>>", errors: [InvalidBody, TooManyItems, PayloadTooLarge, UnsupportedMediaType, InvalidAddress, AddressNamespaceMismatch],
                about: "Up to 100 vaults at once, by id or address. What is not known is left out of the answer.",
            }
            VaultDetail: Get "/v1/vault/{network}/{address}" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Assets, Events], scores: true,
                fold: [1: Address],
                query: [POINTS], answers: "Data<VaultPage>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "One vault by chain and address: the row, the evidence behind its score, history, events and rewards.",
            }
            VaultSnapshots: Get "/v1/vault/{network}/{address}/snapshots" {
                access: Public, family: Public, cache: Cache::public(30), tags: [Vaults],
                fold: [1: Address],
                query: [DAYS, POINTS], answers: "Data<Vec<SnapshotPoint>>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "The vault's history, thinned to at most `points` points; first, last and extremes are kept.",
            }
            VaultScoreHistory: Get "/v1/vault/{network}/{address}/score-history" {
                access: Public, family: Public, cache: Cache::public(30), tags: [Vaults], scores: true,
                fold: [1: Address],
                query: [FROM, TO, Param::size("limit", 500, 1000)], answers: "Data<Vec<ScoreHistoryPoint>>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "Every published change of the vault's score or tier, oldest first.",
            }
            VaultEvents: Get "/v1/vault/{network}/{address}/events" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Events],
                fold: [1: Address],
                query: [Param::page("page"), Param::optional_size()], answers: "Data<Vec<VaultEvent>>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "Published events that concern the vault, newest first.",
            }
            VaultHolders: Get "/v1/vault/{network}/{address}/holders" {
                access: Public, family: Public, cache: Cache::public(30), tags: [Vaults],
                fold: [1: Address],
                query: [COMPLETE_ONLY], answers: "Data<HolderSnapshot>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "Who holds the vault's shares, and how concentrated they are, as of the newest look.",
            }
            VaultHolderHistory: Get "/v1/vault/{network}/{address}/holders/history" {
                access: Public, family: Public, cache: Cache::public(30), tags: [Vaults],
                fold: [1: Address],
                query: [FROM, TO, Param::size("limit", 500, 1000), COMPLETE_ONLY],
                answers: "Data<Vec<HolderHistoryRow>>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "The concentration of the vault's shares through time, oldest first.",
            }
            VaultMarkets: Get "/v1/vault/{network}/{address}/markets" {
                access: Data, family: Public, cache: Cache::by_class(15), tags: [Vaults, Markets, Assets], scores: true,
                fold: [1: Address],
                query: [], answers: "Data<MarketAllocation>", errors: [InvalidAddress, AddressNamespaceMismatch, Forbidden],
                about: "The lending markets a curated vault's deposits are spread over, with the risk of each market's collateral. Other protocols' vaults are 404.",
            }
            VaultStrategies: Get "/v1/vault/{network}/{address}/strategies" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults],
                fold: [1: Address],
                query: [], answers: "Data<StrategyBreakdown>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "The strategies an allocating vault lends its deposits to. Other protocols' vaults are 404.",
            }
            VaultStrategy: Get "/v1/vault/{network}/{address}/strategy" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults],
                fold: [1: Address],
                query: [], answers: "Data<StrategyInfo>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "The one strategy of a compounding vault: where its yield comes from, and what it warns of. Other protocols' vaults are 404.",
            }
            Chains: Get "/v1/chains" {
                access: Public, family: Public, cache: Cache::public(30), tags: [Vaults],
                query: [Param::page("page"), Param::optional_size()], answers: "Data<Vec<ChainRow>>", errors: [],
                about: "Chains with active vaults, with the slugs that paths and filters take.",
            }
            ProtocolList: Get "/v1/protocols" {
                access: Public, family: Public, cache: Cache::public(30), tags: [Vaults],
                query: [Param::page("page"), Param::optional_size()], answers: "Data<Vec<ProtocolRow>>", errors: [],
                about: "Protocols with their vaults counted and their value summed.",
            }
            ProtocolById: Get "/v1/protocols/{id}" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Events], scores: true,
                pages: Pages::named("vaultPage", "vaultLimit"),
                query: [Param::page("vaultPage"), Param::size("vaultLimit", 20, 100)], answers: "Data<ProtocolPage>", errors: [Forbidden],
                about: "One protocol with its vaults, versions and incidents.",
            }
            CuratorList: Get "/v1/curators" {
                access: Public, family: Public, cache: Cache::public(30), tags: [Vaults],
                pages: Pages::numbered(),
                query: [Param::page("page"), Param::size("limit", 20, 100),
                        Param::choice("sortBy", &["tvl_total", "vault_count", "avg_apr", "name"], "The field to sort by.").default("tvl_total"), SORT_ORDER],
                answers: "Paged<Vec<CuratorRow>>", errors: [Forbidden],
                about: "Curators with their vaults counted and their value summed.",
            }
            CuratorById: Get "/v1/curators/{id}" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Events], scores: true,
                pages: Pages::named("vaultPage", "vaultLimit"),
                query: [Param::page("vaultPage"), Param::size("vaultLimit", 20, 100)], answers: "Data<CuratorPage>", errors: [Forbidden],
                about: "One curator with its vaults, chains and latest events.",
            }
            CuratorEvents: Get "/v1/curators/{id}/events" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Events],
                pages: Pages::Offset { offset: "offset", size: "limit" },
                query: [Param::int("offset", 0, u32::MAX as i64, 0, Clamp, "Events to pass over."), Param::size("limit", 5, 100)],
                answers: "Data<CuratorEvents>", errors: [Forbidden],
                about: "Published events of the curator's vaults, newest first.",
            }
            MarketList: Get "/v1/markets" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Markets, Assets],
                pages: Pages::numbered(),
                query: [Param::page("page"), Param::size("limit", 20, 100), PROTOCOL, VERSION, CHAIN, MARKET_SORT, SORT_ORDER],
                answers: "Paged<Vec<Market>>", errors: [Forbidden],
                about: "Lending markets with their totals: filtered, sorted and paged.",
            }
            MarketById: Get "/v1/markets/{id}" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Vaults, Markets, Assets], scores: true,
                fold: [0: Lower],
                query: [], answers: "Data<MarketPage>", errors: [],
                about: "One lending market with its reserves, efficiency modes, hubs, and who administers it.",
            }
            MarketEvents: Get "/v1/markets/{id}/events" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Markets, Events],
                fold: [0: Lower],
                query: [Param::size("limit", 50, 100)], answers: "Data<Vec<MarketEvent>>", errors: [],
                about: "Published risk events of one market and bad debt of its vaults, newest first; no telemetry.",
            }
            OracleList: Get "/v1/oracle" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Feeds],
                pages: Pages::numbered(),
                query: [Param::page("page"), Param::size("limit", 20, 100), CHAIN, VENDOR, FEED_KIND, FEED_STATUS],
                answers: "Paged<Vec<ServedFeed>>", errors: [Forbidden],
                about: "Price feeds and their like, by chain and address, each with its age and whether it keeps its heartbeat.",
            }
            OracleByAddress: Get "/v1/oracle/{chain}/{address}" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Feeds],
                fold: [1: Address],
                query: [], answers: "Data<ServedFeed>", errors: [InvalidAddress, AddressNamespaceMismatch],
                about: "One feed by chain and contract.",
            }
        }
    };
}

pub(in crate::route) use registry_rows;
