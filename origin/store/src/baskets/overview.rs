//! An overview of all baskets for operators.

use crate::baskets::Support;
use crate::decode::Nullable;
use crate::{At, Db, StoreError};
use rds_shared::wire::Timestamp;
use sqlx::FromRow;
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

#[derive(FromRow)]
struct OverviewRow {
    id: String,
    #[sqlx(try_from = "Nullable<At>")]
    halted_since: Option<Timestamp>,
    halt_reason: Option<String>,
    version_id: Option<String>,
    #[sqlx(flatten)]
    support: Support,
}

/// The state of all baskets, by id.
pub async fn overview(db: &Db) -> Result<Vec<Overview>, StoreError> {
    let rows = sqlx::query_as(
        "SELECT b.id, b.halted_since, b.halt_reason, v.version_id, s.deprecated_at, s.retired_at \
         FROM basket b LEFT JOIN basket_version v ON v.basket_id = b.id LEFT JOIN basket_version_support s USING (version_id) \
         ORDER BY v.number DESC",
    );
    let mut baskets: BTreeMap<String, Overview> = BTreeMap::new();
    for OverviewRow { id, halted_since, halt_reason, version_id, support } in rows.fetch_all(&db.pool).await? {
        let halt = halt_reason.zip(halted_since);
        let basket = baskets.entry(id.clone()).or_insert(Overview { id, versions: Vec::new(), halt });
        basket.versions.extend(version_id.map(|version_id| (version_id, support)));
    }
    Ok(baskets.into_values().collect())
}
