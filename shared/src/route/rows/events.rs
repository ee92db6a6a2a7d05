//! The events feed: parameters and rows.

use crate::route::param::{OnOverflow::Clamp, Param, Registry};
use crate::route::typed::kinds::*;
use crate::route::typed::params;

/// Sort fields of the feed.
pub const EVENT_SORT_FIELDS: &[&str] = &["occurred_at", "severity", "loss_amount_usd", "occurrence_count"];
/// How far back the feed reaches.
pub const FEED_DAYS: i64 = 730;

params! {
    EventType: Names = Param::names("eventType", "Types such as Incident or BadDebt, separated by commas, in any case.");
    Severity: Choices = Param::choices("severity", &["Critical", "Warning", "Info"], "Severities, separated by commas.");
    ProtocolId: Names =
        Param::names("protocolId", "Protocols that the event or one of its vaults belongs to, separated by commas.").of(Registry::Protocols);
    CuratorId: Names = Param::names("curatorId", "Curators of vaults that the event touches, separated by commas.").of(Registry::Curators);
    ChainId: Names =
        Param::names("chainId", "Chains of the event or of one of its vaults, as numbers or slugs, separated by commas.").of(Registry::Chains);
    IncidentSeverity: Choices = Param::choices("incidentSeverity", &["minor", "major"], "Size classes of incidents, separated by commas.");
    RemediationStatus: Choices = Param::choices("remediationStatus", &["resolved", "unresolved"], "Whether it has been dealt with.");
    EventSearch: Text =
        Param::text("search", 200, "Words of the title or description, in any form; \"quoted\" words stand together, - excludes, or is either.");
    ExcludeSource: Names = Param::names("excludeSource", "Sources to leave out, such as rating-change, separated by commas.");
    EventSort: Word =
        Param::choice("sortBy", EVENT_SORT_FIELDS, "The field to sort by; equal rows by when they happened. Rows without a loss come last in both directions.").default("occurred_at");
    DaysBack: OptionalCount =
        Param::optional_int("daysBack", 1, FEED_DAYS, Clamp, "Days to look back, from the beginning of the hour on. Without it the newest rows come first out of all 730 days; another \
             order looks back as few of 7, 30, 90, 365 or 730 days as fill a page.");
    AffectsProtocolScore: Flag =
        Param::flag("affectsProtocolScore", "true keeps only incidents that are flagged as affecting the protocol's score, vaults' own included.");
}

macro_rules! events_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            EventList: Get "/v1/events" {
                access: Public, family: Public, cache: Cache::public(15), tags: [Events],
                pages: Numbered(Page, Limit),
                query: [Page, Limit(20, 100), EventType, Severity, ProtocolId, CuratorId, ChainId, IncidentSeverity,
                        RemediationStatus, EventSearch, ExcludeSource, EventSort, SortOrder, DaysBack],
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
        }
    };
}

pub(in crate::route) use events_rows;
