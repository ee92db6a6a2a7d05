//! The three exponentials of the methodology as Q63 fractions, by binary powering.
//!
//! Start with 2^63. For every set bit k of the age in days, in ascending order, multiply by entry k of the table and drop the low 63 bits.
//! Entry k is round(2^63 · rate^(2^k)). The procedure is normative: it gives the same bits natively and in wasm.

use super::number::{MilliPoints, milli};

/// One, as a Q63 fraction.
pub const ONE: u128 = 1 << 63;
/// Largest age in days that the 13 powers cover; for a greater age every decay is 0.
pub const LAST_DAY: u32 = 8191;

/// The powers rate^(2^k), k = 0..12, of one daily rate.
#[derive(Debug)]
pub struct Decay([u64; 13]);

/// e^(−days/365), applied to the age of the deployed version.
pub const MATURITY: Decay = Decay([
    9198137108604553229,
    9172971222522558208,
    9122845821789098238,
    9023415249388061235,
    8827793396768845582,
    8449180619045071069,
    7739973281788034822,
    6495150164540185383,
    4573921066108529701,
    2268232684900509471,
    557808954500918962,
    33735040555461812,
    123387949302188,
]);

/// e^(−days/180), applied to the age of the vault.
pub const SEASONING: Decay = Decay([
    9172273153863215303,
    9121457366450208040,
    9020668813478848959,
    8822420424690837350,
    8438898684666338492,
    7721146965068970168,
    6463591647174108099,
    4529581677339066742,
    2224469542126617799,
    536491938531451894,
    31205897253103183,
    105580477452291,
    1208585881,
]);

/// 2^(−days/365), applied to the age of an incident.
pub const INCIDENT: Decay = Decay([
    9205873166288449476,
    9188407495127923267,
    9153575499195958308,
    9084307136769549623,
    8947338980300263348,
    8679566920700700714,
    8167824265344443631,
    7233076250527041163,
    5672263011498217650,
    3488373616834233904,
    1319338571836984051,
    188722113797593931,
    3861498386264518,
]);

impl Decay {
    /// The fractions left after 2^k days, for k from 0 to 12: the factors of [`after`](Self::after).
    pub const fn powers(&self) -> &[u64; 13] {
        &self.0
    }

    /// The fraction left after `days`: 2^63 at day 0, 0 beyond day 8191.
    pub fn after(&self, days: u32) -> u128 {
        if days > LAST_DAY {
            return 0;
        }
        let powers = self.0.iter().enumerate().filter(|(k, _)| (days >> k) & 1 == 1);
        powers.fold(ONE, |left, (_, power)| (left * u128::from(*power)) >> 63)
    }

    /// 10 · (1 − fraction left), rounded half to even to milli-points.
    pub fn grown(&self, days: u32) -> MilliPoints {
        milli(MilliPoints::MAX.wide() * (ONE - self.after(days)), ONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoring::number::rhe;

    /// Rows of: days; maturity and seasoning in milli-points; remaining fraction of an incident in units of 10⁻⁴.
    const KNOWN: [(u32, i32, i32, u128); 10] = [
        (0, 0, 0, 10000),
        (1, 27, 55, 9981),
        (30, 789, 1535, 9446),
        (180, 3893, 6321, 7105),
        (365, 6321, 8684, 5000),
        (730, 8647, 9827, 2500),
        (1783, 9924, 10000, 338),
        (5215, 10000, 10000, 1),
        (8191, 10000, 10000, 0),
        (8192, 10000, 10000, 0),
    ];

    #[test]
    fn the_published_table_of_ages_is_reproduced_exactly() {
        for (days, maturity, seasoning, incident) in KNOWN {
            assert_eq!(MATURITY.grown(days).get(), maturity, "maturity at {days}");
            assert_eq!(SEASONING.grown(days).get(), seasoning, "seasoning at {days}");
            assert_eq!(rhe(10_000 * INCIDENT.after(days), ONE), incident, "incident at {days}");
        }
        assert_eq!(MATURITY.after(u32::MAX), 0);
    }

    #[test]
    fn the_fraction_left_never_grows_with_age() {
        for table in [&MATURITY, &SEASONING, &INCIDENT] {
            assert!((0..=LAST_DAY).all(|day| table.after(day + 1) <= table.after(day)));
        }
    }
}
