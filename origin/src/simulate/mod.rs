//! A market that does not exist, on the chain `devnet`: for demos, tests and benchmarks.
//!
//! | file | tells |
//! |---|---|
//! | `platforms`, `tokens` | the chain, protocols, curators, and the assets with their reviews |
//! | `funds`, `publications` | real-world assets: their documents, and what sources publish of them |
//! | `reviewers` | who signs the reviews |
//! | `cast` | vaults written by hand, with their stories: every case that a client has to handle |
//! | `crowd` | generated vaults, as many as are asked for |
//! | `incidents`, `events` | what went wrong, and what else is told |
//! | `security`, `signals` | what registries, casebooks and desks report |
//! | `markets`, `feeds`, `positions` | lending markets over the vaults, price feeds, and who holds what |
//! | `vault`, `design`, `actor` | a vault at one instant; how it is put together; how it changes |
//! | `holders`, `strategies` | who holds vaults' shares; what aggregators do with deposits |
//! | `moment`, `random` | where in its run the simulation is; numbers that are the same everywhere |
//!
//! The simulation only observes, and decides at the end what editors make of the security registry. Every hour is a batch of the ordinary ingest, with that hour as its clock, so that scores,
//! dwells and history are what the rules make of the observations.

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
mod strategies;
mod tokens;
mod vault;

use crate::baskets;
use crate::clock::Clock;
use crate::facts::AssetReview;
use crate::ingest::{self, Batch, IngestError, Observation};
use crate::publication::commands;
use crate::store::{Db, publication};
use crate::symbol_days;
use actor::Actor;
use moment::Moment;
use rds_shared::graph::signature::DecisionKey;
use rds_shared::wire::Timestamp;
use serde::Serialize;

/// The source that simulated observations name.
const SOURCE: &str = "simulation";
/// Vaults a batch: a long run of one hour stays a matter of some hundred megabytes.
const VAULTS_A_BATCH: usize = 20_000;

/// What to simulate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Another seed, another market.
    pub seed: u64,
    /// How many vaults there are; the first of them are the cast.
    pub vaults: u32,
    /// How many hours are simulated, at least one; the last of them is the current hour.
    pub hours: u32,
}

/// What a simulation left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SimulationReport {
    /// Vaults there are.
    pub vaults: u64,
    /// Hours that were simulated.
    pub hours: u32,
    /// The first hour.
    pub from: Timestamp,
    /// The last hour.
    pub to: Timestamp,
    /// Observations made.
    pub observations: u64,
    /// Published scores that changed, first ones included.
    pub score_changes: u64,
    /// The data version after the last hour.
    pub data_version: i64,
}

/// Simulates up to the current hour of `clock`. The same options and the same hour leave the same facts.
///
/// `key` signs the baskets' versions; `progress` is told what happens, a line at a time.
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
    let large = market.actors.len() > VAULTS_A_BATCH;
    for hour in 0..hours {
        let moment = Moment::of(end, hour, hours);
        let at_that_hour = Clock::held(moment.now);
        // As the running service would, before the hour's news come in.
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
        // Whatever the hour moved: the first hour makes the first versions.
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

/// Everything that is simulated.
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

    /// What is observed at `moment`, in batches that can be taken one after the other.
    fn batches(&self, moment: Moment) -> impl Iterator<Item = Batch> {
        let mut chunks = self.actors.chunks(VAULTS_A_BATCH);
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
        news.extend(positions::news(moment, &self.actors));
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
