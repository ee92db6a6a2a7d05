//! What happened: events, the security registry and signals.

macro_rules! happenings_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            EventList: Get "/v1/events" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Events],
                pages: Pages::numbered(),
                query: [Param::page("page"), Param::size("limit", 20, 100), EVENT_TYPE, SEVERITY, PROTOCOL_ID, CURATOR_ID, CHAIN_ID, INCIDENT_SEVERITY,
                        REMEDIATION_STATUS, EVENT_SEARCH, EXCLUDE_SOURCE, EVENT_SORT, SORT_ORDER, DAYS_BACK],
                answers: "Feed<EventRow>", errors: [Forbidden],
                about: "The events feed: repeats of one underlying event are one row, told by the newest of them. Filters, order and pages act on these rows.",
            }
            EventById: Get "/v1/events/{id}" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Events, Vaults],
                query: [], answers: "Data<EventDetail>", errors: [],
                about: "One published event, of a group any, with the vaults that it touches.",
            }
            EventGroup: Get "/v1/events/group/{groupKey}" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Events],
                query: [], answers: "Data<EventRow>", errors: [],
                about: "What stands for a group of repeated events now: its newest published one. 404 when none is left.",
            }
            SecurityEventList: Get "/v1/security-events" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Security],
                pages: SECURITY_PAGES,
                query: [Param::page("page"), Param::size("limit", 50, 100), LOSS_SOURCE, IN_UNIVERSE, PUBLISHED_BY, ONE_CHAIN, LOSS_SEVERITY,
                        TITLE_SEARCH, BY_LOSS, HAS_LOSS, MIN_LOSS],
                answers: "WithMeta<Vec<SecurityEvent>, MoreMeta> | WithMeta<Vec<LossRow>, LossMeta>", errors: [Forbidden],
                about: "The published rows of the security registry, newest attack first; with hasLoss=true the loss board, whose rows and meta are of another shape. No rows means that none is \
                        published, not that nothing happened.",
            }
            LossBoard: Get "/v1/security-events/losses" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Security],
                pages: SECURITY_PAGES,
                query: [Param::page("page"), Param::size("limit", 50, 100), LOSS_SOURCE, IN_UNIVERSE, ONE_CHAIN, LOSS_SEVERITY, TITLE_SEARCH, BY_LOSS,
                        MIN_LOSS],
                answers: "WithMeta<Vec<LossRow>, LossMeta>", errors: [Forbidden],
                about: "One row per case that lost US dollars, with what the whole corpus covers. A filter that can match nothing answers an empty page.",
            }
            SignalList: Get "/v1/signals" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Signals],
                pages: Pages::numbered(),
                query: [Param::page("page"), Param::size("limit", 30, 100), SIGNAL_SEVERITY, ENTITY, VAULT_KEY, SIGNAL_CATEGORY, SINCE_INSTANT],
                answers: "WithMeta<Vec<Signal>, SignalMeta>", errors: [Forbidden, AddressNamespaceMismatch],
                about: "Risk signals with the vaults that they touch, newest first; those of the latest 30 days where since is absent.",
            }
            SignalById: Get "/v1/signals/{id}" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Signals],
                query: [], answers: "Data<SignalDetail>", errors: [],
                about: "One signal in full: what it says, of whom, which vaults it touches, and where it comes from.",
            }
        }
    };
}

pub(in crate::route) use happenings_rows;
