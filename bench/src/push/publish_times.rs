//! Publication time of each payload: written by the publisher, read by the subscribers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Publication times of consecutive payload numbers.
pub struct PublishTimes {
    begun: Instant,
    first: u32,
    micros: Vec<AtomicU64>,
}

impl PublishTimes {
    /// Publication times of `count` payloads, numbered from `first`.
    pub fn new(first: u32, count: usize) -> Self {
        Self { begun: Instant::now(), first, micros: (0..count).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Records that `n` is published now.
    pub fn note(&self, n: u32) {
        if let Some(micros) = self.at(n) {
            micros.store(self.begun.elapsed().as_micros() as u64, Relaxed);
        }
    }

    /// Time from the publication of `n` to `then`.
    pub fn since(&self, n: u32, then: Instant) -> Duration {
        let micros = self.at(n).map_or(0, |micros| micros.load(Relaxed));
        then.saturating_duration_since(self.begun).saturating_sub(Duration::from_micros(micros))
    }

    fn at(&self, n: u32) -> Option<&AtomicU64> {
        self.micros.get(usize::try_from(n.checked_sub(self.first)?).ok()?)
    }
}
