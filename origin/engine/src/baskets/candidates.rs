//! Candidates for a basket: the stored facts of vaults and assets, as input of the basket rules.

use rds_shared::model::basket::ConstituentType;
use rds_shared::rules::baskets::eligibility::{Candidate, StaleInput};
use rds_shared::scoring::asset::{AssetCategory, AttestationCadence, ReviewStatus, cadence_seconds};
use rds_shared::scoring::decimal::from_float;
use rds_shared::scoring::tables::HOLDING_HARD_FAIL_PPM;
use rds_shared::scoring::tables::sanity_checks::{READING_CADENCE_SECONDS, STALE_CADENCES};
use rds_shared::scoring::{MilliPoints, Ppm};
use rds_shared::wire::Timestamp;
use rds_store::baskets::candidates as table;
use rds_store::baskets::candidates::{AssetRow, VaultRow};
use rds_store::{StoreError, Tx, decode_enum};
use std::collections::{HashMap, HashSet};

const DAY_SECONDS: i64 = 86_400;

/// The candidates for a basket of this kind. `held` are the ids of the constituents in force. They are included even if they are no longer
/// available; an unavailable constituent has no score, so the rebalance removes it. With `only_held`, only the constituents in force are
/// loaded.
pub async fn load(
    tx: &mut Tx<'_>,
    kind: ConstituentType,
    held: &[&str],
    only_held: bool,
    now: Timestamp,
) -> Result<Vec<Candidate>, StoreError> {
    let assets = Assets::read(table::assets(tx).await?)?;
    match kind {
        ConstituentType::Vault => {
            let holding_from = f64::from(HOLDING_HARD_FAIL_PPM) / 1e6;
            let vaults = table::vaults(tx, held, only_held, holding_from).await?;
            Ok(vaults.into_iter().map(|vault| of_vault(vault, &assets, now)).collect())
        }
        ConstituentType::Asset => {
            let held: HashSet<&str> = held.iter().copied().collect();
            let chosen =
                |asset: &&Asset| held.contains(asset.row.id.as_str()) || (!only_held && asset.row.is_available);
            Ok(assets.in_order.iter().filter(chosen).map(|asset| of_asset(asset, &assets, now)).collect())
        }
    }
}

/// An asset with its enum columns decoded.
struct Asset {
    row: AssetRow,
    category: AssetCategory,
    review_status: Option<ReviewStatus>,
    cadence_seconds: i64,
}

impl Asset {
    fn read(row: AssetRow) -> Result<Self, StoreError> {
        let category = decode_enum("asset.category", &row.category)?;
        let cadence = row.attestation_cadence.as_deref();
        let cadence =
            cadence.map(|it| decode_enum::<AttestationCadence>("asset.attestation_cadence", it)).transpose()?;
        let status = row.review_status.as_deref();
        let review_status = status.map(|it| decode_enum("asset_version.review_status", it)).transpose()?;
        Ok(Asset { category, review_status, cadence_seconds: cadence_seconds(category, cadence), row })
    }

    fn is_overdue(&self, now: Timestamp) -> bool {
        let age = |at: Timestamp| now.seconds_since(at);
        self.row.refreshed_at.is_none_or(|at| age(at.0) > STALE_CADENCES.saturating_mul(self.cadence_seconds))
    }

    fn offchain(&self) -> Option<Ppm> {
        // One percent is ten thousand parts per million.
        from_float(self.row.offchain_pct?, 4).ok().map(Ppm)
    }
}

/// All assets in the order of their ids, with an index by id.
struct Assets {
    in_order: Vec<Asset>,
    places: HashMap<String, usize>,
}

impl Assets {
    fn read(rows: Vec<AssetRow>) -> Result<Self, StoreError> {
        let in_order: Vec<Asset> = rows.into_iter().map(Asset::read).collect::<Result<_, _>>()?;
        let places = in_order.iter().enumerate().map(|(place, asset)| (asset.row.id.clone(), place)).collect();
        Ok(Assets { in_order, places })
    }

    fn get(&self, id: &str) -> Option<&Asset> {
        self.in_order.get(*self.places.get(id)?)
    }

    /// Time of the newest active hard fail of any of these assets.
    fn failing_since(&self, ids: &[String]) -> Option<Timestamp> {
        ids.iter().filter_map(|id| self.get(id)?.row.hard_fail_since).max().map(Timestamp::from)
    }

    /// The last asset in the chain of underlyings, or the asset itself if it has no underlying. `None` if the chain is a cycle or contains
    /// an unknown asset.
    fn terminal<'a>(&'a self, asset: &'a Asset) -> Option<&'a Asset> {
        let (mut at, mut seen) = (asset, HashSet::new());
        while let Some(below) = &at.row.underlying {
            if !seen.insert(at.row.id.as_str()) {
                return None;
            }
            at = self.get(below)?;
        }
        Some(at)
    }
}

fn of_vault(row: VaultRow, assets: &Assets, now: Timestamp) -> Candidate {
    let asset = row.asset_id.as_deref().and_then(|id| assets.get(id));
    let terminal = asset.and_then(|asset| assets.terminal(asset));
    let is_old = |at: Timestamp| now.seconds_since(at) > STALE_CADENCES * READING_CADENCE_SECONDS;
    let overdue = row.observed_at.is_none_or(|at| is_old(at.0)) || asset.is_some_and(|asset| asset.is_overdue(now));
    let stale = [
        (StaleInput::EvidenceOverdue, overdue),
        (StaleInput::TvlUnavailable, row.tvl_usd.is_none()),
        (StaleInput::Quarantine, row.needs_risk_review),
    ];
    Candidate {
        id: row.id,
        issuer: row.protocol_id.clone(),
        protocol: Some(row.protocol_id),
        score: row.score.filter(|_| row.is_available).and_then(MilliPoints::new),
        asset_category: asset.map(|asset| asset.category),
        review_status: asset.and_then(|asset| asset.review_status),
        terminal_underlying_category: terminal.map(|asset| asset.category),
        terminal_underlying_backing_offchain: terminal.and_then(Asset::offchain),
        tvl_usd: row.tvl_usd.map(whole_dollars),
        age_days: row.since.map(|since| days(since.0, now)),
        hard_fail_since: assets.failing_since(&row.depends_on),
        // An unavailable vault is removed without waiting for a new reading, so none of its inputs counts as stale.
        stale: stale.into_iter().filter(|(_, is)| *is && row.is_available).map(|(input, _)| input).collect(),
    }
}

fn of_asset(asset: &Asset, assets: &Assets, now: Timestamp) -> Candidate {
    let (row, terminal) = (&asset.row, assets.terminal(asset));
    let overdue =
        (row.is_available && row.score.is_some() && asset.is_overdue(now)).then_some(StaleInput::EvidenceOverdue);
    Candidate {
        id: row.id.clone(),
        // A chain's native coin has no issuer.
        issuer: row.issuer.clone().unwrap_or_else(|| row.id.clone()),
        protocol: None,
        score: row.score.filter(|_| row.is_available).and_then(MilliPoints::new),
        asset_category: Some(asset.category),
        review_status: asset.review_status,
        terminal_underlying_category: terminal.map(|asset| asset.category),
        terminal_underlying_backing_offchain: terminal.and_then(Asset::offchain),
        tvl_usd: row.aum_usd.map(whole_dollars),
        age_days: Some(days(row.discovered_at.0, now)),
        hard_fail_since: row.hard_fail_since.map(Timestamp::from),
        stale: overdue.into_iter().collect(),
    }
}

/// Rounds down; the cast saturates.
fn whole_dollars(usd: f64) -> u64 {
    usd as u64
}

fn days(since: Timestamp, now: Timestamp) -> u32 {
    u32::try_from((now.seconds_since(since) / DAY_SECONDS).max(0)).unwrap_or(u32::MAX)
}
