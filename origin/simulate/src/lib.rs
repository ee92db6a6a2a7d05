//! Simulation of an invented market on the chain `devnet`, for demos, tests and benchmarks.
//!
//! | file | contents |
//! |---|---|
//! | `platforms`, `tokens` | the chain, protocols, curators, and the assets with their reviews |
//! | `funds`, `publications` | real-world assets: their documents, and the figures that sources publish |
//! | `reviewers` | the reviewers that sign reviews |
//! | `scenarios` | hand-written vaults with scripted changes: every case that a client has to handle |
//! | `crowd` | generated vaults, any number of them |
//! | `incidents`, `events` | incidents, and other events |
//! | `security`, `signals` | the security registry, loss cases, and signals |
//! | `markets`, `feeds`, `positions`, `mappings` | lending markets of the vaults, price feeds, positions, mappings |
//! | `vault`, `design`, `actor` | a vault at one instant; its builders; its changes over time |
//! | `holders`, `strategies` | holders of vaults' shares; strategies of aggregators |
//! | `moment`, `random` | the simulated hour; random numbers that are the same on every machine |
//!
//! The simulation only produces observations, and editors' commands on events and the security registry. Every hour is a batch of the
//! ordinary ingest, with that hour as its clock, so scores, dwells and history follow from the same rules as in production.

mod actor;
mod crowd;
mod design;
mod events;
mod feeds;
mod funds;
mod holders;
mod incidents;
mod mappings;
mod markets;
mod moment;
mod platforms;
mod positions;
mod publications;
mod random;
mod reviewers;
mod scenarios;
mod security;
mod signals;
mod source;
mod strategies;
mod tokens;
mod vault;

use actor::Actor;
use moment::Moment;
use rds_engine::baskets;
use rds_engine::clock::Clock;
use rds_engine::ingest::{self, Batch, IngestError, Observation};
use rds_engine::publication::commands;
use rds_engine::symbol_days;
use rds_facts::AssetReview;
use rds_shared::graph::signature::DecisionKey;
use rds_shared::wire::Timestamp;
use rds_store::Db;
use rds_store::ingest::publication;
use serde::Serialize;

/// Maximum vaults per batch, which bounds the memory of one hour to some hundred megabytes.
const MAX_VAULTS_PER_BATCH: usize = 20_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Seed of the random generator.
    pub seed: u64,
    /// Number of vaults; the first ones are those of the scenarios.
    pub vaults: u32,
    /// Number of simulated hours, at least one; the last one is the current hour.
    pub hours: u32,
}

/// The result of a simulation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SimulationReport {
    /// Number of vaults.
    pub vaults: u64,
    /// Number of simulated hours.
    pub hours: u32,
    /// The first hour.
    pub from: Timestamp,
    /// The last hour.
    pub to: Timestamp,
    /// Number of observations.
    pub observations: u64,
    /// Number of changes of published scores, including first scores.
    pub score_changes: u64,
    /// The data version after the last hour.
    pub data_version: i64,
}

/// Simulates up to the current hour of `clock`. The same options and the same hour result in the same facts.
///
/// `key` signs basket versions; `progress` receives messages of one line.
pub async fn run(
    db: &Db,
    clock: &Clock,
    options: Options,
    key: Option<&DecisionKey>,
    progress: &mut (dyn FnMut(&str) + Send),
) -> Result<SimulationReport, IngestError> {
    let (hours, end) = (options.hours.max(1), clock.now());
    let market = Simulation::new(options);
    let (first, last) = (Moment::of(end, 0, hours), Moment::of(end, hours - 1, hours));
    let mut report = SimulationReport {
        vaults: market.actors.len() as u64,
        hours,
        from: first.now,
        to: last.now,
        observations: 0,
        score_changes: 0,
        data_version: 0,
    };
    let large = market.actors.len() > MAX_VAULTS_PER_BATCH;
    for hour in 0..hours {
        let moment = Moment::of(end, hour, hours);
        let at_that_hour = Clock::held(moment.now);
        // A running service also stores the daily roll-up before the hour's observations arrive.
        symbol_days::keep_due(db, moment.now).await?;
        for batch in market.batches(moment) {
            report.observations += batch.lines();
            let committed = ingest::commit_whole(db, &at_that_hour, batch).await?;
            report.score_changes += committed.score_changes;
            report.data_version = committed.data_version;
            if large || hour % 12 == 0 || hour + 1 == hours {
                progress(&format!("hour {} of {hours}: {} observations so far", hour + 1, report.observations));
            }
        }
        // Rebalances baskets that are due; the first hour creates the first versions.
        baskets::refresh(db, &at_that_hour, key).await?;
        for (event, verb) in events::edits(moment) {
            commands::run(db, &at_that_hour, event, verb).await?;
            report.data_version = publication::version(db).await?;
        }
    }
    security::edit(db, &Clock::held(last.now)).await?;
    report.data_version = publication::version(db).await?;
    Ok(report)
}

struct Simulation {
    seed: u64,
    actors: Vec<Actor>,
}

impl Simulation {
    fn new(options: Options) -> Simulation {
        let Options { seed, vaults, hours } = options;
        let mut actors = scenarios::vaults(seed);
        let cast = actors.len() as u64;
        actors.extend((cast..u64::from(vaults)).map(|number| crowd::vault(seed, number, hours.max(1))));
        actors.truncate(vaults as usize);
        Simulation { seed, actors }
    }

    /// The observations of `moment`, in batches to be ingested in order.
    fn batches(&self, moment: Moment) -> impl Iterator<Item = Batch> {
        let mut chunks = self.actors.chunks(MAX_VAULTS_PER_BATCH);
        let first = self.batch(self.market_news(moment), chunks.next().unwrap_or_default(), moment);
        std::iter::once(first).chain(chunks.map(move |chunk| self.batch(Vec::new(), chunk, moment)))
    }

    fn market_news(&self, moment: Moment) -> Vec<Observation> {
        let mut news = Vec::new();
        if moment.before().is_none() {
            news.extend(platforms::registry(moment));
            news.extend(tokens::registry(moment));
            news.extend(funds::registry(moment));
            news.extend(reviewers::registry(moment));
            news.extend(publications::registry(moment));
            news.extend(baskets::default_baskets::definitions());
        }
        news.extend(platforms::news(moment));
        let reviews: Vec<AssetReview> = tokens::reviews(moment).into_iter().chain(funds::reviews(moment)).collect();
        news.extend(reviews.iter().flat_map(reviewers::attestations));
        news.extend(reviews.into_iter().map(|review| Observation::AssetReview(Box::new(review))));
        news.extend(publications::news(moment));
        news.extend(incidents::news(moment, &self.actors));
        news.extend(events::news(moment, &self.actors));
        news.extend(security::news(moment, &self.actors));
        news.extend(signals::news(moment, &self.actors));
        news.extend(markets::news(moment, &self.actors, self.seed));
        news.extend(feeds::news(moment));
        news.extend(positions::initial_positions(moment, &self.actors));
        if moment.before().is_none() {
            news.extend(mappings::registry(moment, &self.actors));
        }
        news
    }

    fn batch(&self, mut observations: Vec<Observation>, actors: &[Actor], moment: Moment) -> Batch {
        actors.iter().for_each(|actor| actor.observe(moment, self.seed, &mut observations));
        let mut batch = Batch::default();
        observations.into_iter().for_each(|observation| batch.push(observation));
        batch
    }
}
