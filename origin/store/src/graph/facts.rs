//! The data of the exposure graph: the rows on served chains, read in one database snapshot.

use crate::{At, Db, StoreError, Tx};
use rds_facts::{ExposurePart, Share, Subject};
use rds_shared::graph::breach::MarketIds;
use sqlx::FromRow;
use sqlx::types::Json;

/// The rows of one read, with the data version of that read.
#[derive(Debug, Default)]
pub struct GraphRows {
    pub data_version: i64,
    /// Withheld chains; their rows are left out.
    pub withheld: Vec<i64>,
    /// All vaults, including inactive ones, because other vaults may still hold them.
    pub vaults: Vec<VaultRow>,
    /// Assets, in byte order of their ids.
    pub assets: Vec<AssetRow>,
    /// Bridges, signer sets, oracle vendors and operator clusters.
    pub mappings: Vec<MappingRow>,
    pub reserves: Vec<ReserveRow>,
    /// Feeds that are used by a market or named by an exposure.
    pub feeds: Vec<FeedRow>,
    /// Tokens that wrap hub positions.
    pub wrappers: Vec<WrapperRow>,
    pub markets: Vec<MarketRow>,
    /// Efficiency modes of the markets.
    pub emodes: Vec<EmodeRow>,
    /// Published, unresolved incidents.
    pub incidents: Vec<IncidentRow>,
}

/// A vault with its newest state and exposures.
#[derive(Debug, FromRow)]
pub struct VaultRow {
    pub id: String,
    pub chain_id: i64,
    pub address: String,
    pub protocol_id: String,
    pub curator_id: Option<String>,
    pub asset_symbol: Option<String>,
    pub asset_address: Option<String>,
    /// Null for an inactive vault too: its last known value no longer applies.
    pub tvl_usd: Option<f64>,
    pub status: Option<String>,
    pub parts: Option<Json<Vec<ExposurePart>>>,
    /// Time of the newest observation among vault, state and exposures.
    pub seen_at: At,
}

#[derive(Debug, FromRow)]
pub struct AssetRow {
    pub id: String,
    pub chain_id: i64,
    pub address: Option<String>,
    pub symbol: String,
    pub seen_at: At,
}

/// An active mapping.
#[derive(Debug, FromRow)]
pub struct MappingRow {
    pub mapping_type: String,
    pub mapping_id: String,
    pub verified: bool,
    pub confidence: Json<Share>,
    pub applies_to: Json<Vec<Subject>>,
    pub seen_at: At,
}

/// A reserve with its market and its vault's newest state. The reserve of a shut-down vault is included, because its assets still back
/// debt.
#[derive(Debug, FromRow)]
pub struct ReserveRow {
    pub contract: String,
    pub market_name: String,
    pub chain_id: i64,
    /// Address of the reserve's vault.
    pub token_address: Option<String>,
    pub asset_address: String,
    pub asset_symbol: String,
    pub hub_address: Option<String>,
    /// Null if no vault is known at the token's address.
    pub vault_address: Option<String>,
    /// Null for an inactive vault too, like all its observed values.
    pub tvl_usd: Option<f64>,
    pub utilization: Option<f64>,
    pub bad_debt_usd: Option<f64>,
    pub seen_at: At,
}

/// A feed and the markets that use it.
#[derive(Debug, FromRow)]
pub struct FeedRow {
    pub contract: String,
    pub chain_id: i64,
    pub vendor: Option<String>,
    pub used_by: Vec<String>,
    pub reserve_symbols: Vec<String>,
    pub seen_at: At,
}

/// The wrapper token of one hub asset.
#[derive(Debug, FromRow)]
pub struct WrapperRow {
    pub chain_id: i64,
    pub hub_address: String,
    pub asset_address: String,
    pub wrapper_address: String,
    pub seen_at: At,
}

/// A market on a served chain, with its total borrowed amount; null if it was never observed.
#[derive(Debug, FromRow)]
pub struct MarketRow {
    pub contract: String,
    pub name: String,
    pub protocol_id: String,
    pub chain_id: i64,
    pub shape: String,
    pub discovered_by: String,
    pub total_borrowed_usd: Option<f64>,
    pub seen_at: At,
}

/// An efficiency mode; rates are fractions.
#[derive(Debug, FromRow)]
pub struct EmodeRow {
    pub contract: String,
    pub liquidation_threshold: f64,
    pub liquidation_bonus: f64,
    pub collateral_assets: Vec<String>,
    pub seen_at: At,
}

/// An incident with its affected vaults, as `{chain_id}:{address}`.
#[derive(Debug, FromRow)]
pub struct IncidentRow {
    pub id: i64,
    pub title: String,
    pub severity: String,
    pub incident_severity: Option<String>,
    pub occurred_at: At,
    pub seen_at: At,
    pub vault_keys: Vec<String>,
}

const VAULTS: &str = "SELECT v.id, v.chain_id, v.address, v.protocol_id, v.curator_id, v.asset_symbol, v.asset_address, \
            CASE WHEN v.is_active THEN s.tvl_usd END AS tvl_usd, e.status, e.parts, \
            greatest(v.observed_at, s.observed_at, e.observed_at) AS seen_at \
     FROM vault v JOIN chain c ON c.chain_id = v.chain_id AND c.is_served \
     LEFT JOIN vault_state s ON s.vault_id = v.id LEFT JOIN exposure e ON e.vault_id = v.id";
const ASSETS: &str = "SELECT a.id, a.chain_id, a.address, a.symbol, a.observed_at AS seen_at \
     FROM asset a JOIN chain c ON c.chain_id = a.chain_id AND c.is_served ORDER BY a.id COLLATE \"C\"";
/// Mappings whose signers are on a withheld chain are left out.
const MAPPINGS: &str = "SELECT mapping_type, mapping_id, verified, to_jsonb(confidence) AS confidence, applies_to, \
            observed_at AS seen_at \
     FROM mapping m WHERE is_active AND NOT EXISTS ( \
         SELECT FROM chain c WHERE NOT c.is_served AND c.chain_id = (m.signers->>'chain_id')::bigint) \
     ORDER BY mapping_type, mapping_id COLLATE \"C\"";
const RESERVES: &str = "SELECT r.contract, m.name AS market_name, m.chain_id, r.token_address, r.asset_address, r.asset_symbol, \
            coalesce(r.hub_address, m.hub_address) AS hub_address, v.address AS vault_address, \
            s.tvl_usd, s.utilization, s.bad_debt_usd, \
            greatest(r.observed_at, m.observed_at, s.observed_at) AS seen_at \
     FROM market_reserve r JOIN market m USING (contract) JOIN chain c ON c.chain_id = m.chain_id AND c.is_served \
     LEFT JOIN vault v ON v.chain_id = m.chain_id AND v.address = r.token_address LEFT JOIN vault_state s ON s.vault_id = v.id AND v.is_active \
     WHERE r.is_active ORDER BY r.contract COLLATE \"C\", r.reserve COLLATE \"C\"";
const FEEDS: &str = "SELECT f.contract, f.chain_id, f.vendor, f.used_by, f.reserve_symbols, f.observed_at AS seen_at \
     FROM oracle_feed f JOIN chain c ON c.chain_id = f.chain_id AND c.is_served \
     WHERE f.used_by <> '{}' OR f.contract IN ( \
         SELECT jsonb_array_elements_text(part->'oracles') FROM exposure e, jsonb_array_elements(e.parts) part) \
     ORDER BY f.contract COLLATE \"C\"";
const WRAPPERS: &str = "SELECT h.chain_id, h.hub_address, h.asset_address, h.wrapper_address, h.observed_at AS seen_at \
     FROM hub_asset h JOIN chain c ON c.chain_id = h.chain_id AND c.is_served \
     WHERE h.is_active AND h.wrapper_address IS NOT NULL";

/// Ordered by contract: market ids depend on the order of first observation, and equal facts must give equal snapshots everywhere.
const MARKETS: &str = "SELECT m.contract, m.name, m.protocol_id, m.chain_id, m.shape, m.discovered_by, s.total_borrowed_usd, \
            greatest(m.observed_at, s.observed_at) AS seen_at \
     FROM market m JOIN chain c ON c.chain_id = m.chain_id AND c.is_served \
     LEFT JOIN market_state s USING (contract) WHERE m.shape <> 'pair' OR m.is_protocol_listed ORDER BY m.contract COLLATE \"C\"";
const MARKET_IDS: &str = "SELECT contract, id FROM market_key";
const EMODES: &str = "SELECT e.contract, e.liquidation_threshold, e.liquidation_bonus, e.collateral_assets, e.observed_at AS seen_at \
     FROM market_emode e WHERE e.is_active";
const INCIDENTS: &str = "SELECT e.id, e.title, e.severity, e.incident_severity, e.occurred_at, e.observed_at AS seen_at, \
            array_agg(v.chain_id || ':' || v.address) AS vault_keys \
     FROM event e JOIN event_served s ON s.event_id = e.id AND s.is_served \
     JOIN event_vault t ON t.event_id = e.id JOIN vault v ON v.id = t.vault_id \
     WHERE e.state = 'published' AND e.event_type = 'Incident' AND e.remediation_status IS DISTINCT FROM 'resolved' \
     GROUP BY e.id ORDER BY e.id";

/// Reads all rows in one database snapshot.
pub async fn read(db: &Db) -> Result<GraphRows, StoreError> {
    let mut tx = db.snapshot().await?;
    Ok(GraphRows {
        data_version: sqlx::query_scalar("SELECT version FROM data_version").fetch_one(&mut *tx).await?,
        withheld: sqlx::query_scalar("SELECT chain_id FROM chain WHERE NOT is_served ORDER BY chain_id")
            .fetch_all(&mut *tx)
            .await?,
        vaults: all(&mut tx, VAULTS).await?,
        assets: all(&mut tx, ASSETS).await?,
        mappings: all(&mut tx, MAPPINGS).await?,
        reserves: all(&mut tx, RESERVES).await?,
        feeds: all(&mut tx, FEEDS).await?,
        wrappers: all(&mut tx, WRAPPERS).await?,
        markets: all(&mut tx, MARKETS).await?,
        emodes: all(&mut tx, EMODES).await?,
        incidents: all(&mut tx, INCIDENTS).await?,
    })
}

/// The market ids of `/v1/markets`, by contract. They are not part of a graph snapshot. An assigned id never changes.
pub async fn market_ids(db: &Db) -> Result<MarketIds, StoreError> {
    let ids: Vec<(String, String)> = sqlx::query_as(MARKET_IDS).fetch_all(&db.pool).await?;
    Ok(ids.into_iter().collect())
}

async fn all<T>(tx: &mut Tx<'_>, sql: &'static str) -> Result<Vec<T>, StoreError>
where
    T: for<'r> FromRow<'r, sqlx::postgres::PgRow> + Send + Unpin,
{
    Ok(sqlx::query_as(sql).fetch_all(&mut **tx).await?)
}
