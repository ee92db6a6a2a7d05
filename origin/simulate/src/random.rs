//! Random numbers that are the same on every machine and in every version: splitmix64, one stream per subject.
//!
//! Reference: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (2014); the constants are those of
//! the published implementation. Floats are only added, subtracted, multiplied and divided; IEEE 754 defines the results
//! of these operations to the bit on every machine.

/// A stream of pseudorandom numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    /// The stream of the subject `topic`, `number` under `seed`. Draws from one stream do not affect another.
    pub fn of(seed: u64, topic: &str, number: u64) -> Random {
        let topic = topic.bytes().fold(seed, |state, byte| mix(state.wrapping_add(STEP) ^ u64::from(byte)));
        Random(mix(topic ^ mix(number.wrapping_add(STEP))))
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number of at least 0 and less than 1.
    pub fn unit(&mut self) -> f64 {
        // An f64 represents integers of 53 bits exactly.
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number of at least `low` and less than `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A whole number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        let scaled = (u128::from(self.bits()) * u128::from(bound)) >> 64;
        u32::try_from(scaled).unwrap_or(0)
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// One of `items`, which must not be empty.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u32) as usize]
    }

    /// An EVM address.
    pub fn address(&mut self) -> String {
        let (a, b, c) = (self.bits(), self.bits(), self.bits() >> 32);
        format!("0x{a:016x}{b:016x}{c:08x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_the_same_every_time_and_different_for_every_subject() {
        let draw = |seed, topic, number| {
            let mut random = Random::of(seed, topic, number);
            [random.bits(), random.bits()]
        };
        assert_eq!(draw(1, "vault", 7), draw(1, "vault", 7));
        let others = [draw(1, "vault", 8), draw(2, "vault", 7), draw(1, "token", 7)];
        assert!(others.iter().all(|other| *other != draw(1, "vault", 7)));
    }

    #[test]
    fn the_generator_is_splitmix64() {
        // The published sequence for the seed 1234567.
        let mut random = Random(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([random.bits(), random.bits(), random.bits()], expected);
    }

    #[test]
    fn numbers_stay_in_their_bounds() {
        let mut random = Random::of(3, "bounds", 0);
        for _ in 0..1_000 {
            assert!((2.0..5.0).contains(&random.between(2.0, 5.0)));
            assert!(random.below(3) < 3);
        }
        assert_eq!(random.below(0), 0);
        assert_eq!(random.address().len(), 42);
    }
}
