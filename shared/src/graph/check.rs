//! The check of a portfolio against its limits, in exact arithmetic. The verdict is the worst effect of a finding.
//!
//! Source: methodology, "Check verdict".

use super::amount::{RunningTotal, Share, Usd, apportioned};
use super::facts::Trust;
use super::index::{ExposedShare, ExposureIndex};
use super::limits::{Dimension, Limits};
use super::portfolio::Portfolio;
use crate::model::content_hash::ContentHash;
use crate::model::ids::VaultKey;
use crate::scoring::canonical::{Canonical, Canonicalize};
use crate::scoring::{Ppm, named_enum};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// An exposure is near its limit from this many tenths of the limit.
pub const NEAR_FROM_TENTHS: u128 = 9;

named_enum! {
    /// The verdict of a check; ordered from good to bad.
    pub enum Verdict {
        Approve = "approve",
        Caution = "caution",
        Reject = "reject",
    }
}

named_enum! {
    /// How an exposure relates to its limit.
    pub enum FindingKind {
        /// Above the limit even when only verified mappings with a confidence of at least 0.80 are counted.
        Breach = "breach",
        /// Above the limit only when unverified or uncertain mappings are counted.
        Advisory = "advisory",
        /// At 90 % of the limit or more, and not above it.
        Near = "near",
    }
}

impl FindingKind {
    /// The verdict that follows from the finding.
    pub const fn effect(self) -> Verdict {
        match self {
            FindingKind::Breach => Verdict::Reject,
            FindingKind::Advisory | FindingKind::Near => Verdict::Caution,
        }
    }
}

/// A portfolio's exposure to one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposure {
    /// The key within the dimension, such as a curator, a bridge or a feed.
    pub key: String,
    /// Amount through all mappings, rounded so that the amounts of a dimension add up to their exact sum, rounded down.
    pub usd: Usd,
    /// Share of the portfolio in millionths. The shares of a dimension add up to their exact sum rounded half to even, and each is
    /// less than a millionth from its exact value.
    ///
    /// Assets plus the unattributed share add up to one. Chains, curators and protocols also add up to one, unless a vault holds
    /// another: the parties of an inner vault count in addition. Signer sets, clusters, bridges, feeds and vendors may overlap or
    /// be missing, so their sum may be above or below one.
    pub share: Ppm,
    /// The least trust of the contributing mappings.
    pub trust: Trust,
}

/// An exposure that is near or above its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub dimension: Dimension,
    pub kind: FindingKind,
    pub limit: Ppm,
    pub exposure: Exposure,
    /// Amount through mappings that can cause a rejection ([`Trust::is_certain`]).
    pub verified_usd: Usd,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CheckOutcome {
    /// The worst effect of a finding; at least `caution` when a vault is unresolved.
    pub verdict: Verdict,
    /// Total of all positions, in US dollars.
    pub total_usd: Usd,
    /// Vaults that are not in the exposure graph, or lack facts that a limit needs: holdings, price feeds or the feeds' vendors.
    /// Sorted as text.
    pub unresolved_vaults: Vec<VaultKey>,
    /// Exposures near or above their limit, sorted by dimension, then key.
    pub findings: Vec<Finding>,
    /// All exposures by dimension, by amount descending, then by key.
    pub exposures: BTreeMap<Dimension, Vec<Exposure>>,
    /// Amount attributed to no asset, in US dollars. With the exposures of the `asset` dimension it adds up to `totalUsd`.
    pub unattributed_usd: Usd,
}

impl CheckOutcome {
    /// The envelope's `findingsHash`: the hash of `{findings, unresolvedVaults}` in canonical form.
    pub fn findings_hash(&self) -> ContentHash {
        let unresolved = self.unresolved_vaults.iter().map(|vault| Canonical::Text(vault.to_string()));
        ContentHash::of(&Canonical::object([
            ("findings", Canonical::list(self.findings.iter().map(Canonicalize::canonical))),
            ("unresolvedVaults", Canonical::list(unresolved)),
        ]))
    }
}

/// Checks a portfolio. Comparisons are exact: shares are rounded only for output.
pub fn check(portfolio: &Portfolio, index: &ExposureIndex, limits: &Limits) -> CheckOutcome {
    let (sums, unresolved_vaults) = add_up(portfolio, index, limits);
    let total = portfolio.total();
    let mut findings = Vec::new();
    let mut exposures: BTreeMap<Dimension, Vec<Exposure>> = BTreeMap::new();
    for dimension in Dimension::ALL {
        let mut exact = RunningTotal::new(|sum: u128| sum / ONE);
        let limit = limits.get(*dimension);
        let of_it: Vec<_> = sums.iter().filter(|((of, _), _)| of == dimension).collect();
        let shares = apportioned(of_it.iter().map(|(_, sum)| sum.all), total.micros().saturating_mul(ONE / MILLION));
        let mut listed = Vec::new();
        for (((_, key), sum), share) in of_it.into_iter().zip(shares) {
            let exposure = Exposure {
                key: (*key).into(),
                usd: Usd::from_micros(exact.next(sum.all)),
                share: Ppm(i64::try_from(share).unwrap_or(i64::MAX)),
                trust: sum.trust,
            };
            if let Some((limit, kind)) = limit.and_then(|limit| Some((limit, sum.judge(limit, total)?))) {
                let verified_usd = Usd::from_micros(sum.certain / ONE);
                findings.push(Finding { dimension: *dimension, kind, limit, exposure: exposure.clone(), verified_usd });
            }
            listed.push(exposure);
        }
        listed.sort_by(|a, b| b.usd.cmp(&a.usd).then_with(|| a.key.cmp(&b.key)));
        exposures.insert(*dimension, listed);
    }
    let held = exposures.get(&Dimension::Asset).into_iter().flatten().fold(Usd::ZERO, |sum, it| sum.plus(it.usd));
    let caution = if unresolved_vaults.is_empty() { Verdict::Approve } else { Verdict::Caution };
    CheckOutcome {
        verdict: findings.iter().map(|finding| finding.kind.effect()).fold(caution, Ord::max),
        total_usd: total,
        unattributed_usd: total.minus(held),
        unresolved_vaults,
        findings,
        exposures,
    }
}

/// One in units of [`Share`].
const ONE: u128 = Share::ONE.get() as u128;
/// One in units of [`Ppm`].
const MILLION: u128 = Ppm::ONE.0.unsigned_abs() as u128;

/// Exposure to one key in micro-dollars times [`ONE`]: at most 10^24 times 10^12. [`Sum::judge`] multiplies it by ten, which still fits
/// `u128`.
#[derive(Clone, Copy)]
struct Sum {
    all: u128,
    certain: u128,
    trust: Trust,
}

impl Sum {
    fn of(amount: Usd, exposed: &ExposedShare) -> Self {
        let weigh = |share: Share| amount.micros().saturating_mul(u128::from(share.get()));
        Sum { all: weigh(exposed.all), certain: weigh(exposed.certain), trust: exposed.trust }
    }

    fn add(&mut self, other: &Sum) {
        self.all = self.all.saturating_add(other.all);
        self.certain = self.certain.saturating_add(other.certain);
        self.trust = self.trust.and(other.trust);
    }

    /// Compares without division: limit times total against the exposure, both in micro-dollars times [`ONE`].
    fn judge(&self, limit: Ppm, total: Usd) -> Option<FindingKind> {
        let allowed = u128::from(limit.0.unsigned_abs()).saturating_mul(total.micros()).saturating_mul(ONE / MILLION);
        if self.certain > allowed {
            Some(FindingKind::Breach)
        } else if self.all > allowed {
            Some(FindingKind::Advisory)
        } else if self.all.saturating_mul(10) >= allowed.saturating_mul(NEAR_FROM_TENTHS) {
            Some(FindingKind::Near)
        } else {
            None
        }
    }
}

/// Exposures by dimension and key.
type Sums<'a> = Vec<((Dimension, &'a str), Sum)>;

/// Adds up the exposures of all positions and lists the unresolved vaults.
fn add_up<'a>(portfolio: &Portfolio, index: &'a ExposureIndex, limits: &Limits) -> (Sums<'a>, Vec<VaultKey>) {
    let mut sums: Vec<Option<Sum>> = vec![None; index.keys.len()];
    let mut unresolved = Vec::new();
    for (vault, amount) in portfolio.positions() {
        let known = index.vaults.get(vault);
        if known.is_none_or(|vault| !limits.dimensions().all(|dimension| vault.completeness.covers(dimension))) {
            unresolved.push(vault.clone());
        }
        for (slot, exposed) in known.into_iter().flat_map(|known| &known.shares) {
            let added = Sum::of(amount, exposed);
            match sums.get_mut(slot.place()) {
                Some(Some(sum)) => sum.add(&added),
                Some(empty) => *empty = Some(added),
                None => {}
            }
        }
    }
    unresolved.sort_by_cached_key(ToString::to_string);
    let reached = index.keys.iter().zip(sums).filter_map(|(key, sum)| Some((key, sum?)));
    (reached.collect(), unresolved)
}

impl Serialize for Exposure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut exposure = serializer.serialize_struct("Exposure", 5)?;
        exposure.serialize_field("key", &self.key)?;
        exposure.serialize_field("usd", &self.usd)?;
        exposure.serialize_field("share", &self.share)?;
        exposure.serialize_field("verified", &self.trust.verified)?;
        exposure.serialize_field("confidence", &self.trust.confidence)?;
        exposure.end()
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut finding = serializer.serialize_struct("Finding", 10)?;
        finding.serialize_field("limit", self.dimension.limit_field())?;
        finding.serialize_field("dimension", &self.dimension)?;
        finding.serialize_field("key", &self.exposure.key)?;
        finding.serialize_field("kind", &self.kind)?;
        finding.serialize_field("maxShare", &self.limit)?;
        finding.serialize_field("share", &self.exposure.share)?;
        finding.serialize_field("usd", &self.exposure.usd)?;
        finding.serialize_field("verifiedUsd", &self.verified_usd)?;
        finding.serialize_field("verified", &self.exposure.trust.verified)?;
        finding.serialize_field("confidence", &self.exposure.trust.confidence)?;
        finding.end()
    }
}

/// The published finding's members, with fractions in parts per million and amounts as published.
impl Canonicalize for Finding {
    fn canonical(&self) -> Canonical {
        Canonical::object([
            ("limit", self.dimension.limit_field().into()),
            ("dimension", self.dimension.as_str().into()),
            ("key", self.exposure.key.as_str().into()),
            ("kind", self.kind.as_str().into()),
            ("maxSharePpm", self.limit.0.into()),
            ("sharePpm", self.exposure.share.0.into()),
            ("usd", self.exposure.usd.into()),
            ("verifiedUsd", self.verified_usd.into()),
            ("verified", self.exposure.trust.verified.into()),
            ("confidencePpm", self.exposure.trust.confidence.0.into()),
        ])
    }
}
