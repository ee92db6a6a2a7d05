//! Caps: upper bounds of a vault's score, independent of its vectors' weighted sum.

use super::asset_vector::counted;
use super::{AssetMode, ExposuresStatus, Incident, Signers, Timelock, VaultInput};
use crate::scoring::number::{MilliPoints, SumUnits};
use crate::scoring::{named_enum, tables};
use alloc::vec::Vec;
use serde::Serialize;

named_enum! {
    /// The rule that caps a vault's score, in table order.
    pub enum CapId {
        /// The deposit asset, or a holding of at least 5 %, has an active hard-fail flag.
        AssetHardFail = "asset_hard_fail",
        /// The deployed version of the protocol has no audit.
        Unaudited = "unaudited",
        /// A major incident is unresolved, or resolved and younger than 180 days.
        Incident = "incident",
        /// The smallest vector is below 2.00.
        VectorFloor = "vector_floor",
        /// The smallest vector is below 4.00.
        VectorWeak = "vector_weak",
        /// The smallest vector is below 6.50; the vault cannot be Prime.
        PrimeGate = "prime_gate",
        /// More is lent out than was supplied.
        LiquidityDeficit = "liquidity_deficit",
        /// Bad debt exceeds 1 % of the vault's value.
        BadDebt = "bad_debt",
        /// The vault is in data-quality quarantine.
        NeedsRiskReview = "needs_risk_review",
        /// The vault is younger than 30 days, or its age is unknown.
        NewVault = "new_vault",
        /// The vault's TVL is below 100,000 USD, or unknown.
        LowTvl = "low_tvl",
        /// One key can change the vault without a delay.
        EoaControl = "eoa_control",
        /// Always applies: the asset vector plus one point.
        AssetDrag = "asset_drag",
    }
}

impl CapId {
    /// Whether the vault is demoted at once, without a dwell, while the cap binds.
    pub const fn demotes_at_once(self) -> bool {
        matches!(self, CapId::AssetHardFail | CapId::Incident | CapId::BadDebt)
    }
}

/// A cap whose condition applies to a vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cap {
    /// Id of the cap.
    pub id: CapId,
    /// Maximum score under this cap, 0 to 10.
    pub value: MilliPoints,
    /// Whether the cap is below the weighted sum, so that it would lower the score by itself.
    pub binding: bool,
}

/// The caps that apply to a scored vault, in the order of [`CapId::ALL`].
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

/// The points of the hard-failed deposit asset, or the lowest points of the hard-failed holdings.
fn hard_failed(input: &VaultInput) -> Option<MilliPoints> {
    match input.asset_mode {
        AssetMode::Lending => input.deposit_score.filter(|_| input.deposit_hard_fail),
        // Without shares it is unknown whether a failed holding reaches 5 percent; it lowers the bound of the asset vector instead.
        AssetMode::Holdings if input.exposures_status != ExposuresStatus::Observed => None,
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
