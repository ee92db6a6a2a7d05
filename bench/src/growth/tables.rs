//! Sizes of the tables of a database.

use std::collections::BTreeMap;

use anyhow::Result;
use sqlx::PgPool;

/// The size of one table.
#[derive(Clone, Copy, Debug, Default, sqlx::FromRow)]
pub struct Size {
    /// Number of rows.
    pub rows: i64,
    /// Bytes on disk, with indexes and large values.
    pub bytes: i64,
}

/// The size of every table in the schema `public`, with its partitions, by name.
pub async fn sizes(pool: &PgPool) -> Result<BTreeMap<String, Size>> {
    sqlx::raw_sql("VACUUM ANALYZE").execute(pool).await?;
    let listed: Vec<(String, i64)> = sqlx::query_as(BYTES).fetch_all(pool).await?;
    let mut sizes = BTreeMap::new();
    for (name, bytes) in listed {
        let rows = sqlx::query_scalar(&format!("SELECT count(*) FROM \"{name}\"")).fetch_one(pool).await?;
        sizes.insert(name, Size { rows, bytes });
    }
    Ok(sizes)
}

/// Partitions count with the table that they are part of.
const BYTES: &str = "SELECT c.relname::text, coalesce((SELECT sum(pg_total_relation_size(p.relid))::bigint FROM pg_partition_tree(c.oid) AS p), \
                            pg_total_relation_size(c.oid)) \
    FROM pg_class AS c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition";
