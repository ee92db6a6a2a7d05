//! A timing wheel: for each tick, the streams that must be looked at then.

/// Milliseconds of a tick.
pub const TICK_MILLIS: u64 = 50;
/// Ticks ahead of the present that the wheel contains: more than the time between two heartbeats.
const TICKS: usize = 512;

/// Streams by the tick at which they are due. A stream is never taken out: whoever takes it looks whether it is still due.
#[derive(Debug)]
pub struct Wheel {
    slots: Vec<Vec<u32>>,
    /// Everything up to this tick has been taken.
    taken: u64,
    /// Number of entries.
    held: usize,
}

impl Default for Wheel {
    fn default() -> Self {
        Wheel { slots: vec![Vec::new(); TICKS], taken: 0, held: 0 }
    }
}

impl Wheel {
    /// Adds a stream at `tick`, or at the nearest tick that the wheel contains. Returns the tick at which it lies.
    pub fn add(&mut self, stream: u32, tick: u64) -> u64 {
        let tick = tick.clamp(self.taken + 1, self.taken + TICKS as u64 - 1);
        if let Some(slot) = self.slots.get_mut((tick % TICKS as u64) as usize) {
            slot.push(stream);
            self.held += 1;
        }
        tick
    }

    /// Takes the streams that are due up to `now`, each with its tick.
    pub fn take(&mut self, now: u64, mut each: impl FnMut(u32, u64)) {
        if self.held == 0 {
            self.taken = self.taken.max(now);
            return;
        }
        // After a long pause every slot is passed once.
        let from = self.taken + 1;
        let last = now.min(self.taken + TICKS as u64);
        for tick in from..=last {
            let Some(slot) = self.slots.get_mut((tick % TICKS as u64) as usize) else { continue };
            self.held -= slot.len();
            for stream in slot.drain(..) {
                each(stream, tick);
            }
            // A slot that once held many does not keep their memory for ever.
            slot.shrink_to(64);
        }
        self.taken = self.taken.max(now);
    }

    /// The next tick at which a stream is due.
    pub fn next(&self) -> Option<u64> {
        if self.held == 0 {
            return None;
        }
        (self.taken + 1..=self.taken + TICKS as u64)
            .find(|tick| self.slots.get((tick % TICKS as u64) as usize).is_some_and(|slot| !slot.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn taken(wheel: &mut Wheel, now: u64) -> Vec<(u32, u64)> {
        let mut all = Vec::new();
        wheel.take(now, |stream, tick| all.push((stream, tick)));
        all
    }

    #[test]
    fn what_is_overdue_comes_with_the_next_tick_and_what_is_far_away_comes_early() {
        let mut wheel = Wheel::default();
        assert_eq!((wheel.next(), taken(&mut wheel, 100)), (None, vec![]));
        assert_eq!(wheel.add(1, 0), 101);
        assert_eq!(wheel.add(2, u64::MAX), 100 + TICKS as u64 - 1);
        assert_eq!(wheel.next(), Some(101));
        assert_eq!(taken(&mut wheel, 101), [(1, 101)]);
        assert_eq!(taken(&mut wheel, 1_000_000), [(2, 100 + TICKS as u64 - 1)], "after a long pause");
        assert_eq!((wheel.next(), wheel.held), (None, 0));
    }

    proptest! {
        /// Every stream comes once, with the tick it was given, and never late.
        #[test]
        fn each_comes_once_and_at_its_tick(steps in proptest::collection::vec((0..700u64, 0..60u64), 1..80)) {
            let (mut wheel, mut now) = (Wheel::default(), 0);
            let mut expected = Vec::new();
            let mut came = Vec::new();
            for (stream, (ahead, pause)) in steps.iter().enumerate() {
                let tick = wheel.add(stream as u32, now + ahead);
                prop_assert!(tick > now && tick <= (now + ahead).max(now + 1));
                expected.push((stream as u32, tick));
                prop_assert_eq!(wheel.next(), expected.iter().filter(|it| !came.contains(*it)).map(|it| it.1).min());
                now += pause;
                came.extend(taken(&mut wheel, now));
                prop_assert!(came.iter().all(|(_, tick)| *tick <= now));
            }
            came.extend(taken(&mut wheel, now + 2 * TICKS as u64));
            came.sort_unstable();
            prop_assert_eq!(came, expected);
        }
    }
}
