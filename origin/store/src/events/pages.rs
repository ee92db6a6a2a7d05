//! Pages of the feed: which rows, in which order, without scanning whole tables.
//!
//! Postgres' statistics do not show whether a filter's matches lie at the beginning or the end of an order, and a wrong guess scans
//! everything. So a page is first searched in a bounded number of rows at the beginning of the order. If that does not fill the page, the
//! matches are few or far back, and all of them are collected through their own indexes and sorted. Both steps have a bounded cost for any
//! filter.
//!
//! A filter applies to every published occurrence of a group; the newest match is the group's row.

use crate::events::feed::{COLUMNS, JOINED};
use crate::shared_row::{Shared, structs};
use crate::{At, Db, StoreError};
use rds_shared::model::event::EventRow;
use rds_shared::wire::Timestamp;
use rds_shared::wire::page::PageRequest;
use sqlx::{Postgres, QueryBuilder};

/// Minimum number of rows scanned at the beginning of the order.
const MIN_SCANNED_ROWS: u64 = 1_000;
/// Rows scanned for each row that is returned or skipped.
const SCANNED_PER_ROW: u64 = 10;
/// Maximum number of rows scanned; beyond it, collecting all matches is faster.
const MAX_SCANNED_ROWS: u64 = 10_000;

/// Columns that conditions and orders use. `event_feed` and `event_repeat` both have them.
const COMPARED: &str = "f.event_id, f.group_key, f.occurred_at, f.event_type, f.source, f.severity_rank, f.incident_severity, \
     f.remediation_status, f.loss_usd, f.protocol_ids, f.chain_ids, f.curator_ids, f.search";

/// An order of the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedOrder {
    /// By time of occurrence.
    OccurredAt,
    /// By severity.
    Severity,
    /// By loss; rows without a loss come last in both directions.
    Loss,
    /// By number of occurrences.
    Occurrences,
}

impl FeedOrder {
    /// The column that is compared before the time of occurrence.
    const fn column(self) -> Option<&'static str> {
        match self {
            FeedOrder::OccurredAt => None,
            FeedOrder::Severity => Some("f.severity_rank"),
            FeedOrder::Loss => Some("f.loss_usd"),
            FeedOrder::Occurrences => Some("f.occurrence_count"),
        }
    }
}

/// Filter and order of the feed. Empty lists do not filter. The texts in lists are in lower case.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedFilter<'a> {
    pub event_types: &'a [String],
    pub severities: Vec<i16>,
    pub protocols: &'a [String],
    pub curators: &'a [String],
    /// `None` does not filter; an empty list matches nothing.
    pub chains: Option<Vec<i64>>,
    pub incident_severities: &'a [&'static str],
    pub remediation_statuses: &'a [&'static str],
    pub search: Option<&'a str>,
    pub exclude_sources: &'a [String],
    /// Earliest time of occurrence, inclusive.
    pub since: At,
    pub order: FeedOrder,
    pub descending: bool,
}

/// A range of the ordered matches.
#[derive(Debug, Clone, Copy)]
struct Slice {
    offset: u64,
    limit: u64,
}

/// Where a slice is searched.
#[derive(Debug, Clone, Copy)]
enum Scan {
    /// In this many rows at the beginning of the order.
    Beginning(u64),
    /// In all rows.
    All,
}

impl FeedFilter<'_> {
    /// Whether `since` is the only filter; the index of the order then yields the page without a bounded scan.
    fn filters_only_by_time(&self) -> bool {
        let lists = [self.event_types, self.protocols, self.curators, self.exclude_sources];
        let choices = [self.incident_severities, self.remediation_statuses];
        lists.iter().all(|words| words.is_empty())
            && choices.iter().all(|words| words.is_empty())
            && self.severities.is_empty()
            && self.chains.is_none()
            && self.search.is_none()
    }

    /// The scans to try in turn until the slice is full.
    ///
    /// No index of `event_repeat` is ordered by the number of occurrences, so in that order only [`Scan::All`] is tried.
    fn scans(&self, slice: Slice) -> impl Iterator<Item = Scan> {
        let wanted = slice.offset.saturating_add(slice.limit);
        let depth = wanted.saturating_mul(SCANNED_PER_ROW).clamp(MIN_SCANNED_ROWS, MAX_SCANNED_ROWS);
        let tried = !self.filters_only_by_time() && wanted <= depth && self.order != FeedOrder::Occurrences;
        tried.then_some(Scan::Beginning(depth)).into_iter().chain([Scan::All])
    }

    /// Selects the key columns of the slice as `f`. A group appears once, with its newest matching occurrence.
    fn push_slice(&self, query: &mut QueryBuilder<'_, Postgres>, scan: Scan, slice: Slice) {
        query.push("SELECT ");
        self.push_keys(query);
        match scan {
            Scan::Beginning(rows) => {
                query.push(" FROM (SELECT * FROM (");
                for (table, and) in [("event_feed", " UNION ALL "), ("event_repeat", "")] {
                    // Each table is scanned along its own index.
                    query.push("(SELECT ").push(COMPARED).push(" FROM ").push(table).push(" f WHERE f.occurred_at >= ");
                    query.push_bind(self.since);
                    self.push_order(query);
                    query.push(" LIMIT ").push_bind(bound(rows)).push(")").push(and);
                }
                query.push(") AS f");
                self.push_order(query);
                query.push(" LIMIT ").push_bind(bound(rows)).push(") AS f WHERE true");
                self.push_conditions(query, "f");
                // Because of the OR, Postgres looks up newer occurrences for each row; as a join it would collect all matches.
                query.push(
                    " AND (f.group_key IS NULL OR NOT EXISTS (SELECT FROM event_occurrence n WHERE n.group_key = f.group_key \
                     AND (n.occurred_at, n.event_id) > (f.occurred_at, f.event_id)",
                );
                self.push_conditions(query, "n");
                query.push("))");
            }
            Scan::All if self.filters_only_by_time() => {
                query.push(" FROM event_feed f WHERE f.occurred_at >= ").push_bind(self.since);
            }
            Scan::All => {
                query.push(" FROM (SELECT ");
                self.push_keys(query);
                query.push(" FROM event_feed f WHERE f.occurred_at >= ").push_bind(self.since);
                self.push_conditions(query, "f");
                query.push(" UNION ALL (SELECT DISTINCT ON (f.group_key) ");
                self.push_keys(query);
                query.push(" FROM event_repeat_counted f WHERE f.occurred_at >= ").push_bind(self.since);
                self.push_conditions(query, "f");
                query.push(" AND NOT EXISTS (SELECT FROM event_feed h WHERE h.group_key = f.group_key");
                self.push_conditions(query, "h");
                query.push(") ORDER BY f.group_key, f.occurred_at DESC, f.event_id DESC)");
                // `OFFSET 0` keeps the planner from pushing the limit into the subquery, so the matches are collected through their indexes
                // and not by scanning the order.
                query.push(" OFFSET 0) AS f");
            }
        }
        self.push_order(query);
        query.push(" LIMIT ").push_bind(bound(slice.limit)).push(" OFFSET ").push_bind(bound(slice.offset));
    }

    fn push_keys(&self, query: &mut QueryBuilder<'_, Postgres>) {
        query.push("f.event_id, f.occurred_at");
        if let Some(column) = self.order.column() {
            query.push(", ").push(column);
        }
    }

    /// The conditions on a row, for table alias `alias`.
    fn push_conditions(&self, query: &mut QueryBuilder<'_, Postgres>, alias: &str) {
        let and = |query: &mut QueryBuilder<'_, Postgres>, column: &str| {
            query.push(" AND ").push(alias).push(".").push(column);
        };
        for (column, words) in [
            ("event_type = ANY(", self.event_types),
            ("protocol_ids && (", self.protocols),
            ("curator_ids && (", self.curators),
        ] {
            if !words.is_empty() {
                and(query, column);
                query.push_bind(words.to_vec()).push("::text[])");
            }
        }
        if !self.severities.is_empty() {
            and(query, "severity_rank = ANY(");
            query.push_bind(self.severities.clone()).push(")");
        }
        if let Some(chains) = &self.chains {
            and(query, "chain_ids && ");
            query.push_bind(chains.clone());
        }
        for (column, words) in [
            ("incident_severity = ANY(", self.incident_severities),
            ("remediation_status = ANY(", self.remediation_statuses),
        ] {
            if !words.is_empty() {
                and(query, column);
                query.push_bind(words.to_vec()).push(")");
            }
        }
        if !self.exclude_sources.is_empty() {
            and(query, "source <> ALL(");
            query.push_bind(self.exclude_sources.to_vec()).push(")");
        }
        if let Some(search) = self.search {
            and(query, "search @@ event_query(");
            query.push_bind(search.to_owned()).push(")");
        }
    }

    fn push_order(&self, query: &mut QueryBuilder<'_, Postgres>) {
        let direction = if self.descending { "DESC" } else { "ASC" };
        query.push(" ORDER BY ");
        if let Some(column) = self.order.column() {
            query.push(column).push(" ").push(direction);
            // Only `loss_usd` can be null; without NULLS LAST the other columns keep their index order.
            query.push(if self.order == FeedOrder::Loss { " NULLS LAST, " } else { ", " });
        }
        // The id breaks ties, so that pages neither overlap nor skip rows.
        query.push("f.occurred_at ").push(direction).push(", f.event_id ").push(direction);
    }
}

/// A page of the feed, and whether another page follows.
pub async fn page(db: &Db, filter: &FeedFilter<'_>, page: PageRequest) -> Result<(Vec<EventRow>, bool), StoreError> {
    // One extra row shows whether there are more.
    let mut listed = slice(db, filter, Slice { offset: page.offset(), limit: page.rows().saturating_add(1) }).await?;
    let size = usize::try_from(page.rows()).unwrap_or(usize::MAX);
    let has_more = listed.len() > size;
    listed.truncate(size);
    Ok((listed, has_more))
}

/// A slice of the groups that affect a curator's vaults, newest first.
pub async fn of_curator(db: &Db, id: &str, offset: u64, limit: u32) -> Result<Vec<EventRow>, StoreError> {
    let filter = FeedFilter {
        event_types: &[],
        severities: Vec::new(),
        protocols: &[],
        curators: &[id.to_owned()],
        chains: None,
        incident_severities: &[],
        remediation_statuses: &[],
        search: None,
        exclude_sources: &[],
        since: At(Timestamp::from_micros(i64::MIN)),
        order: FeedOrder::OccurredAt,
        descending: true,
    };
    slice(db, &filter, Slice { offset, limit: limit.into() }).await
}

async fn slice(db: &Db, filter: &FeedFilter<'_>, slice: Slice) -> Result<Vec<EventRow>, StoreError> {
    let mut rows: Vec<Shared<EventRow>> = Vec::new();
    for scan in filter.scans(slice) {
        // The page is cut before its rows are joined with their events, so a skipped row costs only an index entry.
        let mut query = QueryBuilder::new(COLUMNS);
        query.push(" FROM (");
        filter.push_slice(&mut query, scan, slice);
        query.push(") AS cut JOIN event_occurrence f ON f.event_id = cut.event_id ").push(JOINED);
        filter.push_order(&mut query);
        rows = query.build_query_as().persistent(false).fetch_all(&db.pool).await?;
        if rows.len() as u64 == slice.limit {
            break;
        }
    }
    Ok(structs(rows))
}

/// Time of occurrence of the `n`-th newest match; `None` if there are fewer.
pub async fn nth_newest(db: &Db, filter: &FeedFilter<'_>, n: u64) -> Result<Option<At>, StoreError> {
    let filter = FeedFilter { order: FeedOrder::OccurredAt, descending: true, ..filter.clone() };
    let slice = Slice { offset: n.saturating_sub(1), limit: 1 };
    for scan in filter.scans(slice) {
        let mut query = QueryBuilder::new("SELECT f.occurred_at FROM (");
        filter.push_slice(&mut query, scan, slice);
        query.push(") AS f");
        let found = query.build_query_scalar().persistent(false).fetch_optional(&db.pool).await?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn bound(rows: u64) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
