//! The feed's table: kept current with the events, and read a page at a time.

use super::catalog::instant;
use super::{At, Db, StoreError, Tx, optional_word, word};
use crate::ingest::kinds::Reference;
use rds_shared::model::event::{EventRow, Link};
use rds_shared::model::ids::ChainId;
use rds_shared::model::status::{IncidentSeverity, RemediationStatus, Severity};
use rds_shared::wire::page::PageRequest;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{Postgres, QueryBuilder, Row};

/// What a listed row is read from; the feed's row is `f`, its event `e`.
const LISTED: &str = "SELECT e.id, e.event_type, e.severity, e.title, e.description, e.occurred_at, e.incident_severity, \
         e.loss_usd, e.remediation_status, e.links, e.group_key, e.source, e.published_at, f.occurrence_count, \
         f.protocol_id AS shown_protocol, pr.name AS protocol_name, f.chain_id AS shown_chain, c.name AS chain_name, \
         f.curator_id AS shown_curator, cu.name AS curator_name \
     FROM event_feed f JOIN event e ON e.id = f.event_id LEFT JOIN protocol pr ON pr.id = f.protocol_id \
     LEFT JOIN chain c ON c.chain_id = f.chain_id LEFT JOIN curator cu ON cu.id = f.curator_id";

/// The groups that these events are in.
pub async fn groups_of(tx: &mut Tx<'_>, ids: &[i64]) -> Result<Vec<String>, StoreError> {
    let groups =
        sqlx::query_scalar("SELECT DISTINCT group_key FROM event WHERE id = ANY($1) AND group_key IS NOT NULL");
    Ok(groups.bind(ids).fetch_all(&mut **tx).await?)
}

/// Brings the feed up to date with these events, the groups they are in, and the groups they were in.
///
/// A group is shown by its newest published event, of two at one instant by the one with the greater id. The caller holds
/// the writers' turn.
pub async fn refresh(tx: &mut Tx<'_>, ids: &[i64], old_groups: &[String]) -> Result<(), StoreError> {
    if ids.is_empty() && old_groups.is_empty() {
        return Ok(());
    }
    let mut groups = groups_of(tx, ids).await?;
    groups.extend_from_slice(old_groups);
    sqlx::query("DELETE FROM event_feed WHERE event_id = ANY($1) OR group_key = ANY($2)")
        .bind(ids)
        .bind(&groups)
        .execute(&mut **tx)
        .await?;
    sqlx::query(
        "INSERT INTO event_feed \
         SELECT s.id, s.group_key, s.occurrences, s.occurred_at, lower(s.event_type), lower(s.source), \
                CASE s.severity WHEN 'Critical' THEN 3 WHEN 'Warning' THEN 2 ELSE 1 END, s.incident_severity, \
                s.remediation_status, s.loss_usd, s.protocol_id, s.chain_id, s.curator_id, s.protocol_ids, s.chain_ids, \
                s.curator_ids, to_tsvector('english', s.words) || to_tsvector('simple', s.words) \
         FROM (SELECT e.id, e.group_key, e.occurred_at, e.event_type, e.source, e.severity, e.incident_severity, \
                      e.remediation_status, e.loss_usd, e.title || ' ' || coalesce(e.description, '') AS words, \
                      p.protocol_id, p.chain_id, p.curator_id, p.protocol_ids, p.chain_ids, p.curator_ids, \
                      count(*) OVER shown AS occurrences, \
                      row_number() OVER (shown ORDER BY e.occurred_at DESC, e.id DESC) AS place \
               FROM event e JOIN event_place p ON p.event_id = e.id AND p.is_served \
               WHERE e.state = 'published' AND (e.group_key = ANY($2) OR e.group_key IS NULL AND e.id = ANY($1)) \
               WINDOW shown AS (PARTITION BY e.group_key, CASE WHEN e.group_key IS NULL THEN e.id END)) AS s \
         WHERE s.place = 1",
    )
    .bind(ids)
    .bind(&groups)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The events whose place in the feed depends on these chains, or on who curates these vaults.
pub async fn depending_on(tx: &mut Tx<'_>, chains: &[i64], vaults: &[String]) -> Result<Vec<i64>, StoreError> {
    let ids = sqlx::query_scalar(
        "SELECT id FROM event WHERE chain_id = ANY($1) \
         UNION SELECT e.id FROM event e JOIN market m ON m.contract = e.market WHERE m.chain_id = ANY($1) \
         UNION SELECT l.event_id FROM vault v JOIN event_link l ON l.scope = 'vault' AND l.subject_id = v.id \
               WHERE v.chain_id = ANY($1) OR v.id = ANY($2) \
         UNION SELECT l.event_id FROM (SELECT DISTINCT protocol_id FROM vault WHERE chain_id = ANY($1) OR id = ANY($2)) AS p \
               JOIN event_link l ON l.scope = 'protocol' AND l.subject_id = p.protocol_id",
    );
    Ok(ids.bind(chains).bind(vaults).fetch_all(&mut **tx).await?)
}

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

impl FeedFilter<'_> {
    /// Whether it may keep so little that a walk along an index passes over nearly everything.
    fn may_be_selective(&self) -> bool {
        let lists = [self.event_types, self.protocols, self.curators];
        self.search.is_some() || self.chains.is_some() || lists.iter().any(|words| !words.is_empty())
    }

    fn push_matches(&self, query: &mut QueryBuilder<'_, Postgres>, matches: &Matches) {
        match matches {
            Matches::Many => self.push_conditions(query),
            Matches::Few(ids) => {
                query.push(" WHERE f.occurred_at >= ").push_bind(self.since);
                query.push(" AND f.event_id = ANY(").push_bind(ids.clone()).push(")");
            }
        }
    }

    fn push_conditions(&self, query: &mut QueryBuilder<'_, Postgres>) {
        query.push(" WHERE f.occurred_at >= ").push_bind(self.since);
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
            // Never an error, whatever the text: quotes, signs and loose operators are read as words or as nothing.
            query.push(" AND f.search @@ (websearch_to_tsquery('english', ").push_bind(search.to_owned());
            query.push(") || websearch_to_tsquery('simple', ").push_bind(search.to_owned()).push("))");
        }
    }

    fn push_order(&self, query: &mut QueryBuilder<'_, Postgres>) {
        let direction = if self.descending { "DESC" } else { "ASC" };
        let by = match self.order {
            FeedOrder::OccurredAt => "",
            FeedOrder::Severity => "f.severity_rank",
            FeedOrder::Loss => "f.loss_usd",
            FeedOrder::Occurrences => "f.occurrence_count",
        };
        query.push(" ORDER BY ");
        if !by.is_empty() {
            query.push(by).push(" ").push(direction);
            // A column that is never null keeps the order of its index.
            query.push(if self.order == FeedOrder::Loss { " NULLS LAST, " } else { ", " });
        }
        // The id decides between equal instants, so that pages neither overlap nor skip.
        query.push("f.occurred_at ").push(direction).push(", f.event_id ").push(direction);
    }
}

/// Matches that are looked up one by one and then put in order. Where there are more, a walk along the order's index comes
/// to a page soon; where there are fewer it might not, and no estimate of Postgres' tells the two apart for a rare word.
const FEW: usize = 1_000;

/// How the rows of a filter are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Matches {
    /// Few enough to name them.
    Few(Vec<i64>),
    /// By the order's index, row after row.
    Many,
}

/// Looks how many rows match a filter that may be selective.
pub async fn matches(db: &Db, filter: &FeedFilter<'_>) -> Result<Matches, StoreError> {
    if !filter.may_be_selective() {
        return Ok(Matches::Many);
    }
    let mut query = QueryBuilder::new("SELECT f.event_id FROM event_feed f");
    filter.push_conditions(&mut query);
    query.push(" LIMIT ").push_bind(FEW as i64 + 1);
    let ids: Vec<i64> = query.build_query_scalar().persistent(false).fetch_all(&db.pool).await?;
    Ok(if ids.len() > FEW { Matches::Many } else { Matches::Few(ids) })
}

/// A page of the feed, and whether another follows.
pub async fn page(
    db: &Db,
    filter: &FeedFilter<'_>,
    matches: &Matches,
    page: PageRequest,
) -> Result<(Vec<EventRow>, bool), StoreError> {
    let mut query = QueryBuilder::new(LISTED);
    filter.push_matches(&mut query, matches);
    filter.push_order(&mut query);
    // One row more than asked for says whether there are more.
    let bound = |rows: u64| i64::try_from(rows).unwrap_or(i64::MAX);
    query
        .push(" LIMIT ")
        .push_bind(bound(page.size.saturating_add(1)))
        .push(" OFFSET ")
        .push_bind(bound(page.offset()));
    let rows = query.build().persistent(false).fetch_all(&db.pool).await?;
    let size = usize::try_from(page.size).unwrap_or(usize::MAX);
    let listed = rows.iter().take(size).map(row_of).collect::<Result<_, _>>()?;
    Ok((listed, rows.len() > size))
}

/// When the `n`-th newest match happened; none when there are fewer.
pub async fn nth_newest(db: &Db, filter: &FeedFilter<'_>, matches: &Matches, n: u64) -> Result<Option<At>, StoreError> {
    let mut query = QueryBuilder::new("SELECT f.occurred_at FROM event_feed f");
    filter.push_matches(&mut query, matches);
    query.push(" ORDER BY f.occurred_at DESC, f.event_id DESC LIMIT 1 OFFSET ");
    query.push_bind(i64::try_from(n.saturating_sub(1)).unwrap_or(i64::MAX));
    Ok(query.build_query_scalar().persistent(false).fetch_optional(&db.pool).await?)
}

/// The row that stands for a group; none when no event of it is public.
pub async fn representative(db: &Db, group_key: &str) -> Result<Option<EventRow>, StoreError> {
    let row = sqlx::query(&format!("{LISTED} WHERE f.group_key = $1")).bind(group_key).fetch_optional(&db.pool).await?;
    row.as_ref().map(row_of).transpose()
}

/// A slice of the feed's rows that touch a curator's vaults, newest first, and how many there are in all.
pub async fn of_curator(db: &Db, id: &str, offset: u64, limit: u32) -> Result<(Vec<EventRow>, u64), StoreError> {
    let total: i64 = sqlx::query_scalar("SELECT count(*) FROM event_feed f WHERE f.curator_ids @> ARRAY[$1]")
        .bind(id)
        .fetch_one(&db.pool)
        .await?;
    let rows = sqlx::query(&format!(
        "{LISTED} WHERE f.curator_ids @> ARRAY[$1] ORDER BY f.occurred_at DESC, f.event_id DESC OFFSET $2 LIMIT $3"
    ))
    .bind(id)
    .bind(i64::try_from(offset).unwrap_or(i64::MAX))
    .bind(i64::from(limit))
    .fetch_all(&db.pool)
    .await?;
    Ok((rows.iter().map(row_of).collect::<Result<_, _>>()?, u64::try_from(total).unwrap_or(0)))
}

/// Reads a list item out of an event's columns and those of its place.
pub(super) fn row_of(row: &PgRow) -> Result<EventRow, StoreError> {
    let chain_id: Option<i64> = row.try_get("shown_chain")?;
    Ok(EventRow {
        id: row.try_get::<i64, _>("id")?.to_string(),
        event_type: row.try_get("event_type")?,
        severity: word::<Severity>("event.severity", row.try_get("severity")?)?,
        title: row.try_get("title")?,
        description: row.try_get("description")?,
        occurred_at: row.try_get::<At, _>("occurred_at")?.0,
        protocol_id: row.try_get("shown_protocol")?,
        protocol_name: row.try_get("protocol_name")?,
        chain_id: chain_id.map(|id| ChainId(id.unsigned_abs())),
        chain_name: row.try_get("chain_name")?,
        curator_id: row.try_get("shown_curator")?,
        curator_name: row.try_get("curator_name")?,
        incident_severity: optional_word::<IncidentSeverity>(
            "event.incident_severity",
            row.try_get("incident_severity")?,
        )?,
        loss_amount_usd: row.try_get("loss_usd")?,
        remediation_status: optional_word::<RemediationStatus>(
            "event.remediation_status",
            row.try_get("remediation_status")?,
        )?,
        links: links(row)?,
        occurrence_count: row.try_get::<i64, _>("occurrence_count")?.unsigned_abs(),
        group_key: row.try_get("group_key")?,
        source: row.try_get("source")?,
        published_at: instant(row, "published_at")?,
    })
}

/// Where an event is told.
pub(super) fn links(row: &PgRow) -> Result<Vec<Link>, StoreError> {
    let Json(links): Json<Vec<Reference>> = row.try_get("links")?;
    Ok(links.into_iter().map(|Reference { label, url }| Link { label, url }).collect())
}
