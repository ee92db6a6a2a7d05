//! An overview of all baskets for operators.

use crate::store::baskets::{Support, support};
use crate::store::{At, Db, StoreError};
use rds_shared::wire::Timestamp;
use sqlx::Row;
use std::collections::BTreeMap;

/// The state of one basket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    /// Id of the basket.
    pub id: String,
    /// Its versions, newest first, with their support status.
    pub versions: Vec<(String, Support)>,
    /// Why the due rebalance cannot be carried out, and since when.
    pub halt: Option<(String, Timestamp)>,
}

/// The state of all baskets, by id.
pub async fn overview(db: &Db) -> Result<Vec<Overview>, StoreError> {
    let rows = sqlx::query(
        "SELECT b.id, b.halted_since, b.halt_reason, v.version_id, s.deprecated_at, s.retired_at \
         FROM basket b LEFT JOIN basket_version v ON v.basket_id = b.id LEFT JOIN basket_version_support s USING (version_id) \
         ORDER BY v.number DESC",
    );
    let mut baskets: BTreeMap<String, Overview> = BTreeMap::new();
    for row in rows.fetch_all(&db.pool).await? {
        let id: String = row.try_get("id")?;
        let since: Option<At> = row.try_get("halted_since")?;
        let halt = row.try_get::<Option<String>, _>("halt_reason")?.zip(since.map(Timestamp::from));
        let basket = baskets.entry(id.clone()).or_insert(Overview { id, versions: Vec::new(), halt });
        if let Some(version) = row.try_get("version_id")? {
            basket.versions.push((version, support(&row)?));
        }
    }
    Ok(baskets.into_values().collect())
}
