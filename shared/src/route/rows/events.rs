//! The events feed: parameters and rows.

use crate::route::param::{OnOverflow::Clamp, Param, Registry};
use crate::route::typed::kinds::*;
use crate::route::typed::params;

/// Fields that the feed can be sorted by.
pub const EVENT_SORT_FIELDS: &[&str] = &["occurred_at", "severity", "loss_amount_usd", "occurrence_count"];
/// Maximum age of an event in the feed, in days.
pub const MAX_FEED_DAYS: i64 = 730;

params! {
    EventType: Names = Param::names("eventType", "Only events of these types, such as `Incident` or `BadDebt`, separated by commas. Letter case is ignored.");
    Severity: Choices = Param::choices("severity", &["Critical", "Warning", "Info"], "Only events of these severities, separated by commas.");
    ProtocolId: Names =
        Param::names("protocolId", "Only events of these protocols, or with a vault of one of them: ids, separated by commas.").of(Registry::Protocols);
    CuratorId: Names = Param::names("curatorId", "Only events that affect a vault of these curators: ids, separated by commas.").of(Registry::Curators);
    ChainId: Names =
        Param::names("chainId", "Only events on these chains, or with a vault on one of them: chain ids or slugs, separated by commas.").of(Registry::Chains);
    IncidentSeverity: Choices = Param::choices("incidentSeverity", &["minor", "major"], "Only incidents of these sizes, separated by commas.");
    RemediationStatus: Choices = Param::choices("remediationStatus", &["resolved", "unresolved"], "Only events with these remediation statuses, separated by \
        commas.");
    EventSearch: Text =
        Param::text("search", 200, "Full-text search in the title and description; other grammatical forms of a word match too. Words in double quotes must be \
            adjacent, `-` excludes a word, and `or` allows either of two words.");
    ExcludeSource: Names = Param::names("excludeSource", "Sources whose events are left out, such as `rating-change`, separated by commas.");
    EventSort: Word =
        Param::choice("sortBy", EVENT_SORT_FIELDS, "Field to sort by; rows with equal values are sorted by time. Rows without a loss come last in both \
            directions.").default("occurred_at");
    DaysBack: OptionalCount =
        Param::optional_int("daysBack", 1, MAX_FEED_DAYS, Clamp, "Number of days to look back, to the start of the hour. When absent, the default order, newest \
            first, covers 730 days; any other order covers the fewest of 7, 30, 90, 365 or 730 days that fill a page.");
    AffectsProtocolScore: Flag =
        Param::flag("affectsProtocolScore", "`true` keeps only incidents that are flagged as affecting the protocol's score; otherwise a vault's own incidents \
            count without that flag.");
}

macro_rules! events_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            EventList: Get "/v1/events" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Events],
                pages: Numbered(Page, Limit),
                query: [Page, Limit(20, 100), EventType, Severity, ProtocolId, CuratorId, ChainId, IncidentSeverity,
                        RemediationStatus, EventSearch, ExcludeSource, EventSort, SortOrder, DaysBack],
                answers: "Feed<EventRow>", errors: [Forbidden],
                about: "The events feed. Repeats of one underlying event form one row, which shows the newest of them; filters, order and pages apply to these \
                       rows.",
            }
            EventById: Get "/v1/events/{id}" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Events, Vaults],
                query: [], answers: "Data<EventDetail>", errors: [],
                about: "One published event with the vaults that it affects. Every event of a group of repeats can be requested.",
            }
            EventGroup: Get "/v1/events/group/{groupKey}" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Events],
                query: [], answers: "Data<EventRow>", errors: [],
                about: "The newest published event of a group of repeats, which represents the group in the feed. The response is 404 if none is left.",
            }
        }
    };
}

pub(in crate::route) use events_rows;
