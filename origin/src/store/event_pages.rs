//! Pages of the feed: which rows, in which order, found without reading the whole table.
//!
//! No estimate of Postgres' tells whether the matches of a filter lie where an order begins or all at its end, and the wrong
//! guess reads everything. So a page is looked for where the order begins, a few rows deep; what is not there is rare, or
//! far back: then all matches are gathered by their own indexes and put in order. Both are bounded, whatever the words.

use super::event_feed::{COLUMNS, JOINED, row_of};
use super::{At, Db, StoreError};
use rds_shared::model::event::EventRow;
use rds_shared::wire::page::PageRequest;
use sqlx::postgres::PgRow;
use sqlx::{Postgres, QueryBuilder};

/// Rows at the beginning of the order that are looked through at least, ...
const NEAR: u64 = 1_000;
/// ... for each row that is asked for or passed over, ...
const NEAR_FOR_EACH: u64 = 10;
/// ... and at most: about as many as can be looked through in the time that gathering takes.
const NEAR_AT_MOST: u64 = 10_000;

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
#[allow(missing_docs, reason = "the parameters of the route")]
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
    fn reaches(&self, slice: Slice) -> impl Iterator<Item = Reach> {
        let wanted = slice.offset.saturating_add(slice.limit);
        let near = wanted.saturating_mul(NEAR_FOR_EACH).clamp(NEAR, NEAR_AT_MOST);
        let tried = !self.keeps_all() && wanted <= near;
        tried.then_some(Reach::Near(near)).into_iter().chain([Reach::All])
    }

    /// Selects what the order compares of the slice's rows, as `f`.
    fn push_slice(&self, query: &mut QueryBuilder<'_, Postgres>, reach: Reach, slice: Slice) {
        query.push("SELECT ");
        self.push_keys(query);
        match reach {
            Reach::Near(rows) => {
                query.push(" FROM (SELECT * FROM event_feed f WHERE f.occurred_at >= ").push_bind(self.since);
                self.push_order(query);
                query.push(" LIMIT ").push_bind(bound(rows)).push(") AS f WHERE true");
                self.push_conditions(query);
            }
            Reach::All if self.keeps_all() => {
                query.push(" FROM event_feed f WHERE f.occurred_at >= ").push_bind(self.since);
            }
            Reach::All => {
                query.push(" FROM (SELECT ");
                self.push_keys(query);
                query.push(" FROM event_feed f WHERE f.occurred_at >= ").push_bind(self.since);
                self.push_conditions(query);
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

    fn push_conditions(&self, query: &mut QueryBuilder<'_, Postgres>) {
        let lists = [
            ("f.event_type = ANY(", self.event_types),
            ("f.protocol_ids && (", self.protocols),
            ("f.curator_ids && (", self.curators),
        ];
        for (condition, words) in lists {
            if !words.is_empty() {
                query.push(" AND ").push(condition).push_bind(words.to_vec()).push("::text[])");
            }
        }
        if !self.severities.is_empty() {
            query.push(" AND f.severity_rank = ANY(").push_bind(self.severities.clone()).push(")");
        }
        if let Some(chains) = &self.chains {
            query.push(" AND f.chain_ids && ").push_bind(chains.clone());
        }
        for (column, words) in
            [("f.incident_severity", self.incident_severities), ("f.remediation_status", self.remediation_statuses)]
        {
            if !words.is_empty() {
                query.push(" AND ").push(column).push(" = ANY(").push_bind(words.to_vec()).push(")");
            }
        }
        if !self.exclude_sources.is_empty() {
            query.push(" AND f.source <> ALL(").push_bind(self.exclude_sources.to_vec()).push(")");
        }
        if let Some(search) = self.search {
            query.push(" AND f.search @@ event_query(").push_bind(search.to_owned()).push(")");
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
    let slice = Slice { offset: page.offset(), limit: page.rows().saturating_add(1) };
    let mut rows: Vec<PgRow> = Vec::new();
    for reach in filter.reaches(slice) {
        // The page is cut before its rows are joined with their events: whatever lies before it costs an index entry.
        let mut query = QueryBuilder::new(COLUMNS);
        query.push(" FROM (");
        filter.push_slice(&mut query, reach, slice);
        query.push(") AS cut JOIN event_feed f ON f.event_id = cut.event_id ").push(JOINED);
        filter.push_order(&mut query);
        rows = query.build().persistent(false).fetch_all(&db.pool).await?;
        if rows.len() as u64 == slice.limit {
            break;
        }
    }
    let size = usize::try_from(page.rows()).unwrap_or(usize::MAX);
    let listed = rows.iter().take(size).map(row_of).collect::<Result<_, _>>()?;
    Ok((listed, rows.len() > size))
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
