//! The inputs of indices: versions of baskets of vaults, and daily closing prices of their vaults' shares.

use crate::{At, Db, StoreError};
use rds_shared::rules::indices::{ClosingPrices, Price};
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Day;
use sqlx::FromRow;

/// A basket of vaults with its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredIndex {
    /// Id of the basket.
    pub id: String,
    pub name: String,
    /// Oldest first; at least one.
    pub versions: Vec<StoredIndexVersion>,
}

/// A basket version.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct StoredIndexVersion {
    pub version_id: String,
    /// Start of the version's validity.
    #[sqlx(try_from = "At")]
    pub effective_from: Timestamp,
}

#[derive(FromRow)]
struct VersionRow {
    id: String,
    name: String,
    #[sqlx(flatten)]
    version: StoredIndexVersion,
}

/// The published baskets of vaults, by id; only the basket `only` if given.
pub async fn all(db: &Db, only: Option<&str>) -> Result<Vec<StoredIndex>, StoreError> {
    let rows = sqlx::query_as(
        "SELECT b.id, b.name, v.version_id, v.effective_from FROM basket b JOIN basket_version v ON v.basket_id = b.id \
         WHERE b.constituent_type = 'vault' AND ($1::text IS NULL OR b.id = $1) ORDER BY b.id COLLATE \"C\", v.number",
    );
    let mut indices: Vec<StoredIndex> = Vec::new();
    for VersionRow { id, name, version } in rows.bind(only).fetch_all(&db.pool).await? {
        match indices.last_mut().filter(|index| index.id == id) {
            Some(index) => index.versions.push(version),
            None => indices.push(StoredIndex { id, name, versions: vec![version] }),
        }
    }
    Ok(indices)
}

/// Daily closing prices: for every vault that was ever in the basket, the last price per share observed on each UTC day from the first
/// version's day through `through`. Observations after `now` are ignored.
///
/// Costs one index look-up per vault and day, independent of the number of observations.
pub async fn closing_prices(
    db: &Db,
    basket_id: &str,
    through: Day,
    now: Timestamp,
) -> Result<ClosingPrices, StoreError> {
    let rows = sqlx::query_as(
        "SELECT h.id, day.start, s.price_per_share \
         FROM (SELECT DISTINCT c.id FROM basket_constituent c JOIN basket_version v USING (version_id) WHERE v.basket_id = $1) AS h \
         CROSS JOIN LATERAL (SELECT min(b.observed_at) AS first, max(b.observed_at) AS last FROM vault_snapshot b \
                             WHERE b.vault_id = h.id) AS read \
         CROSS JOIN LATERAL generate_series( \
             (SELECT date_trunc('day', min(v.effective_from), 'UTC') FROM basket_version v WHERE v.basket_id = $1), \
             $2::timestamptz, interval '24 hours') AS day (start) \
         CROSS JOIN LATERAL (SELECT b.price_per_share FROM vault_snapshot b \
                             WHERE b.vault_id = h.id AND b.observed_at >= day.start AND b.observed_at <= $3 \
                               AND b.observed_at < day.start + interval '24 hours' AND b.price_per_share IS NOT NULL \
                             ORDER BY b.observed_at DESC LIMIT 1) AS s \
         WHERE day.start <= read.last AND day.start + interval '24 hours' > read.first",
    );
    let mut prices = ClosingPrices::new();
    let rows: Vec<(String, At, f64)> =
        rows.bind(basket_id).bind(At(through.start())).bind(At(now)).fetch_all(&db.pool).await?;
    for (vault_id, At(start), price_per_share) in rows {
        if let Some(price) = Price::read(price_per_share) {
            prices.entry(Day::of(start)).or_default().insert(vault_id, price);
        }
    }
    Ok(prices)
}
