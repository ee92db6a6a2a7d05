//! A seeded generator for requests: equal seeds give equal requests.

/// SplitMix64 (Steele, Lea, Flood 2014): enough to draw queries.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.draw().checked_rem(end).unwrap_or(0)
    }

    /// A place in a list of this length; 0 if it is empty.
    pub fn place(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// A number from 0 to 1, without 1.
    pub fn fraction(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of the values.
    pub fn of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.place(all.len()))
    }

    /// One of the texts; empty if there is none.
    pub fn text<'a, T: AsRef<str>>(&mut self, all: &'a [T]) -> &'a str {
        self.of(all).map_or("", AsRef::as_ref)
    }

    /// One to three of the words, possibly the same.
    pub fn some<'a, T: AsRef<str>>(&mut self, all: &'a [T]) -> Vec<&'a str> {
        (0..=self.below(3)).filter_map(|_| self.of(all).map(AsRef::as_ref)).collect()
    }
}
