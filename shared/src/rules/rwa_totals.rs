//! Canonical assets under management: one figure per product and day, or the reason there is none.
//!
//! A product counts once, however many deployments it has, and only after a signed review mapped a deployment to it. A missing figure
//! stays missing and is never replaced by zero. Amounts are whole US cents.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Reverse;
use serde::{Deserialize, Serialize};

use crate::scoring::named_enum;
use crate::wire::time::Timestamp;

/// Seconds in a day.
pub const DAY: i64 = 86_400;
/// Number of days, including its own, for which an observation is used unless there is a newer one.
pub const CARRY_DAYS: i64 = 7;
/// A source disagrees if its figure deviates by more than 1 / 20 (5 %) from the figure used.
const DISAGREEMENT_DIVISOR: i64 = 20;

named_enum! {
    /// How certain the mapping of a deployment to a product is.
    pub enum IdentityStatus {
        /// A signed review maps the deployment to a product.
        Verified = "verified",
        /// The reviewers' newest signed reviews map the deployment to different products.
        Disputed = "disputed",
        /// A product is claimed, but no signed review confirms it.
        Candidate = "candidate",
        /// No product is claimed.
        Unmapped = "unmapped",
    }
}

named_enum! {
    /// Why a deployment adds nothing to the total.
    pub enum Exclusion {
        /// No signed review maps the deployment to a product.
        IdentityUnverified = "identity_unverified",
        /// Signed reviews map the deployment to different products.
        IdentityDisputed = "identity_disputed",
        /// No source ever published a figure for the product.
        NeverObserved = "never_observed",
        /// The newest figure is too old to be carried forward.
        ObservationExpired = "observation_expired",
        /// The product is already counted at its first deployment.
        CountedOnce = "counted_once",
    }
}

named_enum! {
    /// A limitation of a figure.
    pub enum Caveat {
        /// The figure is from an earlier day.
        CarriedForward = "carried_forward",
        /// No source published the fund's assets; the value issued on all chains is used instead.
        IssuedValueStandsIn = "issued_value_stands_in",
        /// Another source's figure differs by more than five percent.
        SourcesDisagree = "sources_disagree",
        /// The deployments' circulating values add up to more than the product's figure.
        CirculatingExceedsTotal = "circulating_exceeds_total",
    }
}

/// A deployment and the product it is mapped to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployment {
    /// Database id of the asset.
    pub asset: i64,
    pub chain_id: u64,
    pub category: String,
    /// How certain the mapping is.
    pub identity: IdentityStatus,
    /// Id of the product; set only if `identity` is `Verified`.
    pub product_id: Option<String>,
}

/// The figures that an enabled source published about one deployment and its product, in cents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    pub id: i64,
    /// Database id of the asset.
    pub asset: i64,
    pub source_id: String,
    /// The source's rank; the figure of the source with the smallest rank is used.
    pub priority: i32,
    /// The instant the figures refer to.
    pub effective_at: Timestamp,
    /// When the figures were published. Of two observations with the same `effective_at`, the one published later is the correction.
    pub published_at: Timestamp,
    /// Assets under management of the whole fund.
    pub fund_aum: Option<i64>,
    /// Value issued on all chains.
    pub issued: Option<i64>,
    /// Value of this deployment.
    pub circulating: Option<i64>,
}

impl Observation {
    /// Sort key of the observations of one source: a greater key is newer.
    fn recency(&self) -> (Timestamp, Timestamp) {
        (self.effective_at, self.published_at)
    }

    /// The product's figure, and whether it is the issued value instead of the fund's assets.
    fn total(&self) -> Option<(i64, bool)> {
        self.fund_aum.map(|cents| (cents, false)).or(self.issued.map(|cents| (cents, true)))
    }
}

/// A product's figure on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanonicalValue {
    /// Value of the product.
    pub cents: i64,
    /// The source whose figure is used.
    pub source_id: String,
    /// The instant the figure refers to.
    pub effective_at: Timestamp,
    /// Whether `effective_at` is on an earlier day.
    pub carried_forward: bool,
    /// Ids of the newest observation of every source and of the observation used, ascending.
    pub observation_ids: Vec<i64>,
    /// Limitations of the figure, in the order of [`Caveat::ALL`].
    pub caveats: BTreeSet<Caveat>,
}

/// One deployment's contribution to the total of a day: exactly one of the fields is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contribution {
    /// The product's figure; only at the product's first deployment.
    pub value: Option<CanonicalValue>,
    /// Why the deployment adds nothing.
    pub exclusion: Option<Exclusion>,
}

/// Number of products, and their value in cents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProductTotal {
    pub products: u64,
    /// Value of the products; in a breakdown, the part of their value that belongs to the group.
    pub cents: i64,
}

/// The stored total of one day.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AumSnapshot {
    /// Products with a figure, and their sum.
    pub included: ProductTotal,
    /// Number of products without a figure, and of deployments not mapped to a product, by reason.
    pub excluded: BTreeMap<String, u64>,
    /// Totals by chain id, according to the deployments' circulating values.
    pub by_chain: BTreeMap<u64, ProductTotal>,
    /// The part of the total that no circulating value assigns to a chain.
    pub unallocated_cents: i64,
    /// Totals by the category of the product's first deployment.
    pub by_category: BTreeMap<String, ProductTotal>,
    pub by_source: BTreeMap<String, ProductTotal>,
    /// Number of products by caveat.
    pub caveats: BTreeMap<String, u64>,
}

/// One product with its deployments and observations.
#[derive(Debug, Default)]
struct Product {
    deployments: Vec<Deployment>,
    observations: Vec<Observation>,
}

/// Every product with its observations, from which the figures of any day are computed.
#[derive(Debug, Default)]
pub struct ProductFigures {
    products: BTreeMap<String, Product>,
    unmapped: Vec<Deployment>,
}

impl ProductFigures {
    /// Assigns deployments and observations to products. `deployments` is in ascending order of `asset`; a product's figure is shown
    /// at its first deployment.
    pub fn new(deployments: Vec<Deployment>, observations: Vec<Observation>) -> Self {
        let mut figures = ProductFigures::default();
        let mut product_of: BTreeMap<i64, String> = BTreeMap::new();
        for deployment in deployments {
            match deployment.product_id.clone().filter(|_| deployment.identity == IdentityStatus::Verified) {
                Some(product_id) => {
                    product_of.insert(deployment.asset, product_id.clone());
                    figures.products.entry(product_id).or_default().deployments.push(deployment);
                }
                None => figures.unmapped.push(deployment),
            }
        }
        for observation in observations {
            if let Some(product) = product_of.get(&observation.asset).and_then(|id| figures.products.get_mut(id)) {
                product.observations.push(observation);
            }
        }
        figures
    }

    /// Every deployment's contribution to the total of the day that begins at `day`, by asset id.
    pub fn contributions(&self, day: Timestamp) -> BTreeMap<i64, Contribution> {
        let mut contributions = BTreeMap::new();
        for deployment in &self.unmapped {
            contributions.insert(deployment.asset, Contribution { value: None, exclusion: Some(unmapped(deployment)) });
        }
        for product in self.products.values() {
            for (index, deployment) in product.deployments.iter().enumerate() {
                let contribution = match (index, product.on(day)) {
                    (0, Ok(value)) => Contribution { value: Some(value), exclusion: None },
                    (0, Err(reason)) => Contribution { value: None, exclusion: Some(reason) },
                    _ => Contribution { value: None, exclusion: Some(Exclusion::CountedOnce) },
                };
                contributions.insert(deployment.asset, contribution);
            }
        }
        contributions
    }

    /// The total of the day that begins at `day`.
    pub fn snapshot(&self, day: Timestamp) -> AumSnapshot {
        let mut snapshot = AumSnapshot::default();
        for deployment in &self.unmapped {
            *snapshot.excluded.entry(unmapped(deployment).to_string()).or_default() += 1;
        }
        for product in self.products.values() {
            match product.on(day) {
                Err(reason) => *snapshot.excluded.entry(reason.to_string()).or_default() += 1,
                Ok(value) => product.add_to(&mut snapshot, value, day),
            }
        }
        snapshot
    }

    /// Number of products to which a signed review has mapped a deployment.
    pub fn products(&self) -> usize {
        self.products.len()
    }
}

/// Why a deployment without a verified product is excluded.
fn unmapped(deployment: &Deployment) -> Exclusion {
    match deployment.identity {
        IdentityStatus::Disputed => Exclusion::IdentityDisputed,
        _ => Exclusion::IdentityUnverified,
    }
}

impl ProductTotal {
    fn add(&mut self, cents: i64) {
        self.products += 1;
        self.cents = self.cents.saturating_add(cents);
    }
}

impl Product {
    /// Observations of `day` and of the [`CARRY_DAYS`] - 1 days before it.
    fn fresh(&self, day: Timestamp) -> impl Iterator<Item = &Observation> {
        let (from, to) = (day.plus_seconds(-(CARRY_DAYS - 1) * DAY), day.plus_seconds(DAY));
        self.observations.iter().filter(move |one| from <= one.effective_at && one.effective_at < to)
    }

    /// The figure of `day`. A figure of the fund's assets precedes an issued value. Then the source with the smallest rank, the newest
    /// observation and the smallest observation id decide, in this order.
    fn on(&self, day: Timestamp) -> Result<CanonicalValue, Exclusion> {
        let stated = || self.fresh(day).filter_map(|one| one.total().map(|total| (one, total)));
        let best =
            stated().min_by_key(|(one, (_, stands_in))| (*stands_in, one.priority, Reverse(one.recency()), one.id));
        let Some((chosen, (cents, stands_in))) = best else {
            let ever = self.observations.iter().any(|one| one.total().is_some() && one.effective_at < day);
            return Err(if ever { Exclusion::ObservationExpired } else { Exclusion::NeverObserved });
        };
        let mut newest: BTreeMap<&str, (&Observation, i64)> = BTreeMap::new();
        for (one, (cents, _)) in stated() {
            let seen = newest.entry(&one.source_id).or_insert((one, cents));
            if (seen.0.recency(), Reverse(seen.0.id)) < (one.recency(), Reverse(one.id)) {
                *seen = (one, cents);
            }
        }
        let mut observation_ids: Vec<i64> = newest.values().map(|(one, _)| one.id).chain([chosen.id]).collect();
        observation_ids.sort_unstable();
        observation_ids.dedup();
        let disagree = newest.values().any(|(_, other)| {
            i128::from(other.abs_diff(cents)) * i128::from(DISAGREEMENT_DIVISOR) > i128::from(cents.unsigned_abs())
        });
        let carried_forward = chosen.effective_at < day;
        let noted = [
            (carried_forward, Caveat::CarriedForward),
            (stands_in, Caveat::IssuedValueStandsIn),
            (disagree, Caveat::SourcesDisagree),
            (self.circulating(day).1 > i128::from(cents), Caveat::CirculatingExceedsTotal),
        ];
        Ok(CanonicalValue {
            cents,
            source_id: chosen.source_id.clone(),
            effective_at: chosen.effective_at,
            carried_forward,
            observation_ids,
            caveats: noted.into_iter().filter(|(applies, _)| *applies).map(|(_, caveat)| caveat).collect(),
        })
    }

    /// The deployments' newest circulating values by chain, and their sum.
    fn circulating(&self, day: Timestamp) -> (BTreeMap<u64, i64>, i128) {
        let (mut by_chain, mut sum) = (BTreeMap::new(), 0_i128);
        for deployment in &self.deployments {
            let own = self.fresh(day).filter(|one| one.asset == deployment.asset);
            let newest = own
                .filter_map(|one| one.circulating.map(|cents| (one, cents)))
                .min_by_key(|(one, _)| (Reverse(one.recency()), one.priority, one.id));
            if let Some((_, cents)) = newest {
                let chain: &mut i64 = by_chain.entry(deployment.chain_id).or_default();
                *chain = chain.saturating_add(cents);
                sum += i128::from(cents);
            }
        }
        (by_chain, sum)
    }

    fn add_to(&self, snapshot: &mut AumSnapshot, value: CanonicalValue, day: Timestamp) {
        snapshot.included.add(value.cents);
        snapshot.by_source.entry(value.source_id).or_default().add(value.cents);
        if let Some(first) = self.deployments.first() {
            snapshot.by_category.entry(first.category.clone()).or_default().add(value.cents);
        }
        for caveat in &value.caveats {
            *snapshot.caveats.entry(caveat.to_string()).or_default() += 1;
        }
        let (by_chain, sum) = self.circulating(day);
        let mut left = value.cents;
        for (chain_id, cents) in by_chain {
            // If the circulating values exceed the figure, the figure is divided among the chains in proportion, rounded down.
            let scaled = if sum > i128::from(value.cents) {
                i128::from(cents).saturating_mul(i128::from(value.cents)).checked_div(sum).unwrap_or(0)
            } else {
                i128::from(cents)
            };
            let cents = i64::try_from(scaled).unwrap_or(left).clamp(0, left.max(0));
            snapshot.by_chain.entry(chain_id).or_default().add(cents);
            left = left.saturating_sub(cents);
        }
        snapshot.unallocated_cents = snapshot.unallocated_cents.saturating_add(left);
    }
}

#[cfg(test)]
#[path = "rwa_totals_tests.rs"]
mod tests;
