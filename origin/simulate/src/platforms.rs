//! The simulated market's chain, protocols and curators. None of them exists.

use super::moment::Moment;
use super::source::SOURCE;
use rds_engine::ingest::Observation;
use rds_facts::fact::Kind;
use rds_facts::{Chain, Curator, Points, Protocol};
use rds_shared::model::status::Breakdown;
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::vault::Strategy;
use rds_store::At;
use std::collections::BTreeMap;

/// The chain id that local development chains use.
pub const CHAIN_ID: i64 = 31_337;

/// A protocol of the simulation.
#[derive(Debug)]
pub struct Platform {
    pub id: &'static str,
    name: &'static str,
    version: &'static str,
    /// Age at the start of the run; `None` if unknown.
    age_days: Option<u32>,
    audits: Option<u32>,
    newest_audit_days: u32,
    auditors: &'static [&'static str],
    bounty_usd: Option<f64>,
    tvl_usd: Option<f64>,
    strategy: Option<Strategy>,
    dependencies: Option<&'static [&'static str]>,
    money_market: bool,
    /// Whether deposit gates are read; otherwise they are unknown.
    pub gates_are_read: bool,
    /// The route that shows how the protocol's vaults invest deposits.
    pub breakdown: Option<Breakdown>,
    /// Prefix of the symbols of share tokens.
    pub prefix: &'static str,
}

/// The protocol whose first audit is published within the run.
const AUDITED_LATE: &str = "mothlamp";
/// Hours before the end of the run at which that audit is published.
const AUDIT_ARRIVES: u32 = 4;

const NO_DEPENDENCIES: Option<&[&str]> = Some(&[]);

/// All protocols, the established ones first.
pub static PLATFORMS: [Platform; 11] = [
    Platform {
        id: "quillfish",
        name: "Quillfish Lend",
        version: "3",
        age_days: Some(1_810),
        audits: Some(5),
        newest_audit_days: 120,
        auditors: &["Hollow Oak Security", "Ferrous Labs", "Greywater Review"],
        bounty_usd: Some(1_000_000.0),
        tvl_usd: Some(1_420_000_000.0),
        strategy: Some(Strategy::LendingPool),
        dependencies: NO_DEPENDENCIES,
        money_market: true,
        gates_are_read: true,
        breakdown: None,
        prefix: "qf",
    },
    Platform {
        id: "brambleway",
        name: "Brambleway Markets",
        version: "1.4",
        age_days: Some(1_230),
        audits: Some(4),
        newest_audit_days: 210,
        auditors: &["Ferrous Labs", "Nine Lanterns Audit"],
        bounty_usd: Some(500_000.0),
        tvl_usd: Some(620_000_000.0),
        strategy: Some(Strategy::IsolatedLending),
        dependencies: NO_DEPENDENCIES,
        money_market: true,
        gates_are_read: true,
        breakdown: None,
        prefix: "bw",
    },
    Platform {
        id: "lanternmoss",
        name: "Lanternmoss Vaults",
        version: "2",
        age_days: Some(810),
        audits: Some(3),
        newest_audit_days: 95,
        auditors: &["Hollow Oak Security", "Nine Lanterns Audit"],
        bounty_usd: Some(200_000.0),
        tvl_usd: Some(184_000_000.0),
        strategy: Some(Strategy::CuratedLending),
        dependencies: Some(&["brambleway"]),
        money_market: false,
        gates_are_read: true,
        breakdown: Some(Breakdown::Markets),
        prefix: "lm",
    },
    Platform {
        id: "slowriver",
        name: "Slowriver Savings",
        version: "2.1",
        age_days: Some(1_120),
        audits: Some(4),
        newest_audit_days: 300,
        auditors: &["Greywater Review"],
        bounty_usd: Some(250_000.0),
        tvl_usd: Some(955_000_000.0),
        strategy: Some(Strategy::Savings),
        dependencies: NO_DEPENDENCIES,
        money_market: false,
        gates_are_read: true,
        breakdown: None,
        prefix: "sr",
    },
    Platform {
        id: "nestwork",
        name: "Nestwork Garden",
        version: "1",
        age_days: Some(640),
        audits: Some(2),
        newest_audit_days: 400,
        auditors: &["Nine Lanterns Audit"],
        bounty_usd: None,
        tvl_usd: Some(61_000_000.0),
        strategy: Some(Strategy::VaultOfVaults),
        dependencies: Some(&["lanternmoss", "quillfish", "slowriver"]),
        money_market: false,
        gates_are_read: true,
        breakdown: Some(Breakdown::Strategies),
        prefix: "nw",
    },
    Platform {
        id: "tidewheel",
        name: "Tidewheel",
        version: "4",
        age_days: Some(560),
        audits: Some(2),
        newest_audit_days: 820,
        auditors: &["Greywater Review"],
        bounty_usd: None,
        tvl_usd: Some(42_000_000.0),
        strategy: Some(Strategy::AutoCompound),
        dependencies: Some(&["brambleway"]),
        money_market: false,
        gates_are_read: false,
        breakdown: Some(Breakdown::Strategy),
        prefix: "tw",
    },
    Platform {
        id: "cinderloop",
        name: "Cinderloop",
        version: "1",
        age_days: Some(290),
        audits: Some(1),
        newest_audit_days: 270,
        auditors: &["Ferrous Labs"],
        bounty_usd: None,
        tvl_usd: Some(12_400_000.0),
        strategy: Some(Strategy::Leveraged),
        dependencies: Some(&["quillfish", "tidewheel"]),
        money_market: false,
        gates_are_read: true,
        breakdown: None,
        prefix: "cl",
    },
    Platform {
        id: "paperkite",
        name: "Paperkite Credit",
        version: "1",
        age_days: Some(510),
        audits: Some(1),
        newest_audit_days: 500,
        auditors: &["Hollow Oak Security"],
        bounty_usd: None,
        tvl_usd: Some(27_000_000.0),
        strategy: Some(Strategy::Offchain),
        dependencies: NO_DEPENDENCIES,
        money_market: false,
        gates_are_read: false,
        breakdown: None,
        prefix: "pk",
    },
    Platform {
        id: AUDITED_LATE,
        name: "Mothlamp Markets",
        version: "0.9",
        age_days: Some(150),
        audits: Some(0),
        newest_audit_days: 0,
        auditors: &["Nine Lanterns Audit"],
        bounty_usd: None,
        tvl_usd: Some(3_100_000.0),
        strategy: Some(Strategy::IsolatedLending),
        dependencies: NO_DEPENDENCIES,
        money_market: true,
        gates_are_read: true,
        breakdown: None,
        prefix: "ml",
    },
    Platform {
        id: "driftwick",
        name: "Driftwick Autopilot",
        version: "0.1",
        age_days: Some(40),
        audits: Some(0),
        newest_audit_days: 0,
        auditors: &[],
        bounty_usd: None,
        tvl_usd: None,
        strategy: Some(Strategy::AutoCompound),
        dependencies: None,
        money_market: false,
        gates_are_read: false,
        breakdown: Some(Breakdown::Strategy),
        prefix: "dw",
    },
    Platform {
        id: "hearthglow",
        name: "Hearthglow Pockets",
        version: "1",
        age_days: None,
        audits: None,
        newest_audit_days: 0,
        auditors: &[],
        bounty_usd: None,
        tvl_usd: None,
        strategy: None,
        dependencies: None,
        money_market: false,
        gates_are_read: false,
        breakdown: None,
        prefix: "hg",
    },
];

/// Curators: id, name and description.
pub static CURATORS: [(&str, &str, &str); 6] = [
    ("juniper-and-vole", "Juniper & Vole", "A fictional curator of unhurried lending vaults."),
    ("saltmarsh-risk", "Saltmarsh Risk", "A fictional desk that sets limits and watches them."),
    ("pebble-committee", "Pebble Committee", "A fictional committee that votes on every allocation."),
    ("owl-ledger", "Owl Ledger", "A fictional night watch over collateral."),
    ("northlight-stewards", "Northlight Stewards", "Fictional stewards of staking derivatives."),
    ("copperfern-capital", "Copperfern Capital", "A fictional manager with one key and many plans."),
];

/// The chain, the protocols and the curators at `moment`.
pub fn registry(moment: Moment) -> Vec<Observation> {
    let mut all = vec![Observation::Chain(chain(moment.days_before_start(30)))];
    all.extend(PLATFORMS.iter().map(|platform| platform.observed(moment)));
    all.extend(CURATORS.iter().map(|entry| curator(entry, moment.days_before_start(20))));
    all
}

/// Changes of the registry at `moment`, after the first hour.
pub fn news(moment: Moment) -> Vec<Observation> {
    let arrives =
        moment.in_the_last(AUDIT_ARRIVES) && moment.before().is_some_and(|last| !last.in_the_last(AUDIT_ARRIVES));
    let audited = PLATFORMS.iter().filter(|platform| arrives && platform.id == AUDITED_LATE);
    audited.map(|platform| platform.observed(moment)).collect()
}

impl Platform {
    /// The platform of this id; the first of [`PLATFORMS`] if there is no such platform.
    pub fn named(id: &str) -> &'static Platform {
        PLATFORMS.iter().find(|platform| platform.id == id).unwrap_or(&PLATFORMS[0])
    }

    fn observed(&self, moment: Moment) -> Observation {
        let late = self.id == AUDITED_LATE && moment.in_the_last(AUDIT_ARRIVES);
        let audits = if late { Some(2) } else { self.audits };
        let audited = audits.is_some_and(|audits| audits > 0);
        Observation::Protocol(Protocol {
            kind: Kind,
            observed_at: moment.at(),
            source: SOURCE.to_owned(),
            id: self.id.to_owned(),
            name: self.name.to_owned(),
            logo_url: None,
            website_url: Some(format!("https://{}.example", self.id)),
            app_url: None,
            documentation_url: Some(format!("https://docs.{}.example", self.id)),
            github_url: None,
            twitter_url: None,
            launched_at: self.age_days.map(|days| moment.days_before_start(days + 200)),
            version: Some(self.version.to_owned()),
            version_deployed_at: self.age_days.map(|days| moment.days_before_start(days)),
            audits,
            newest_audit_at: audited.then(|| moment.days_before_start(self.newest_audit_days)),
            auditors: if audited { self.auditors.iter().map(|name| (*name).to_owned()).collect() } else { Vec::new() },
            audit_report_url: audited.then(|| format!("https://docs.{}.example/audits", self.id)),
            bounty_usd: self.bounty_usd,
            tvl_usd: self.tvl_usd,
            strategy: self.strategy,
            dependencies: self.dependencies.map(|ids| ids.iter().map(|id| (*id).to_owned()).collect()),
            money_market: self.money_market,
            deposit_probe_wired: self.gates_are_read,
            breakdown: self.breakdown,
            evidence: BTreeMap::new(),
        })
    }
}

fn chain(observed_at: At) -> Chain {
    let points = |milli| Some(Points(MilliPoints::saturating(milli)));
    Chain {
        kind: Kind,
        observed_at,
        source: SOURCE.to_owned(),
        chain_id: CHAIN_ID,
        slug: "devnet".to_owned(),
        name: "Devnet".to_owned(),
        namespace: "evm".to_owned(),
        native_symbol: Some("dETH".to_owned()),
        explorer_url: Some("https://explorer.devnet.example".to_owned()),
        block_time_seconds: Some(2.0),
        is_settlement: false,
        bridge_centralization: points(9_500),
        sequencer_centralization: points(9_000),
        validator_set_size_score: points(9_200),
        chain_age_score: points(9_400),
        rationale: Some("A simulated chain with a broad validator set and no significant bridge.".to_owned()),
        is_served: true,
    }
}

fn curator((id, name, one_liner): &(&str, &str, &str), observed_at: At) -> Observation {
    Observation::Curator(Curator {
        one_liner: Some((*one_liner).to_owned()),
        website_url: Some(format!("https://{id}.example")),
        ..Curator::new((*id).to_owned(), (*name).to_owned(), SOURCE.to_owned(), observed_at)
    })
}
