//! The vault score: four vectors, their weighted sum, and the lowest cap.
//!
//! Every step uses the published, rounded results of the previous one: vectors are computed from published asset scores, the sum from
//! published vectors. A vault without an asset or platform vector is unscored.

mod asset_vector;
mod canonical;
mod caps;
mod control;
mod flags;
mod history;
mod input;
mod platform;
mod range;

pub use caps::{Cap, CapId};
pub use flags::{Flag, outlier_apr};
pub use input::{
    AssetMode, ControlInput, Exit, Exposure, ExposureRule, ExposuresStatus, HistoryInput, Incident, IncidentClass,
    Oracle, PlatformInput, Signers, Source, Strategy, Timelock, VaultInput, WorstDependency,
};
pub use platform::{dependency_factor_bp, platform_sum_tier};
pub use range::{AssetRanges, VaultRange, asset_range, range};

use super::number::{MilliPoints, SumUnits};
use super::{named_enum, tables};
use crate::rules::tiers::{Tier, tier_of};
use alloc::vec::Vec;

/// The four vectors, with two decimals each; `None` if a vector cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vectors {
    /// The assets that the vault holds or lends against.
    pub asset: Option<MilliPoints>,
    /// The protocol that the vault runs on.
    pub platform: Option<MilliPoints>,
    /// Who can change the vault, how fast, and how depositors exit.
    pub control: MilliPoints,
    /// The vault's age, incidents and stability.
    pub history: MilliPoints,
}

named_enum! {
    /// An input without which a vault cannot be scored.
    pub enum RequiredInput {
        DepositScore = "deposit_score",
        Exposures = "exposures",
        VersionAgeDays = "version_age_days",
        Audits = "audits",
        Strategy = "strategy",
    }
}

/// The result for a [`VaultInput`]. `weighted_sum`, `score` and `tier` are all `None` if the vault is unscored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultOutcome {
    pub vectors: Vectors,
    /// 35·asset + 30·platform + 20·control + 15·history, exact.
    pub weighted_sum: Option<SumUnits>,
    /// Every cap that applies, in the order of [`CapId::ALL`]; empty when unscored.
    pub caps: Vec<Cap>,
    /// The informational flags, which do not affect the score.
    pub flags: Vec<Flag>,
    /// The raw score of this run, two decimals.
    pub score: Option<MilliPoints>,
    /// The tier of `score`.
    pub tier: Option<Tier>,
    missing: Vec<RequiredInput>,
}

impl VaultOutcome {
    /// Whether a binding cap demotes the vault at once, without a dwell: a hard-failed asset, an incident, or bad debt.
    pub fn hard(&self) -> bool {
        self.caps.iter().any(|cap| cap.binding && cap.id.demotes_at_once())
    }

    /// The required inputs that are unknown; empty if and only if the vault is scored.
    pub fn missing(&self) -> &[RequiredInput] {
        &self.missing
    }
}

/// Scores a vault.
///
/// Source: methodology, "Vault score".
pub fn evaluate(input: &VaultInput) -> VaultOutcome {
    let mut outcome = VaultOutcome {
        vectors: Vectors {
            asset: asset_vector::score(input),
            platform: platform::score(&input.platform),
            control: control::score(&input.control),
            history: history::score(&input.history),
        },
        weighted_sum: None,
        caps: Vec::new(),
        flags: flags::raised(input),
        score: None,
        tier: None,
        missing: missing(input),
    };
    let Vectors { asset: Some(asset), platform: Some(platform), control, history } = outcome.vectors else {
        return outcome;
    };
    let vectors = [asset, platform, control, history];
    let weighted = tables::VECTOR_WEIGHTS.iter().zip(vectors).map(|(weight, vector)| weight * i64::from(vector.get()));
    let sum = SumUnits::new(weighted.sum());
    outcome.caps = caps::applying(input, vectors, sum);
    let lowest = outcome.caps.iter().map(|cap| cap.value.to_sum()).fold(sum, Ord::min);
    let score = lowest.to_score();
    outcome.weighted_sum = Some(sum);
    outcome.score = Some(score);
    outcome.tier = Some(tier_of(score));
    outcome
}

fn missing(input: &VaultInput) -> Vec<RequiredInput> {
    let platform = &input.platform;
    let holds_nothing = input.asset_mode == AssetMode::Holdings && asset_vector::score(input).is_none();
    let unknown = [
        (input.asset_mode == AssetMode::Lending && input.deposit_score.is_none(), RequiredInput::DepositScore),
        (holds_nothing, RequiredInput::Exposures),
        (platform.version_age_days.is_none(), RequiredInput::VersionAgeDays),
        (platform.audits.is_none(), RequiredInput::Audits),
        (platform.strategy.is_none(), RequiredInput::Strategy),
    ];
    unknown.into_iter().filter(|(unknown, _)| *unknown).map(|(_, name)| name).collect()
}
