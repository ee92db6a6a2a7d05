//! Two peers under the same load in turns (A B A B): one ratio per pair, and the median of the ratios. Then each peer is loaded at half
//! of its own rate on a fixed schedule, which gives latencies of a server that is not saturated.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use xtask::measure::cpu_time;

use crate::Plan;
use crate::load::{self, Load};

/// Writes the next request into an empty buffer.
pub type Write = Box<dyn FnMut(&mut Vec<u8>)>;

/// One of the two compared servers.
pub struct Peer {
    pub address: SocketAddr,
    /// The process whose CPU time counts.
    pub pid: u32,
    pub write: Write,
}

/// One load and its cost for the server.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The client's measurements.
    pub load: Load,
    /// CPU time of the server, user and system, per request.
    pub cpu: Duration,
}

/// Both peers' samples, pair by pair.
pub struct Versus {
    pairs: Vec<(Sample, Sample)>,
    /// Loads at half of each peer's rate; empty if not measured.
    halves: Vec<(Load, Load)>,
}

/// One peer's medians.
#[derive(Debug, Clone, Copy)]
pub struct Side {
    /// The server's CPU time per request at saturation, in microseconds.
    pub cpu: f64,
    /// Requests per second at saturation.
    pub rate: f64,
    /// Median time from a request's scheduled instant to the last byte of its answer, in milliseconds, at half of `rate`.
    pub p50: f64,
    /// 99th percentile of the same time.
    pub p99: f64,
}

impl Peer {
    fn sample(&mut self, plan: &Plan, duration: Duration) -> Result<Sample> {
        let before = cpu_time(self.pid)?;
        let load = load::run(self.address, plan.connections, duration, &mut self.write)?;
        let spent = cpu_time(self.pid)?.saturating_sub(before);
        let cpu = spent.div_f64(load.requests.max(1) as f64);
        Ok(Sample { load, cpu })
    }

    fn paced(&mut self, plan: &Plan, rate: f64) -> Result<Load> {
        load::paced(&[self.address], plan.connections, rate, plan.duration(), &mut self.write)
    }
}

/// Maximum number of rounds at half rate.
const MAX_HALF_ROUNDS: usize = 3;

/// Measures `a` and `b` in turns at saturation, after an uncounted warm-up load of each.
pub fn measure(plan: &Plan, mut a: Peer, mut b: Peer) -> Result<Versus> {
    saturate(plan, &mut a, &mut b)
}

/// Like [`measure`], then measures each at half of its own rate.
pub fn measure_with_halves(plan: &Plan, mut a: Peer, mut b: Peer) -> Result<Versus> {
    let mut versus = saturate(plan, &mut a, &mut b)?;
    let (full_a, full_b) = versus.sides(rate);
    for _ in 0..plan.rounds.min(MAX_HALF_ROUNDS) {
        xtask::signals::check()?;
        versus.halves.push((a.paced(plan, full_a / 2.0)?, b.paced(plan, full_b / 2.0)?));
    }
    Ok(versus)
}

fn saturate(plan: &Plan, a: &mut Peer, b: &mut Peer) -> Result<Versus> {
    for peer in [&mut *a, &mut *b] {
        peer.sample(plan, plan.duration() / 2)?;
    }
    let mut pairs = Vec::with_capacity(plan.rounds);
    for _ in 0..plan.rounds {
        xtask::signals::check()?;
        pairs.push((a.sample(plan, plan.duration())?, b.sample(plan, plan.duration())?));
    }
    Ok(Versus { pairs, halves: Vec::new() })
}

impl Versus {
    /// The median of `of(a) / of(b)`.
    pub fn ratio(&self, of: impl Fn(&Sample) -> f64) -> f64 {
        median(self.pairs.iter().map(|(a, b)| of(a) / of(b)).collect())
    }

    /// Medians of both peers. Latencies are NaN if half rates were not measured.
    pub fn medians(&self) -> (Side, Side) {
        let ((cpu_a, cpu_b), (rate_a, rate_b)) = (self.sides(cpu_micros), self.sides(rate));
        let millis = |of: fn(&Load) -> Duration| {
            let side = |side: fn(&(Load, Load)) -> &Load| {
                median(self.halves.iter().map(|pair| of(side(pair)).as_secs_f64() * 1e3).collect())
            };
            (side(|(a, _)| a), side(|(_, b)| b))
        };
        let ((p50_a, p50_b), (p99_a, p99_b)) = (millis(|load| load.p50), millis(|load| load.p99));
        (
            Side { cpu: cpu_a, rate: rate_a, p50: p50_a, p99: p99_a },
            Side { cpu: cpu_b, rate: rate_b, p50: p50_b, p99: p99_b },
        )
    }

    /// The number of connections that each server cut, as text; empty if none.
    pub fn cuts(&self) -> String {
        let pairs = self.pairs.iter().map(|(a, b)| (&a.load, &b.load));
        let loads = pairs.chain(self.halves.iter().map(|(a, b)| (a, b)));
        let (ours, theirs) = loads.fold((0, 0), |(ours, theirs), (a, b)| (ours + a.cuts, theirs + b.cuts));
        if ours + theirs == 0 { String::new() } else { format!("; connections cut: ours {ours}, theirs {theirs}") }
    }

    /// The medians of `of(a)` and `of(b)`.
    pub fn sides(&self, of: impl Fn(&Sample) -> f64) -> (f64, f64) {
        (
            median(self.pairs.iter().map(|(a, _)| of(a)).collect()),
            median(self.pairs.iter().map(|(_, b)| of(b)).collect()),
        )
    }
}

/// Requests per second.
pub fn rate(sample: &Sample) -> f64 {
    sample.load.rate()
}

/// CPU time per request in microseconds.
pub fn cpu_micros(sample: &Sample) -> f64 {
    sample.cpu.as_secs_f64() * 1e6
}

/// The median; NaN without values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.get(middle), values.get(middle.wrapping_sub(1))) {
        (Some(upper), Some(lower)) if values.len().is_multiple_of(2) => (lower + upper) / 2.0,
        (Some(value), _) => *value,
        (None, _) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn one_slow_round_does_not_move_the_median() {
        assert_eq!(median(vec![1.0, 100.0, 2.0]), 2.0);
        assert_eq!(median(vec![1.0, 2.0, 3.0, 100.0]), 2.5);
        assert!(median(vec![]).is_nan());
    }
}
