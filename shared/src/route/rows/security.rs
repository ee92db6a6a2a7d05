//! The security registry, the loss board and signals: parameters and rows.

use crate::model::spelling;
use crate::route::param::{Param, Registry};
use crate::route::typed::kinds::*;
use crate::route::typed::params;

/// The last page of the registry and of the loss board; later ones are empty.
pub(in crate::route) const LAST_SECURITY_PAGE: u64 = 10_000;
/// A source's id has at most so many characters.
const SOURCE_CHARS: usize = 64;

params! {
    LossSource: MatchingText =
        Param::text("source", SOURCE_CHARS, "One source's id, in any case; what is none matches nothing.").or_nothing();
    /// Rejected on the registry; on the loss board a word that is none of these matches nothing.
    InUniverse: MatchingChoice =
        Param::word("affectsTrackedUniverse", &["true", "false"], "true keeps what touches a tracked vault, asset, market or protocol; false keeps everything. Another word is 400 on the registry and \
             matches nothing on the loss board.").or_nothing();
    /// Rejected on the registry and ignored on the loss board, which has no such column: the handler tells them apart.
    PublishedBy: MatchingChoice =
        Param::word("published_by", &["admin", "auto"], "Who published the row; another word is 400. The loss board (hasLoss=true) passes over this parameter.").or_nothing();
    OneChain: Names =
        Param::names("chainId", "Chains, as numbers or slugs, separated by commas; 0 or unmapped on the loss board.").of(Registry::ChainsOrUnmapped);
    /// The words of both lists; `Critical` and `critical` are one. The registry takes the last three, and says so itself.
    LossSeverity: MatchingChoice =
        Param::word("severity", &["low", "medium", "high", "critical", "info", "warning"], "How much it matters, in any case: Info, Warning or Critical, which are all that the registry's rows have, and anything else is 400 \
             there. The loss board also takes its own classes low, medium, high and critical; a word that is none of these matches nothing.").or_nothing();
    TitleSearch: MatchingText =
        Param::text("search", 200, "Part of the title or description, in any case; a longer text matches nothing.").or_nothing();
    ByLoss: Choice = Param::choice("sort", &["loss"], "loss puts the greatest loss first; anything else the newest attack.").or_ignored();
    HasLoss: Choice =
        Param::choice("hasLoss", &["true"], "true answers the loss board instead: its rows and its meta, as GET /v1/security-events/losses does. Anything else is ignored.").or_ignored();
    MinLoss: Decimal =
        Param::decimal("minLossUsd", 0.0, f64::MAX, "Least loss of the loss board, in USD; what is no amount is ignored.").or_ignored();
    SignalSeverity: Choices =
        Param::choices("severity", &["Info", "Watch", "RiskChange", "PolicyBreach"], "Severities, separated by commas.");
    Entity: Text = Param::text("entity", 200, "An entity of the signal: its id, or its kind and id as kind:id, in any case.");
    VaultKey: Text =
        Param::text("vault", 120, "The key of a vault that the signal touches: the chain's number, a colon, and the share token's address.").written(spelling::VAULT_KEY);
    SignalCategory: Names = Param::names("category", "Categories, separated by commas.");
    SignalsSince: Instant = Param::instant("since", "Signals published at this instant or later; 30 days back when it is absent.");
}

macro_rules! security_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            SecurityEventList: Get "/v1/security-events" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Security],
                pages: Numbered(Page, Limit; LAST_SECURITY_PAGE),
                query: [Page, Limit(50, 100), LossSource, InUniverse, PublishedBy, OneChain, LossSeverity,
                        TitleSearch, ByLoss, HasLoss, MinLoss],
                answers: "WithMeta<Vec<SecurityEvent>, MoreMeta> | WithMeta<Vec<LossRow>, LossMeta>", errors: [Forbidden],
                about: "The published rows of the security registry, newest attack first; with hasLoss=true the loss board, whose rows and meta are of another shape. No rows means that none is \
                        published, not that nothing happened.",
            }
            LossBoard: Get "/v1/security-events/losses" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Security],
                pages: Numbered(Page, Limit; LAST_SECURITY_PAGE),
                query: [Page, Limit(50, 100), LossSource, InUniverse, OneChain, LossSeverity, TitleSearch, ByLoss,
                        MinLoss],
                answers: "WithMeta<Vec<LossRow>, LossMeta>", errors: [Forbidden],
                about: "One row per case that lost US dollars, with what the whole corpus covers. A filter that can match nothing answers an empty page.",
            }
            SignalList: Get "/v1/signals" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Signals],
                pages: Numbered(Page, Limit),
                query: [Page, Limit(30, 100), SignalSeverity, Entity, VaultKey, SignalCategory, SignalsSince],
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

pub(in crate::route) use security_rows;
