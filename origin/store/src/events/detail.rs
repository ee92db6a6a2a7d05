//! Events as the API serves them one by one and as subscribers receive them.

use crate::store::events::feed::row_of;
use crate::store::registry::catalog::instant;
use crate::store::{At, StoreError, decode_enum};
use rds_shared::model::event::{AffectedVault, EventDetail, PublicationState};
use rds_shared::model::ids::{Address, ChainId, Namespace, VaultId};
use serde::Deserialize;
use serde_json::{Map, Value};
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{PgExecutor, Row};

/// Maximum number of vaults in an event's detail; the largest by TVL are kept.
const MAX_AFFECTED_VAULTS: i64 = 500;

/// An event with the data that decides who receives it.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// The served detail.
    pub detail: EventDetail,
    /// Publication state.
    pub state: PublicationState,
    /// False while its chain is withheld.
    pub is_served: bool,
    /// All affected vaults.
    pub vault_ids: Vec<String>,
    /// All chains it belongs to.
    pub chain_ids: Vec<i64>,
}

/// The events with these ids in any state, in order of id. Each place is looked up separately; see `event_feed::refresh` for the reason.
pub async fn placed(executor: impl PgExecutor<'_>, ids: &[i64]) -> Result<Vec<Placed>, StoreError> {
    let rows = sqlx::query(
        "SELECT e.*, p.protocol_id AS shown_protocol, pr.name AS protocol_name, p.chain_id AS shown_chain, c.name AS chain_name, \
                p.curator_id AS shown_curator, cu.name AS curator_name, p.chain_ids, p.is_served, k.id AS market_id, \
                coalesce((SELECT f.occurrence_count FROM event_feed f WHERE f.group_key = e.group_key), 1) AS occurrence_count, \
                t.vault_ids, t.vaults \
         FROM event e CROSS JOIN LATERAL (SELECT * FROM event_place p WHERE p.event_id = e.id OFFSET 0) AS p \
         LEFT JOIN protocol pr ON pr.id = p.protocol_id LEFT JOIN chain c ON c.chain_id = p.chain_id \
         LEFT JOIN curator cu ON cu.id = p.curator_id LEFT JOIN market_key k ON k.contract = e.market \
         CROSS JOIN LATERAL ( \
             SELECT coalesce(array_agg(v.id ORDER BY v.id COLLATE \"C\"), '{}') AS vault_ids, \
                    coalesce(json_agg(json_build_object('id', v.id, 'name', v.name, 'tvl_usd', v.tvl_usd, 'chain_id', v.chain_id, \
                                      'address', v.address, 'namespace', v.namespace) ORDER BY v.place) \
                             FILTER (WHERE v.place <= $2), '[]') AS vaults \
             FROM (SELECT v.id, v.name, s.tvl_usd, v.chain_id, v.address, ch.namespace, \
                          row_number() OVER (ORDER BY s.tvl_usd DESC NULLS LAST, v.id COLLATE \"C\") AS place \
                   FROM event_vault t JOIN vault v ON v.id = t.vault_id JOIN chain ch ON ch.chain_id = v.chain_id \
                   LEFT JOIN vault_state s ON s.vault_id = v.id WHERE t.event_id = e.id) AS v) AS t \
         WHERE e.id = ANY($1) ORDER BY e.id",
    )
    .bind(ids)
    .bind(MAX_AFFECTED_VAULTS)
    .fetch_all(executor)
    .await?;
    rows.iter().map(read).collect()
}

/// An element of `vaults` in the statement's result.
#[derive(Deserialize)]
struct AffectedRow {
    id: String,
    name: String,
    tvl_usd: Option<f64>,
    chain_id: u64,
    address: String,
    namespace: String,
}

fn read(row: &PgRow) -> Result<Placed, StoreError> {
    let (Json(vaults), Json(data)): (Json<Vec<AffectedRow>>, Json<Map<String, Value>>) =
        (row.try_get("vaults")?, row.try_get("data")?);
    let vault_ids: Vec<String> = row.try_get("vault_ids")?;
    let block: Option<i64> = row.try_get("block_number")?;
    let detail = EventDetail {
        row: row_of(row)?,
        affected_vaults: vaults.into_iter().map(affected).collect::<Result<_, _>>()?,
        affected_vault_count: vault_ids.len() as u64,
        market_id: row.try_get("market_id")?,
        tx_hash: row.try_get("tx_hash")?,
        block_number: block.and_then(|block| u64::try_from(block).ok()),
        detected_at: row.try_get::<At, _>("observed_at")?.0,
        promoted_at: instant(row, "promoted_at")?,
        retracted_at: instant(row, "retracted_at")?,
        retracted_reason: row.try_get("retracted_reason")?,
        data,
    };
    Ok(Placed {
        detail,
        state: decode_enum("event.state", row.try_get("state")?)?,
        is_served: row.try_get("is_served")?,
        vault_ids,
        chain_ids: row.try_get("chain_ids")?,
    })
}

fn affected(vault: AffectedRow) -> Result<AffectedVault, StoreError> {
    let AffectedRow { id, name, tvl_usd, chain_id, address, namespace } = vault;
    let corrupt = |column, text: &str| StoreError::Corrupt { column, text: text.to_owned() };
    let written = Namespace::parse(&namespace).and_then(|namespace| Address::parse(namespace, &address).ok());
    Ok(AffectedVault {
        vault_id: VaultId::parse(&id).ok_or_else(|| corrupt("vault.id", &id))?,
        vault_name: name,
        tvl_usd,
        chain_id: ChainId(chain_id),
        address: written.ok_or_else(|| corrupt("vault.address", &address))?,
    })
}
