//! The security registry: its rows as they are served, and where each stands.

use super::catalog::instant;
use super::{At, Db, StoreError, Tx, optional_word, word};
use crate::facts::Reference;
use rds_shared::model::event::Link;
use rds_shared::model::ids::ChainId;
use rds_shared::model::money::Cents;
use rds_shared::model::security::{PublishedBy, RegistryState, SecurityEvent};
use sqlx::Row;
use sqlx::postgres::PgRow;
use sqlx::types::Json;

/// The tracked contracts that a row `s` names as victims, and whether there is any.
const TOUCHES: &str = "(s.protocol_id IS NOT NULL \
     OR EXISTS (SELECT FROM vault v WHERE v.chain_id = s.chain_id AND v.address = ANY(s.victims)) \
     OR EXISTS (SELECT FROM vault v WHERE v.chain_id = s.chain_id AND v.asset_address = ANY(s.victims)) \
     OR EXISTS (SELECT FROM asset a WHERE a.chain_id = s.chain_id AND a.address = ANY(s.victims)) \
     OR EXISTS (SELECT FROM market m WHERE m.chain_id = s.chain_id AND m.address = ANY(s.victims)) \
     OR EXISTS (SELECT FROM market_reserve r WHERE r.chain_id = s.chain_id \
                AND (r.token_address = ANY(s.victims) OR r.asset_address = ANY(s.victims))))";

/// What of the tracked universe a row `s` touches, as `t`: the vaults that are victims themselves, and the protocols of those
/// vaults and of markets, with the one that the row names.
const TOUCHED: &str = "LATERAL ( \
     WITH hit AS (SELECT v.id, v.protocol_id FROM vault v WHERE v.chain_id = s.chain_id AND v.address = ANY(s.victims)) \
     SELECT ARRAY(SELECT id FROM hit ORDER BY id COLLATE \"C\") AS vaults, \
            ARRAY(SELECT protocol_id FROM (SELECT protocol_id FROM hit UNION SELECT s.protocol_id WHERE s.protocol_id IS NOT NULL \
                  UNION SELECT m.protocol_id FROM market m WHERE m.chain_id = s.chain_id AND m.address = ANY(s.victims) \
                  UNION SELECT m.protocol_id FROM market_reserve r JOIN market m USING (contract) \
                        WHERE r.chain_id = s.chain_id AND r.token_address = ANY(s.victims)) AS named \
                  ORDER BY protocol_id COLLATE \"C\") AS protocols) AS t";

/// Drafts that the auto-publish pass may publish: they touch the tracked universe, or a listed case says what they cost.
const DUE: &str = "security_event s LEFT JOIN chain c USING (chain_id) \
     WHERE s.state = 'draft' AND coalesce(c.is_served, true) \
       AND (s.affects_tracked_universe OR EXISTS ( \
            SELECT FROM loss_case l WHERE l.security_source = s.source AND l.security_source_id = s.source_id \
            AND l.is_active AND l.loss_usd > 0 AND l.contamination->>'verified_by' IS NULL))";

/// Rows that are served. Nothing on a withheld chain is.
const SERVED: &str =
    "security_event s LEFT JOIN chain c USING (chain_id) WHERE s.state = 'published' AND coalesce(c.is_served, true)";

/// Them as they are served: the event that tells of one is named while that event is public itself. Each event's place is
/// looked up by itself, as `event_feed::refresh` does and says why.
const ROW: &str = "SELECT s.*, (s.loss_usd * 100)::bigint AS loss_cents, c.slug AS chain_slug, \
     (SELECT e.id FROM event e CROSS JOIN LATERAL (SELECT * FROM event_served p WHERE p.event_id = e.id OFFSET 0) AS p \
      WHERE e.id = s.promoted_event_id AND e.state = 'published' AND p.is_served) AS shown_event_id";

/// Where a row stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its state.
    pub state: RegistryState,
    /// Whether it touches the tracked universe.
    pub affects_tracked_universe: bool,
    /// The event of the feed that tells of it.
    pub promoted_event_id: Option<i64>,
    /// False while its chain is withheld.
    pub is_served: bool,
}

/// A row in a list for operators.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RegistryEntry {
    /// Its number.
    pub id: i64,
    /// Where it stands.
    pub state: RegistryState,
    /// Who reported it.
    pub source: String,
    /// Its name there.
    pub source_id: String,
    /// One line.
    pub title: String,
    /// Whether it touches the tracked universe.
    pub affects_tracked_universe: bool,
    /// Why it stands where it does, if somebody said.
    pub state_reason: Option<String>,
}

/// What a row touches of the tracked universe, each in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touched {
    /// Vaults that are victims themselves.
    pub vaults: Vec<String>,
    /// The protocols of those vaults and markets, and the one that the row names.
    pub protocols: Vec<String>,
}

/// Looks at every row again, and answers how many now touch the tracked universe or no longer do.
pub async fn judge(tx: &mut Tx<'_>) -> Result<u64, StoreError> {
    let sql = format!(
        "UPDATE security_event AS old SET affects_tracked_universe = now.touches \
         FROM (SELECT s.id, {TOUCHES} AS touches FROM security_event s) AS now \
         WHERE now.id = old.id AND now.touches <> old.affects_tracked_universe"
    );
    Ok(sqlx::query(&sql).execute(&mut **tx).await?.rows_affected())
}

/// The oldest attacks among the drafts that may be published without an editor, at most `limit`.
pub async fn due(tx: &mut Tx<'_>, limit: u32) -> Result<Vec<i64>, StoreError> {
    let sql = format!("SELECT s.id FROM {DUE} ORDER BY s.attacked_at, s.id LIMIT $1");
    Ok(sqlx::query_scalar(&sql).bind(i64::from(limit)).fetch_all(&mut **tx).await?)
}

/// How many such drafts there are.
pub async fn count_due(tx: &mut Tx<'_>) -> Result<u64, StoreError> {
    let count: i64 = sqlx::query_scalar(&format!("SELECT count(*) FROM {DUE}")).fetch_one(&mut **tx).await?;
    Ok(count.unsigned_abs())
}

/// Where a row stands; none when there is no such row.
pub async fn standing(tx: &mut Tx<'_>, id: i64) -> Result<Option<Standing>, StoreError> {
    let row = sqlx::query(
        "SELECT s.state, s.affects_tracked_universe, s.promoted_event_id, coalesce(c.is_served, true) AS is_served \
         FROM security_event s LEFT JOIN chain c USING (chain_id) WHERE s.id = $1",
    );
    let Some(row) = row.bind(id).fetch_optional(&mut **tx).await? else { return Ok(None) };
    Ok(Some(Standing {
        state: word("security_event.state", row.try_get("state")?)?,
        affects_tracked_universe: row.try_get("affects_tracked_universe")?,
        promoted_event_id: row.try_get("promoted_event_id")?,
        is_served: row.try_get("is_served")?,
    }))
}

/// Publishes a row.
pub async fn set_published(tx: &mut Tx<'_>, id: i64, by: PublishedBy, now: At) -> Result<(), StoreError> {
    let sql = "UPDATE security_event SET state = 'published', published_by = $2, published_at = $3, state_changed_at = $3, \
               state_reason = NULL WHERE id = $1";
    sqlx::query(sql).bind(id).bind(by.as_str()).bind(now).execute(&mut **tx).await?;
    Ok(())
}

/// Takes a row to a state other than published.
pub async fn set_withheld(
    tx: &mut Tx<'_>,
    id: i64,
    state: RegistryState,
    reason: Option<&str>,
    now: At,
) -> Result<(), StoreError> {
    let sql = "UPDATE security_event SET state = $2, state_changed_at = $3, state_reason = $4 WHERE id = $1";
    sqlx::query(sql).bind(id).bind(state.as_str()).bind(now).bind(reason).execute(&mut **tx).await?;
    Ok(())
}

/// Notes the event of the feed that tells of a row; answers whether that is news.
pub async fn set_promoted(tx: &mut Tx<'_>, id: i64, event_id: Option<i64>) -> Result<bool, StoreError> {
    let sql =
        "UPDATE security_event SET promoted_event_id = $2 WHERE id = $1 AND promoted_event_id IS DISTINCT FROM $2";
    Ok(sqlx::query(sql).bind(id).bind(event_id).execute(&mut **tx).await?.rows_affected() > 0)
}

/// How many rows one of these events tells of.
pub async fn told_by(tx: &mut Tx<'_>, events: &[i64]) -> Result<u64, StoreError> {
    let sql = "SELECT count(*) FROM security_event WHERE promoted_event_id = ANY($1)";
    let rows: i64 = sqlx::query_scalar(sql).bind(events).fetch_one(&mut **tx).await?;
    Ok(rows.unsigned_abs())
}

/// Published rows that touch the tracked universe and that no event tells of yet, and those for which an event does that was
/// made of them (its key is `made` and the row's number) while an incident was since reported under the row's own names.
pub async fn to_promote(tx: &mut Tx<'_>, made: &str) -> Result<Vec<i64>, StoreError> {
    let sql = format!(
        "SELECT s.id FROM (SELECT s.* FROM {SERVED}) AS s LEFT JOIN event e ON e.id = s.promoted_event_id \
         WHERE s.affects_tracked_universe AND (e.id IS NULL OR (e.event_key = $1 || s.id AND e.state = 'published' AND EXISTS ( \
             SELECT FROM event r WHERE r.event_key = lower(s.source || '-' || s.source_id) AND r.state = 'published'))) \
         ORDER BY s.attacked_at, s.id"
    );
    Ok(sqlx::query_scalar(&sql).bind(made).fetch_all(&mut **tx).await?)
}

/// Published rows of which a public event that was made of them says something else than they do, or that touch nothing that is
/// tracked any longer.
pub async fn told_wrongly(tx: &mut Tx<'_>, made: &str) -> Result<Vec<i64>, StoreError> {
    let sql = format!(
        "SELECT s.id FROM (SELECT s.* FROM {SERVED}) AS s JOIN event e ON e.id = s.promoted_event_id AND e.event_key = $1 || s.id AND e.state = 'published' \
         CROSS JOIN {TOUCHED} \
         WHERE NOT s.affects_tracked_universe \
            OR (e.severity, e.title, e.description, e.source, e.occurred_at, e.loss_usd, e.tx_hash, e.links, e.chain_id, e.protocol_id) \
               IS DISTINCT FROM (s.severity, s.title, s.description, s.source, s.attacked_at, s.loss_usd::double precision, s.tx_hash, s.links, \
                                 s.chain_id, t.protocols[1]) \
            OR t.vaults <> ARRAY(SELECT l.subject_id FROM event_link l WHERE l.event_id = e.id AND l.scope = 'vault' ORDER BY l.subject_id COLLATE \"C\") \
         ORDER BY s.attacked_at, s.id"
    );
    Ok(sqlx::query_scalar(&sql).bind(made).fetch_all(&mut **tx).await?)
}

/// What a row touches.
pub async fn touched(tx: &mut Tx<'_>, id: i64) -> Result<Touched, StoreError> {
    let sql = format!("SELECT t.* FROM security_event s CROSS JOIN {TOUCHED} WHERE s.id = $1");
    let row = sqlx::query(&sql).bind(id).fetch_one(&mut **tx).await?;
    Ok(Touched { vaults: row.try_get("vaults")?, protocols: row.try_get("protocols")? })
}

/// A row as it is served at this point of the transaction; none where it is not.
pub async fn served(tx: &mut Tx<'_>, id: i64) -> Result<Option<SecurityEvent>, StoreError> {
    let row = sqlx::query(&format!("{ROW} FROM {SERVED} AND s.id = $1")).bind(id).fetch_optional(&mut **tx).await?;
    row.as_ref().map(security_event).transpose()
}

/// Every row that is served, in ascending order of ids.
pub async fn load(db: &Db) -> Result<Vec<SecurityEvent>, StoreError> {
    let rows = sqlx::query(&format!("{ROW} FROM {SERVED} ORDER BY s.id")).fetch_all(&db.pool).await?;
    rows.iter().map(security_event).collect()
}

/// One row for operators; none when there is no such row.
pub async fn entry(db: &Db, id: i64) -> Result<Option<RegistryEntry>, StoreError> {
    let row = sqlx::query("SELECT * FROM security_event WHERE id = $1").bind(id).fetch_optional(&db.pool).await?;
    row.as_ref().map(registry_entry).transpose()
}

/// Rows for operators, newest attack first, at most `limit`; of one state or of all.
pub async fn entries(db: &Db, state: Option<RegistryState>, limit: u32) -> Result<Vec<RegistryEntry>, StoreError> {
    let rows = sqlx::query(
        "SELECT * FROM security_event \
         WHERE $1::text IS NULL OR state = $1 ORDER BY attacked_at DESC, id DESC LIMIT $2",
    )
    .bind(state.map(RegistryState::as_str))
    .bind(i64::from(limit))
    .fetch_all(&db.pool)
    .await?;
    rows.iter().map(registry_entry).collect()
}

fn registry_entry(row: &PgRow) -> Result<RegistryEntry, StoreError> {
    Ok(RegistryEntry {
        id: row.try_get("id")?,
        state: word("security_event.state", row.try_get("state")?)?,
        source: row.try_get("source")?,
        source_id: row.try_get("source_id")?,
        title: row.try_get("title")?,
        affects_tracked_universe: row.try_get("affects_tracked_universe")?,
        state_reason: row.try_get("state_reason")?,
    })
}

fn security_event(row: &PgRow) -> Result<SecurityEvent, StoreError> {
    let count = |column: &str| Ok::<_, StoreError>(u64::from(row.try_get::<i32, _>(column)?.unsigned_abs()));
    let (confirmations, disconfirmations) = (count("confirmations")?, count("disconfirmations")?);
    let published_by: Option<PublishedBy> = optional_word("security_event.published_by", row.try_get("published_by")?)?;
    Ok(SecurityEvent {
        id: row.try_get::<i64, _>("id")?.unsigned_abs(),
        source: row.try_get("source")?,
        source_id: row.try_get("source_id")?,
        chain_id: row.try_get::<Option<i64>, _>("chain_id")?.map(|id| ChainId(id.unsigned_abs())),
        chain_slug: row.try_get("chain_slug")?,
        title: row.try_get("title")?,
        description: row.try_get("description")?,
        attackers: row.try_get("attackers")?,
        victims: row.try_get("victims")?,
        net_score: confirmations.cast_signed() - disconfirmations.cast_signed(),
        confirmations,
        disconfirmations,
        loss_amount_usd: row.try_get::<Option<i64>, _>("loss_cents")?.map(Cents),
        severity: word("security_event.severity", row.try_get("severity")?)?,
        tx_hash: row.try_get("tx_hash")?,
        native_url: row.try_get("native_url")?,
        links: references(row)?,
        affects_tracked_universe: row.try_get("affects_tracked_universe")?,
        attacked_at: instant(row, "attacked_at")?.unwrap_or_default(),
        promoted_event_id: row.try_get::<Option<i64>, _>("shown_event_id")?.map(|id| id.to_string()),
        // The table lets no row be published by nobody.
        published_by: published_by.unwrap_or(PublishedBy::Auto),
    })
}

pub(super) fn references(row: &PgRow) -> Result<Vec<Link>, StoreError> {
    let Json(links): Json<Vec<Reference>> = row.try_get("links")?;
    Ok(links.into_iter().map(|Reference { label, url }| Link { label, url }).collect())
}
