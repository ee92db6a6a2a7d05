//! A histogram of durations with fixed bounds. Recording is two additions: it takes no lock and allocates nothing.

use rds_shared::wire::hex::hex;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Upper bounds in microseconds.
const BOUNDS: [u64; 14] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 10_000_000, 60_000_000];

/// Durations, counted by bound.
#[derive(Debug, Default)]
pub struct Histogram {
    /// The last cell counts durations above every bound.
    counts: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
    /// The latest traced duration of each cell; allocated with the first.
    exemplars: Mutex<Option<Box<[Option<Exemplar>; BOUNDS.len() + 1]>>>,
}

/// A duration whose trace is recorded.
#[derive(Debug, Clone, Copy)]
struct Exemplar {
    trace: [u8; 16],
    micros: u64,
}

impl Histogram {
    /// Records a duration in microseconds.
    pub fn record(&self, micros: u64) {
        let cell = BOUNDS.partition_point(|bound| *bound < micros);
        self.counts[cell].fetch_add(1, Relaxed);
        self.micros.fetch_add(micros, Relaxed);
    }

    /// Records a duration, and keeps its trace, if there is one, as the example of its cell. Only a traced duration takes a lock.
    pub fn record_traced(&self, micros: u64, trace: Option<[u8; 16]>) {
        self.record(micros);
        let Some(trace) = trace else { return };
        let cell = BOUNDS.partition_point(|bound| *bound < micros);
        let mut exemplars = self.exemplars.lock().unwrap_or_else(PoisonError::into_inner);
        let cells = exemplars.get_or_insert_with(|| Box::new([None; BOUNDS.len() + 1]));
        cells[cell] = Some(Exemplar { trace, micros });
    }

    /// Number of recorded durations.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Relaxed)).sum()
    }

    /// Appends the series of the metric `name` with one label, `key="value"`, as Prometheus text; with `exemplars`, each bucket also has its
    /// example.
    pub(super) fn render(&self, out: &mut String, name: &str, (key, value): (&str, &str), exemplars: bool) {
        let counts = self.counts.each_ref().map(|count| count.load(Relaxed));
        let mut seen = 0;
        let bounds = BOUNDS.iter().map(|bound| (*bound as f64 / 1e6).to_string()).chain(["+Inf".to_owned()]);
        let kept = exemplars.then(|| self.exemplars.lock().unwrap_or_else(PoisonError::into_inner).as_deref().copied());
        let kept = kept.flatten().unwrap_or([None; BOUNDS.len() + 1]);
        for ((bound, count), exemplar) in bounds.zip(counts).zip(kept) {
            seen += count;
            let _ = write!(out, "{name}_bucket{{{key}=\"{value}\",le=\"{bound}\"}} {seen}");
            if let Some(Exemplar { trace, micros }) = exemplar {
                let _ = write!(out, " # {{trace_id=\"{}\"}} {}", hex(&trace), micros as f64 / 1e6);
            }
            out.push('\n');
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
        histogram.render(&mut page, "m", ("k", "v"), true);
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

    #[test]
    fn a_bucket_shows_the_trace_of_its_latest_traced_duration_if_asked() {
        let histogram = Histogram::default();
        histogram.record_traced(150, Some([1; 16]));
        histogram.record_traced(160, Some([2; 16]));
        histogram.record_traced(170, None);
        let page = |exemplars| {
            let mut page = String::new();
            histogram.render(&mut page, "m", ("k", "v"), exemplars);
            page
        };
        let line = format!("m_bucket{{k=\"v\",le=\"0.00025\"}} 3 # {{trace_id=\"{}\"}} 0.00016", "02".repeat(16));
        assert!(page(true).lines().any(|known| known == line), "{}", page(true));
        assert!(!page(false).contains('#'));
    }
}
