//! Places on a globe and the messages between them: delays by distance, losses, and edges that are cut off for a while.

use crate::random::Random;
use crate::runtime::Runtime;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// Round trip between neighbours and between antipodes, in microseconds.
const NEAR_MICROS: u64 = 20_000;
const FAR_MICROS: u64 = 250_000;

/// A place of machines: an edge's data centre, or the one that has an object or the origin. The number is that of an edge.
pub type Site = usize;

/// What can go wrong between places.
#[derive(Debug, Clone, Copy)]
pub struct Faults {
    /// One message in this many is lost; 0 for none.
    pub loss_once_in: u64,
    /// Share of a message's delay by which it may be longer, in thousandths.
    pub jitter_permille: u64,
}

pub struct Network {
    runtime: Rc<Runtime>,
    random: RefCell<Random>,
    /// Unit vectors of the sites, in thousandths.
    places: Vec<[i64; 3]>,
    /// Until when each site is cut off, in microseconds.
    cut_until: Vec<Cell<u64>>,
    faults: Faults,
    pub sent: Cell<u64>,
    pub lost: Cell<u64>,
}

impl Network {
    pub fn new(runtime: Rc<Runtime>, sites: usize, seed: u64, faults: Faults) -> Self {
        let mut random = Random::new(seed, 2);
        let places = (0..sites).map(|_| place(&mut random)).collect();
        let cut_until = (0..sites).map(|_| Cell::new(0)).collect();
        Network { runtime, random: random.into(), places, cut_until, faults, sent: Cell::new(0), lost: Cell::new(0) }
    }

    /// The undisturbed round trip between two sites, in microseconds: linear in the square of their distance through the globe, which is
    /// uniform over a globe.
    pub fn round_trip(&self, a: Site, b: Site) -> u64 {
        let (Some(a), Some(b)) = (self.places.get(a), self.places.get(b)) else { return FAR_MICROS };
        let square: i64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
        // Antipodes are 2,000 thousandths apart.
        let share = square.unsigned_abs().min(4_000_000);
        NEAR_MICROS + (FAR_MICROS - NEAR_MICROS) * share / 4_000_000
    }

    /// Cuts a site off from all others until an instant, in microseconds.
    pub fn cut(&self, site: Site, until: u64) {
        if let Some(cut) = self.cut_until.get(site) {
            cut.set(cut.get().max(until));
        }
    }

    pub fn is_cut(&self, site: Site) -> bool {
        self.cut_until.get(site).is_some_and(|until| self.runtime.now() < until.get())
    }

    /// Carries a message; returns whether it arrives.
    pub async fn carry(&self, from: Site, to: Site) -> bool {
        self.sent.set(self.sent.get() + 1);
        let (is_lost, delay) = {
            let mut random = self.random.borrow_mut();
            let way = self.round_trip(from, to) / 2;
            let is_lost = self.faults.loss_once_in > 0 && random.once_in(self.faults.loss_once_in);
            (is_lost, way + random.below(way * self.faults.jitter_permille / 1_000 + 1))
        };
        let is_cut = |from, to| from != to && (self.is_cut(from) || self.is_cut(to));
        let begins_cut = is_cut(from, to);
        self.runtime.sleep(Duration::from_micros(delay)).await;
        let arrives = !is_lost && !begins_cut && !is_cut(from, to);
        self.lost.set(self.lost.get() + u64::from(!arrives));
        arrives
    }
}

/// A uniformly distributed point of the unit sphere, in thousandths: drawn in a cube until it is inside the ball.
fn place(random: &mut Random) -> [i64; 3] {
    loop {
        let drawn = [random.around(1_000), random.around(1_000), random.around(1_000)];
        let square: i64 = drawn.iter().map(|part| part * part).sum();
        if (10_000..=1_000_000).contains(&square) {
            let length = i64::try_from(square.unsigned_abs().isqrt()).unwrap_or(1).max(1);
            return drawn.map(|part| part * 1_000 / length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_20_to_250_milliseconds_apart() {
        let faults = Faults { loss_once_in: 0, jitter_permille: 0 };
        let network = Network::new(Rc::default(), 300, 7, faults);
        let all: Vec<u64> = (1..300).map(|site| network.round_trip(0, site)).collect();
        assert!(all.iter().all(|micros| (NEAR_MICROS..=FAR_MICROS).contains(micros)));
        let (least, most) = (all.iter().min().unwrap(), all.iter().max().unwrap());
        assert!(*least < 30_000 && *most > 240_000, "{least} {most}");
        assert_eq!(network.round_trip(3, 4), network.round_trip(4, 3));
    }
}
