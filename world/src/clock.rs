//! The wall clock of one machine: wrong by an offset, running slightly fast or slow, and sometimes set.

use crate::random::Random;
use crate::runtime::Runtime;
use std::cell::Cell;
use std::rc::Rc;

/// The true time at the beginning of the world, in milliseconds since the Unix epoch.
pub const START_MILLIS: i64 = 1_795_219_200_000;

/// The true time, in milliseconds since the Unix epoch.
pub fn true_millis(runtime: &Runtime) -> i64 {
    START_MILLIS + i64::try_from(runtime.now() / 1_000).unwrap_or(i64::MAX / 2)
}

/// How wrong clocks are.
#[derive(Debug, Clone, Copy)]
pub struct Skew {
    /// Largest offset in milliseconds.
    pub offset_millis: i64,
    /// Largest drift, in microseconds a second.
    pub drift_ppm: i64,
}

pub struct Clock {
    runtime: Rc<Runtime>,
    offset_micros: Cell<i64>,
    drift_ppm: i64,
}

impl Clock {
    pub fn new(runtime: Rc<Runtime>, skew: Skew, random: &mut Random) -> Self {
        let (offset, drift_ppm) = (random.around(skew.offset_millis * 1_000), random.around(skew.drift_ppm));
        Clock { runtime, offset_micros: Cell::new(offset), drift_ppm }
    }

    /// Milliseconds since the Unix epoch, as this machine believes.
    pub fn millis(&self) -> i64 {
        let true_micros = i64::try_from(self.runtime.now()).unwrap_or(i64::MAX / 2);
        let drifted = true_micros
            + true_micros / 1_000_000 * self.drift_ppm
            + true_micros % 1_000_000 * self.drift_ppm / 1_000_000;
        START_MILLIS + (drifted + self.offset_micros.get()).div_euclid(1_000)
    }

    /// Sets the clock forward, or back, by `micros`.
    pub fn set_by(&self, micros: i64) {
        self.offset_micros.set(self.offset_micros.get() + micros);
    }
}
