//! Query parameters of the events feed, and of what is seen from it. Source: interface, "Events" and "Vaults".

use super::param::{OnOverflow::Clamp, Param, Registry};

pub(super) const EVENT_TYPE: Param =
    Param::names("eventType", "Types such as Incident or BadDebt, separated by commas, in any case.");
pub(super) const SEVERITY: Param =
    Param::choices("severity", &["Critical", "Warning", "Info"], "Severities, separated by commas.");
pub(super) const PROTOCOL_ID: Param =
    Param::names("protocolId", "Protocols that the event or one of its vaults belongs to, separated by commas.")
        .of(Registry::Protocols);
pub(super) const CURATOR_ID: Param =
    Param::names("curatorId", "Curators of vaults that the event touches, separated by commas.").of(Registry::Curators);
pub(super) const CHAIN_ID: Param =
    Param::names("chainId", "Chains of the event or of one of its vaults, as numbers or slugs, separated by commas.")
        .of(Registry::Chains);
pub(super) const INCIDENT_SEVERITY: Param =
    Param::choices("incidentSeverity", &["minor", "major"], "Size classes of incidents, separated by commas.");
pub(super) const REMEDIATION_STATUS: Param =
    Param::choices("remediationStatus", &["resolved", "unresolved"], "Whether it has been dealt with.");
pub(super) const EVENT_SEARCH: Param = Param::text(
    "search",
    200,
    "Words of the title or description, in any form; \"quoted\" words stand together, - excludes, or is either.",
);
pub(super) const EXCLUDE_SOURCE: Param =
    Param::names("excludeSource", "Sources to leave out, such as rating-change, separated by commas.");
/// Sort fields of the feed.
pub const EVENT_SORT_FIELDS: &[&str] = &["occurred_at", "severity", "loss_amount_usd", "occurrence_count"];
pub(super) const EVENT_SORT: Param = Param::choice(
    "sortBy",
    EVENT_SORT_FIELDS,
    "The field to sort by; equal rows by when they happened. Rows without a loss come last in both directions.",
)
.default("occurred_at");
/// How far back the feed reaches.
pub const FEED_DAYS: i64 = 730;
pub(super) const DAYS_BACK: Param = Param::optional_int(
    "daysBack",
    1,
    FEED_DAYS,
    Clamp,
    "Days to look back, from the beginning of the hour on. Without it the newest rows come first out of all 730 days; another \
     order looks back as few of 7, 30, 90, 365 or 730 days as fill a page.",
);
pub(super) const AFFECTS_PROTOCOL_SCORE: Param = Param::flag(
    "affectsProtocolScore",
    "true keeps only incidents that are flagged as affecting the protocol's score, vaults' own included.",
);
