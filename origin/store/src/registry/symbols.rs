//! Daily totals of deposit assets by symbol: the observations they are computed from, and the stored days.

use crate::markets::RESERVE_GATES;
use crate::vaults::rewards::{self, Campaigns, Rates};
use crate::{At, Db, StoreError, Tx};
use rds_shared::rules::symbol_history::{CARRIED_DAYS, DayReading, DayTotal};
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Day;
use sqlx::{FromRow, PgConnection};
use std::collections::BTreeMap;

/// A vault's observation that counts for a day.
#[derive(FromRow)]
struct ReadingRow {
    id: String,
    asset_symbol: String,
    start: At,
    observed_at: At,
    tvl_usd: f64,
    base_apr: Option<f64>,
}

/// The last observation of each eligible vault on each of these UTC days, by symbol in upper case. A vault without an observation on a day
/// counts with its newest observation from the [`CARRIED_DAYS`] days before, marked as carried.
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
    let rows: Vec<ReadingRow> =
        sqlx::query_as(&sql).bind(spellings).bind(starts).bind(carried_days).fetch_all(&mut *db).await?;
    let mut ids: Vec<String> = rows.iter().map(|row| row.id.clone()).collect();
    ids.dedup();
    let steps = rewards::histories(&mut *db, &ids).await?;
    let (mut readings, mut campaigns): (BTreeMap<String, Vec<DayReading>>, _) = Default::default();
    let mut current: &str = "";
    for row in &rows {
        // Rows are ordered by vault and day, so the campaigns of a vault advance with its days.
        if row.id != current {
            (current, campaigns) = (row.id.as_str(), Campaigns::new(steps.get(&row.id).map_or(&[], Vec::as_slice)));
        }
        let day = Day::of(row.start.0);
        readings.entry(row.asset_symbol.to_uppercase()).or_default().push(DayReading {
            day,
            tvl_usd: row.tvl_usd,
            apr_net: Rates::apr_net(row.base_apr, campaigns.at(row.observed_at.0)),
            is_carried: Day::of(row.observed_at.0) < day,
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

/// Whether a committed transaction has claimed a day.
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
    .bind(At(day.start())) // $1 day
    .bind(totals.keys().map(String::as_str).collect::<Vec<_>>()) // $2 symbol
    .bind(column(|total| Some(total.tvl_usd)))
    .bind(column(|total| total.apr_net))
    .bind(vaults)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

#[derive(FromRow)]
struct KeptDay {
    start: At,
    tvl_usd: f64,
    apr_net: Option<f64>,
    vaults: i64,
}

/// The stored days of a symbol (in upper case), from `from` until before `to`.
pub async fn kept_days(
    db: &mut PgConnection,
    symbol: &str,
    from: Day,
    to: Day,
) -> Result<BTreeMap<Day, DayTotal>, StoreError> {
    let rows: Vec<KeptDay> = sqlx::query_as(
        "SELECT (day::timestamp AT TIME ZONE 'UTC') AS start, tvl_usd, apr_net, vaults FROM symbol_day \
         WHERE symbol = $1 AND day >= ($2 AT TIME ZONE 'UTC')::date AND day < ($3 AT TIME ZONE 'UTC')::date",
    )
    .bind(symbol)
    .bind(At(from.start()))
    .bind(At(to.start()))
    .fetch_all(db)
    .await?;
    // Only days on which every vault was read are stored, so no value is carried forward.
    let total = |row: &KeptDay| DayTotal {
        tvl_usd: row.tvl_usd,
        apr_net: row.apr_net,
        vaults: row.vaults.unsigned_abs(),
        carried: 0,
    };
    Ok(rows.iter().map(|row| (Day::of(row.start.0), total(row))).collect())
}
