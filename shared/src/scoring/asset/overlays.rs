//! The overlays, applied in a fixed order. Each may only lower the running score.

use super::hard_fail::HardFailFlag;
use super::{AssetInput, ReviewStatus, multiplier_ppm};
use crate::scoring::number::{MilliPoints, SumUnits, rhe};
use crate::scoring::{named_enum, tables};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::{Serialize, Serializer};

named_enum! {
    /// How an overlay changes the running score.
    pub enum OverlayKind {
        Subtract = "subtract",
        Cap = "cap",
        Multiply = "multiply",
    }
}

/// The rule of an overlay. `Display` writes the overlay's id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OverlayRule {
    /// `lockup`: a holder cannot exit for this many days.
    Lockup { days: u32 },
    /// `yield-bearing`: the score is bounded by the score of the underlying asset.
    YieldBearing,
    /// `dependency:<asset_id>`: the score is bounded by the score of an asset on which this asset depends.
    Dependency(String),
    /// `chain`: the asset's chain is young or centralised.
    Chain,
    /// `staleness`: the evidence is older than one cadence.
    Staleness,
    /// `staleness:cap`: the evidence is older than two or four cadences.
    StalenessCap,
    /// `review:<status>`: the asset is not fully reviewed.
    Review(ReviewStatus),
    /// `supply`: few keys or messages can raise the supply, or it is unknown how many.
    Supply,
    /// `hard_fail:<flag>`: the flag is active or in cooldown.
    HardFail(HardFailFlag),
}

impl OverlayRule {
    /// How the rule changes the running score.
    pub const fn kind(&self) -> OverlayKind {
        match self {
            OverlayRule::Lockup { .. } => OverlayKind::Subtract,
            OverlayRule::Chain | OverlayRule::Staleness => OverlayKind::Multiply,
            _ => OverlayKind::Cap,
        }
    }

    /// A short explanation, published with the overlay.
    pub fn reason(&self) -> impl fmt::Display {
        struct Reason<'a>(&'a OverlayRule);
        impl fmt::Display for Reason<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0 {
                    OverlayRule::Lockup { days: 1 } => f.write_str("exit locked for 1 day"),
                    OverlayRule::Lockup { days } => write!(f, "exit locked for {days} days"),
                    OverlayRule::YieldBearing => f.write_str("bounded by its underlying"),
                    OverlayRule::Dependency(id) => write!(f, "bounded by dependency {id}"),
                    OverlayRule::Chain => f.write_str("chain profile"),
                    OverlayRule::Staleness => f.write_str("evidence older than its cadence"),
                    OverlayRule::StalenessCap => f.write_str("evidence much older than its cadence"),
                    OverlayRule::Review(ReviewStatus::Reviewed) => f.write_str("reviewed"),
                    OverlayRule::Review(ReviewStatus::Provisional) => f.write_str("provisionally reviewed"),
                    OverlayRule::Review(ReviewStatus::Unreviewed) => f.write_str("not reviewed"),
                    OverlayRule::Supply => f.write_str("who can raise the supply"),
                    OverlayRule::HardFail(flag) => f.write_str(flag.reason()),
                }
            }
        }
        Reason(self)
    }
}

impl fmt::Display for OverlayRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OverlayRule::Lockup { .. } => f.write_str("lockup"),
            OverlayRule::YieldBearing => f.write_str("yield-bearing"),
            OverlayRule::Dependency(id) => write!(f, "dependency:{id}"),
            OverlayRule::Chain => f.write_str("chain"),
            OverlayRule::Staleness => f.write_str("staleness"),
            OverlayRule::StalenessCap => f.write_str("staleness:cap"),
            OverlayRule::Review(status) => write!(f, "review:{status}"),
            OverlayRule::Supply => f.write_str("supply"),
            OverlayRule::HardFail(flag) => write!(f, "hard_fail:{flag}"),
        }
    }
}

impl Serialize for OverlayRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An overlay that lowered the score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlay {
    pub rule: OverlayRule,
    /// The running score before the overlay.
    pub before: SumUnits,
    /// The running score after the overlay; always lower.
    pub after: SumUnits,
}

/// The running score, and the overlays that have lowered it so far.
struct Running {
    score: SumUnits,
    applied: Vec<Overlay>,
}

impl Running {
    /// Lowers the score to `result`; a result at or above it is neither applied nor recorded.
    fn lower(&mut self, rule: OverlayRule, result: SumUnits) {
        if result < self.score {
            self.applied.push(Overlay { rule, before: self.score, after: result });
            self.score = result;
        }
    }

    fn cap(&mut self, rule: OverlayRule, cap: MilliPoints) {
        self.lower(rule, cap.to_sum());
    }

    fn multiply(&mut self, rule: OverlayRule, (factor, of): (u128, u128)) {
        let product = rhe(self.score.wide() * factor, of);
        self.lower(rule, SumUnits::new(i64::try_from(product).unwrap_or(i64::MAX)));
    }
}

/// Applies every overlay to the weighted sum; returns those that lowered it.
pub(super) fn apply(input: &AssetInput, weighted_sum: SumUnits) -> Vec<Overlay> {
    let mut running = Running { score: weighted_sum, applied: Vec::new() };
    let days = input.lockup_days;
    if let Some((_, loss)) = tables::LOCKUP_STEPS.iter().find(|(longest, _)| days > 0 && days <= *longest) {
        let left = running.score.get() - loss.to_sum().get();
        running.lower(OverlayRule::Lockup { days }, SumUnits::new(left));
    }
    if let Some(underlying) = input.underlying {
        let bound = underlying.unwrap_or(tables::UNSCORED_COUNTS).offset(-tables::YIELD_BEARING_BELOW);
        running.cap(OverlayRule::YieldBearing, bound);
    }
    for (id, score) in &input.dependencies {
        let bound = score.unwrap_or(tables::UNSCORED_COUNTS).offset(tables::DEPENDENCY_ABOVE);
        running.cap(OverlayRule::Dependency(id.clone()), bound);
    }
    if let Some(profile) = &input.chain {
        running.multiply(OverlayRule::Chain, (multiplier_ppm(profile), 1_000_000));
    }
    let older_than = |cadences: i64| input.age_seconds > input.cadence_seconds.saturating_mul(cadences);
    if older_than(1) {
        running.multiply(OverlayRule::Staleness, tables::STALENESS_FACTOR);
    }
    if let Some((_, cap)) = tables::STALENESS_CAPS.iter().find(|(cadences, _)| older_than(*cadences)) {
        running.cap(OverlayRule::StalenessCap, *cap);
    }
    running.cap(OverlayRule::Review(input.review_status), tables::review_cap(input.review_status));
    if let Some(ceiling) = input.supply_ceiling {
        running.cap(OverlayRule::Supply, ceiling);
    }
    for flag in input.hard_fail_flags.iter() {
        running.cap(OverlayRule::HardFail(flag), tables::hard_fail_cap(flag));
    }
    running.applied
}
