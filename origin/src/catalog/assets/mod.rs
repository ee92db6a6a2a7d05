//! Assets of the catalog: the data for details and coverage, and the encoded lists.
//!
//! The assets are rebuilt only when served asset data changed, and are otherwise shared with the previous catalog.

pub mod coverage;
mod reviewers;
mod row;

use super::rows::NextRows;
use anyhow::Context;
use rds_engine::rwa::{identity, totals};
use rds_shared::model::EncodedAsset;
use rds_shared::model::asset::{AssetRow, Discovery, Renewal};
use rds_shared::model::ids::{Address, ChainId};
use rds_shared::model::rwa::{CanonicalAum, Cents, Day, RwaMetrics, RwaRow, Universe};
use rds_shared::read_model::assets::asset_row;
use rds_shared::read_model::singles::facets_rows;
use rds_shared::replica::{Family, Row};
use rds_shared::rules::rwa_totals::{CARRY_DAYS, Contribution, DAY, Deployment, IdentityStatus, ProductFigures};
use rds_shared::scoring::asset::{AssetCategory, rwa_headline};
use rds_shared::select::assets::{AssetColumns, facets};
use rds_shared::wire::time::{Micros, Timestamp};
use rds_store::StoreError;
use rds_store::assets::AssetFacts;
use rds_store::assets::registry::AssetRegistry;
use rds_store::assets::rwa::{CandidateRow, ObservationRow, SourceRow};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// An asset with the data of all its routes.
#[derive(Debug)]
pub struct Asset {
    /// The row for callers with a key. Its `freshness` is a placeholder; handlers compute the freshness from `renewal`.
    pub row: AssetRow,
    /// Inputs of the freshness.
    pub renewal: Renewal,
    /// The source that discovered the asset.
    pub discovery: Discovery,
    /// The additional data of a real-world asset; `None` for other assets.
    pub rwa: Option<Rwa>,
    chain_slug: String,
}

/// The additional data of a real-world asset.
#[derive(Debug)]
pub struct Rwa {
    /// The list row; its score is the headline score.
    pub row: RwaRow,
    /// Instant from which the age of the row's AUM figure counts.
    aum_of: Option<Timestamp>,
}

#[derive(Debug, Default)]
pub struct Assets {
    /// The data version of the last change of any asset.
    pub version: i64,
    /// In ascending order of ids.
    entries: Vec<Asset>,
    /// Indices of the real-world assets in `entries`.
    rwa: Vec<usize>,
    by_place: HashMap<(ChainId, Address), usize>,
    native: HashMap<ChainId, usize>,
    by_id: HashMap<String, usize>,
    sources: Vec<SourceRow>,
    candidates: Vec<CandidateRow>,
    day: Option<Timestamp>,
    universe: Universe,
}

impl Assets {
    /// Builds the assets from `facts`, and encodes the lists.
    pub(super) fn build(facts: AssetRegistry, rows: &mut NextRows) -> anyhow::Result<Assets> {
        let links = row::links(&facts.assets)?;
        let day = facts.day.map(|at| at.0);
        let mappings = identity::deployments(&facts.deployments, &facts.mappings);
        let identities: HashMap<i64, Deployment> = mappings.iter().map(|it| (it.asset, it.clone())).collect();
        let figures = ProductFigures::new(mappings, facts.observations.iter().map(totals::observation).collect());
        let contributions = day.map(|day| figures.contributions(day)).unwrap_or_default();
        let metrics = metrics(&facts.observations, day);
        let mut assets = Assets { version: facts.version, day, ..Assets::default() };
        assets.universe.products = figures.products() as u64;
        for asset in &facts.assets {
            let row = row::row(asset, &links)?;
            let renewal = row::renewal(asset)?;
            let side = identities.get(&asset.number).map(|identity| {
                let standing = contributions.get(&asset.number);
                real_world(&row, identity, day, standing, metrics.get(&asset.number).copied().unwrap_or_default())
            });
            let discovery = discovery(asset, &facts.candidates);
            let chain_slug = asset.chain_slug.clone();
            assets.add(Asset { row, renewal, discovery, rwa: side, chain_slug });
        }
        let enriched = assets.entries.iter().map(|asset| encoded(asset, &asset.row, &asset.row, None));
        let rwa = assets.rwa().map(|(asset, rwa)| encoded(asset, &rwa.row.asset, &rwa.row, rwa.aum_of));
        rows.set(Family::Assets, enriched.collect::<anyhow::Result<_>>()?)?;
        rows.set(Family::Rwa, rwa.collect::<anyhow::Result<_>>()?)?;
        rows.set(Family::Reviewers, facts.reviewers.iter().map(reviewers::encoded).collect::<Result<_, _>>()?)?;
        let all = facets(assets.entries.iter().map(|asset| &asset.row));
        rows.update(Family::Singles, facets_rows(&all, &facets(assets.rwa().map(|(_, rwa)| &rwa.row.asset)))?)?;
        (assets.sources, assets.candidates) = (facts.sources, facts.candidates);
        Ok(assets)
    }

    fn add(&mut self, asset: Asset) {
        let place = self.entries.len();
        let chain = asset.row.chain_id;
        match asset.row.address.clone() {
            // A contract may have two asset ids; the look-up by address returns the first.
            Some(address) => _ = self.by_place.entry((chain, address)).or_insert(place),
            None if asset.row.category == AssetCategory::Native => _ = self.native.entry(chain).or_insert(place),
            None => {}
        }
        self.by_id.insert(asset.row.asset_id.clone(), place);
        if let Some(rwa) = &asset.rwa {
            use rds_shared::scoring::asset::RwaScoreStatus::{Derived, Scored, Unscored};
            self.rwa.push(place);
            self.universe.deployments += 1;
            match rwa.row.score_status {
                Scored => self.universe.scored += 1,
                Derived => self.universe.derived += 1,
                Unscored => self.universe.unscored += 1,
            }
        }
        self.entries.push(asset);
    }

    /// Real-world assets, in ascending order of ids.
    fn rwa(&self) -> impl Iterator<Item = (&Asset, &Rwa)> + Clone {
        let places = self.rwa.iter().filter_map(|place| self.entries.get(*place));
        places.filter_map(|asset| Some((asset, asset.rwa.as_ref()?)))
    }

    /// The asset at this address of one chain.
    pub fn at(&self, chain: ChainId, address: &Address) -> Option<&Asset> {
        self.by_place.get(&(chain, address.clone())).and_then(|place| self.entries.get(*place))
    }

    /// The native coin of this chain, which has no address.
    pub fn native(&self, chain: ChainId) -> Option<&Asset> {
        self.native.get(&chain).and_then(|place| self.entries.get(*place))
    }

    pub fn by_id(&self, asset_id: &str) -> Option<&Asset> {
        self.by_id.get(asset_id).and_then(|place| self.entries.get(*place))
    }
}

/// The row of an asset in one of the lists, which shows `listed`, with `row` in it. The age of an AUM figure counts from `aum_of`.
fn encoded(asset: &Asset, row: &AssetRow, listed: &impl Serialize, aum_of: Option<Timestamp>) -> anyhow::Result<Row> {
    let id = row.asset_id.parse().context("the id of an asset is not a number")?;
    let encoded = EncodedAsset::encode(listed, asset.renewal, aum_of)?;
    Ok(asset_row(id, &AssetColumns::of(row, &asset.chain_slug), &encoded)?)
}

fn real_world(
    row: &AssetRow,
    identity: &Deployment,
    day: Option<Timestamp>,
    standing: Option<&Contribution>,
    metrics: RwaMetrics,
) -> Rwa {
    let headline = rwa_headline(row.risk_score, &row.dimensions);
    let value = standing.and_then(|standing| standing.value.as_ref());
    let aum_of = value.map(|value| value.effective_at);
    let listed = RwaRow {
        asset: AssetRow { risk_score: headline.score, risk_tier: headline.tier, ..row.clone() },
        score_status: headline.status,
        dimensions_only: headline.dimensions_only(),
        product_id: identity.product_id.clone(),
        identity_status: identity.identity,
        canonical_product_id: row.symbol.to_uppercase(),
        aum_scope: row.institutional.aum_usd.map(|_| "deployment"),
        canonical_aum: CanonicalAum {
            snapshot_date: day.map(Day),
            included: value.is_some(),
            exclusion_reason: match standing {
                Some(standing) => standing.exclusion,
                None => Some(without_a_total(identity.identity)),
            },
            value_usd: value.map(|value| Cents(value.cents)),
            source_id: value.map(|value| value.source_id.clone()),
            effective_at: aum_of.map(Micros),
            age_hours: None,
            carried_forward: value.map(|value| value.carried_forward),
            observation_ids: value
                .map(|it| it.observation_ids.iter().map(i64::to_string).collect())
                .unwrap_or_default(),
            caveats: value.map(|it| it.caveats.iter().copied().collect()).unwrap_or_default(),
        },
        metrics,
    };
    Rwa { row: listed, aum_of }
}

/// Why there is no figure before the first daily total.
fn without_a_total(identity: IdentityStatus) -> rds_shared::rules::rwa_totals::Exclusion {
    use rds_shared::rules::rwa_totals::Exclusion;
    match identity {
        IdentityStatus::Verified => Exclusion::NeverObserved,
        IdentityStatus::Disputed => Exclusion::IdentityDisputed,
        IdentityStatus::Candidate | IdentityStatus::Unmapped => Exclusion::IdentityUnverified,
    }
}

/// For each asset, the newest value of each figure that was stated for the last `CARRY_DAYS` days up to `day`.
fn metrics(observations: &[ObservationRow], day: Option<Timestamp>) -> BTreeMap<i64, RwaMetrics> {
    let Some(day) = day else { return BTreeMap::new() };
    let from = day.plus_seconds(-(CARRY_DAYS - 1) * DAY);
    let mut current: Vec<&ObservationRow> = observations.iter().filter(|one| one.effective_at.0 >= from).collect();
    current.sort_by_key(|one| (std::cmp::Reverse(one.effective_at), one.priority, one.number));
    let mut metrics: BTreeMap<i64, RwaMetrics> = BTreeMap::new();
    for one in current {
        let figures = metrics.entry(one.asset).or_default();
        let first = |known: &mut Option<f64>, stated: Option<f64>| *known = known.or(stated);
        first(&mut figures.fund_aum_usd, one.fund_aum_usd);
        first(&mut figures.global_issued_value_usd, one.global_issued_value_usd);
        first(&mut figures.deployment_circulating_value_usd, one.deployment_circulating_value_usd);
        first(&mut figures.apy_7d_pct, one.apy_7d_pct);
        first(&mut figures.apy_30d_pct, one.apy_30d_pct);
        first(&mut figures.duration_days, one.duration_days);
    }
    metrics
}

/// The source that discovered the deployment first, or the registry that lists it.
fn discovery(asset: &AssetFacts, candidates: &[CandidateRow]) -> Discovery {
    let surfaced = candidates.iter().find(|candidate| candidate.asset == Some(asset.number));
    let (source, from, to) = surfaced.map_or((&asset.source, asset.discovered_at, asset.last_seen_at), |it| {
        (&it.source_id, it.discovered_at, it.observed_at)
    });
    Discovery { source_slug: source.clone(), discovered_at: Micros(from.0), last_seen_at: Micros(to.0) }
}

/// The error for a stored document that cannot be decoded.
fn corrupt(column: &'static str, text: impl ToString) -> StoreError {
    StoreError::Corrupt { column, text: text.to_string() }
}
