//! Figures and candidates of real-world assets from simulated sources. None of them exists.
//!
//! A publication depends only on its day, not on the run or its seed, so a repeated publication never contradicts an earlier one.

use super::funds;
use super::moment::Moment;
use super::platforms::CHAIN_ID;
use super::random::Random;
use super::source::SOURCE;
use rds_engine::ingest::Observation;
use rds_engine::rwa::totals::day_of;
use rds_facts::fact::Kind;
use rds_facts::{RwaCandidate, RwaObservation, RwaSource};
use rds_shared::rules::rwa_sources::CandidateState::{self, *};
use rds_shared::rules::rwa_sources::SourceType::{self, *};
use rds_shared::rules::rwa_totals::DAY;
use rds_shared::wire::Timestamp;
use rds_store::At;

/// Number of days before the run for which figures exist.
const REMEMBERED_DAYS: i64 = 40;
/// Hours between two publications.
const PUBLISH_EVERY_HOURS: u32 = 24;
/// Hours before the end of the run at which a figure of the previous day is corrected.
const CORRECTED_HOURS: u32 = 6;

const LEDGER: &str = "ledgerlight";
const CHAIN: &str = "chainsum";
const QUIET: &str = "quietfeed";
const CATALOG: &str = "almanac";
const RETIRED: &str = "oldfeed";

#[derive(Clone, Copy, PartialEq)]
enum SourceState {
    Publishes,
    /// The latest attempt to read it failed.
    Fails,
    NotSetUp,
    SwitchedOff,
}

/// The sources: id, name, type, priority and state.
const SOURCES: [(&str, &str, SourceType, i32, SourceState); 8] = [
    (LEDGER, "Ledgerlight Statements", IssuerFeed, 1, SourceState::Publishes),
    (CHAIN, "Chainsum", Onchain, 2, SourceState::Publishes),
    (QUIET, "Quietfeed", Aggregator, 3, SourceState::Publishes),
    ("crackedfeed", "Crackedfeed", Aggregator, 4, SourceState::Fails),
    ("newfeed", "Newfeed", Aggregator, 5, SourceState::Publishes),
    ("plannedfeed", "Plannedfeed", IssuerFeed, 6, SourceState::NotSetUp),
    (RETIRED, "Oldfeed", Aggregator, 7, SourceState::SwitchedOff),
    (CATALOG, "Almanac of Products", MarketCatalog, 9, SourceState::Publishes),
];

/// The figures of an asset from a source, in millions of USD.
struct Statement {
    source: &'static str,
    asset: &'static str,
    fund: Option<f64>,
    issued: Option<f64>,
    circulating: Option<f64>,
    /// The last publication is this many days before the end of the run; 0 if publications continue.
    stopped_days: i64,
}

const fn states(source: &'static str, asset: &'static str) -> Statement {
    Statement { source, asset, fund: None, issued: None, circulating: None, stopped_days: 0 }
}

const STATEMENTS: [Statement; 9] = [
    Statement { fund: Some(412.0), ..states(LEDGER, "dtb") },
    Statement { circulating: Some(251.0), ..states(CHAIN, "dtb") },
    Statement { circulating: Some(58.0), ..states(CHAIN, "dtb-vale") },
    Statement { issued: Some(96.0), circulating: Some(96.0), ..states(CHAIN, "tpny") },
    Statement { fund: Some(31.0), stopped_days: 5, ..states(QUIET, "kite") },
    Statement { fund: Some(88.0), ..states(LEDGER, "dgld") },
    Statement { issued: Some(97.0), circulating: Some(101.0), ..states(CHAIN, "dgld") },
    Statement { fund: Some(19.0), ..states(LEDGER, funds::ASSET_WITHOUT_SIGNED_REVIEW) },
    Statement { fund: Some(7.5), stopped_days: 20, ..states(QUIET, "nimbus") },
];

/// Candidates: source, symbol, state, discovery in days before the run, and the asset that the candidate became.
const SURFACED: [(&str, &str, CandidateState, u32, Option<&str>); 7] = [
    (CATALOG, "DTB", Classified, 60, Some("dtb")),
    (CATALOG, "dGLD", Classified, 55, Some("dgld")),
    (CATALOG, "MLDW", Discovered, 21, None),
    (CHAIN, "THSL", Discovered, 3, None),
    (CHAIN, "BRCH", Classifying, 8, None),
    (CATALOG, "SPAM", Rejected, 12, None),
    (RETIRED, "RUST", Discovered, 30, None),
];

/// The sources, their candidates, and the figures from before the run.
pub fn registry(moment: Moment) -> Vec<Observation> {
    let mut known: Vec<Observation> =
        SOURCES.iter().map(|source| Observation::RwaSource(registered(source, moment))).collect();
    known.extend(SURFACED.iter().map(|one| Observation::RwaCandidate(surfaced(one, moment))));
    let today = day_of(moment.now);
    let before = (1..=REMEMBERED_DAYS).map(|days| today.plus_seconds(-days * DAY));
    known.extend(before.flat_map(|day| published(day, moment)));
    known
}

/// The publications at `moment`.
pub fn news(moment: Moment) -> Vec<Observation> {
    let mut news = Vec::new();
    if moment.hour.is_multiple_of(PUBLISH_EVERY_HOURS) {
        news.extend(published(day_of(moment.now), moment));
    }
    if moment.in_the_last(CORRECTED_HOURS) && moment.before().is_none_or(|last| !last.in_the_last(CORRECTED_HOURS)) {
        let yesterday = day_of(moment.now).plus_seconds(-DAY);
        let first = STATEMENTS.first().map(|statement| correction(statement, yesterday, moment));
        news.extend(first.map(Observation::RwaObservation));
    }
    news
}

fn published(day: Timestamp, moment: Moment) -> impl Iterator<Item = Observation> {
    let At(end) = moment.start_of_the_last(1);
    let last_day = move |statement: &Statement| day_of(end).plus_seconds(-statement.stopped_days * DAY);
    let stated = STATEMENTS.iter().filter(move |statement| statement.stopped_days == 0 || day <= last_day(statement));
    stated.map(move |statement| Observation::RwaObservation(statement.of(day, moment)))
}

impl Statement {
    fn of(&self, day: Timestamp, moment: Moment) -> RwaObservation {
        let number = day.as_seconds().div_euclid(DAY).unsigned_abs();
        let mut random = Random::of(0, self.asset, number);
        // Slow growth with a small variation, in whole dollars.
        let factor = 1.0 + (number % 500) as f64 / 20_000.0 + random.between(-0.002, 0.002);
        let usd = |millions: Option<f64>| millions.map(|millions| (millions * 1e6 * factor).round());
        let rate = (random.between(3.5, 5.5) * 100.0).round() / 100.0;
        RwaObservation {
            kind: Kind,
            observed_at: moment.at(),
            source: SOURCE.to_owned(),
            source_id: self.source.to_owned(),
            publication_id: date(day),
            asset_id: self.asset.to_owned(),
            published_at: At(day),
            effective_at: At(day),
            fund_aum_usd: usd(self.fund),
            global_issued_value_usd: usd(self.issued),
            deployment_circulating_value_usd: usd(self.circulating),
            apy_7d_pct: self.fund.map(|_| rate),
            apy_30d_pct: self.fund.map(|_| rate),
            duration_days: self.fund.map(|_| 41.0),
        }
    }
}

fn correction(statement: &Statement, day: Timestamp, moment: Moment) -> RwaObservation {
    let stated = statement.of(day, moment);
    RwaObservation {
        publication_id: format!("{}-corrected", date(day)),
        published_at: At(day.plus_seconds(DAY)),
        fund_aum_usd: stated.fund_aum_usd.map(|usd| (usd * 0.97).round()),
        ..stated
    }
}

fn registered(source: &(&str, &str, SourceType, i32, SourceState), moment: Moment) -> RwaSource {
    let (id, name, source_type, priority, fate) = *source;
    RwaSource {
        kind: Kind,
        observed_at: moment.at(),
        source: SOURCE.to_owned(),
        id: id.to_owned(),
        name: name.to_owned(),
        source_type,
        url: Some(format!("https://{id}.example")),
        is_enabled: fate != SourceState::SwitchedOff,
        is_configured: fate != SourceState::NotSetUp,
        priority,
        max_age_seconds: 2 * DAY,
        last_attempt_at: (fate == SourceState::Fails).then(|| moment.at()),
        last_attempt_ok: (fate == SourceState::Fails).then_some(false),
    }
}

fn surfaced(one: &(&str, &str, CandidateState, u32, Option<&str>), moment: Moment) -> RwaCandidate {
    let (source_id, symbol, state, days, asset) = *one;
    let seen = moment.days_before_start(days);
    RwaCandidate {
        kind: Kind,
        observed_at: seen,
        source: SOURCE.to_owned(),
        id: String::new(),
        discovered_at: seen,
        source_id: source_id.to_owned(),
        chain_id: CHAIN_ID,
        address: funds::address(asset.unwrap_or(symbol)),
        symbol: Some(symbol.to_owned()),
        name: None,
        state,
        evidence_url: Some(format!("https://{source_id}.example/{}", symbol.to_lowercase())),
    }
}

/// `YYYY-MM-DD`.
fn date(day: Timestamp) -> String {
    day.to_string().chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publication_is_the_same_in_every_run() {
        let end = Timestamp::from_seconds(1_800_000_000);
        let day = day_of(end);
        let stated = |hours: u32, later: i64| {
            let moment = Moment::of(end.plus_seconds(later * 3_600), hours - 1, hours);
            let figures = |it: Observation| match it {
                Observation::RwaObservation(one) => {
                    (one.asset_id, one.published_at, one.effective_at, one.fund_aum_usd)
                }
                _ => panic!("only figures are published"),
            };
            published(day, moment).map(figures).collect::<Vec<_>>()
        };
        assert_eq!(stated(1, 0), stated(72, 5));
        assert!(!stated(1, 0).is_empty());
    }
}
