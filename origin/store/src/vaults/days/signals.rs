//! The signals of vaults at an instant, computed from daily sums: 364 of the 365 days are read as one row each, or all but the last three
//! days as a single row.

use crate::scoring::{self, Signals};
use crate::vaults::days::sql::{PART_COLUMNS, fold, midnight, stretch};
use crate::vaults::days::{refresh, summed};
use crate::{At, StoreError, Tx};
use std::collections::HashMap;

/// Vaults per statement: reading their days of a year takes seconds, and a statement must stay well below minutes.
const VAULTS_PER_STATEMENT: usize = 1_000;

/// The signals of `ids` at `now`, for a score run. Computes the sums of changed days first.
///
/// The caller holds the writers' lock.
pub async fn signals(tx: &mut Tx<'_>, ids: &[String], now: At) -> Result<HashMap<String, Signals>, StoreError> {
    let (summed, unsummed) = parted(tx, ids).await?;
    if summed.is_empty() {
        return scoring::signals_from_readings(tx, &unsummed, now).await;
    }
    refresh(tx, &summed).await?;
    close_days(tx, &summed, now).await?;
    let mut signals = read(tx, &summed, now, &parts_query(Since::Closed)).await?;
    signals.extend(scoring::signals_from_readings(tx, &unsummed, now).await?);
    Ok(signals)
}

/// The signals of `ids` at any instant `then`. Read-only: changed days must be summed before.
pub async fn signals_at(tx: &mut Tx<'_>, ids: &[String], then: At) -> Result<HashMap<String, Signals>, StoreError> {
    let (summed, unsummed) = parted(tx, ids).await?;
    let (mut signals, parts) = (HashMap::new(), parts_query(Since::Window));
    for ids in summed.chunks(VAULTS_PER_STATEMENT) {
        signals.extend(read(tx, ids, then, &parts).await?);
    }
    signals.extend(scoring::signals_from_readings(tx, &unsummed, then).await?);
    Ok(signals)
}

/// Splits `ids` into those with daily sums and those without.
async fn parted(tx: &mut Tx<'_>, ids: &[String]) -> Result<(Vec<String>, Vec<String>), StoreError> {
    let known = summed(&mut **tx, ids).await?;
    Ok(ids.iter().cloned().partition(|id| known.contains(id)))
}

/// Combines the days up to the day before yesterday into each vault's row of `vault_sums`, the closed row. A closed row is replaced if it
/// ends on another day, or if its highest price or the start of its greatest drawdown has left the window. Yesterday stays open, because
/// most late observations belong to the last day.
pub(crate) async fn close_days(tx: &mut Tx<'_>, ids: &[String], now: At) -> Result<(), StoreError> {
    // A closed row is reused while its highest price and the start of its greatest drawdown are in the window (`holds`); then only the days
    // after it are added.
    let parts = format!(
        "SELECT '-infinity'::date AS day, {PART_COLUMNS} FROM ( \
             SELECT k.used_at, k.calm_at, k.priced_at, k.priced_before, k.high, k.high_at, NULL::float8 AS low, k.drawdown_bp, \
                    k.drawdown_from) AS closed WHERE k.holds \
         UNION ALL SELECT k.first_day, {PART_COLUMNS} FROM ({left}) AS edge WHERE NOT k.holds \
         UNION ALL SELECT day, {PART_COLUMNS} FROM vault_day d WHERE d.vault_id = k.vault_id \
             AND d.day > CASE WHEN k.holds THEN k.closed_to ELSE k.first_day END AND d.day <= k.last_closed",
        left = stretch("k.vault_id", "k.since_now", &midnight("k.first_day + 1")),
    );
    let sql = format!(
        "WITH k AS MATERIALIZED ( \
             SELECT k.*, w.*, coalesce(k.closed_to < w.last_closed AND {holds}, false) AS holds \
             FROM vault_sums k CROSS JOIN ( \
                 SELECT $2 - interval '365 days' AS since_now, vault_day_of($2 - interval '365 days') AS first_day, \
                        vault_day_of($2) - 2 AS last_closed) AS w \
             WHERE k.vault_id = ANY($1) AND (k.closed_to = w.last_closed AND {holds}) IS NOT TRUE \
         ) UPDATE vault_sums AS kept SET closed_to = k.last_closed, since = CASE WHEN k.holds THEN k.since ELSE k.since_now END, \
               used_at = f.used_at, calm_at = f.calm_at, priced_at = f.priced_at, priced_before = f.priced_before, \
               high = f.high, high_at = f.high_at, drawdown_bp = f.drawdown_bp, drawdown_from = f.drawdown_from \
           FROM k CROSS JOIN LATERAL ({folded}) AS f WHERE kept.vault_id = k.vault_id",
        holds = "k.since <= w.since_now AND coalesce(k.high_at > w.since_now, true) AND coalesce(k.drawdown_from > w.since_now, true)",
        folded = fold(&parts),
    );
    sqlx::query(&sql).bind(ids).bind(now).execute(&mut **tx).await?;
    Ok(())
}

/// What a query reads first; the later days follow one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    /// The closed row ([`close_days`]).
    Closed,
    /// The observations of the first of the 365 days.
    Window,
}

/// A query for the parts that make up the 365 days before `$2` of the vault `asked.vault_id`.
fn parts_query(since: Since) -> String {
    // If the day of `$2` has observations after `$2`, only those up to `$2` count. They are joined to the day's row, so nothing is read if
    // the day has none.
    let right = stretch("d.vault_id", &midnight("d.day"), "$2");
    let (first, behind) = match since {
        Since::Closed => (
            "SELECT '-infinity'::date AS day, used_at, calm_at, priced_at, priced_before, high, high_at, NULL::float8 AS low, \
                    drawdown_bp, drawdown_from FROM vault_sums k WHERE k.vault_id = asked.vault_id"
                .to_owned(),
            // [`close_days`] has just closed the days up to this one.
            "vault_day_of($2) - 2",
        ),
        Since::Window => {
            let first = "vault_day_of($2 - interval '365 days')";
            let left = stretch("asked.vault_id", "$2 - interval '365 days'", &midnight(&format!("{first} + 1")));
            (format!("SELECT {first} AS day, {PART_COLUMNS} FROM ({left}) AS edge"), first)
        }
    };
    format!(
        "{first} \
         UNION ALL SELECT day, {PART_COLUMNS} FROM vault_day d WHERE d.vault_id = asked.vault_id AND d.day > {behind} \
             AND d.day <= vault_day_of($2) AND d.last_at <= $2 \
         UNION ALL SELECT d.day, {edge} FROM vault_day d CROSS JOIN LATERAL ({right}) AS edge \
             WHERE d.vault_id = asked.vault_id AND d.day = vault_day_of($2) AND d.last_at > $2",
        edge = PART_COLUMNS.split(", ").map(|column| format!("edge.{column}")).collect::<Vec<_>>().join(", "),
    )
}

/// Combines `parts` for each of `ids` into the signals that [`scoring::signals_from_readings`] defines.
async fn read(tx: &mut Tx<'_>, ids: &[String], now: At, parts: &str) -> Result<HashMap<String, Signals>, StoreError> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    // Fewer than two prices give no drawdown. The observation 71 to 72 hours ago is looked up only if utilization has been high since then.
    let sql = format!(
        "SELECT asked.vault_id, CASE WHEN it.has_two THEN it.drawdown_bp END AS drawdown_bp, \
                CASE WHEN it.has_two THEN it.priced_at END AS priced_at, \
                CASE WHEN it.is_busy THEN EXISTS ( \
                    SELECT FROM vault_snapshot h WHERE h.vault_id = asked.vault_id AND utilization IS NOT NULL \
                        AND observed_at BETWEEN $2 - interval '72 hours' AND $2 - interval '71 hours') ELSE false END AS high_util_72h, \
                coalesce(2 * s.tvl_usd <= past.tvl_usd AND past.tvl_usd > 0, false) AS tvl_halved_7d \
         FROM unnest($1::text[]) AS asked (vault_id) \
         LEFT JOIN vault_state s USING (vault_id) \
         CROSS JOIN LATERAL ( \
             SELECT drawdown_bp, priced_at, coalesce(priced_before > $2 - interval '365 days', false) AS has_two, \
                    coalesce(used_at >= $2 - interval '72 hours', false) \
                        AND coalesce(calm_at < $2 - interval '72 hours', true) AS is_busy \
             FROM ({folded}) AS folded) AS it \
         LEFT JOIN LATERAL ( \
             SELECT tvl_usd FROM vault_snapshot h WHERE h.vault_id = asked.vault_id AND tvl_usd IS NOT NULL \
                 AND observed_at BETWEEN $2 - interval '8 days' AND $2 - interval '7 days' \
             ORDER BY observed_at DESC LIMIT 1) AS past ON true",
        folded = fold(parts),
    );
    let rows: Vec<Signals> = sqlx::query_as(&sql).bind(ids).bind(now).fetch_all(&mut **tx).await?;
    Ok(rows.into_iter().map(|row| (row.vault_id.clone(), row)).collect())
}
