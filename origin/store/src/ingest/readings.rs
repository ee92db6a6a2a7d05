//! What was read on chains, over what sources stated.
//!
//! A row of `vault` or `vault_state` with readings shows in each column the newest of its stated value and its newest reading. A stated
//! value that is unknown gives way to any reading. The stated values are kept in the column `stated`, so that readings can be taken back.

use crate::{StoreError, Tx};
use rds_facts::{ReadField, ReadTable};

/// The names of the columns that can be read, of one table.
fn fields(table: ReadTable) -> Vec<&'static str> {
    ReadField::ALL.into_iter().filter(|field| field.table() == table).map(ReadField::as_str).collect()
}

/// Applies the newest readings to the rows of `stated`, which were just written as their sources stated them, and of `read`, which have
/// new readings or lost some.
pub async fn apply(tx: &mut Tx<'_>, table: ReadTable, stated: &[String], read: &[String]) -> Result<(), StoreError> {
    let is_any = async |tx: &mut Tx<'_>| {
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM chain_reading)").fetch_one(&mut **tx).await
    };
    // Most services read no chain, and an import states tens of thousands of rows.
    if read.is_empty() && (stated.is_empty() || !is_any(tx).await?) {
        return Ok(());
    }
    if table == ReadTable::VaultState {
        // A vault that only the service reads. Any stated state is newer than this one, in which nothing is known.
        sqlx::query(
            "INSERT INTO vault_state (vault_id, borrow_status, incentives, deposit_status, withdraw_status, needs_risk_review, \
                                      source, observed_at, content_hash) \
             SELECT id, 'unknown', 'unavailable', 'unknown', 'unknown', false, 'chain:' || chain_id, 'epoch', '' \
             FROM vault WHERE id = ANY($1) ON CONFLICT DO NOTHING",
        )
        .bind(read)
        .execute(&mut **tx)
        .await?;
    }
    let fields = fields(table);
    let forget = forget_statement(table);
    sqlx::query(&forget).bind(stated).execute(&mut **tx).await?;
    let apply = apply_statement(table, &fields);
    let concerned: Vec<&String> = stated.iter().chain(read).collect();
    sqlx::query(&apply).bind(concerned).bind(&fields).execute(&mut **tx).await?;
    Ok(())
}

/// The table's name, its key, and further columns to set from the alias `o` of the readings.
fn names(table: ReadTable) -> (&'static str, &'static str, &'static str) {
    match table {
        ReadTable::Vault => ("vault", "id", ""),
        // A row that was read is as it was read up to the newest block of its chain.
        ReadTable::VaultState => (
            "vault_state",
            "vault_id",
            ", read_at = CASE WHEN o.newest IS NOT NULL THEN greatest(o.newest, \
                 (SELECT c.observed_at FROM chain_sync c JOIN vault v USING (chain_id) WHERE v.id = t.vault_id AND c.halted IS NULL)) END",
        ),
    }
}

/// Forgets the earlier statements of rows whose columns hold new ones.
fn forget_statement(table: ReadTable) -> String {
    let (name, key, _) = names(table);
    format!("UPDATE {name} SET stated = NULL WHERE {key} = ANY($1) AND stated IS NOT NULL")
}

fn apply_statement(table: ReadTable, fields: &[&str]) -> String {
    let (name, key, more) = names(table);
    let set: Vec<String> = fields.iter().map(|field| format!("{field} = p.{field}")).collect();
    let stated: Vec<String> = fields.iter().map(|field| format!("'{field}', t.{field}")).collect();
    format!(
        "WITH base AS ( \
             SELECT t.{key} AS subject, t.observed_at, coalesce(t.stated, jsonb_build_object({stated})) AS stated \
             FROM {name} t WHERE t.{key} = ANY($1) \
                 AND (t.stated IS NOT NULL OR EXISTS (SELECT FROM chain_reading r WHERE r.vault_id = t.{key} AND r.field = ANY($2)))), \
         newest AS ( \
             SELECT r.* FROM base b CROSS JOIN unnest($2::text[]) AS f (field) CROSS JOIN LATERAL ( \
                 SELECT * FROM chain_reading WHERE vault_id = b.subject AND field = f.field ORDER BY observed_at DESC LIMIT 1) AS r), \
         read AS ( \
             SELECT b.subject, b.stated, \
                    jsonb_object_agg(r.field, r.value) FILTER (WHERE r.field IS NOT NULL) AS shown, \
                    jsonb_object_agg(r.field, jsonb_build_object('source', r.source, 'observed_at', r.observed_at, 'evidence', \
                        jsonb_build_object('chain_id', r.chain_id, 'block_number', r.block_number, 'block_hash', r.block_hash, \
                            'calls', r.calls, 'agreed', r.agreed, 'asked', r.asked))) FILTER (WHERE r.field IS NOT NULL) AS readings, \
                    max(r.observed_at) AS newest \
             FROM base b LEFT JOIN newest r ON r.vault_id = b.subject \
                 AND (r.observed_at >= b.observed_at OR coalesce(b.stated->>r.field, 'unknown') = 'unknown') \
             GROUP BY b.subject, b.stated) \
         UPDATE {name} t SET {set}, stated = CASE WHEN o.readings IS NULL THEN NULL ELSE o.stated END, readings = o.readings{more} \
         FROM read o, jsonb_populate_record(NULL::{name}, o.stated || coalesce(o.shown, '{{}}')) p WHERE t.{key} = o.subject",
        stated = stated.join(", "),
        set = set.join(", "),
    )
}

/// Moves the vaults that have readings on the chains of `synced` to the newest block of their chain, at which they were found unchanged, and
/// returns those that moved. They do not move by less than six hours, because each move is a written row, an entry of the change feed, and the end
/// of cached responses.
pub async fn confirm(tx: &mut Tx<'_>, synced: &[String]) -> Result<Vec<String>, StoreError> {
    if synced.is_empty() {
        return Ok(Vec::new());
    }
    let sql = "UPDATE vault_state s SET read_at = c.observed_at FROM vault v JOIN chain_sync c ON c.chain_id = v.chain_id \
               WHERE v.id = s.vault_id AND v.is_active AND c.chain_id::text = ANY($1) AND c.halted IS NULL \
                   AND s.read_at <= c.observed_at - interval '6 hours' RETURNING s.vault_id";
    Ok(sqlx::query_scalar(sql).bind(synced).fetch_all(&mut **tx).await?)
}

/// Takes back what was read of the chain from block `from_block` on: readings, the points of histories that came from them, exposures and
/// holders, reserves and efficiency modes of markets, and the answers of its feeds.
/// Returns the vaults that lost something; their rows show the older readings once [`apply`] has run.
pub async fn retract(tx: &mut Tx<'_>, chain_id: i64, from_block: i64) -> Result<Vec<String>, StoreError> {
    // A vault of which only events of the fork told. It is active again once it is found again.
    let found = "WITH gone AS ( \
             DELETE FROM chain_candidate WHERE chain_id = $1 AND block_number >= $2 RETURNING address) \
         UPDATE vault v SET is_active = false, observed_at = 'epoch', content_hash = '' FROM gone g \
         WHERE v.chain_id = $1 AND v.address = g.address AND v.source = 'chain:' || $1 RETURNING v.id";
    let found: Vec<String> = sqlx::query_scalar(found).bind(chain_id).bind(from_block).fetch_all(&mut **tx).await?;
    let vaults = "WITH gone AS ( \
             DELETE FROM chain_reading WHERE chain_id = $1 AND block_number >= $2 RETURNING vault_id, observed_at), \
         points AS ( \
             DELETE FROM vault_snapshot s USING (SELECT DISTINCT vault_id, observed_at FROM gone) g \
             WHERE s.vault_id = g.vault_id AND s.observed_at = g.observed_at), \
         exposures AS ( \
             DELETE FROM exposure WHERE (evidence->>'chain_id')::bigint = $1 AND (evidence->>'block_number')::bigint >= $2 \
             RETURNING vault_id) \
         SELECT DISTINCT vault_id FROM gone UNION SELECT vault_id FROM exposures";
    // Balances after transfers of the fork, with everything that later ones were computed from.
    let holders = "DELETE FROM holder_snapshot h USING vault v \
         WHERE v.id = h.vault_id AND v.chain_id = $1 AND h.source = 'chain:' || $1 AND h.indexed_to_block >= $2";
    sqlx::query(holders).bind(chain_id).bind(from_block).execute(&mut **tx).await?;
    // Feeds are read again with the next block, and until then nothing is known of their answers.
    let feeds = "UPDATE oracle_feed SET observed_at = 'epoch', content_hash = '', last_answer = NULL, last_update_at = NULL \
         WHERE chain_id = $1 AND source = 'chain:' || $1";
    sqlx::query(feeds).bind(chain_id).execute(&mut **tx).await?;
    // A market keeps its id, so its row stays, as old as possible. Its reserves and modes are read again with the next block.
    let read_from = "(evidence->>'chain_id')::bigint = $1 AND (evidence->>'block_number')::bigint >= $2";
    for lost in [
        format!("DELETE FROM market_reserve WHERE {read_from}"),
        format!("DELETE FROM market_emode WHERE {read_from}"),
        format!("UPDATE market SET observed_at = 'epoch', content_hash = '', evidence = NULL WHERE {read_from}"),
    ] {
        sqlx::query(&lost).bind(chain_id).bind(from_block).execute(&mut **tx).await?;
    }
    // The other fork may be behind in time; the next observation of the cursor takes precedence whatever its time.
    sqlx::query("UPDATE chain_sync SET observed_at = 'epoch', content_hash = '' WHERE chain_id = $1")
        .bind(chain_id)
        .execute(&mut **tx)
        .await?;
    let mut vaults: Vec<String> =
        sqlx::query_scalar(vaults).bind(chain_id).bind(from_block).fetch_all(&mut **tx).await?;
    vaults.extend(found);
    Ok(vaults)
}
