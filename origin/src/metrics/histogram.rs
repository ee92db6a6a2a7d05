//! A histogram of durations with fixed bounds. Recording is two additions: it takes no lock and allocates nothing.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Upper bounds in microseconds.
const BOUNDS: [u64; 14] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 10_000_000, 60_000_000];

/// Durations, counted by bound.
#[derive(Debug, Default)]
pub struct Histogram {
    /// The last cell counts durations above every bound.
    counts: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
}

impl Histogram {
    /// Records a duration in microseconds.
    pub fn record(&self, micros: u64) {
        let cell = BOUNDS.partition_point(|bound| *bound < micros);
        self.counts[cell].fetch_add(1, Relaxed);
        self.micros.fetch_add(micros, Relaxed);
    }

    /// Number of recorded durations.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Relaxed)).sum()
    }

    /// Appends the series of the metric `name` with one label, `key="value"`, as Prometheus text.
    pub(super) fn render(&self, out: &mut String, name: &str, key: &str, value: &str) {
        let counts = self.counts.each_ref().map(|count| count.load(Relaxed));
        let mut seen = 0;
        let bounds = BOUNDS.iter().map(|bound| (*bound as f64 / 1e6).to_string()).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(counts) {
            seen += count;
            let _ = writeln!(out, "{name}_bucket{{{key}=\"{value}\",le=\"{bound}\"}} {seen}");
        }
        let _ = writeln!(out, "{name}_sum{{{key}=\"{value}\"}} {}", self.micros.load(Relaxed) as f64 / 1e6);
        let _ = writeln!(out, "{name}_count{{{key}=\"{value}\"}} {seen}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_counted_up_to_and_including_its_bound() {
        let histogram = Histogram::default();
        for micros in [0, 100, 101, 60_000_000, 60_000_001] {
            histogram.record(micros);
        }
        let mut page = String::new();
        histogram.render(&mut page, "m", "k", "v");
        assert_eq!(histogram.count(), 5);
        for line in [
            "m_bucket{k=\"v\",le=\"0.0001\"} 2",
            "m_bucket{k=\"v\",le=\"0.00025\"} 3",
            "m_bucket{k=\"v\",le=\"10\"} 3",
            "m_bucket{k=\"v\",le=\"60\"} 4",
            "m_bucket{k=\"v\",le=\"+Inf\"} 5",
            "m_sum{k=\"v\"} 120.000202",
            "m_count{k=\"v\"} 5",
        ] {
            assert!(page.lines().any(|known| known == line), "{line} in {page}");
        }
    }
}
