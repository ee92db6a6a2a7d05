//! Daily totals of deposit assets by symbol: the observations they are computed from, and the stored days.

use crate::store::markets::RESERVE_GATES;
use crate::store::vaults::rewards::{self, Campaigns, Rates};
use crate::store::{At, Db, StoreError, Tx};
use rds_shared::rules::symbol_history::{CARRIED_DAYS, DayReading, DayTotal};
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Day;
use sqlx::{PgConnection, Row};
use std::collections::BTreeMap;

/// The last observation of each eligible vault on each of these UTC days, by symbol in upper case. A vault without an observation on a day
/// counts with its newest one from the [`CARRIED_DAYS`] before, marked as carried.
///
/// Costs two index look-ups per vault and one more per vault and day, independent of the number of observations.
///
/// A vault is eligible by its current state: active, not shut down, not closed to deposits, and on a served chain. `spellings` are the
/// exact symbols to read; all if `None`.
pub async fn readings(
    db: &mut PgConnection,
    spellings: Option<&[String]>,
    days: &[Day],
) -> Result<BTreeMap<String, Vec<DayReading>>, StoreError> {
    let sql = format!(
        "SELECT v.id, v.asset_symbol, day.start, s.observed_at, s.tvl_usd, s.base_apr \
         FROM vault v JOIN chain c ON c.chain_id = v.chain_id AND c.is_served LEFT JOIN vault_state st ON st.vault_id = v.id {RESERVE_GATES} \
         CROSS JOIN LATERAL (SELECT min(b.observed_at) AS first, max(b.observed_at) AS last FROM vault_snapshot b \
                             WHERE b.vault_id = v.id) AS read \
         JOIN unnest($2::timestamptz[]) AS day (start) \
              ON day.start <= read.last + make_interval(days => $3) AND day.start + interval '24 hours' > read.first \
         CROSS JOIN LATERAL (SELECT b.observed_at, b.tvl_usd, b.base_apr FROM vault_snapshot b \
                             WHERE b.vault_id = v.id AND b.observed_at >= day.start - make_interval(days => $3) \
                               AND b.observed_at < day.start + interval '24 hours' AND b.tvl_usd IS NOT NULL \
                             ORDER BY b.observed_at DESC LIMIT 1) AS s \
         WHERE v.is_active AND NOT v.is_shutdown AND coalesce(gate.deposit_status, st.deposit_status, 'unknown') <> 'closed' \
           AND v.asset_symbol IS NOT NULL AND ($1::text[] IS NULL OR v.asset_symbol = ANY($1)) \
         ORDER BY v.id COLLATE \"C\", day.start"
    );
    let starts: Vec<At> = days.iter().map(|day| At(day.start())).collect();
    let carried_days = i32::try_from(CARRIED_DAYS).unwrap_or(i32::MAX);
    let rows = sqlx::query(&sql).bind(spellings).bind(starts).bind(carried_days).fetch_all(&mut *db).await?;
    let mut ids: Vec<String> = rows.iter().map(|row| row.try_get("id")).collect::<Result<_, _>>()?;
    ids.dedup();
    let steps = rewards::histories(&mut *db, &ids).await?;
    let (mut readings, mut campaigns): (BTreeMap<String, Vec<DayReading>>, _) = Default::default();
    let mut current: &str = "";
    for row in &rows {
        // Rows are ordered by vault and day, so the campaigns of a vault advance with its days.
        let id: &str = row.try_get("id")?;
        if id != current {
            (current, campaigns) = (id, Campaigns::new(steps.get(id).map_or(&[], Vec::as_slice)));
        }
        let read_at = row.try_get::<At, _>("observed_at")?.0;
        let day = Day::of(row.try_get::<At, _>("start")?.0);
        let symbol: String = row.try_get::<String, _>("asset_symbol")?.to_uppercase();
        readings.entry(symbol).or_default().push(DayReading {
            day,
            tvl_usd: row.try_get("tvl_usd")?,
            apr_net: Rates::apr_net(row.try_get("base_apr")?, campaigns.at(read_at)),
            is_carried: Day::of(read_at) < day,
        });
    }
    Ok(readings)
}

/// Claims a day for computing its totals. `false` if it was claimed before; a concurrent claim waits for the other transaction's end.
pub async fn claim_day(tx: &mut Tx<'_>, day: Day, now: Timestamp) -> Result<bool, StoreError> {
    let claimed = sqlx::query(
        "INSERT INTO symbol_rollup (day, rolled_at) VALUES (($1 AT TIME ZONE 'UTC')::date, $2) ON CONFLICT DO NOTHING",
    );
    Ok(claimed.bind(At(day.start())).bind(At(now)).execute(&mut **tx).await?.rows_affected() > 0)
}

/// Whether a day was claimed.
pub async fn is_claimed(db: &Db, day: Day) -> Result<bool, StoreError> {
    let claimed =
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM symbol_rollup WHERE day = ($1 AT TIME ZONE 'UTC')::date)");
    Ok(claimed.bind(At(day.start())).fetch_one(&db.pool).await?)
}

/// Stores the totals of one day, one per symbol.
pub async fn keep_day(tx: &mut Tx<'_>, day: Day, totals: &BTreeMap<String, DayTotal>) -> Result<(), StoreError> {
    let column = |read: fn(&DayTotal) -> Option<f64>| totals.values().map(read).collect::<Vec<_>>();
    let vaults: Vec<i64> = totals.values().map(|total| i64::try_from(total.vaults).unwrap_or(i64::MAX)).collect();
    sqlx::query(
        "INSERT INTO symbol_day (symbol, day, tvl_usd, apr_net, vaults) \
         SELECT t.symbol, ($1 AT TIME ZONE 'UTC')::date, t.tvl_usd, t.apr_net, t.vaults \
         FROM unnest($2::text[], $3::float8[], $4::float8[], $5::bigint[]) AS t (symbol, tvl_usd, apr_net, vaults)",
    )
    .bind(At(day.start()))
    .bind(totals.keys().map(String::as_str).collect::<Vec<_>>())
    .bind(column(|total| Some(total.tvl_usd)))
    .bind(column(|total| total.apr_net))
    .bind(vaults)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The stored days of a symbol (in upper case), from `from` until before `to`.
pub async fn kept_days(
    db: &mut PgConnection,
    symbol: &str,
    from: Day,
    to: Day,
) -> Result<BTreeMap<Day, DayTotal>, StoreError> {
    let rows = sqlx::query(
        "SELECT (day::timestamp AT TIME ZONE 'UTC') AS start, tvl_usd, apr_net, vaults FROM symbol_day \
         WHERE symbol = $1 AND day >= ($2 AT TIME ZONE 'UTC')::date AND day < ($3 AT TIME ZONE 'UTC')::date",
    )
    .bind(symbol)
    .bind(At(from.start()))
    .bind(At(to.start()))
    .fetch_all(db)
    .await?;
    let kept = |row: &sqlx::postgres::PgRow| {
        let total = DayTotal {
            tvl_usd: row.try_get("tvl_usd")?,
            apr_net: row.try_get("apr_net")?,
            vaults: row.try_get::<i64, _>("vaults")?.unsigned_abs(),
            // Only complete days are stored.
            carried: 0,
        };
        Ok((Day::of(row.try_get::<At, _>("start")?.0), total))
    };
    rows.iter().map(kept).collect()
}
