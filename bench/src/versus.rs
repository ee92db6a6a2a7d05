//! Two peers under the same load, in turns: A B A B, one ratio a pair, and the median of the ratios.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use xtask::measure::cpu_time;

use crate::Plan;
use crate::load::{self, Load};

/// Puts the next request into an empty buffer.
pub type Write = Box<dyn FnMut(&mut Vec<u8>)>;

/// One of two.
pub struct Peer {
    /// Where it listens.
    pub address: SocketAddr,
    /// The process whose CPU time counts.
    pub pid: u32,
    /// What it is asked.
    pub write: Write,
}

/// One load with what it cost the server.
#[derive(Debug, Clone)]
pub struct Sample {
    /// What the client saw.
    pub load: Load,
    /// CPU time of the server, user and system, per request.
    pub cpu: Duration,
}

/// Both peers' samples, pair by pair.
pub struct Versus {
    pairs: Vec<(Sample, Sample)>,
}

impl Peer {
    fn sample(&mut self, plan: &Plan, duration: Duration) -> Result<Sample> {
        let before = cpu_time(self.pid)?;
        let load = load::run(self.address, plan.connections, duration, &mut self.write)?;
        let spent = cpu_time(self.pid)?.saturating_sub(before);
        let cpu = spent.div_f64(load.requests.max(1) as f64);
        Ok(Sample { load, cpu })
    }
}

/// Measures `a` and `b` in turns. A short load of each, not counted, comes first.
pub fn measure(plan: &Plan, mut a: Peer, mut b: Peer) -> Result<Versus> {
    for peer in [&mut a, &mut b] {
        peer.sample(plan, plan.duration() / 2)?;
    }
    let mut pairs = Vec::with_capacity(plan.rounds);
    for _ in 0..plan.rounds {
        xtask::signals::check()?;
        pairs.push((a.sample(plan, plan.duration())?, b.sample(plan, plan.duration())?));
    }
    Ok(Versus { pairs })
}

impl Versus {
    /// The median of `a` over `b` of something.
    pub fn ratio(&self, of: impl Fn(&Sample) -> f64) -> f64 {
        median(self.pairs.iter().map(|(a, b)| of(a) / of(b)).collect())
    }

    /// The median of something on either side.
    pub fn sides(&self, of: impl Fn(&Sample) -> f64) -> (f64, f64) {
        (
            median(self.pairs.iter().map(|(a, _)| of(a)).collect()),
            median(self.pairs.iter().map(|(_, b)| of(b)).collect()),
        )
    }
}

/// Requests a second.
pub fn rate(sample: &Sample) -> f64 {
    sample.load.rate()
}

/// CPU microseconds per request.
pub fn cpu_micros(sample: &Sample) -> f64 {
    sample.cpu.as_secs_f64() * 1e6
}

/// The middle one; of an even number the mean of both.
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
