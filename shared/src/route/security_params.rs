//! The parameters of the security registry, the loss board and the signals. Source: interface, "Security events" and "Signals".

use super::pages::Pages;
use super::param::{Param, Registry};
use crate::model::spelling;

/// Pages of the registry and of the loss board; those beyond the ten-thousandth are empty.
pub const SECURITY_PAGES: Pages = Pages::numbered().up_to(10_000);
/// A source's id has at most so many characters.
const SOURCE_CHARS: usize = 64;

pub(super) const LOSS_SOURCE: Param =
    Param::text("source", SOURCE_CHARS, "One source's id, in any case; what is none matches nothing.").or_nothing();
/// Rejected on the registry; on the loss board a word that is none of these matches nothing.
pub(super) const IN_UNIVERSE: Param = Param::word(
    "affectsTrackedUniverse",
    &["true", "false"],
    "true keeps what touches a tracked vault, asset, market or protocol; false keeps everything. Another word is 400 on the registry and \
     matches nothing on the loss board.",
)
.or_nothing();
/// Rejected on the registry and ignored on the loss board, which has no such column: the handler tells them apart.
pub(super) const PUBLISHED_BY: Param = Param::word(
    "published_by",
    &["admin", "auto"],
    "Who published the row; another word is 400. The loss board (hasLoss=true) passes over this parameter.",
)
.or_nothing();
pub(super) const ONE_CHAIN: Param =
    Param::names("chainId", "Chains, as numbers or slugs, separated by commas; 0 or unmapped on the loss board.")
        .of(Registry::ChainsOrUnmapped);
/// The words of both lists; `Critical` and `critical` are one. The registry takes the last three, and says so itself.
pub(super) const LOSS_SEVERITY: Param = Param::word(
    "severity",
    &["low", "medium", "high", "critical", "info", "warning"],
    "How much it matters, in any case: Info, Warning or Critical, which are all that the registry's rows have, and anything else is 400 \
     there. The loss board also takes its own classes low, medium, high and critical; a word that is none of these matches nothing.",
)
.or_nothing();
pub(super) const TITLE_SEARCH: Param =
    Param::text("search", 200, "Part of the title or description, in any case; a longer text matches nothing.")
        .or_nothing();
pub(super) const BY_LOSS: Param =
    Param::choice("sort", &["loss"], "loss puts the greatest loss first; anything else the newest attack.")
        .or_ignored();
pub(super) const HAS_LOSS: Param =
    Param::choice("hasLoss", &["true"], "true answers the loss board instead: its rows and its meta, as GET /v1/security-events/losses does. Anything else is ignored.").or_ignored();
pub(super) const MIN_LOSS: Param =
    Param::decimal("minLossUsd", 0.0, f64::MAX, "Least loss of the loss board, in USD; what is no amount is ignored.")
        .or_ignored();
pub(super) const SIGNAL_SEVERITY: Param =
    Param::choices("severity", &["Info", "Watch", "RiskChange", "PolicyBreach"], "Severities, separated by commas.");
pub(super) const ENTITY: Param =
    Param::text("entity", 200, "An entity of the signal: its id, or its kind and id as kind:id, in any case.");
pub(super) const VAULT_KEY: Param = Param::text(
    "vault",
    120,
    "The key of a vault that the signal touches: the chain's number, a colon, and the share token's address.",
)
.written(spelling::VAULT_KEY);
pub(super) const SIGNAL_CATEGORY: Param = Param::names("category", "Categories, separated by commas.");
pub(super) const SINCE_INSTANT: Param =
    Param::instant("since", "Signals published at this instant or later; 30 days back when it is absent.");
