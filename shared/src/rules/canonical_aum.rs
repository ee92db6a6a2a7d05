//! Canonical assets under management: one figure a product and day, or a reason why there is none.
//!
//! A product counts once, however many deployments it has, and only after a signed review mapped a deployment to it. A
//! figure that is missing is missing: nothing here turns into zero. Amounts are whole US cents.
//!
//! Source: interface, "RWA item", `canonical_aum`, and "RWA", `GET /v1/rwa/stats/history`.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Reverse;
use serde::{Deserialize, Serialize};

use crate::scoring::named_enum;
use crate::wire::time::Timestamp;

/// Seconds of a day.
pub const DAY: i64 = 86_400;
/// Days, the day itself included, for which an observation may stand in when nothing newer was observed.
pub const CARRY_DAYS: i64 = 7;
/// Sources that differ by more than one part in so many disagree.
const DISAGREEMENT: i64 = 20;

named_enum! {
    /// How sure it is which product a deployment belongs to.
    pub enum IdentityStatus {
        /// A signed review maps it.
        Verified = "verified",
        /// Reviewers' newest signatures map it to different products.
        Disputed = "disputed",
        /// Somebody claims a product; nobody signed.
        Candidate = "candidate",
        /// Nobody claims any.
        Unmapped = "unmapped",
    }
}

named_enum! {
    /// Why a deployment adds nothing to the total.
    pub enum Exclusion {
        /// No signed review maps it to a product.
        IdentityUnverified = "identity_unverified",
        /// Signed reviews contradict each other.
        IdentityDisputed = "identity_disputed",
        /// No source ever stated a figure.
        NeverObserved = "never_observed",
        /// The newest figure is too old to be carried forward.
        ObservationExpired = "observation_expired",
        /// The product counts at its first deployment.
        CountedOnce = "counted_once",
    }
}

named_enum! {
    /// What a reader should know of a figure.
    pub enum Caveat {
        /// The figure is of an earlier day.
        CarriedForward = "carried_forward",
        /// No source stated the fund's assets; the value issued on all chains stands in.
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
    /// The asset's number.
    pub asset: i64,
    /// Its chain.
    pub chain_id: u64,
    /// Its category.
    pub category: String,
    /// The mapping's standing.
    pub identity: IdentityStatus,
    /// The product; only where `identity` is verified.
    pub product_id: Option<String>,
}

/// What an enabled source stated of one deployment and its product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The observation's number.
    pub id: i64,
    /// The asset's number.
    pub asset: i64,
    /// Who stated it.
    pub source_id: String,
    /// The source's rank; the smallest wins.
    pub priority: i32,
    /// What instant the figures are of.
    pub effective_at: Timestamp,
    /// When they were published: of two figures of one instant the later published corrects the other.
    pub published_at: Timestamp,
    /// Assets of the whole fund.
    pub fund_aum: Option<i64>,
    /// Value issued on all chains.
    pub issued: Option<i64>,
    /// Value of this deployment.
    pub circulating: Option<i64>,
}

impl Observation {
    /// Orders the figures of one source.
    fn recency(&self) -> (Timestamp, Timestamp) {
        (self.effective_at, self.published_at)
    }

    /// The product's figure, and whether the issued value stands in for it.
    fn total(&self) -> Option<(i64, bool)> {
        self.fund_aum.map(|cents| (cents, false)).or(self.issued.map(|cents| (cents, true)))
    }
}

/// A product's figure of one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanonicalValue {
    /// The product.
    pub cents: i64,
    /// Who stated it.
    pub source_id: String,
    /// What instant it is of.
    pub effective_at: Timestamp,
    /// Whether that is an earlier day.
    pub carried_forward: bool,
    /// The observations that were looked at, ascending.
    pub observation_ids: Vec<i64>,
    /// What to know of it, in the order of [`Caveat::ALL`].
    pub caveats: BTreeSet<Caveat>,
}

/// How one deployment takes part in the total of a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The product's figure, at its first deployment.
    pub value: Option<CanonicalValue>,
    /// Why it is not there.
    pub exclusion: Option<Exclusion>,
}

/// Products and value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// How many products.
    pub products: u64,
    /// Their value, or the part of it that lies here, in cents.
    pub cents: i64,
}

/// The total of one day as it is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AumSnapshot {
    /// Products with a figure, and the sum.
    pub included: Part,
    /// Products, and deployments without one, that have none: by reason.
    pub excluded: BTreeMap<String, u64>,
    /// By chain, as far as deployments' circulating values tell.
    pub by_chain: BTreeMap<u64, Part>,
    /// What they do not tell.
    pub unallocated_cents: i64,
    /// By the category of the product's first deployment.
    pub by_category: BTreeMap<String, Part>,
    /// By source.
    pub by_source: BTreeMap<String, Part>,
    /// Caveats with the number of products they concern.
    pub caveats: BTreeMap<String, u64>,
}

/// One product with all that is known of it.
#[derive(Debug, Default)]
struct Product {
    deployments: Vec<Deployment>,
    observations: Vec<Observation>,
}

/// Every product with its observations: asked day by day.
#[derive(Debug, Default)]
pub struct Book {
    products: BTreeMap<String, Product>,
    outside: Vec<Deployment>,
}

impl Book {
    /// Sorts observations to products. Deployments come in ascending order of numbers: a product's first one carries it.
    pub fn new(deployments: Vec<Deployment>, observations: Vec<Observation>) -> Self {
        let mut book = Book::default();
        let mut product_of: BTreeMap<i64, String> = BTreeMap::new();
        for deployment in deployments {
            match deployment.product_id.clone().filter(|_| deployment.identity == IdentityStatus::Verified) {
                Some(product_id) => {
                    product_of.insert(deployment.asset, product_id.clone());
                    book.products.entry(product_id).or_default().deployments.push(deployment);
                }
                None => book.outside.push(deployment),
            }
        }
        for observation in observations {
            if let Some(product) = product_of.get(&observation.asset).and_then(|id| book.products.get_mut(id)) {
                product.observations.push(observation);
            }
        }
        book
    }

    /// How every deployment takes part in the total of the day that begins at `day`, by asset number.
    pub fn standings(&self, day: Timestamp) -> BTreeMap<i64, Standing> {
        let mut standings = BTreeMap::new();
        for deployment in &self.outside {
            standings.insert(deployment.asset, Standing { value: None, exclusion: Some(outside(deployment)) });
        }
        for product in self.products.values() {
            for (place, deployment) in product.deployments.iter().enumerate() {
                let standing = match (place, product.on(day)) {
                    (0, Ok(value)) => Standing { value: Some(value), exclusion: None },
                    (0, Err(reason)) => Standing { value: None, exclusion: Some(reason) },
                    _ => Standing { value: None, exclusion: Some(Exclusion::CountedOnce) },
                };
                standings.insert(deployment.asset, standing);
            }
        }
        standings
    }

    /// The total of the day that begins at `day`.
    pub fn snapshot(&self, day: Timestamp) -> AumSnapshot {
        let mut snapshot = AumSnapshot::default();
        for deployment in &self.outside {
            *snapshot.excluded.entry(outside(deployment).to_string()).or_default() += 1;
        }
        for product in self.products.values() {
            match product.on(day) {
                Err(reason) => *snapshot.excluded.entry(reason.to_string()).or_default() += 1,
                Ok(value) => product.add_to(&mut snapshot, value, day),
            }
        }
        snapshot
    }

    /// Products that a signed review has mapped a deployment to.
    pub fn products(&self) -> usize {
        self.products.len()
    }
}

fn outside(deployment: &Deployment) -> Exclusion {
    match deployment.identity {
        IdentityStatus::Disputed => Exclusion::IdentityDisputed,
        _ => Exclusion::IdentityUnverified,
    }
}

impl Part {
    fn add(&mut self, cents: i64) {
        self.products += 1;
        self.cents = self.cents.saturating_add(cents);
    }
}

impl Product {
    /// Observations that may speak for `day`.
    fn fresh(&self, day: Timestamp) -> impl Iterator<Item = &Observation> {
        let (from, to) = (day.plus_seconds(-(CARRY_DAYS - 1) * DAY), day.plus_seconds(DAY));
        self.observations.iter().filter(move |one| from <= one.effective_at && one.effective_at < to)
    }

    /// The best source's newest figure: by rank, then by instant; among equals the first recorded.
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
            i128::from(other.abs_diff(cents)) * i128::from(DISAGREEMENT) > i128::from(cents.unsigned_abs())
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
            caveats: noted.into_iter().filter(|(holds, _)| *holds).map(|(_, caveat)| caveat).collect(),
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
            // More in circulation than there is: the figure is shared out in proportion, rounded down.
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
#[path = "canonical_aum_tests.rs"]
mod tests;
