//! The inputs of the asset vector: deposit asset and exposures, with the ranges of their scores.

use super::inputs::{Market, Sources, milli};
use rds_facts::{ExposureBasis, ExposurePart};
use rds_shared::scoring::decimal::from_float;
use rds_shared::scoring::provenance::{ChainEvidence, InputField, Observation};
use rds_shared::scoring::vault::{AssetRanges, Exposure, ExposuresStatus, VaultInput};
use rds_shared::scoring::{MilliPoints, Ppm, ScoreRange};
use rds_store::scoring::{ScoredAsset, VaultRow};
use rds_store::{At, StoreError, decode_enum};
use serde::Deserialize;

/// The asset vector of a vault that other vaults hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nested {
    pub(super) score: Option<MilliPoints>,
    pub(super) range: ScoreRange,
}

impl Market {
    /// Mode, deposit asset and exposures: all inputs of the asset vector.
    pub(super) fn asset_side(
        &self,
        row: &VaultRow,
        from: &mut Sources,
    ) -> Result<(VaultInput, AssetRanges), StoreError> {
        let mut ranges = AssetRanges { deposit: ScoreRange::UNKNOWN, exposures: Vec::new() };
        let mut input = VaultInput::new(decode_enum("vault.asset_mode", &row.asset_mode)?);
        let place = row.asset_address.clone().map(|address| (row.chain_id, address));
        if let Some(asset) = place.and_then(|place| self.assets.get(self.by_deployment.get(&place)?)) {
            input.deposit_score = milli(asset.score);
            input.deposit_hard_fail = asset.hard_fail_cap.is_some();
            ranges.deposit = range_of(asset);
            let source = format!("{}: published score of {}", asset.source, asset.id);
            from.note(&[InputField::DepositScore, InputField::DepositHardFail], &source, asset.observed_at);
        }
        input.exposures_status = ExposuresStatus::Unavailable;
        if let (Some(status), Some(source), Some(at)) =
            (&row.exposures_status, &row.exposures_source, row.exposures_observed_at)
        {
            let evidence = row.exposures_evidence.as_ref().map(ChainEvidence::deserialize).transpose();
            let evidence =
                evidence.map_err(|_| StoreError::Corrupt { column: "exposure.evidence", text: String::new() })?;
            from.note_exposures(Observation { source: source.clone(), observed_at: at.0, evidence });
            if !self.are_outdated(row, at)? {
                input.exposures_status = decode_enum("exposure.status", status)?;
                let parts = parts(row)?;
                input.exposures = parts.iter().map(|part| self.exposure(part)).collect();
                ranges.exposures = parts.iter().map(|part| self.range(part)).collect();
            }
        }
        Ok((input, ranges))
    }

    /// Whether the exposures follow from a rule that ages, and are older than evidence may be.
    fn are_outdated(&self, row: &VaultRow, observed_at: At) -> Result<bool, StoreError> {
        let Some(json) = &row.exposures_basis else { return Ok(false) };
        let basis: ExposureBasis = serde_json::from_value(json.clone())
            .map_err(|_| StoreError::Corrupt { column: "exposure.basis", text: json.to_string() })?;
        Ok(basis.rule.is_outdated(self.now.seconds_since(observed_at.0)))
    }

    fn range(&self, part: &ExposurePart) -> ScoreRange {
        let nested = part.vault_id.as_ref().and_then(|id| self.nested.get(id)).map(|nested| nested.range);
        let asset = part.asset_id.as_ref().and_then(|id| self.assets.get(id)).map(range_of);
        nested.or(asset).unwrap_or(ScoreRange::UNKNOWN)
    }

    fn exposure(&self, part: &ExposurePart) -> Exposure {
        let asset = part.asset_id.as_ref().and_then(|id| self.assets.get(id));
        let nested = part.vault_id.as_ref();
        Exposure {
            id: nested.map_or_else(|| part.asset_id.clone().unwrap_or_default(), |id| format!("vault:{id}")),
            share_ppm: part.share.0,
            score: match nested {
                Some(vault_id) => self.nested.get(vault_id).and_then(|nested| nested.score),
                None => asset.and_then(|asset| milli(asset.score)),
            },
            hard_fail_cap: asset.and_then(|asset| milli(asset.hard_fail_cap)),
            oracle: part.oracle,
            // The loan-to-value ratio is at most 1, so its basis points fit `u32`.
            lltv_bp: part.lltv.and_then(|lltv| u32::try_from(from_float(lltv, 4).ok()?).ok()),
            same_peg: part.same_peg,
        }
    }
}

/// The range of an asset's published score.
fn range_of(asset: &ScoredAsset) -> ScoreRange {
    let range = || {
        Some(ScoreRange {
            lowest: milli(asset.lowest)?,
            highest: milli(asset.highest)?,
            coverage: Ppm(asset.coverage?.into()),
        })
    };
    range().unwrap_or(ScoreRange::UNKNOWN)
}

/// The vault's exposures as stored.
pub(super) fn parts(row: &VaultRow) -> Result<Vec<ExposurePart>, StoreError> {
    let Some(parts) = &row.parts else { return Ok(Vec::new()) };
    serde_json::from_value(parts.clone())
        .map_err(|_| StoreError::Corrupt { column: "exposure.parts", text: parts.to_string() })
}
