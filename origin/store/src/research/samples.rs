//! Inputs of backtests: price windows, scores in force at an instant, and the stored samples.

use crate::{At, StoreError, Tx};
use rds_shared::research::outcome::{BASE_WITHIN_DAYS, Horizon, MAX_PRICE_RISE, WindowPrices};
use sqlx::FromRow;
use std::collections::HashSet;

/// A priced vault at an instant, with the window that follows.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct WindowRow {
    pub vault_id: String,
    pub protocol_id: String,
    /// Start of the window.
    pub as_of: At,
    /// Greatest drawdown from the running peak within the window, in basis points rounded down.
    pub drawdown_bp: Option<i64>,
    /// Time of the last price in the window.
    pub last_at: Option<At>,
    /// Time of the last price in the window that differs from the price before it.
    pub moved_at: Option<At>,
    /// Whether the window contains a published incident of the vault, or a published incident that counts against the vault's protocol.
    pub incident: bool,
    /// The score published at `as_of`, if any.
    pub published_score: Option<i32>,
}

impl WindowRow {
    /// The values from which `rds_shared::research::outcome` decides the outcome.
    pub fn window_prices(&self) -> WindowPrices {
        let [last_at, moved_at] = [self.last_at, self.moved_at].map(|at| at.map(|At(at)| at));
        WindowPrices { drawdown_bp: self.drawdown_bp.unwrap_or(0), last_at, moved_at }
    }
}

/// Vaults whose price rose by more than the factor [`MAX_PRICE_RISE`] between two prices at or before `now`.
///
/// For vaults with daily sums, an index finds the days with such a rise; the caller must have summed changed days
/// ([`crate::vaults::days::refresh_all`]). For vaults without daily sums, all prices are read in the order of their key.
pub async fn broken_series(tx: &mut Tx<'_>, now: At) -> Result<HashSet<String>, StoreError> {
    let sql = "SELECT vault_id FROM vault_day WHERE leapt_at <= $1 \
               UNION \
               SELECT v.id FROM vault v CROSS JOIN LATERAL ( \
                   SELECT price, lag(price) OVER (ORDER BY observed_at) AS before FROM ( \
                       SELECT observed_at, price_per_share AS price FROM vault_snapshot h \
                       WHERE h.vault_id = v.id AND price_per_share > 0 AND observed_at <= $1) AS priced) AS step \
               WHERE NOT EXISTS (SELECT FROM vault_sums k WHERE k.vault_id = v.id) AND price > $2 * before";
    let rows: Vec<String> = sqlx::query_scalar(sql).bind(now).bind(MAX_PRICE_RISE as f64).fetch_all(&mut **tx).await?;
    Ok(rows.into_iter().collect())
}

/// Time of the newest price at or before `now` of any vault on a served chain.
pub async fn newest_price(tx: &mut Tx<'_>, now: At) -> Result<Option<At>, StoreError> {
    let sql = "SELECT max(newest.at) FROM vault v JOIN chain c USING (chain_id), \
                 LATERAL (SELECT observed_at AS at FROM vault_snapshot h WHERE h.vault_id = v.id AND price_per_share > 0 \
                              AND observed_at <= $1 ORDER BY observed_at DESC LIMIT 1) AS newest \
               WHERE c.is_served";
    Ok(sqlx::query_scalar(sql).bind(now).fetch_one(&mut **tx).await?)
}

/// Every vault on a served chain with a recent price before an instant, with the window of `horizon` after it.
///
/// The instants are midnights, so a window consists of whole days, and daily sums are used where they exist. The caller must have summed
/// changed days ([`crate::vaults::days::refresh_all`]).
pub async fn windows(tx: &mut Tx<'_>, instants: &[At], horizon: Horizon) -> Result<Vec<WindowRow>, StoreError> {
    let mut rows = Vec::new();
    // One statement per instant: a single one for all would take minutes with many vaults.
    for instant in instants {
        let mut found = windows_of(tx, *instant, horizon, "EXISTS", FROM_DAYS).await?;
        let unsummed = windows_of(tx, *instant, horizon, "NOT EXISTS", FROM_READINGS).await?;
        if !unsummed.is_empty() {
            found.extend(unsummed);
            found.sort_by(|one, other| one.vault_id.cmp(&other.vault_id));
        }
        rows.extend(found);
    }
    Ok(rows)
}

/// The prices after `w.as_of`, from the daily sums of the window.
const FROM_DAYS: &str = "SELECT max(greatest(drawdown_bp, div((peak::numeric - low::numeric) * 10000, peak::numeric)::bigint)) AS drawdown_bp, \
            max(priced_at) AS last_at, \
            max(greatest(moved_at, CASE WHEN opened::numeric <> before::numeric THEN opened_at END)) AS moved_at \
     FROM (SELECT *, greatest(base.price, max(high) OVER earlier) AS peak, \
                  coalesce(lag(closed) OVER (ORDER BY day), base.price) AS before \
           FROM vault_day d WHERE d.vault_id = v.id AND high IS NOT NULL \
               AND day >= (w.as_of AT TIME ZONE 'UTC')::date \
               AND day < ((w.as_of + make_interval(days => $2)) AT TIME ZONE 'UTC')::date \
           WINDOW earlier AS (ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS day";

/// The prices after `w.as_of`, from single observations.
const FROM_READINGS: &str = "SELECT max(div((peak - pps) * 10000, peak))::bigint AS drawdown_bp, max(observed_at) AS last_at, \
            max(observed_at) FILTER (WHERE pps <> before) AS moved_at FROM ( \
         SELECT observed_at, price_per_share::numeric AS pps, \
                max(price_per_share::numeric) OVER so_far AS peak, lag(price_per_share::numeric) OVER so_far AS before \
         FROM vault_snapshot h WHERE h.vault_id = v.id AND price_per_share > 0 \
             AND observed_at BETWEEN base.observed_at AND w.as_of + make_interval(days => $2) \
         WINDOW so_far AS (ORDER BY observed_at)) AS reading \
     WHERE observed_at > w.as_of";

/// The windows after an instant for the vaults with daily sums (`EXISTS`) or without (`NOT EXISTS`), in order of id.
async fn windows_of(
    tx: &mut Tx<'_>,
    instant: At,
    horizon: Horizon,
    have_sums: &str,
    prices: &str,
) -> Result<Vec<WindowRow>, StoreError> {
    let sql = format!(
        "SELECT v.id AS vault_id, v.protocol_id, w.as_of, price.drawdown_bp, price.last_at, price.moved_at, \
                (SELECT new_score FROM score_history s WHERE s.vault_id = v.id AND s.observed_at <= w.as_of \
                 ORDER BY s.observed_at DESC, s.version DESC LIMIT 1) AS published_score, \
                EXISTS (SELECT FROM event_link l JOIN event e ON e.id = l.event_id \
                        WHERE ((l.scope = 'vault' AND l.subject_id = v.id) \
                               OR (l.scope = 'protocol' AND l.subject_id = v.protocol_id AND l.affects_protocol_score)) \
                          AND e.event_type = 'Incident' AND e.state = 'published' \
                          AND e.occurred_at > w.as_of AND e.occurred_at <= w.as_of + make_interval(days => $2)) AS incident \
         FROM (SELECT $1::timestamptz) AS w (as_of) \
         CROSS JOIN (SELECT v.id, v.protocol_id FROM vault v JOIN chain c USING (chain_id) WHERE c.is_served \
                         AND {have_sums} (SELECT FROM vault_sums k WHERE k.vault_id = v.id)) AS v \
         JOIN LATERAL (SELECT observed_at, price_per_share AS price FROM vault_snapshot h WHERE h.vault_id = v.id AND price_per_share > 0 \
                           AND observed_at <= w.as_of AND observed_at > w.as_of - make_interval(days => $3) \
                       ORDER BY observed_at DESC LIMIT 1) AS base ON true \
         CROSS JOIN LATERAL ({prices}) AS price \
         ORDER BY v.id COLLATE \"C\""
    );
    Ok(sqlx::query_as(&sql)
        .bind(instant)
        .bind(i32::try_from(horizon.days()).unwrap_or(i32::MAX))
        .bind(i32::try_from(BASE_WITHIN_DAYS).unwrap_or(i32::MAX))
        .fetch_all(&mut **tx)
        .await?)
}

/// A row of `research_sample`, with two values that are not stored: the protocol, and whether all prices in the window's last
/// quarter repeat an earlier price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleRow {
    pub vault_id: String,
    pub protocol_id: String,
    pub repeats: bool,
    pub as_of: At,
    pub value: i32,
    pub price_loss: Option<bool>,
    pub drawdown_bp: Option<i64>,
    pub incident: bool,
}

/// Replaces the samples of a signal over a horizon.
pub async fn replace(tx: &mut Tx<'_>, signal: &str, horizon: Horizon, rows: &[SampleRow]) -> Result<(), StoreError> {
    let days = i32::try_from(horizon.days()).unwrap_or(i32::MAX);
    let sql = "DELETE FROM research_sample WHERE signal = $1 AND horizon_days = $2";
    sqlx::query(sql).bind(signal).bind(days).execute(&mut **tx).await?;
    fn column<'r, T>(rows: &'r [SampleRow], read: impl Fn(&'r SampleRow) -> T) -> Vec<T> {
        rows.iter().map(read).collect()
    }
    sqlx::query(
        "INSERT INTO research_sample (signal, horizon_days, as_of, vault_id, value, price_loss, drawdown_bp, incident) \
         SELECT $1, $2, * FROM unnest($3::timestamptz[], $4::text[], $5::int[], $6::bool[], $7::bigint[], $8::bool[])",
    )
    .bind(signal)
    .bind(days) // $2 horizon_days
    .bind(column(rows, |row| row.as_of))
    .bind(column(rows, |row| row.vault_id.as_str()))
    .bind(column(rows, |row| row.value))
    .bind(column(rows, |row| row.price_loss))
    .bind(column(rows, |row| row.drawdown_bp))
    .bind(column(rows, |row| row.incident))
    .execute(&mut **tx)
    .await?;
    Ok(())
}
