//! One score run: the hash of its inputs, and the sanity checks that hold it back.

use super::MilliPoints;
use super::canonical::{Canonical, Canonicalize};
use super::named_enum;
use super::tables::sanity_checks::{MASS_MOVE_MIN_PUBLISHED, MASS_MOVE_ONE_IN, STALE_CADENCES};
use crate::model::content_hash::Absorb;
use crate::rules::tiers::tier_of;
use alloc::string::String;
use core::fmt::{self, Write};
use sha2::{Digest, Sha256};

/// The SHA-256 of a run's canonical inputs: the array of `{id, inputs}`, sorted by id, as canonical JSON.
///
/// The hash is streamed, so a run of any size needs no more memory than its largest subject.
#[derive(Clone, Debug, Default)]
pub struct InputsHasher {
    hash: Sha256,
    last_id: Option<String>,
}

/// Error: the ids of the subjects are not in strictly ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfOrder {
    /// The id that is not greater than its predecessor.
    pub id: String,
}

impl fmt::Display for OutOfOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "id {:?} is not greater than the id before it", self.id)
    }
}

impl core::error::Error for OutOfOrder {}

impl InputsHasher {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next subject; ids must ascend bytewise.
    pub fn push(&mut self, id: &str, inputs: &impl Canonicalize) -> Result<(), OutOfOrder> {
        if self.last_id.as_deref().is_some_and(|last| last >= id) {
            return Err(OutOfOrder { id: id.into() });
        }
        let member = Canonical::object([("id", id.into()), ("inputs", inputs.canonical())]);
        let opening = if self.last_id.is_none() { '[' } else { ',' };
        // Writing into a hash cannot fail.
        let _ = write!(Absorb(&mut self.hash), "{opening}{member}");
        self.last_id = Some(id.into());
        Ok(())
    }

    /// The digest of the complete array.
    pub fn finish(mut self) -> [u8; 32] {
        self.hash.update(if self.last_id.is_none() { "[]" } else { "]" });
        self.hash.finalize().into()
    }
}

/// The counts that the sanity checks of a run are based on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunFacts {
    /// Number of inputs that the run uses: readings of vaults and evidence of assets.
    pub inputs: u64,
    /// Inputs that were NaN or infinite.
    pub non_finite_inputs: u64,
    /// Inputs older than twice their cadence.
    pub stale_inputs: u64,
    /// Results with a score out of range, or with a tier that is not the score's tier.
    pub contradictions: u64,
    /// Subjects with a published tier.
    pub published: u64,
    /// Published tiers that the run would change.
    pub moved: u64,
}

named_enum! {
    /// Why a score run was held back and the platform is degraded.
    pub enum Withheld {
        /// An input was NaN or infinite.
        NonFiniteInput = "non_finite_input",
        /// A score is out of range, or a tier is not the tier of its score.
        Contradiction = "contradiction",
        /// Every input is stale, both vault readings and asset evidence, which indicates that reading failed. If only vault readings
        /// stop, the run is not held back; the component `data_freshness` of the status feed reports that.
        StaleInputs = "stale_inputs",
        /// At least a fifth of the published tiers would change at once.
        MassMove = "mass_move",
    }
}

impl Withheld {
    /// The reason as text, for operators and for the status feed.
    pub const fn message(self) -> &'static str {
        match self {
            Withheld::NonFiniteInput => "an input of the latest score run is not a finite number",
            Withheld::Contradiction => "a result of the latest score run contradicts itself",
            Withheld::StaleInputs => "every input of the latest score run is too old",
            Withheld::MassMove => "the latest score run would move at least a fifth of the published tiers at once",
        }
    }
}

impl RunFacts {
    /// Counts an input, as stale if `age` exceeds twice `cadence`; both are in seconds.
    pub fn read(&mut self, age: i64, cadence: i64) {
        self.inputs = self.inputs.saturating_add(1);
        if age > cadence.saturating_mul(STALE_CADENCES) {
            self.stale_inputs = self.stale_inputs.saturating_add(1);
        }
    }

    /// Checks one result; `score` is in milli-points. Counts a contradiction if `score` is out of range, or if `tier` is not the tier of
    /// `score`. A result without a score must have no tier.
    pub fn count_result(&mut self, score: Option<i32>, tier: Option<&str>) {
        let is_consistent = match score.map(MilliPoints::new) {
            None => tier.is_none(),
            Some(None) => false,
            Some(Some(score)) => tier == Some(tier_of(score).as_str()),
        };
        if !is_consistent {
            self.contradictions = self.contradictions.saturating_add(1);
        }
    }

    /// The first reason to hold the run back, if any.
    ///
    /// The first run under a new methodology may change many tiers, so `methodology_changed` skips the check for mass moves.
    pub fn withheld(&self, methodology_changed: bool) -> Option<Withheld> {
        if self.non_finite_inputs > 0 {
            return Some(Withheld::NonFiniteInput);
        }
        if self.contradictions > 0 {
            return Some(Withheld::Contradiction);
        }
        if self.inputs > 0 && self.stale_inputs >= self.inputs {
            return Some(Withheld::StaleInputs);
        }
        let judged = self.published >= MASS_MOVE_MIN_PUBLISHED && !methodology_changed;
        let many = self.moved.saturating_mul(MASS_MOVE_ONE_IN) >= self.published;
        (judged && many).then_some(Withheld::MassMove)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoring::vault::{AssetMode, VaultInput};
    use std::string::ToString;

    fn digest(ids: &[&str]) -> [u8; 32] {
        let mut hasher = InputsHasher::new();
        for id in ids {
            hasher.push(id, &VaultInput::new(AssetMode::Lending)).unwrap();
        }
        hasher.finish()
    }

    #[test]
    fn the_streamed_hash_equals_the_hash_of_the_whole_array() {
        let inputs = VaultInput::new(AssetMode::Lending).canonical().to_string();
        let whole = std::format!(r#"[{{"id":"a","inputs":{inputs}}},{{"id":"b","inputs":{inputs}}}]"#);
        assert_eq!(digest(&["a", "b"]), <[u8; 32]>::from(Sha256::digest(whole)));
        assert_eq!(digest(&[]), <[u8; 32]>::from(Sha256::digest("[]")));
        let parsed: serde_json::Value = serde_json::from_str(&inputs).unwrap();
        assert_eq!(parsed["platform"]["worst_dependency"], "unknown");
    }

    #[test]
    fn a_subject_out_of_order_or_twice_is_refused() {
        let mut hasher = InputsHasher::new();
        let inputs = VaultInput::new(AssetMode::Holdings);
        hasher.push("b", &inputs).unwrap();
        assert_eq!(hasher.push("b", &inputs), Err(OutOfOrder { id: "b".into() }));
        assert_eq!(hasher.push("a", &inputs), Err(OutOfOrder { id: "a".into() }));
    }

    #[test]
    fn a_run_is_held_back_when_its_inputs_or_tier_changes_are_implausible() {
        let healthy = RunFacts { inputs: 50, stale_inputs: 49, published: 100, moved: 19, ..RunFacts::default() };
        assert_eq!(healthy.withheld(false), None);
        let withheld = |facts: RunFacts| facts.withheld(false);
        assert_eq!(withheld(RunFacts { non_finite_inputs: 1, ..healthy }), Some(Withheld::NonFiniteInput));
        assert_eq!(withheld(RunFacts { contradictions: 1, ..healthy }), Some(Withheld::Contradiction));
        assert_eq!(withheld(RunFacts { stale_inputs: 50, ..healthy }), Some(Withheld::StaleInputs));
        assert_eq!(withheld(RunFacts { moved: 20, ..healthy }), Some(Withheld::MassMove));
        assert_eq!(RunFacts { moved: 100, ..healthy }.withheld(true), None);
        assert_eq!(withheld(RunFacts { published: 19, moved: 19, ..healthy }), None);
    }

    #[test]
    fn a_reading_is_stale_beyond_twice_its_cadence() {
        let mut facts = RunFacts::default();
        for age in [0, 7_200, 7_201] {
            facts.read(age, 3_600);
        }
        assert_eq!((facts.inputs, facts.stale_inputs), (3, 1));
    }

    #[test]
    fn a_tier_that_is_not_that_of_its_score_is_a_contradiction() {
        let contradicts = |score, tier| {
            let mut facts = RunFacts::default();
            facts.count_result(score, tier);
            facts.contradictions == 1
        };
        for (score, tier) in [(None, None), (Some(8_000), Some("Prime")), (Some(0), Some("Edge"))] {
            assert!(!contradicts(score, tier));
        }
        for (score, tier) in [
            (None, Some("Edge")),
            (Some(8_000), None),
            (Some(8_000), Some("Core")),
            (Some(10_001), Some("Prime")),
            (Some(-1), Some("Edge")),
        ] {
            assert!(contradicts(score, tier), "{score:?} {tier:?}");
        }
    }
}
