//! Rights of the database roles: what the role that serves and the role that only reads may do with the tables.
//!
//! `deploy/postgres/roles.sql` creates the roles. [`grant`] runs after every migration, as the owner of the tables, and gives each role exactly the
//! rights listed here, so a table that a migration adds is covered at once. `origin/tests/it/service/rights.rs` compares the lists with the
//! statements and with the schema.

use crate::push::journal::retention::ROUND_LOCK;
use crate::{Db, StoreError, Tx};
use sqlx::FromRow;

/// Default name of the role that serves.
pub const SERVE_ROLE: &str = "rds_serve";
/// Default name of the role that only reads.
pub const READ_ROLE: &str = "rds_read";

/// Tables from which the service, its commands or their triggers delete rows. From no other table does it delete.
const DELETED_FROM: [&str; 32] = [
    "asset_answer",
    "chain_candidate",
    "chain_reading",
    "edge_outbox",
    "event_feed",
    "event_link",
    "event_repeat",
    "exposure",
    "graph_publication",
    "holder_snapshot",
    "market_emode",
    "market_reserve",
    "research_sample",
    "signal_vault",
    "spent_assertion",
    "status_sample",
    "status_traffic",
    "stream_lease",
    "stream_process",
    "test_clock",
    "vault_day",
    "vault_day_change",
    "vault_snapshot",
    "vault_sums",
    "webhook_attempt",
    "webhook_creation",
    "webhook_delivery",
    "webhook_event",
    "webhook_event_lease",
    "webhook_lease",
    "webhook_removed",
    "webhook_subscription",
];

/// Tables that the service empties at once.
const EMPTIED: [&str; 3] = ["write_probe", "push_operation_other", "journal_other"];

/// Tables and views that the reading role may read: facts, scores and their history. What concerns callers is not among them: keys, tokens,
/// organisations, usage, webhooks, decisions, and everything that is sent to subscribers or to the edge.
pub const READABLE: [&str; 79] = [
    "answer_attestation",
    "asset",
    "asset_answer",
    "asset_registry",
    "asset_score",
    "asset_version",
    "asset_version_score",
    "attestation",
    "basket",
    "basket_constituent",
    "basket_methodology",
    "basket_version",
    "basket_version_confirmed",
    "basket_version_support",
    "chain",
    "chain_candidate",
    "chain_dissent",
    "chain_reading",
    "chain_retraction",
    "chain_sync",
    "curator",
    "data_tag",
    "data_version",
    "decision_signer",
    "event",
    "event_feed",
    "event_link",
    "event_occurrence",
    "event_place",
    "event_repeat",
    "event_repeat_counted",
    "event_served",
    "event_vault",
    "exposure",
    "fail_safe",
    "fail_safe_change",
    "given_research",
    "graph_current",
    "graph_publication",
    "graph_snapshot",
    "holder_snapshot",
    "hub_asset",
    "ingest_batch",
    "loss_case",
    "mapping",
    "market",
    "market_emode",
    "market_key",
    "market_reserve",
    "market_state",
    "oracle_feed",
    "protocol",
    "protocol_answer",
    "research_prediction",
    "research_record",
    "research_run",
    "research_sample",
    "reviewer",
    "reward",
    "rwa_aum_snapshot",
    "rwa_candidate",
    "rwa_observation",
    "rwa_source",
    "score_history",
    "score_run",
    "security_event",
    "signal",
    "signal_vault",
    "status_sample",
    "symbol_day",
    "symbol_rollup",
    "thinning",
    "vault",
    "vault_day",
    "vault_position",
    "vault_score",
    "vault_snapshot",
    "vault_state",
    "vault_strategy",
];

/// The rights on one object that a role needs.
#[derive(Debug, FromRow)]
struct Needed {
    /// `TABLE`, `SEQUENCE` or `FUNCTION`.
    kind: String,
    /// The object, quoted for SQL.
    object: String,
    /// The rights that are needed, separated by commas.
    rights: String,
    /// Those of them that the connected role does not have; empty if it has all.
    missing: String,
}

/// The rights that serving needs: to read everything; to write every table but the record of migrations, where rows of a partition are written through
/// its parent; to use sequences, and to run the functions that act with their owner's rights.
async fn needed_to_serve(tx: &mut Tx<'_>) -> Result<Vec<Needed>, StoreError> {
    let sql = "
        -- needed_to_serve
        WITH needed AS (
            SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind, quote_ident(c.relname) AS object, r.name,
                   CASE c.relkind WHEN 'S' THEN has_sequence_privilege(c.oid, r.name) ELSE has_table_privilege(c.oid, r.name) END AS held
            FROM pg_class c CROSS JOIN LATERAL unnest(CASE
                WHEN c.relkind = 'S' THEN ARRAY['USAGE', 'SELECT', 'UPDATE']
                WHEN c.relkind = 'v' OR c.relispartition OR c.relname = '_sqlx_migrations' THEN ARRAY['SELECT']
                ELSE ARRAY['SELECT', 'INSERT', 'UPDATE'] END
                || CASE WHEN c.relname = ANY($1) THEN ARRAY['DELETE'] ELSE '{}' END
                || CASE WHEN c.relname = ANY($2) THEN ARRAY['TRUNCATE'] ELSE '{}' END) AS r (name)
            WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'S')
              AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
            UNION ALL
            SELECT 'FUNCTION', p.oid::regprocedure::text, 'EXECUTE', has_function_privilege(p.oid, 'EXECUTE')
            FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace AND p.prosecdef
              AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'))
        SELECT kind, object, string_agg(name, ', ') AS rights, coalesce(string_agg(name, ', ') FILTER (WHERE NOT held), '') AS missing
        FROM needed GROUP BY kind, object ORDER BY kind DESC, object";
    Ok(sqlx::query_as(sql).bind(&DELETED_FROM[..]).bind(&EMPTIED[..]).fetch_all(&mut **tx).await?)
}

/// The tables, sequences and functions of the schema, as lists for SQL that begin with their kind. What belongs to an extension is left out: its
/// owner is whoever installed the extension.
async fn objects(tx: &mut Tx<'_>) -> Result<Vec<String>, StoreError> {
    let sql = "
        -- objects_of_the_schema
        WITH object AS (
            SELECT c.tableoid, c.oid, CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind, c.oid::regclass::text AS name
            FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
            UNION ALL
            SELECT p.tableoid, p.oid, 'ROUTINE', p.oid::regprocedure::text FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace)
        SELECT kind || ' ' || string_agg(name, ', ') FROM object o
        WHERE NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = o.tableoid AND d.objid = o.oid AND d.deptype = 'e') GROUP BY kind";
    Ok(sqlx::query_scalar(sql).fetch_all(&mut **tx).await?)
}

/// Gives the two roles their rights, and takes every other right on tables, sequences and functions from them. A role that does not exist, or
/// that is the connected role itself, is left out. Returns the names of the roles that have their rights.
///
/// # Errors
/// If the connected role does not own the tables.
pub async fn grant(db: &Db, serve: &str, read: &str) -> Result<Vec<String>, StoreError> {
    let mut tx = db.begin("BEGIN").await?;
    // No partition is created or dropped meanwhile.
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(ROUND_LOCK).execute(&mut *tx).await?;
    let sql = "
        -- roles_to_grant
        SELECT rolname, quote_ident(rolname), quote_ident(current_schema()) FROM pg_roles
        WHERE rolname = ANY($1) AND rolname <> current_user AND NOT rolsuper ORDER BY rolname DESC";
    let roles: Vec<(String, String, String)> = sqlx::query_as(sql).bind(&[serve, read][..]).fetch_all(&mut *tx).await?;
    let objects = objects(&mut tx).await?;
    for (name, role, schema) in &roles {
        let mut changes: Vec<String> =
            objects.iter().map(|objects| format!("REVOKE ALL ON {objects} FROM {role}")).collect();
        if name == serve {
            let needed = needed_to_serve(&mut tx).await?;
            changes.extend(
                needed
                    .iter()
                    .map(|Needed { kind, object, rights, .. }| format!("GRANT {rights} ON {kind} {object} TO {role}")),
            );
            // A partition that is created later is read directly, and written through its parent.
            changes.push(format!("ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT ON TABLES TO {role}"));
        } else {
            changes.extend(READABLE.iter().map(|table| format!("GRANT SELECT ON TABLE {table} TO {role}")));
        }
        for change in changes {
            sqlx::raw_sql(&change).execute(&mut *tx).await?;
        }
    }
    tx.commit().await?;
    Ok(roles.into_iter().map(|(name, ..)| name).collect())
}

/// How the rights of the connected role differ from those that serving needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// The connected role.
    pub role: String,
    /// Rights that it lacks, such as `DELETE on vault_day`.
    pub missing: Vec<String>,
    /// What it may do although serving does not need it, such as `it is a superuser`.
    pub excess: Vec<String>,
}

/// Compares the rights of the connected role with those that serving needs.
pub async fn compare(db: &Db) -> Result<Rights, StoreError> {
    let mut tx = db.snapshot().await?;
    let needed = needed_to_serve(&mut tx).await?;
    let sql = "
        -- rights_of_the_connected_role
        SELECT rolname::text, array_remove(ARRAY[
            CASE WHEN rolsuper THEN 'is a superuser' END,
            CASE WHEN rolcreaterole AND NOT rolsuper THEN 'may create roles' END,
            CASE WHEN rolcreatedb AND NOT rolsuper THEN 'may create databases' END,
            CASE WHEN NOT rolsuper AND has_schema_privilege(current_schema(), 'CREATE') THEN 'may create tables' END,
            CASE WHEN NOT rolsuper AND EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace
                AND c.relkind IN ('r', 'p') AND pg_has_role(c.relowner, 'USAGE')) THEN 'owns tables' END], NULL)
        FROM pg_roles WHERE rolname = current_user";
    let (role, excess) = sqlx::query_as(sql).fetch_one(&mut *tx).await?;
    let missing = needed.into_iter().filter(|one| !one.missing.is_empty());
    let missing = missing.map(|Needed { object, missing, .. }| format!("{missing} on {object}")).collect();
    Ok(Rights { role, missing, excess })
}
