//! The caps as data: upper bounds of a vault's score, and their conditions.

use super::{points, tenths};
use crate::scoring::number::{Decimal, MilliPoints, Ppm};
use crate::scoring::tables;
use crate::scoring::vault::CapId;
use alloc::vec::Vec;
use serde::Serialize;

/// A cap: an upper bound of the score, and its condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapRule {
    /// The cap's id.
    pub id: CapId,
    /// Maximum score under this cap, 0 to 10; null where it depends on the vault as described by `about` and `when`.
    pub value: Option<MilliPoints>,
    /// When the cap applies, as text. "This" refers to the number in `when`.
    pub about: &'static str,
    /// The numbers of the condition; null where it has none.
    pub when: Option<CapNumbers>,
    /// Whether the vault is demoted at once, without a dwell, while the cap binds.
    pub at_once: bool,
}

/// The numbers of a cap's condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum CapNumbers {
    HardFail { holding_from_share: Ppm },
    Incident { unresolved: MilliPoints, resolved: Vec<IncidentStep> },
    Vector { smallest_vector_below: MilliPoints },
    Utilization { utilization_above: Ppm },
    BadDebt { bad_debt_above: Ppm },
    Age { younger_than_days: u32 },
    Size { tvl_usd_below: u64 },
    AboveAsset { above_asset_vector: MilliPoints },
}

/// The cap of a resolved major incident below an age. The first step that fits applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IncidentStep {
    /// The step applies to incidents younger than this many days.
    pub younger_than_days: u32,
    /// Maximum score under this cap, 0 to 10.
    pub cap: MilliPoints,
}

/// Every cap, in the order of [`CapId::ALL`].
pub(super) fn rules() -> Vec<CapRule> {
    CapId::ALL.iter().map(|id| rule(*id)).collect()
}

fn rule(id: CapId) -> CapRule {
    let (value, about, when) = match id {
        CapId::AssetHardFail => (
            None,
            "Lending: the deposit asset has an active hard fail; the cap is its score. \
             Holdings: a holding of at least this share has an active hard fail; the cap is the lowest points of such holdings.",
            Some(CapNumbers::HardFail { holding_from_share: Ppm(tables::HOLDING_HARD_FAIL_PPM.into()) }),
        ),
        CapId::Unaudited => (Some(tables::UNAUDITED), "audits is 0.", None),
        CapId::Incident => (
            None,
            "A major incident is unresolved, or resolved and younger than a step; the lowest cap over all incidents applies.",
            Some(CapNumbers::Incident { unresolved: tables::INCIDENT_UNRESOLVED, resolved: incident_steps() }),
        ),
        CapId::VectorFloor | CapId::VectorWeak | CapId::PrimeGate => weak_vector(id),
        CapId::LiquidityDeficit => (
            Some(tables::LIQUIDITY_DEFICIT),
            "utilization is above this.",
            Some(CapNumbers::Utilization { utilization_above: Ppm(tables::DEFICIT_ABOVE_PPM) }),
        ),
        CapId::BadDebt => (
            Some(tables::BAD_DEBT),
            "bad_debt is above this.",
            Some(CapNumbers::BadDebt { bad_debt_above: Ppm(tables::BAD_DEBT_PPM) }),
        ),
        CapId::NeedsRiskReview => (Some(tables::NEEDS_RISK_REVIEW), "needs_risk_review is true.", None),
        CapId::NewVault => (
            Some(tables::NEW_VAULT),
            "vault_age_days is below this; an unknown age counts 0.",
            Some(CapNumbers::Age { younger_than_days: tables::NEW_VAULT_DAYS }),
        ),
        CapId::LowTvl => (
            Some(tables::LOW_TVL),
            "tvl_usd is below this; an unknown TVL counts 0.",
            Some(CapNumbers::Size { tvl_usd_below: tables::LOW_TVL_USD }),
        ),
        CapId::EoaControl => (
            Some(tables::EOA_CONTROL),
            "signers is eoa or a threshold of at most 1, and timelock_seconds is 0 or null.",
            None,
        ),
        CapId::AssetDrag => (
            None,
            "Always: the asset vector plus this, at most 10.",
            Some(CapNumbers::AboveAsset { above_asset_vector: points(tables::ASSET_DRAG_ABOVE) }),
        ),
    };
    CapRule { id, value, about, when, at_once: id.demotes_at_once() }
}

fn incident_steps() -> Vec<IncidentStep> {
    let step = |(younger_than_days, cap): &(u32, MilliPoints)| IncidentStep {
        younger_than_days: *younger_than_days,
        cap: *cap,
    };
    tables::INCIDENT_CAPS.iter().map(step).collect()
}

fn weak_vector(id: CapId) -> (Option<MilliPoints>, &'static str, Option<CapNumbers>) {
    let found = tables::VECTOR_CAPS.iter().find(|(_, of, _)| *of == id);
    let about = "The smallest vector is below this; of vector_floor, vector_weak and prime_gate only the first that applies is listed.";
    let when = found.map(|(bound, ..)| CapNumbers::Vector { smallest_vector_below: *bound });
    (found.map(|(.., value)| *value), about, when)
}

/// The thresholds of the informational flags. Shares and rates are fractions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlagRules {
    /// `stale_audit` is raised if the newest audit is older than this many days, or undated.
    pub stale_audit_after_days: u32,
    /// `reward_heavy` is raised if the rate without rewards is below this fraction of the net rate.
    pub reward_heavy_base_share_below: Decimal,
    /// `high_utilization` is raised if utilization is above this fraction.
    pub high_utilization_above: Ppm,
    /// `single_market` is raised if one exposure of a lending vault is above this share.
    pub single_market_share_above: Decimal,
    /// `custom_oracle` is raised if a custom or unknown oracle prices an exposure of at least this share of a lending vault.
    pub custom_oracle_share_from: Decimal,
    /// `outlier_apr` is raised only if the net rate is above this fraction.
    pub outlier_apr_above: Ppm,
    /// `outlier_apr` is raised only if the net rate is above this many times the median of its peers.
    pub outlier_apr_times_median: i64,
    /// `outlier_apr` is raised only with at least this many peers.
    pub outlier_apr_min_peers: u64,
}

impl FlagRules {
    pub(super) fn current() -> Self {
        FlagRules {
            stale_audit_after_days: tables::AUDIT_STALE_DAYS,
            reward_heavy_base_share_below: super::one_in(tables::REWARD_HEAVY_ONE_IN.unsigned_abs()),
            high_utilization_above: Ppm(tables::HIGH_UTILIZATION_PPM),
            single_market_share_above: tenths(tables::SINGLE_MARKET_TENTHS),
            custom_oracle_share_from: super::one_in(tables::CUSTOM_ORACLE_ONE_IN),
            outlier_apr_above: Ppm(tables::OUTLIER_APR_PPM),
            outlier_apr_times_median: i64::try_from(tables::OUTLIER_TIMES_MEDIAN).unwrap_or(i64::MAX),
            outlier_apr_min_peers: tables::OUTLIER_MIN_PEERS as u64,
        }
    }
}
