//! `GET /v1/events`, `/{id}` and `/group/{groupKey}`, and the events of a market.

pub mod critical;

use crate::catalog::Catalog;
use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::{Call, RouteCall};
use crate::http::exchange::encoded;
use rds_shared::model::event::{Feed, FeedMeta, PublicationState};
use rds_shared::route::table::MAX_FEED_DAYS;
use rds_shared::route::{params, routes};
use rds_shared::wire::page::PageRequest;
use rds_shared::wire::{ApiError, Data, Timestamp};
use rds_store::Db;
use rds_store::events::pages::{FeedFilter, FeedOrder};
use rds_store::events::{self, detail, feed, pages};
use rds_store::{At, StoreError};

/// Default periods, in days, for orders other than newest first: the shortest one that fills a page is used.
const WINDOWS: [i64; 5] = [7, 30, 90, 365, MAX_FEED_DAYS];

/// A page of the feed.
pub async fn list(live: &LiveCatalog, db: &Db, call: RouteCall<'_, routes::EventList>) -> Result<Answer, Failure> {
    let page = call.page()?;
    let catalog = live.get()?;
    let filter = filter(&catalog, call);
    let filter = FeedFilter { since: At(since(db, call, &filter, page).await?), ..filter };
    let (data, has_more) = pages::page(db, &filter, page).await?;
    encoded::json_with_body_etag(&call, catalog.version, &Feed { data, meta: FeedMeta::new(page, has_more) })
}

/// One published event.
pub async fn by_id(live: &LiveCatalog, db: &Db, call: &Call) -> Result<Answer, Failure> {
    let missing = || ApiError::not_found("event");
    let catalog = live.get()?;
    let id: i64 = call.found.param(0).parse().map_err(|_| missing())?;
    let found = detail::placed(&db.pool, &[id]).await?.pop();
    let shown = found.filter(|placed| placed.is_served && placed.state == PublicationState::Published);
    let detail = shown.ok_or_else(missing)?.detail;
    encoded::json_with_body_etag(call, catalog.version, &Data { data: detail })
}

/// The current representative of a group of events.
pub async fn by_group(live: &LiveCatalog, db: &Db, call: &Call) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let row = feed::representative(db, call.found.param(0)).await?;
    let row = row.ok_or_else(|| ApiError::not_found("group of events"))?;
    encoded::json_with_body_etag(call, catalog.version, &Data { data: row })
}

/// `GET /v1/markets/{id}/events`.
pub async fn of_market(
    live: &LiveCatalog,
    db: &Db,
    call: RouteCall<'_, routes::MarketEvents>,
) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let market = catalog.markets.get(call.found.param(0)).ok_or_else(|| ApiError::not_found("market"))?;
    let limit = call.get(params::Limit);
    let events = events::of_market(db, &market.contract, &market.row.id, limit).await?;
    encoded::json_with_body_etag(&call, catalog.version, &Data { data: events })
}

fn filter<'c>(catalog: &Catalog, call: RouteCall<'c, routes::EventList>) -> FeedFilter<'c> {
    let rank = |severity: &&str| match *severity {
        "Critical" => 3,
        "Warning" => 2,
        _ => 1,
    };
    let chains = call.get(params::ChainId);
    let known = |name: &String| Some(catalog.rollup.chain(name)?.facts.id.0.cast_signed());
    FeedFilter {
        event_types: call.get(params::EventType),
        severities: call.get(params::Severity).iter().map(rank).collect(),
        protocols: call.get(params::ProtocolId),
        curators: call.get(params::CuratorId),
        chains: (!chains.is_empty()).then(|| chains.iter().filter_map(known).collect()),
        incident_severities: call.get(params::IncidentSeverity),
        remediation_statuses: call.get(params::RemediationStatus),
        search: call.get(params::EventSearch),
        exclude_sources: call.get(params::ExcludeSource),
        since: At(hour_days_before(call.now, MAX_FEED_DAYS)),
        order: match call.get(params::EventSort) {
            "severity" => FeedOrder::Severity,
            "loss_amount_usd" => FeedOrder::Loss,
            "occurrence_count" => FeedOrder::Occurrences,
            _ => FeedOrder::OccurredAt,
        },
        descending: call.get(params::SortOrder) != "asc",
    }
}

/// The start of the period that the feed covers.
///
/// Without `daysBack`, newest first uses the longest period, because more days only add rows behind the page. Other orders use the
/// shortest of [`WINDOWS`] with a page of matches. The period does not depend on the page number, so all pages belong to one list.
async fn since(
    db: &Db,
    call: RouteCall<'_, routes::EventList>,
    filter: &FeedFilter<'_>,
    page: PageRequest,
) -> Result<Timestamp, StoreError> {
    match call.get(params::DaysBack) {
        None if filter.order == FeedOrder::OccurredAt && filter.descending => Ok(filter.since.0),
        None => {
            let filled = pages::nth_newest(db, filter, page.size).await?;
            let holds = |days: &&i64| filled.is_some_and(|At(filled)| filled >= hour_days_before(call.now, **days));
            let days = WINDOWS.iter().find(holds).copied().unwrap_or(MAX_FEED_DAYS);
            Ok(hour_days_before(call.now, days))
        }
        Some(days) => Ok(hour_days_before(call.now, days.into())),
    }
}

/// `days` days ago, rounded down to the hour, so that consecutive page requests cover the same period.
fn hour_days_before(now: Timestamp, days: i64) -> Timestamp {
    let into_the_hour = now.as_micros().rem_euclid(3_600_000_000);
    Timestamp::from_micros(now.as_micros() - into_the_hour).plus_seconds(-days * 86_400)
}
