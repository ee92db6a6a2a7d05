//! The history of one vault's observations.

use crate::db_enum::DbEnum;
use crate::vaults::rewards::{self, Campaigns, Rates};
use crate::{At, StoreError};
use rds_facts::IncentivesStatus;
use rds_shared::model::vault_history::SnapshotPoint;
use rds_shared::wire::Timestamp;
use sqlx::{FromRow, PgConnection};

/// A vault's observations from `from` to `to`, both included, oldest first, with the rates that resulted from the campaigns at that time.
/// `db` must be inside a snapshot transaction, so that observations and campaigns belong to the same instant.
pub async fn between(
    db: &mut PgConnection,
    id: &str,
    from: Timestamp,
    to: Timestamp,
) -> Result<Vec<SnapshotPoint>, StoreError> {
    let steps = rewards::history(&mut *db, id).await?;
    let mut campaigns = Campaigns::new(&steps);
    // All points are read as one row of arrays: decoding a year of hourly rows one by one cost more than everything else.
    let columns: Readings = sqlx::query_as(
        "SELECT coalesce(array_agg(observed_at ORDER BY observed_at), '{}') AS observed_at, \
                coalesce(array_agg(tvl_usd ORDER BY observed_at), '{}') AS tvl_usd, \
                coalesce(array_agg(base_apr ORDER BY observed_at), '{}') AS base_apr, \
                coalesce(array_agg(borrow_apr ORDER BY observed_at), '{}') AS borrow_apr, \
                coalesce(array_agg(incentives ORDER BY observed_at), '{}') AS incentives, \
                coalesce(array_agg(price_per_share ORDER BY observed_at), '{}') AS price_per_share \
         FROM vault_snapshot WHERE vault_id = $1 AND observed_at BETWEEN $2 AND $3",
    )
    .bind(id)
    .bind(At(from))
    .bind(At(to))
    .fetch_one(&mut *db)
    .await?;
    let rates = columns.base_apr.into_iter().zip(columns.borrow_apr).zip(columns.incentives);
    let read = columns.observed_at.into_iter().zip(columns.tvl_usd).zip(columns.price_per_share).zip(rates);
    let point = |(((At(recorded_at), tvl_usd), price_per_share), ((base_apr, borrow_apr), incentives))| {
        let DbEnum(incentives): DbEnum<IncentivesStatus> = incentives;
        let rates = Rates::of(base_apr, borrow_apr, incentives, campaigns.at(recorded_at));
        SnapshotPoint {
            recorded_at,
            tvl_usd,
            apr_net: rates.apr_net,
            borrow_apr,
            borrow_reward_apr: rates.borrow.reward_apr,
            borrow_apr_net: rates.borrow.apr_net,
            borrow_incentive_status: rates.borrow.status,
            price_per_share,
        }
    };
    Ok(read.map(point).collect())
}

/// Observations of one vault as columns, in order of time.
#[derive(FromRow)]
struct Readings {
    observed_at: Vec<At>,
    tvl_usd: Vec<Option<f64>>,
    base_apr: Vec<Option<f64>>,
    borrow_apr: Vec<Option<f64>>,
    incentives: Vec<DbEnum<IncentivesStatus>>,
    price_per_share: Vec<Option<f64>>,
}
