//! The simulation's only source of randomness: a seeded generator (SplitMix64, Steele, Lea and Flood 2014).

/// A generator. Equal seeds give equal sequences on every machine.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The generator of `seed` for one purpose, so that a draw for one purpose does not shift the draws of another.
    pub fn new(seed: u64, purpose: u64) -> Self {
        let mut random = Random(seed ^ purpose.wrapping_mul(0xd6e8_feb8_6659_fd93));
        random.draw();
        random
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.draw()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number in `from..=to`.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.below(to - from + 1)
    }

    /// A signed number from `-most` to `most`.
    pub fn around(&mut self, most: i64) -> i64 {
        let drawn = self.below(2 * most.unsigned_abs() + 1);
        i64::try_from(drawn).unwrap_or(0) - most
    }

    /// True once in `times` on average.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// A fraction in `[0, 1)`.
    pub fn fraction(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// An exponentially distributed number with this mean, at least 1: the gap between independent arrivals.
    ///
    /// The logarithm is computed in integers, because the standard library's may differ between platforms in the last bit.
    pub fn gap(&mut self, mean: u64) -> u64 {
        let drawn = self.draw() | 1;
        let zeros = drawn.leading_zeros();
        let mantissa = (drawn << zeros) >> 32;
        // -ln(u) = zeros * ln 2 - ln(1 - x) with x in [0, 1/2]; the series of the second part ends with a term that makes it exact at 1/2.
        let x = (((1_u64 << 32) - mantissa) * 1_000_000) >> 32;
        let (square, cube) = (x * x / 1_000_000, x * x / 1_000_000 * x / 1_000_000);
        let minus_log = u64::from(zeros) * 693_147 + x + square / 2 + cube * 545_177 / 1_000_000;
        (mean * minus_log / 1_000_000).max(1)
    }

    /// Sixteen random bytes.
    pub fn bytes(&mut self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let (first, second) = bytes.split_at_mut(8);
        first.copy_from_slice(&self.draw().to_le_bytes());
        second.copy_from_slice(&self.draw().to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_sequences_and_purposes_differ() {
        let drawn = |seed, purpose| {
            let mut random = Random::new(seed, purpose);
            [random.draw(), random.below(1_000), random.between(5, 9), random.gap(100)]
        };
        assert_eq!(drawn(7, 1), drawn(7, 1));
        assert_ne!(drawn(7, 1), drawn(7, 2));
        assert_ne!(drawn(7, 1), drawn(8, 1));
    }

    #[test]
    fn gaps_have_the_asked_mean_and_spread() {
        let mut random = Random::new(1, 1);
        let gaps: Vec<u64> = (0..200_000).map(|_| random.gap(10_000)).collect();
        let mean = gaps.iter().sum::<u64>() / 200_000;
        let long = gaps.iter().filter(|gap| **gap > 20_000).count();
        assert!((9_800..=10_200).contains(&mean), "{mean}");
        // An exponential variable exceeds twice its mean in exp(-2) = 13.5 % of cases.
        assert!((25_000..=29_000).contains(&long), "{long}");
    }
}
