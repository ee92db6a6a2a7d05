//! One asset, with its history.
//!
//! Fields that need a key are emptied by [`AssetRow::withheld`]. The content class is part of every ETag, so that an ETag obtained with a key confirms nothing to a caller without one.

mod answers;
pub mod rwa;

use crate::catalog::LiveCatalog;
use crate::catalog::assets::Asset;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::Call;
use rds_engine::attestation::proven;
use rds_shared::model::asset::{AssetDetail, AssetHistory, AssetRow, Freshness, Renewal, VersionPoint};
use rds_shared::model::asset_restricted::RESTRICTED_IN_DETAIL;
use rds_shared::scoring::MilliPoints;
use rds_shared::wire::time::{Micros, Timestamp};
use rds_shared::wire::{ApiError, Data};
use rds_store::Db;
use rds_store::assets::{self, attestations};
use rds_store::{StoreError, decode_enum};
use serde::Serialize;
use serde_json::value::RawValue;

/// Path segment in place of an address, for a chain's native coin.
const NATIVE: &str = "native";
/// Maximum versions in a detail.
const MAX_VERSIONS: u32 = 30;
/// Maximum attestations in a detail.
const MAX_ATTESTATIONS: usize = 50;
/// Maximum attestations that are read and verified for a detail. More than [`MAX_ATTESTATIONS`], because invalid ones are left out.
const MAX_VERIFIED: u32 = 200;

/// `GET /v1/assets/{chain_id}/{address}`.
pub async fn by_address(live: &LiveCatalog, db: &Db, call: &Call) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let (network, text) = (call.found.param(0), call.found.param(1));
    let chain = catalog.rollup.chain(network).ok_or_else(|| ApiError::not_found("chain"))?;
    if text == NATIVE {
        let asset = catalog.assets.native(chain.facts.id).ok_or_else(|| ApiError::not_found("asset"))?;
        return detail(db, call, catalog.version, asset, asset.row.clone()).await;
    }
    let address = call.address_on(&chain.facts, 1)?;
    let asset = catalog.assets.at(chain.facts.id, &address).ok_or_else(|| ApiError::not_found("asset"))?;
    detail(db, call, catalog.version, asset, asset.row.clone()).await
}

/// The row whose fields a detail begins with.
pub trait DetailRow: Serialize {
    /// This row with the freshness of its evidence, and with its other ages as of `now`.
    fn aged(self, freshness: Freshness, now: Timestamp) -> Self;
    /// This row without the fields that need a key.
    fn withheld(self) -> Self;
}

impl DetailRow for AssetRow {
    fn aged(self, freshness: Freshness, _now: Timestamp) -> Self {
        AssetRow { freshness, ..self }
    }

    fn withheld(self) -> Self {
        AssetRow::withheld(self, RESTRICTED_IN_DETAIL)
    }
}

/// The detail of `asset`, which begins with `row`.
pub async fn detail<R: DetailRow + Clone>(
    db: &Db,
    call: &Call,
    version: i64,
    asset: &Asset,
    row: R,
) -> Result<Answer, Failure> {
    let history = history(db, call, asset).await?;
    let row = if call.principal.is_keyless() { row.withheld() } else { row };
    let at = |renewal: &Renewal, seen| AssetDetail {
        row: row.clone().aged(renewal.freshness(seen), seen),
        history: &history,
    };
    // The ETag covers the row as of the latest evidence renewal, and the current freshness status. Ages change with the clock and
    // are left out.
    let settled = at(&asset.renewal, asset.renewal.at.unwrap_or(Timestamp::from_seconds(0)));
    let mut etag = call.etag();
    etag.add(call.principal.content_class().as_bytes()).add(&serde_json::to_vec(&settled)?);
    etag.add(asset.renewal.status(call.now).map_or("", |status| status.as_str()).as_bytes());
    call.try_answer(etag, version, || Ok(serde_json::to_vec(&Data { data: at(&asset.renewal, call.now) })?))
}

async fn history(db: &Db, call: &Call, asset: &Asset) -> Result<AssetHistory<Box<RawValue>>, Failure> {
    let slug = &asset.row.slug;
    let versions = assets::versions(db, slug, MAX_VERSIONS).await?;
    let mut history = AssetHistory {
        version_history: versions.iter().map(version_point).collect::<Result<_, StoreError>>()?,
        attestation_history: Vec::new(),
        discovery: Some(asset.discovery.clone()),
        risk_score_breakdown: None,
        answers: answers::of(db, slug, call.now).await?,
    };
    if !call.principal.is_keyless() {
        let signed = attestations::of_asset(&db.pool, slug, MAX_VERIFIED).await?;
        history.attestation_history = signed.iter().filter_map(proven).take(MAX_ATTESTATIONS).collect();
        history.risk_score_breakdown = assets::breakdown(db, slug).await?.map(RawValue::from_string).transpose()?;
    }
    Ok(history)
}

fn version_point(row: &assets::VersionRow) -> Result<VersionPoint, StoreError> {
    Ok(VersionPoint {
        asset_version_id: row.number.to_string(),
        recorded_at: Micros(row.recorded_at.0),
        risk_score: row.score.and_then(MilliPoints::new),
        risk_tier: row.tier.as_deref().map(|tier| decode_enum("asset_version_score.tier", tier)).transpose()?,
        review_status: decode_enum("asset_version.review_status", &row.review_status)?,
        aum_usd: row.aum_usd,
        yield_pct: row.yield_pct,
    })
}
