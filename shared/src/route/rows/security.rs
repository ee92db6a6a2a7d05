//! The security registry, the loss board and signals: parameters and rows.

use crate::model::spelling;
use crate::route::param::{Param, Registry};
use crate::route::typed::kinds::*;
use crate::route::typed::params;

/// The last page of the registry and of the loss board; later pages are empty.
pub(in crate::route) const LAST_SECURITY_PAGE: u64 = 10_000;
/// Maximum length of a source's id, in characters.
const MAX_SOURCE_CHARS: usize = 64;

params! {
    LossSource: MatchingText =
        Param::text("source", MAX_SOURCE_CHARS, "Only rows of the source with this id. Letter case is ignored; an unknown or invalid id matches \
            nothing.").or_nothing();
    /// The handler of the registry rejects other values; on the loss board they match nothing.
    AffectsTrackedUniverse: MatchingChoice =
        Param::word("affectsTrackedUniverse", &["true", "false"], "`true` keeps rows that affect a tracked vault, asset, market or protocol; `false` keeps all \
            rows. Any other value is answered with 400 on the registry and matches nothing on the loss board.").or_nothing();
    /// The handler of the registry rejects other values; the loss board has no such column and ignores the parameter.
    PublishedBy: MatchingChoice =
        Param::word("published_by", &["admin", "auto"], "Only rows that an editor (`admin`) or the service itself (`auto`) published. Any other value is \
            answered with 400. The loss board (`hasLoss=true`) ignores this parameter.").or_nothing();
    SecurityChains: Names =
        Param::names("chainId", "Only rows on these chains: chain ids or slugs, separated by commas. On the loss board `0` or `unmapped` selects cases without \
            a known chain.").of(Registry::ChainsOrUnmapped);
    /// The severities of the registry and of the loss board. `Critical` and `critical` are the same value. The handler of the registry
    /// accepts only `critical`, `info` and `warning`.
    LossSeverity: MatchingChoice =
        Param::word("severity", &["low", "medium", "high", "critical", "info", "warning"], "Only rows of this severity; letter case is ignored. The registry \
            accepts Info, Warning and Critical and answers any other value with 400. The loss board also accepts its own classes low, medium, high and \
            critical; any other value matches nothing there.").or_nothing();
    TitleSearch: MatchingText =
        Param::text("search", 200, "Substring of the title or description; on the loss board, of the title, protocol name, classification, technique or \
            mechanism. Letter case is ignored. A text of more than 200 characters matches nothing.").or_nothing();
    ByLoss: Choice = Param::choice("sort", &["loss"], "`loss` puts the largest loss first. Without it, or with any other value, the newest attack comes \
        first.").or_ignored();
    HasLoss: Choice =
        Param::choice("hasLoss", &["true"], "`true` returns the loss board instead, with the rows and meta of `GET /v1/security-events/losses`. Any other \
            value is ignored.").or_ignored();
    MinLoss: Decimal =
        Param::decimal("minLossUsd", 0.0, f64::MAX, "Minimum loss in USD, inclusive, on the loss board; the registry ignores it. An invalid amount is \
            ignored.").or_ignored();
    SignalSeverity: Choices =
        Param::choices("severity", &["Info", "Watch", "RiskChange", "PolicyBreach"], "Only signals of these severities, separated by commas.");
    Entity: Text = Param::text("entity", 200, "Only signals about this entity: its id, or its kind and id as `kind:id`. Letter case is ignored.");
    VaultKey: Text =
        Param::text("vault", 120, "Only signals that affect the vault with this key: the chain id, a colon and the address of the share \
            token.").pattern(spelling::VAULT_KEY);
    SignalCategory: Names = Param::names("category", "Only signals of these categories, separated by commas.");
    SignalsSince: Instant = Param::instant("since", "Only signals published at or after this instant; 30 days ago when absent.");
}

macro_rules! security_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            SecurityEventList: Get "/v1/security-events" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Security],
                pages: Numbered(Page, Limit; LAST_SECURITY_PAGE),
                query: [Page, Limit(50, 100), LossSource, AffectsTrackedUniverse, PublishedBy, SecurityChains, LossSeverity,
                        TitleSearch, ByLoss, HasLoss, MinLoss],
                answers: "WithMeta<Vec<SecurityEvent>, MoreMeta> | WithMeta<Vec<LossRow>, LossMeta>", errors: [Forbidden],
                about: "The published rows of the security registry, newest attack first. With `hasLoss=true` the response is the loss board, whose rows and \
                       meta have another shape. An empty list means that no matching row is published, not that nothing happened.",
            }
            LossBoard: Get "/v1/security-events/losses" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Security],
                pages: Numbered(Page, Limit; LAST_SECURITY_PAGE),
                query: [Page, Limit(50, 100), LossSource, AffectsTrackedUniverse, SecurityChains, LossSeverity, TitleSearch, ByLoss,
                        MinLoss],
                answers: "WithMeta<Vec<LossRow>, LossMeta>", errors: [Forbidden],
                about: "The loss board: one row per case with a loss in US dollars, with figures on the coverage of all cases. A filter value that nothing can \
                       match returns an empty page.",
            }
            SignalList: Get "/v1/signals" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Signals],
                pages: Numbered(Page, Limit),
                query: [Page, Limit(30, 100), SignalSeverity, Entity, VaultKey, SignalCategory, SignalsSince],
                answers: "WithMeta<Vec<Signal>, SignalMeta>", errors: [Forbidden, AddressNamespaceMismatch],
                about: "Risk signals with the number of vaults that they affect, newest first. Without `since` the last 30 days are returned.",
            }
            SignalById: Get "/v1/signals/{id}" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Signals],
                query: [], answers: "Data<SignalDetail>", errors: [],
                about: "One signal in full: its summary, entities, affected vaults and evidence.",
            }
        }
    };
}

pub(in crate::route) use security_rows;
