//! Events as the API serves them one by one and as subscribers receive them.

use crate::columns::DbList;
use crate::db_enum::DbEnum;
use crate::decode::Nullable;
use crate::events::DbData;
use crate::shared_row::{Shared, shared_row};
use crate::{At, StoreError};
use rds_shared::model::event::{AffectedVault, EventDetail, PublicationState};
use rds_shared::model::ids::{Address, ChainId, Namespace, VaultId};
use serde::Deserialize;
use sqlx::{FromRow, PgExecutor};

/// Maximum number of vaults in an event's detail; the largest by TVL are kept.
const MAX_AFFECTED_VAULTS: i64 = 500;

/// An event with the state, the vaults and the chains that decide who receives it.
#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct Placed {
    /// The served detail.
    #[sqlx(flatten, try_from = "Shared<EventDetail>")]
    pub detail: EventDetail,
    /// Publication state.
    #[sqlx(try_from = "DbEnum<PublicationState>")]
    pub state: PublicationState,
    /// False while the event's chain is withheld.
    pub is_served: bool,
    /// All affected vaults.
    pub vault_ids: Vec<String>,
    /// All chains that the event belongs to.
    pub chain_ids: Vec<i64>,
}

/// The events with these ids in any state, in order of id. The place of each event (its protocol, chain and curator) is looked up
/// separately; see `events::feed::refresh` for the reason.
pub async fn placed(executor: impl PgExecutor<'_>, ids: &[i64]) -> Result<Vec<Placed>, StoreError> {
    let placed = sqlx::query_as(
        "SELECT e.*, p.protocol_id AS shown_protocol, pr.name AS protocol_name, p.chain_id AS shown_chain, c.name AS chain_name, \
                p.curator_id AS shown_curator, cu.name AS curator_name, p.chain_ids, p.is_served, k.id AS market_id, \
                coalesce((SELECT f.occurrence_count FROM event_feed f WHERE f.group_key = e.group_key), 1) AS occurrence_count, \
                t.vault_ids, t.vault_count, t.vaults \
         FROM event e CROSS JOIN LATERAL (SELECT * FROM event_place p WHERE p.event_id = e.id OFFSET 0) AS p \
         LEFT JOIN protocol pr ON pr.id = p.protocol_id LEFT JOIN chain c ON c.chain_id = p.chain_id \
         LEFT JOIN curator cu ON cu.id = p.curator_id LEFT JOIN market_key k ON k.contract = e.market \
         CROSS JOIN LATERAL ( \
             SELECT coalesce(array_agg(v.id ORDER BY v.id COLLATE \"C\"), '{}') AS vault_ids, count(*) AS vault_count, \
                    coalesce(json_agg(json_build_object('id', v.id, 'name', v.name, 'tvl_usd', v.tvl_usd, 'chain_id', v.chain_id, \
                                      'address', v.address, 'namespace', v.namespace) ORDER BY v.place) \
                             FILTER (WHERE v.place <= $2), '[]') AS vaults \
             FROM (SELECT v.id, v.name, s.tvl_usd, v.chain_id, v.address, ch.namespace, \
                          row_number() OVER (ORDER BY s.tvl_usd DESC NULLS LAST, v.id COLLATE \"C\") AS place \
                   FROM event_vault t JOIN vault v ON v.id = t.vault_id JOIN chain ch ON ch.chain_id = v.chain_id \
                   LEFT JOIN vault_state s ON s.vault_id = v.id WHERE t.event_id = e.id) AS v) AS t \
         WHERE e.id = ANY($1) ORDER BY e.id",
    );
    Ok(placed.bind(ids).bind(MAX_AFFECTED_VAULTS).fetch_all(executor).await?)
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

shared_row! { EventDetail {
    affected_vaults: DbList<AffectedRow> = "vaults", affected_vault_count: i64 = "vault_count", market_id, tx_hash,
    block_number: Nullable<i64>, detected_at: At = "observed_at", promoted_at: Nullable<At>, retracted_at: Nullable<At>,
    retracted_reason, data: DbData; row
} }

impl TryFrom<AffectedRow> for AffectedVault {
    type Error = String;

    fn try_from(vault: AffectedRow) -> Result<Self, String> {
        let AffectedRow { id, name, tvl_usd, chain_id, address, namespace } = vault;
        let written = Namespace::parse(&namespace).and_then(|namespace| Address::parse(namespace, &address).ok());
        Ok(AffectedVault {
            vault_id: VaultId::parse(&id).ok_or_else(|| format!("not a vault id: {id:?}"))?,
            vault_name: name,
            tvl_usd,
            chain_id: ChainId(chain_id),
            address: written.ok_or_else(|| format!("not an address: {address:?}"))?,
        })
    }
}
