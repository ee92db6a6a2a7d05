//! Caps: what a vault's score may not exceed, whatever its vectors say.

use super::asset_vector::counted;
use super::{AssetMode, Incident, Signers, Timelock, VaultInput};
use crate::scoring::number::{MilliPoints, SumUnits};
use crate::scoring::{named_enum, tables};
use alloc::vec::Vec;
use serde::Serialize;

named_enum! {
    /// Which rule caps the score, in table order.
    pub enum CapId {
        /// The deposit asset, or a holding of at least 5 %, has an active hard-fail flag.
        AssetHardFail = "asset_hard_fail",
        Unaudited = "unaudited",
        /// A major incident is unresolved or younger than 180 days.
        Incident = "incident",
        /// The smallest vector is below 2.00.
        VectorFloor = "vector_floor",
        /// The smallest vector is below 4.00.
        VectorWeak = "vector_weak",
        /// The smallest vector is below 6.50: never Prime.
        PrimeGate = "prime_gate",
        LiquidityDeficit = "liquidity_deficit",
        BadDebt = "bad_debt",
        NeedsRiskReview = "needs_risk_review",
        NewVault = "new_vault",
        LowTvl = "low_tvl",
        /// One key can change the vault at once.
        EoaControl = "eoa_control",
        /// Always: one point above the asset vector.
        AssetDrag = "asset_drag",
    }
}

impl CapId {
    /// Whether it demotes without a dwell while it binds.
    pub const fn demotes_at_once(self) -> bool {
        matches!(self, CapId::AssetHardFail | CapId::Incident | CapId::BadDebt)
    }
}

/// A cap that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cap {
    /// Which rule.
    pub id: CapId,
    /// The most the score may be.
    pub value: MilliPoints,
    /// Whether it is below the weighted sum and would lower the score by itself.
    pub binding: bool,
}

/// The caps that apply to a scored vault, in table order.
pub(super) fn applying(input: &VaultInput, vectors: [MilliPoints; 4], weighted_sum: SumUnits) -> Vec<Cap> {
    let (platform, history) = (&input.platform, &input.history);
    let [asset_vector, ..] = vectors;
    let smallest = vectors.into_iter().fold(MilliPoints::MAX, Ord::min);
    let weak = tables::VECTOR_CAPS.iter().find(|(bound, ..)| smallest < *bound);
    let when = |applies: bool, value: MilliPoints| applies.then_some(value);
    let listed = [
        (CapId::AssetHardFail, hard_failed(input)),
        (CapId::Unaudited, when(platform.audits == Some(0), tables::UNAUDITED)),
        (CapId::Incident, history.incidents.iter().filter_map(incident_cap).min()),
        (weak.map_or(CapId::PrimeGate, |(_, id, _)| *id), weak.map(|(.., value)| *value)),
        (
            CapId::LiquidityDeficit,
            when(input.utilization_ppm.is_some_and(|ppm| ppm > tables::DEFICIT_ABOVE_PPM), tables::LIQUIDITY_DEFICIT),
        ),
        (CapId::BadDebt, when(input.bad_debt_ppm.is_some_and(|ppm| ppm > tables::BAD_DEBT_PPM), tables::BAD_DEBT)),
        (CapId::NeedsRiskReview, when(input.needs_risk_review, tables::NEEDS_RISK_REVIEW)),
        (CapId::NewVault, when(history.vault_age_days.unwrap_or(0) < tables::NEW_VAULT_DAYS, tables::NEW_VAULT)),
        (CapId::LowTvl, when(input.tvl_usd.unwrap_or(0) < tables::LOW_TVL_USD, tables::LOW_TVL)),
        (CapId::EoaControl, when(one_key_acts_at_once(input), tables::EOA_CONTROL)),
        (CapId::AssetDrag, Some(asset_vector.offset(tables::ASSET_DRAG_ABOVE))),
    ];
    let cap = |(id, value): (CapId, Option<MilliPoints>)| {
        value.map(|value| Cap { id, value, binding: value.to_sum() < weighted_sum })
    };
    listed.into_iter().filter_map(cap).collect()
}

/// The score of the hard-failed asset the vault stands on, the lowest when it holds several.
fn hard_failed(input: &VaultInput) -> Option<MilliPoints> {
    match input.asset_mode {
        AssetMode::Lending => input.deposit_score.filter(|_| input.deposit_hard_fail),
        AssetMode::Holdings => {
            let failed = input.exposures.iter().filter(|exposure| {
                exposure.hard_fail_cap.is_some() && exposure.share_ppm >= tables::HOLDING_HARD_FAIL_PPM
            });
            failed.map(counted).min()
        }
    }
}

fn incident_cap(incident: &Incident) -> Option<MilliPoints> {
    if !incident.class.is_major() {
        return None;
    }
    if !incident.resolved {
        return Some(tables::INCIDENT_UNRESOLVED);
    }
    let recent = tables::INCIDENT_CAPS.iter().find(|(younger_than, _)| incident.age_days < *younger_than);
    recent.map(|(_, value)| *value)
}

fn one_key_acts_at_once(input: &VaultInput) -> bool {
    let one_key = match input.control.signers {
        Signers::Eoa => true,
        Signers::Multisig { threshold, .. } => threshold <= 1,
        Signers::Immutable | Signers::Dao | Signers::Unknown => false,
    };
    one_key && matches!(input.control.timelock, Timelock::Unknown | Timelock::Seconds(0))
}
