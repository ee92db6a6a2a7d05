//! What operators see of the reading of chains.

use super::cycle::CycleError;
use super::gate::TrialCounts;
use rds_rpc::meters::{Kind, Meters, OperatorMeter};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// The meters of every configured chain.
#[derive(Debug, Default)]
pub struct ChainMeters(BTreeMap<u64, ChainMeter>);

/// The meters of one chain.
#[derive(Debug, Default)]
pub struct ChainMeter {
    /// Number of the newest block that was read; 0 before the first.
    pub block: AtomicI64,
    /// Its time, in seconds.
    pub block_time: AtomicI64,
    /// 1 if a block that was read has been replaced.
    pub contradicted: AtomicI64,
    /// Committed readings.
    pub readings: AtomicU64,
    /// Cycles that ended with a commit.
    pub cycles: AtomicU64,
    /// Looks at the chain while another process was reading it.
    pub elsewhere: AtomicU64,
    /// Cycles that failed, by reason.
    failures: [AtomicU64; REASONS.len()],
    /// Fields about which the operators contradicted each other.
    pub disputed: AtomicU64,
    /// Answers of contracts that no observation may have.
    pub implausible: AtomicU64,
    /// Trials of deposits.
    pub(super) trials: TrialCounts,
    /// Answers of an operator that differ from those of the others.
    pub dissent: BTreeMap<String, AtomicU64>,
    /// What the operators' providers did; unset while the chain is not read.
    pub providers: OnceLock<Meters>,
}

const REASONS: [&str; 4] = ["no_block", "contradicted", "refused", "database"];

static NO_METER: ChainMeter = ChainMeter {
    block: AtomicI64::new(0),
    block_time: AtomicI64::new(0),
    contradicted: AtomicI64::new(0),
    readings: AtomicU64::new(0),
    cycles: AtomicU64::new(0),
    elsewhere: AtomicU64::new(0),
    failures: [const { AtomicU64::new(0) }; REASONS.len()],
    disputed: AtomicU64::new(0),
    implausible: AtomicU64::new(0),
    trials: TrialCounts::new(),
    dissent: BTreeMap::new(),
    providers: OnceLock::new(),
};

impl ChainMeters {
    /// Meters of these chains and their operators.
    pub fn new(chains: &[rds_rpc::file::Chain]) -> Self {
        let meter = |chain: &rds_rpc::file::Chain| {
            let dissent = chain.providers.iter().map(|it| (it.operator.clone(), AtomicU64::new(0))).collect();
            (chain.chain_id, ChainMeter { dissent, ..ChainMeter::default() })
        };
        ChainMeters(chains.iter().filter(|chain| chain.reads.is_some()).map(meter).collect())
    }

    /// The meters of a configured chain.
    pub fn of(&self, chain_id: u64) -> &ChainMeter {
        self.0.get(&chain_id).unwrap_or(&NO_METER)
    }

    /// The lines of the metrics page.
    pub fn write(&self, out: &mut String) {
        self.gauges(out, "rds_chain_block", "Newest block that was read and committed.", |meter| &meter.block);
        self.gauges(out, "rds_chain_block_time_seconds", "Time of that block.", |meter| &meter.block_time);
        let contradicted = "Whether a block that was read has been replaced, so that the chain is not read any more.";
        self.gauges(out, "rds_chain_contradicted", contradicted, |meter| &meter.contradicted);
        self.counters(out, "rds_chain_cycles_total", "Readings of a chain that were committed.", |meter| {
            vec![(String::new(), &meter.cycles)]
        });
        let elsewhere = "Looks at a chain while another process was reading it.";
        self.counters(out, "rds_chain_elsewhere_total", elsewhere, |meter| vec![(String::new(), &meter.elsewhere)]);
        self.counters(out, "rds_chain_readings_total", "Committed readings of fields.", |meter| {
            vec![(String::new(), &meter.readings)]
        });
        self.counters(out, "rds_chain_failures_total", "Readings of a chain that failed.", |meter| {
            REASONS.iter().zip(&meter.failures).map(|(reason, cell)| (format!(",reason=\"{reason}\""), cell)).collect()
        });
        let disputed = "Vaults with a field about which the operators contradicted each other.";
        self.counters(out, "rds_chain_disputed_total", disputed, |meter| vec![(String::new(), &meter.disputed)]);
        let implausible = "Answers of contracts that are outside the bounds of observations and were left out.";
        self.counters(out, "rds_chain_implausible_total", implausible, |meter| {
            vec![(String::new(), &meter.implausible)]
        });
        let trials = "Trials of deposits, by what they showed.";
        self.counters(out, "rds_chain_deposit_trials_total", trials, |meter| {
            let TrialCounts { open, refused, unknown } = &meter.trials;
            let results = [("open", open), ("refused", refused), ("unknown", unknown)];
            results.into_iter().map(|(result, cell)| (format!(",result=\"{result}\""), cell)).collect()
        });
        let dissent = "Answers of an operator that differ from those of the others.";
        self.counters(out, "rds_chain_dissent_total", dissent, |meter| {
            meter.dissent.iter().map(|(operator, cell)| (of_operator(operator), cell)).collect()
        });
        let requests = "Requests that were sent to an operator's providers; a batch is one.";
        self.of_operators(out, "rds_chain_provider_requests_total", requests, |meter| meter.requests.load(Relaxed));
        let units = "Units that those requests cost.";
        self.of_operators(out, "rds_chain_provider_units_total", units, |meter| meter.units.load(Relaxed));
        let failures = "Failures of an operator's providers.";
        Self::header(out, FAILURES, "counter", failures);
        for (chain, meter) in &self.0 {
            for (operator, meter) in meter.providers.get().iter().flat_map(|meters| meters.iter()) {
                for kind in Kind::ALL {
                    let (labels, count) = (of_operator(operator), meter.failures(*kind));
                    let _ = writeln!(out, "{FAILURES}{{chain=\"{chain}\"{labels},kind=\"{}\"}} {count}", kind.as_str());
                }
            }
        }
    }

    fn of_operators(&self, out: &mut String, name: &str, help: &str, count: impl Fn(&OperatorMeter) -> u64) {
        Self::header(out, name, "counter", help);
        for (chain, meter) in &self.0 {
            for (operator, meter) in meter.providers.get().iter().flat_map(|meters| meters.iter()) {
                let _ = writeln!(out, "{name}{{chain=\"{chain}\"{}}} {}", of_operator(operator), count(meter));
            }
        }
    }

    fn gauges(&self, out: &mut String, name: &str, help: &str, cell: impl Fn(&ChainMeter) -> &AtomicI64) {
        Self::header(out, name, "gauge", help);
        for (chain, meter) in &self.0 {
            let _ = writeln!(out, "{name}{{chain=\"{chain}\"}} {}", cell(meter).load(Relaxed));
        }
    }

    /// Each cell with its labels besides the chain's, which begin with a comma.
    fn counters(
        &self,
        out: &mut String,
        name: &str,
        help: &str,
        cells: impl Fn(&ChainMeter) -> Vec<(String, &AtomicU64)>,
    ) {
        Self::header(out, name, "counter", help);
        for (chain, meter) in &self.0 {
            for (labels, cell) in cells(meter) {
                let _ = writeln!(out, "{name}{{chain=\"{chain}\"{labels}}} {}", cell.load(Relaxed));
            }
        }
    }

    fn header(out: &mut String, name: &str, kind: &str, help: &str) {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }
}

const FAILURES: &str = "rds_chain_provider_failures_total";

/// The label of an operator, after another one.
fn of_operator(operator: &str) -> String {
    format!(",operator=\"{}\"", operator.replace(['\\', '"', '\n'], "_"))
}

impl ChainMeter {
    /// Counts a failed cycle.
    pub(super) fn failed(&self, error: &CycleError) {
        self.contradicted.store(i64::from(matches!(error, CycleError::Contradicted(_))), Relaxed);
        let reason = match error {
            CycleError::NoTarget(_) => 0,
            CycleError::Contradicted(_) => 1,
            CycleError::Refused(_) => 2,
            CycleError::Store(_) => 3,
        };
        if let Some(cell) = self.failures.get(reason) {
            cell.fetch_add(1, Relaxed);
        }
    }

    /// Counts answers that differ from those of the other operators.
    pub(super) fn dissented(&self, dissent: &BTreeMap<String, u64>) {
        for (operator, answers) in dissent {
            if let Some(cell) = self.dissent.get(operator) {
                cell.fetch_add(*answers, Relaxed);
            }
        }
    }
}
