//! Risk signals and the vaults they affect.

use crate::columns::{DbDecimalUsd, DbList};
use crate::db_enum::DbEnum;
use crate::decode::{DbAddress, DbChainId, DbVaultId, Nullable};
use crate::shared_row::{Shared, shared_row, structs};
use crate::{At, Db, StoreError, Tx};
use rds_facts::Entity;
use rds_shared::model::ids::VaultKey;
use rds_shared::model::money::DecimalUsd;
use rds_shared::model::signal::{
    AffectedVault, EntityImpact, Signal, SignalDetail, SignalEntity, SignalEvidence, SignalSeverity,
};
use rds_shared::wire::page::PageRequest;
use sqlx::FromRow;

/// Condition: signal `s` is not hidden by a withheld chain. None of its entities is on a withheld chain, is a withheld chain (by id or
/// slug), or is an asset of a withheld chain. The subqueries run once per statement and are usually empty.
const SHOWN: &str = "NOT s.chain_ids && ARRAY(SELECT chain_id FROM chain WHERE NOT is_served) \
     AND NOT s.entity_words && ARRAY( \
         SELECT 'chain:' || lower(slug) FROM chain WHERE NOT is_served \
         UNION ALL SELECT 'asset:' || lower(a.id) FROM asset a JOIN chain c USING (chain_id) WHERE NOT c.is_served)";

/// `FROM` and `WHERE` of the list. Parameters 1 to 6 are the fields of [`SignalFilter`]; a vault takes two.
const FILTER: &str = "signal s WHERE s.published_at >= $1 AND ($2::text[] = '{}' OR s.severity = ANY($2)) \
     AND ($3::text IS NULL OR s.entity_words @> ARRAY[$3]) AND ($4::text[] = '{}' OR s.category = ANY($4)) \
     AND ($5::bigint IS NULL OR EXISTS (SELECT FROM vault v JOIN signal_vault t ON t.vault_id = v.id JOIN chain c USING (chain_id) \
          WHERE t.signal_id = s.id AND v.chain_id = $5 AND v.address = $6 AND c.is_served))";

/// Filters of the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignalFilter {
    /// Earliest time of publication, inclusive.
    pub since: At,
    /// Allowed severities; empty for all.
    pub severities: Vec<String>,
    /// An entity's id, or `kind:id`, in lower case.
    pub entity: Option<String>,
    /// Allowed categories; empty for all.
    pub categories: Vec<String>,
    /// A vault that the signal affects.
    pub vault: Option<VaultKey>,
}

/// A page of signals, newest first, and the total number of matches.
pub async fn list(db: &Db, filter: &SignalFilter, page: PageRequest) -> Result<(Vec<Signal>, u64), StoreError> {
    let chain = filter.vault.as_ref().and_then(|key| i64::try_from(key.chain_id.0).ok());
    let address = filter.vault.as_ref().map(|key| key.address.as_str());
    let count = format!("SELECT count(*) FROM {FILTER} AND {SHOWN}");
    let mut tx = db.snapshot().await?;
    let total: i64 = sqlx::query_scalar(&count)
        .bind(filter.since) // $1 published_at
        .bind(&filter.severities)
        .bind(&filter.entity) // $3 entity_words
        .bind(&filter.categories)
        .bind(chain) // $5 chain_id
        .bind(address)
        .fetch_one(&mut *tx)
        .await?;
    let rows = format!(
        "SELECT s.*, (s.exposure_usd * 100)::bigint AS exposure_cents FROM {FILTER} AND {SHOWN} \
         ORDER BY s.published_at DESC, s.id DESC OFFSET $7 LIMIT $8"
    );
    let rows = sqlx::query_as(&rows)
        .bind(filter.since) // $1 published_at
        .bind(&filter.severities)
        .bind(&filter.entity) // $3 entity_words
        .bind(&filter.categories)
        .bind(chain) // $5 chain_id
        .bind(address)
        .bind(i64::try_from(page.offset()).unwrap_or(i64::MAX))
        .bind(i64::try_from(page.rows()).unwrap_or(i64::MAX)) // $8 limit
        .fetch_all(&mut *tx)
        .await?;
    Ok((structs(rows), total.unsigned_abs()))
}

#[derive(FromRow)]
struct DetailRow {
    #[sqlx(flatten, try_from = "Shared<Signal>")]
    signal: Signal,
    summary: Option<String>,
    severity_reason: Option<String>,
    graph_snapshot_id: Option<String>,
    methodology_version: Option<String>,
    #[sqlx(flatten, try_from = "Shared<SignalEvidence>")]
    evidence: SignalEvidence,
}

/// One signal in full; `None` if it does not exist or is hidden by a withheld chain.
pub async fn detail(db: &Db, id: i64) -> Result<Option<SignalDetail>, StoreError> {
    let sql = format!(
        "SELECT s.*, (s.exposure_usd * 100)::bigint AS exposure_cents, coalesce(s.snapshot_id, s.graph_snapshot_id) AS evidence_snapshot \
         FROM signal s WHERE s.id = $1 AND {SHOWN}"
    );
    let mut tx = db.snapshot().await?;
    let Some(row) = sqlx::query_as(&sql).bind(id).fetch_optional(&mut *tx).await? else { return Ok(None) };
    let DetailRow { signal, summary, severity_reason, graph_snapshot_id, methodology_version, evidence } = row;
    let vaults = sqlx::query_as(
        "SELECT v.id, v.name, v.chain_id, v.address, (t.exposure_usd * 100)::bigint AS exposure_cents, \
                t.share_ppm / 1000000::double precision AS share, t.via \
         FROM signal_vault t JOIN vault v ON v.id = t.vault_id JOIN chain c USING (chain_id) \
         WHERE t.signal_id = $1 AND c.is_served ORDER BY t.exposure_usd DESC NULLS LAST, v.id COLLATE \"C\"",
    );
    let affected_vaults = structs(vaults.bind(id).fetch_all(&mut *tx).await?);
    Ok(Some(SignalDetail {
        entities_full: signal.entities.iter().map(|entity| impact(entity, &affected_vaults)).collect(),
        signal,
        summary,
        severity_reason,
        affected_vaults,
        graph_snapshot_id,
        methodology_version,
        evidence,
    }))
}

/// Recomputes the affected vaults of these signals.
///
/// If the source states the affected vaults, they are used as stated. Otherwise an entity of the signal affects a vault if it is the vault
/// itself, its curator, its protocol, its chain, a market in which the vault is a reserve, its deposit asset, an asset that it holds, or a
/// price feed that a market uses for such a reserve. A vault counts once, with the greatest affected share of its value. Only active vaults
/// on served chains count, with their newest state.
pub async fn rebuild_affected_vaults(tx: &mut Tx<'_>, ids: &[i64]) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM signal_vault WHERE signal_id = ANY($1)").bind(ids).execute(&mut **tx).await?;
    sqlx::query(
        "INSERT INTO signal_vault (signal_id, vault_id, exposure_usd, share_ppm, via) \
         SELECT s.id, v.id, coalesce((g->>'exposure_usd')::numeric, trunc(st.tvl_usd::numeric * share.ppm / 1000000, 2)), share.ppm, '{}' \
         FROM signal s, jsonb_array_elements(s.given_vaults) AS g JOIN vault v ON v.id = g->>'vault_id' \
         LEFT JOIN vault_state st ON st.vault_id = v.id, \
         LATERAL (SELECT coalesce(round((g->>'share')::numeric * 1000000), 1000000)::integer AS ppm) AS share \
         WHERE s.id = ANY($1) AND jsonb_typeof(s.given_vaults) = 'array'",
    )
    .bind(ids)
    .execute(&mut **tx)
    .await?;
    sqlx::query(
        "WITH e AS MATERIALIZED ( \
             SELECT s.id AS signal_id, x.kind, x.id FROM signal s, jsonb_to_recordset(s.entities) AS x (kind text, id text) \
             WHERE s.id = ANY($1) AND coalesce(jsonb_typeof(s.given_vaults), 'null') = 'null' \
         ), reached AS ( \
             SELECT e.*, v.id AS vault_id, 1000000::numeric AS ppm FROM e JOIN vault v ON e.kind = 'vault' AND v.id = e.id \
             UNION SELECT e.*, v.id, 1000000 FROM e JOIN vault v ON e.kind = 'vault' AND v.chain_id || ':' || v.address = e.id \
             UNION SELECT e.*, v.id, 1000000 FROM e JOIN vault v ON e.kind = 'curator' AND v.curator_id = e.id \
             UNION SELECT e.*, v.id, 1000000 FROM e JOIN vault v ON e.kind = 'protocol' AND v.protocol_id = e.id \
             UNION SELECT e.*, v.id, 1000000 FROM e JOIN chain c ON e.kind = 'chain' AND e.id IN (c.chain_id::text, c.slug) JOIN vault v USING (chain_id) \
             UNION SELECT e.*, v.id, 1000000 FROM e JOIN market m ON e.kind = 'market' AND m.contract = e.id \
                   JOIN market_reserve r USING (contract) JOIN vault v ON v.chain_id = r.chain_id AND v.address IN (r.token_address, m.address) \
             UNION SELECT e.*, v.id, 1000000 FROM e JOIN asset a ON e.kind = 'asset' AND a.id = e.id \
                   JOIN vault v ON v.chain_id = a.chain_id AND v.asset_address = a.address \
             UNION SELECT e.*, held.vault_id, held.ppm FROM e, \
                   LATERAL (SELECT x.vault_id, sum((p->>'share')::numeric * 1000000) AS ppm FROM exposure x, jsonb_array_elements(x.parts) AS p \
                            WHERE e.kind = 'asset' AND x.parts @> jsonb_build_array(jsonb_build_object('asset_id', e.id)) AND p->>'asset_id' = e.id \
                            GROUP BY x.vault_id) AS held \
             UNION SELECT e.*, v.id, 1000000 FROM e JOIN oracle_feed f ON e.kind = 'oracle' AND f.contract = e.id \
                   JOIN market m ON m.chain_id = f.chain_id AND (m.name = ANY(f.used_by) OR replace(m.name, ' ', ':') = ANY(f.used_by)) \
                   JOIN market_reserve r ON r.contract = m.contract AND r.asset_symbol = ANY(f.reserve_symbols) \
                   JOIN vault v ON v.chain_id = r.chain_id AND v.address = r.token_address \
         ), once AS ( \
             SELECT signal_id, vault_id, least(1000000, round(max(ppm)))::integer AS ppm, \
                    array_agg(DISTINCT kind || ':' || id ORDER BY kind || ':' || id) AS via \
             FROM reached GROUP BY signal_id, vault_id \
         ) INSERT INTO signal_vault (signal_id, vault_id, exposure_usd, share_ppm, via) \
         SELECT o.signal_id, o.vault_id, trunc(st.tvl_usd::numeric * o.ppm / 1000000, 2), o.ppm, o.via \
         FROM once o JOIN vault v ON v.id = o.vault_id AND v.is_active JOIN chain c ON c.chain_id = v.chain_id AND c.is_served \
         LEFT JOIN vault_state st ON st.vault_id = v.id",
    )
    .bind(ids)
    .execute(&mut **tx)
    .await?;
    let snapshot = "UPDATE signal SET graph_snapshot_id = (SELECT snapshot_id FROM graph_current) \
                    WHERE id = ANY($1) AND coalesce(jsonb_typeof(given_vaults), 'null') = 'null'";
    sqlx::query(snapshot).bind(ids).execute(&mut **tx).await?;
    refresh_totals(tx, Some(ids)).await
}

/// Recomputes the totals of these signals, or of all signals after a chain was withheld or served again.
pub async fn refresh_totals(tx: &mut Tx<'_>, ids: Option<&[i64]>) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE signal AS s SET affected_vault_count = now.vaults, exposure_usd = coalesce(s.given_exposure_usd, now.usd) \
         FROM (SELECT s.id, count(c.chain_id) AS vaults, coalesce(sum(t.exposure_usd) FILTER (WHERE c.chain_id IS NOT NULL), 0) AS usd \
               FROM signal s LEFT JOIN signal_vault t ON t.signal_id = s.id LEFT JOIN vault v ON v.id = t.vault_id \
               LEFT JOIN chain c ON c.chain_id = v.chain_id AND c.is_served \
               WHERE $1::bigint[] IS NULL OR s.id = ANY($1) GROUP BY s.id) AS now \
         WHERE now.id = s.id",
    )
    .bind(ids)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

shared_row! { Signal {
    id: i64, title, url, severity: DbEnum<SignalSeverity>, significance, entities: DbList<Entity>,
    affected_vault_count: i64, breach_count: i32, exposure_usd: DbDecimalUsd = "exposure_cents", category,
    published_at: At
} }
shared_row! { SignalEvidence { source_url, article_urls, snapshot_id = "evidence_snapshot" } }
shared_row! { VaultKey { chain_id: DbChainId, address: DbAddress } }
shared_row! { AffectedVault {
    vault_id: DbVaultId = "id", vault_name = "name", chain_id: DbChainId, address: DbAddress,
    exposure_usd: Nullable<DbDecimalUsd> = "exposure_cents", exposure_share = "share", via; vault_key
} }

/// The part of `vaults` that is affected through an entity.
fn impact(entity: &SignalEntity, vaults: &[AffectedVault]) -> EntityImpact {
    let name = format!("{}:{}", entity.kind, entity.id);
    let touched = || vaults.iter().filter(|vault| vault.via.contains(&name));
    EntityImpact {
        entity: entity.clone(),
        affected_vault_count: touched().count() as u64,
        exposure_usd: DecimalUsd(touched().filter_map(|vault| Some(vault.exposure_usd?.0)).sum()),
    }
}
