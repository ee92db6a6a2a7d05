//! Plans of the statements that a service has sent, as Postgres chooses them, and what they read of large tables.
//!
//! sqlx prepares each statement once in a connection and Postgres lists it in `pg_prepared_statements`: the text as it is shipped, after
//! every `format!`. So nothing has to be copied into a test, and a statement that nobody listed is examined as well.

use crate::support::sql::without_comments;
use rds_store::Db;
use serde_json::Value;
use sqlx::{Executor, PgConnection, Row};
use std::collections::{BTreeMap, BTreeSet};

/// The first words of statements that have a plan.
const PLANNED: [&str; 5] = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"];

/// A statement, how often it was executed, and the large tables that its plan reads from one end to the other.
#[derive(Debug, Default)]
pub struct Sent {
    pub executions: i64,
    pub scans: BTreeSet<String>,
}

/// What connections have sent, by text.
pub type AllSent = BTreeMap<String, Sent>;

/// Adds everything that the connections of the pool have sent. Nobody else may use the pool meanwhile.
pub async fn of_pool(db: &Db, large: &BTreeSet<String>, sent: &mut AllSent) {
    let mut connections = Vec::new();
    while connections.len() < db.pool.size() as usize {
        connections.push(db.pool.acquire().await.unwrap());
    }
    for connection in &mut connections {
        of(connection, large, sent).await;
    }
}

/// Adds everything that a connection has sent. The settings of the connection count, except that plans are those for any values.
pub async fn of(connection: &mut PgConnection, large: &BTreeSet<String>, sent: &mut AllSent) {
    let partial = partial_indexes(connection).await;
    let sql = "SELECT name, statement, cardinality(parameter_types), generic_plans + custom_plans \
                   FROM pg_prepared_statements ORDER BY name";
    let prepared = connection.fetch_all(sql).await.unwrap();
    // The plan for any values, which sqlx's statements get once they have run five times.
    connection.execute("SET plan_cache_mode = force_generic_plan").await.unwrap();
    for row in prepared {
        let (name, text): (String, String) = (row.get(0), row.get(1));
        let (parameters, executions): (Option<i32>, i64) = (row.get(2), row.get(3));
        if !PLANNED.iter().any(|verb| without_comments(&text).starts_with(verb)) {
            continue;
        }
        let one = sent.entry(text).or_default();
        one.executions += executions;
        let values = vec!["NULL"; parameters.unwrap_or_default() as usize].join(", ");
        let values = if values.is_empty() { values } else { format!("({values})") };
        let explain = format!("EXPLAIN (FORMAT JSON) EXECUTE \"{name}\"{values}");
        let plan = connection.fetch_one(sqlx::raw_sql(&explain)).await.unwrap();
        let plan: Value = serde_json::from_str(plan.get_unchecked::<&str, _>(0)).unwrap();
        scans(&plan[0]["Plan"], false, large, &partial, &mut one.scans);
    }
}

/// Indexes with a condition: they contain few rows of their table, so reading one whole is cheap.
async fn partial_indexes(connection: &mut PgConnection) -> BTreeSet<String> {
    let sql = "SELECT indexrelid::regclass::text FROM pg_index WHERE indpred IS NOT NULL";
    connection.fetch_all(sql).await.unwrap().iter().map(|row| row.get(0)).collect()
}

/// Adds the large tables that the plan below `node` reads sequentially, or through a whole index. A scan below a limit ends early.
fn scans(
    node: &Value,
    is_limited: bool,
    large: &BTreeSet<String>,
    partial: &BTreeSet<String>,
    found: &mut BTreeSet<String>,
) {
    let text = |key: &str| node[key].as_str().unwrap_or_default();
    let table = table_of(text("Relation Name"));
    if large.contains(table) {
        let whole = match text("Node Type") {
            "Seq Scan" | "Sample Scan" => true,
            "Index Scan" | "Index Only Scan" => {
                !is_limited && node["Index Cond"].is_null() && !partial.contains(text("Index Name"))
            }
            _ => false,
        };
        if whole {
            found.insert(format!("{} of {table}", text("Node Type")));
        }
    }
    // A limit ends what it reads in order; a sort or a sum below it reads everything first.
    let is_limited = match text("Node Type") {
        "Limit" => true,
        "Sort" | "Incremental Sort" | "Aggregate" | "Hash" | "Materialize" | "WindowAgg" => false,
        _ => is_limited,
    };
    for inner in node["Plans"].as_array().into_iter().flatten() {
        scans(inner, is_limited, large, partial, found);
    }
}

/// The partitioned table of a partition such as `journal_490000`.
fn table_of(name: &str) -> &str {
    let is_partition = |rest: &str| rest == "other" || rest.bytes().all(|byte| byte.is_ascii_digit());
    name.rsplit_once('_').filter(|(_, rest)| is_partition(rest)).map_or(name, |(table, _)| table)
}

/// Number of sequential scans of each large table so far, by all connections and all triggers and functions. Two kinds of partitions are left
/// out: those with few rows, which are best read whole, and the default one, which a new hour's partition is compared with and which is empty in
/// service.
pub async fn sequential_scans(db: &Db, large: &BTreeSet<String>) -> BTreeMap<String, i64> {
    // A connection adds its numbers to the shared ones when it is told to, and at its end.
    let mut connections = Vec::new();
    while connections.len() < db.pool.size() as usize {
        connections.push(db.pool.acquire().await.unwrap());
    }
    for connection in &mut connections {
        connection.execute("SELECT pg_stat_force_next_flush()").await.unwrap();
    }
    let sql = "SELECT relname::text, coalesce(seq_scan, 0) FROM pg_stat_user_tables WHERE n_live_tup > 1000 AND relname !~ '_other$'";
    let mut counts = BTreeMap::new();
    for row in connections[0].fetch_all(sql).await.unwrap() {
        let (name, count): (String, i64) = (row.get(0), row.get(1));
        if large.contains(table_of(&name)) {
            *counts.entry(table_of(&name).to_owned()).or_default() += count;
        }
    }
    counts
}
