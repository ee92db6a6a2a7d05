//! Thins old histories: of each day of a vault the rows stay that something can still depend on, the others are deleted.
//!
//! A step deletes the rows of a few vaults on one day in one transaction, so it holds few locks and for a short time, and the position is
//! committed with it. Days are those of the daily sums: what lies after a midnight (UTC) up to and including the next one.
//!
//! # Invariants
//!
//! - Daily sums, the signals at a midnight and the last reading of a day are the same before and after (`origin/tests/it/vaults/thinning.rs`).
//! - The newest row of a vault, or of a field of a vault, is never deleted.

use crate::vaults::days::HIGH_UTILIZATION;
use crate::{At, Db, StoreError, Tx};
use rds_shared::research::outcome::MAX_PRICE_RISE;
use rds_shared::wire::Timestamp;
use sqlx::FromRow;

/// A history that can be thinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// `vault_snapshot`: every reading of a vault's state.
    Readings,
    /// `chain_reading`: every field that was read on a chain, with its evidence.
    ChainReadings,
    /// `holder_snapshot`: every look at a vault's holders.
    Holders,
}

impl History {
    pub const ALL: [History; 3] = [History::Readings, History::ChainReadings, History::Holders];

    /// Its name in `thinning` and in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            History::Readings => "readings",
            History::ChainReadings => "chain_readings",
            History::Holders => "holders",
        }
    }
}

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Number of deleted rows.
    pub deleted: u64,
    /// Start of the first day that is not thinned yet.
    pub thinned_to: Timestamp,
    /// Whether there is more to thin.
    pub more: bool,
}

/// Where a history's thinning stands, with the days as Unix time.
#[derive(Debug, FromRow)]
struct Position {
    /// `None` while there is no row at all.
    day: Option<At>,
    next_day: Option<At>,
    vault_id: String,
}

/// Thins at most `vaults` vaults of the next day, if that day ended before `before`. `None` while another process thins this history, or if
/// the history is empty.
pub async fn step(db: &Db, history: History, before: Timestamp, vaults: u32) -> Result<Option<Step>, StoreError> {
    db.run_tx("thinning", move |tx| {
        Box::pin(async move {
            let Some(position) = position(tx, history).await? else { return Ok(None) };
            let (Some(At(day)), Some(At(next_day))) = (position.day, position.next_day) else { return Ok(None) };
            if next_day > before {
                return Ok(Some(Step { deleted: 0, thinned_to: day, more: false }));
            }
            let ids = next_vaults(tx, &position.vault_id, vaults).await?;
            let deleted = match ids.last() {
                Some(_) => delete(tx, history, &ids, day, next_day).await?,
                None => 0,
            };
            let is_day_done = ids.len() < vaults as usize;
            let sql = "UPDATE thinning SET day = ($2::timestamptz AT TIME ZONE 'UTC')::date, vault_id = $3 WHERE history = $1";
            let (to, last) = match (is_day_done, ids.last()) {
                (false, Some(last)) => (day, last.as_str()),
                _ => (next_day, ""),
            };
            sqlx::query(sql).bind(history.name()).bind(At(to)).bind(last).execute(&mut **tx).await?;
            Ok(Some(Step { deleted, thinned_to: to, more: !is_day_done || to.plus_seconds(DAY) <= before }))
        })
    })
    .await
}

const DAY: i64 = 86_400;

/// The position, locked for this transaction. Before the first step it is the day of the oldest row.
async fn position(tx: &mut Tx<'_>, history: History) -> Result<Option<Position>, StoreError> {
    // The oldest row of each vault is the first of its part of the primary key, so this reads one row a vault.
    let oldest = match history {
        History::Readings => "SELECT min(observed_at) FROM vault_snapshot h WHERE h.vault_id = v.id",
        History::ChainReadings => {
            "SELECT min(first.at) FROM unnest($2::text[]) AS f (field) CROSS JOIN LATERAL ( \
                 SELECT min(observed_at) AS at FROM chain_reading h WHERE h.vault_id = v.id AND h.field = f.field) AS first"
        }
        History::Holders => "SELECT min(observed_at) FROM holder_snapshot h WHERE h.vault_id = v.id",
    };
    let locked = "SELECT day IS NULL FROM thinning WHERE history = $1 FOR UPDATE SKIP LOCKED";
    let is_first: Option<bool> = sqlx::query_scalar(locked).bind(history.name()).fetch_optional(&mut **tx).await?;
    match is_first {
        None => return Ok(None),
        Some(false) => {}
        Some(true) => {
            let sql = format!(
                "UPDATE thinning SET day = (SELECT min(vault_day_of(first.at)) FROM vault v CROSS JOIN LATERAL ({oldest}) AS first (at)) \
                 WHERE history = $1 AND $2::text[] IS NOT NULL"
            );
            let fields = rds_facts::ReadField::ALL.map(rds_facts::ReadField::as_str);
            sqlx::query(&sql).bind(history.name()).bind(fields).execute(&mut **tx).await?;
        }
    }
    let sql = "SELECT day::timestamp AT TIME ZONE 'UTC' AS day, (day + 1)::timestamp AT TIME ZONE 'UTC' AS next_day, vault_id \
               FROM thinning WHERE history = $1";
    Ok(sqlx::query_as(sql).bind(history.name()).fetch_optional(&mut **tx).await?)
}

async fn next_vaults(tx: &mut Tx<'_>, after: &str, limit: u32) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT id FROM vault WHERE id COLLATE \"C\" > $1 ORDER BY id COLLATE \"C\" LIMIT $2";
    Ok(sqlx::query_scalar(sql).bind(after).bind(i64::from(limit)).fetch_all(&mut **tx).await?)
}

async fn delete(
    tx: &mut Tx<'_>,
    history: History,
    ids: &[String],
    after: Timestamp,
    upto: Timestamp,
) -> Result<u64, StoreError> {
    let sql = match history {
        History::Readings => readings(),
        History::ChainReadings => "DELETE FROM chain_reading h USING unnest($1::text[]) AS v (id) \
             WHERE h.vault_id = v.id AND h.observed_at > $2 AND h.observed_at <= $3 \
                 AND EXISTS (SELECT FROM chain_reading later WHERE later.vault_id = h.vault_id AND later.field = h.field \
                     AND later.observed_at > h.observed_at AND later.observed_at <= $3)"
            .to_owned(),
        // The last complete look of the day stays beside the last one.
        History::Holders => "DELETE FROM holder_snapshot h USING unnest($1::text[]) AS v (id) \
             WHERE h.vault_id = v.id AND h.observed_at > $2 AND h.observed_at <= $3 \
                 AND EXISTS (SELECT FROM holder_snapshot later WHERE later.vault_id = h.vault_id \
                     AND later.observed_at > h.observed_at AND later.observed_at <= $3 \
                     AND (later.coverage_status = 'complete' OR h.coverage_status <> 'complete'))"
            .to_owned(),
    };
    let deleted = sqlx::query(&sql).bind(ids).bind(At(after)).bind(At(upto)).execute(&mut **tx).await?.rows_affected();
    if history == History::Readings && deleted > 0 {
        // The sums of these days stay as they are, so the marks of this very transaction are not needed. Marks of others stay.
        let sql = "DELETE FROM vault_day_change WHERE vault_id = ANY($1) AND xmin = pg_current_xact_id()::xid";
        sqlx::query(sql).bind(ids).execute(&mut **tx).await?;
    }
    Ok(deleted)
}

/// Deletes the readings of the vaults `$1` after `$2` up to `$3`, except those that a sum of the day or a chart of the day shows.
///
/// A day stays whole if a utilization was high, because `high_util_72h` depends on single hours, or if its prices differ so much that
/// without one of them the next would look like a leap.
fn readings() -> String {
    format!(
        "WITH priced AS ( \
             SELECT v.id AS vault_id, h.observed_at, h.tvl_usd, h.utilization, \
                    CASE WHEN h.price_per_share > 0 THEN h.price_per_share END AS price \
             FROM unnest($1::text[]) AS v (id) CROSS JOIN LATERAL ( \
                 SELECT observed_at, tvl_usd, utilization, price_per_share FROM vault_snapshot \
                 WHERE vault_id = v.id AND observed_at > $2 AND observed_at <= $3 OFFSET 0) AS h \
         ), ordered AS ( \
             SELECT *, max(price) OVER in_order AS peak, lag(price) OVER in_order AS price_before, \
                    lag(observed_at) OVER in_order AS before_at, row_number() OVER in_order AS number, \
                    row_number() OVER (PARTITION BY vault_id, price IS NULL ORDER BY observed_at DESC) AS number_from_end \
             FROM priced WINDOW in_order AS (PARTITION BY vault_id, price IS NULL ORDER BY observed_at) \
         ), fallen AS ( \
             SELECT *, div((peak::numeric - price::numeric) * 10000, peak::numeric) AS fall, \
                    max(observed_at) FILTER (WHERE price = peak) OVER in_order AS peak_at \
             FROM ordered WINDOW in_order AS (PARTITION BY vault_id, price IS NULL ORDER BY observed_at) \
         ), kept AS ( \
             SELECT vault_id, array_cat( \
                        ARRAY[min(observed_at), max(observed_at), \
                              max(observed_at) FILTER (WHERE tvl_usd IS NOT NULL), max(observed_at) FILTER (WHERE utilization IS NOT NULL), \
                              max(observed_at) FILTER (WHERE price <> price_before), \
                              (array_agg(before_at ORDER BY observed_at DESC) FILTER (WHERE price <> price_before))[1], \
                              (array_agg(observed_at ORDER BY price DESC NULLS LAST, observed_at DESC))[1], \
                              (array_agg(observed_at ORDER BY price NULLS LAST, observed_at DESC))[1], \
                              (array_agg(observed_at ORDER BY tvl_usd DESC NULLS LAST, observed_at DESC))[1], \
                              (array_agg(observed_at ORDER BY tvl_usd NULLS LAST, observed_at DESC))[1], \
                              (array_agg(observed_at ORDER BY fall DESC NULLS LAST, peak_at DESC NULLS LAST, observed_at))[1], \
                              (array_agg(peak_at ORDER BY fall DESC NULLS LAST, peak_at DESC NULLS LAST, observed_at))[1]], \
                        coalesce(array_agg(observed_at) FILTER (WHERE price IS NOT NULL AND (number = 1 OR number_from_end <= 2)), '{{}}')) \
                        AS instants, \
                    coalesce(bool_or(utilization > {HIGH_UTILIZATION}), false) \
                        OR coalesce(max(price) > {MAX_PRICE_RISE} * min(price), false) AS is_whole \
             FROM fallen GROUP BY vault_id \
         ) DELETE FROM vault_snapshot h USING kept k \
           WHERE h.vault_id = k.vault_id AND h.observed_at > $2 AND h.observed_at <= $3 AND NOT k.is_whole \
               AND NOT h.observed_at = ANY (array_remove(k.instants, NULL))"
    )
}
