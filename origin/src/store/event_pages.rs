//! Pages of the feed: which rows, in which order, found without reading the whole table.
//!
//! No estimate of Postgres' tells whether the matches of a filter lie where an order begins or all at its end, and the wrong
//! guess reads everything. So a page is looked for where the order begins, a few rows deep; what is not there is rare, or
//! far back: then all matches are gathered by their own indexes and put in order. Both are bounded, whatever the words.
//!
//! A filter is asked of every public occurrence of a group, and the newest that matches is the group's row.

use super::event_feed::{COLUMNS, JOINED, row_of};
use super::{At, Db, StoreError};
use rds_shared::model::event::EventRow;
use rds_shared::wire::Timestamp;
use rds_shared::wire::page::PageRequest;
use sqlx::postgres::PgRow;
use sqlx::{Postgres, QueryBuilder};

/// Rows at the beginning of the order that are looked through at least, ...
const NEAR: u64 = 1_000;
/// ... for each row that is asked for or passed over, ...
const NEAR_FOR_EACH: u64 = 10;
/// ... and at most: about as many as can be looked through in the time that gathering takes.
const NEAR_AT_MOST: u64 = 10_000;

/// What conditions and orders look at, of either table.
const COMPARED: &str = "f.event_id, f.group_key, f.occurred_at, f.event_type, f.source, f.severity_rank, f.incident_severity, \
     f.remediation_status, f.loss_usd, f.protocol_ids, f.chain_ids, f.curator_ids, f.search";

/// An order of the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedOrder {
    /// By when it happened.
    OccurredAt,
    /// By severity.
    Severity,
    /// By what was lost; rows without a loss come last in both directions.
    Loss,
    /// By how often it happened.
    Occurrences,
}

impl FeedOrder {
    /// What it compares before the instant.
    const fn column(self) -> Option<&'static str> {
        match self {
            FeedOrder::OccurredAt => None,
            FeedOrder::Severity => Some("f.severity_rank"),
            FeedOrder::Loss => Some("f.loss_usd"),
            FeedOrder::Occurrences => Some("f.occurrence_count"),
        }
    }
}

/// Which rows of the feed, in which order. Lists that are empty filter nothing; their words are in lower case.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedFilter<'a> {
    pub event_types: &'a [String],
    pub severities: Vec<i16>,
    pub protocols: &'a [String],
    pub curators: &'a [String],
    /// None filters nothing; an empty list matches nothing.
    pub chains: Option<Vec<i64>>,
    pub incident_severities: &'a [&'static str],
    pub remediation_statuses: &'a [&'static str],
    pub search: Option<&'a str>,
    pub exclude_sources: &'a [String],
    /// Nothing that happened before.
    pub since: At,
    pub order: FeedOrder,
    pub descending: bool,
}

/// A part of the ordered matches.
#[derive(Debug, Clone, Copy)]
struct Slice {
    offset: u64,
    limit: u64,
}

/// Where a slice is looked for.
#[derive(Debug, Clone, Copy)]
enum Reach {
    /// Among so many rows at the beginning of the order.
    Near(u64),
    /// Everywhere.
    All,
}

impl FeedFilter<'_> {
    /// Whether it keeps every row, but for the instant: then the order's index is the page.
    fn keeps_all(&self) -> bool {
        let lists = [self.event_types, self.protocols, self.curators, self.exclude_sources];
        let choices = [self.incident_severities, self.remediation_statuses];
        lists.iter().all(|words| words.is_empty())
            && choices.iter().all(|words| words.is_empty())
            && self.severities.is_empty()
            && self.chains.is_none()
            && self.search.is_none()
    }

    /// Where to look for a slice, one after the other until it is full.
    ///
    /// Repeats have no order by how often their group happened, so that order is not looked through at its beginning.
    fn reaches(&self, slice: Slice) -> impl Iterator<Item = Reach> {
        let wanted = slice.offset.saturating_add(slice.limit);
        let near = wanted.saturating_mul(NEAR_FOR_EACH).clamp(NEAR, NEAR_AT_MOST);
        let tried = !self.keeps_all() && wanted <= near && self.order != FeedOrder::Occurrences;
        tried.then_some(Reach::Near(near)).into_iter().chain([Reach::All])
    }

    /// Selects what the order compares of the slice's rows, as `f`. Of each group it is the newest occurrence that matches.
    fn push_slice(&self, query: &mut QueryBuilder<'_, Postgres>, reach: Reach, slice: Slice) {
        query.push("SELECT ");
        self.push_keys(query);
        match reach {
            Reach::Near(rows) => {
                query.push(" FROM (SELECT * FROM (");
                for (table, and) in [("event_feed", " UNION ALL "), ("event_repeat", "")] {
                    // Each table along its own index.
                    query.push("(SELECT ").push(COMPARED).push(" FROM ").push(table).push(" f WHERE f.occurred_at >= ");
                    query.push_bind(self.since);
                    self.push_order(query);
                    query.push(" LIMIT ").push_bind(bound(rows)).push(")").push(and);
                }
                query.push(") AS f");
                self.push_order(query);
                query.push(" LIMIT ").push_bind(bound(rows)).push(") AS f WHERE true");
                self.push_conditions(query, "f");
                // The OR keeps this a look-up for each row that matches; as a join it would gather every match there is.
                query.push(
                    " AND (f.group_key IS NULL OR NOT EXISTS (SELECT FROM event_occurrence n WHERE n.group_key = f.group_key \
                     AND (n.occurred_at, n.event_id) > (f.occurred_at, f.event_id)",
                );
                self.push_conditions(query, "n");
                query.push("))");
            }
            Reach::All if self.keeps_all() => {
                query.push(" FROM event_feed f WHERE f.occurred_at >= ").push_bind(self.since);
            }
            Reach::All => {
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
                // OFFSET keeps the limit out: the matches are gathered, not walked to.
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

    /// What a row of this alias must be.
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
            // A column that is never null keeps the order of its index.
            query.push(if self.order == FeedOrder::Loss { " NULLS LAST, " } else { ", " });
        }
        // The id decides between equal instants, so that pages neither overlap nor skip.
        query.push("f.occurred_at ").push(direction).push(", f.event_id ").push(direction);
    }
}

/// A page of the feed, and whether another follows.
pub async fn page(db: &Db, filter: &FeedFilter<'_>, page: PageRequest) -> Result<(Vec<EventRow>, bool), StoreError> {
    // One row more than asked for says whether there are more.
    let mut listed = slice(db, filter, Slice { offset: page.offset(), limit: page.rows().saturating_add(1) }).await?;
    let size = usize::try_from(page.rows()).unwrap_or(usize::MAX);
    let has_more = listed.len() > size;
    listed.truncate(size);
    Ok((listed, has_more))
}

/// A slice of the groups that touch a curator's vaults, newest first.
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
    let mut rows: Vec<PgRow> = Vec::new();
    for reach in filter.reaches(slice) {
        // The page is cut before its rows are joined with their events: whatever lies before it costs an index entry.
        let mut query = QueryBuilder::new(COLUMNS);
        query.push(" FROM (");
        filter.push_slice(&mut query, reach, slice);
        query.push(") AS cut JOIN event_occurrence f ON f.event_id = cut.event_id ").push(JOINED);
        filter.push_order(&mut query);
        rows = query.build().persistent(false).fetch_all(&db.pool).await?;
        if rows.len() as u64 == slice.limit {
            break;
        }
    }
    rows.iter().map(row_of).collect()
}

/// When the `n`-th newest match happened; none when there are fewer.
pub async fn nth_newest(db: &Db, filter: &FeedFilter<'_>, n: u64) -> Result<Option<At>, StoreError> {
    let filter = FeedFilter { order: FeedOrder::OccurredAt, descending: true, ..filter.clone() };
    let slice = Slice { offset: n.saturating_sub(1), limit: 1 };
    for reach in filter.reaches(slice) {
        let mut query = QueryBuilder::new("SELECT f.occurred_at FROM (");
        filter.push_slice(&mut query, reach, slice);
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
