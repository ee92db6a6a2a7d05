//! Bytes that requests hold in memory, counted and bounded.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The bytes of one kind of request that are in memory.
#[derive(Debug)]
pub struct HeldBytes {
    bound: u64,
    now: AtomicU64,
    most: AtomicU64,
    refused: AtomicU64,
}

/// The bytes of one request; they are let go with it.
#[derive(Debug)]
pub struct Share<'a> {
    of: &'a HeldBytes,
    bytes: u64,
}

impl HeldBytes {
    /// None, of at most `bound`.
    pub const fn up_to(bound: u64) -> Self {
        HeldBytes { bound, now: AtomicU64::new(0), most: AtomicU64::new(0), refused: AtomicU64::new(0) }
    }

    /// A request's share, still empty.
    pub fn share(&self) -> Share<'_> {
        Share { of: self, bytes: 0 }
    }

    /// Bytes in memory now.
    pub fn now(&self) -> u64 {
        self.now.load(Relaxed)
    }

    /// The most that were at once.
    pub fn most(&self) -> u64 {
        self.most.load(Relaxed)
    }

    /// How many requests would have gone beyond the bound.
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }
}

impl Share<'_> {
    /// Adds `bytes`, if they fit.
    #[must_use]
    pub fn grow(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let before = self.of.now.fetch_add(bytes, Relaxed);
        if before + bytes > self.of.bound {
            self.of.now.fetch_sub(bytes, Relaxed);
            self.of.refused.fetch_add(1, Relaxed);
            return false;
        }
        self.of.most.fetch_max(before + bytes, Relaxed);
        self.bytes += bytes;
        true
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.of.now.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_fit_up_to_the_bound_and_are_let_go_with_their_request() {
        let held = HeldBytes::up_to(100);
        let (mut one, mut other) = (held.share(), held.share());
        assert!(one.grow(60) && other.grow(40) && !other.grow(1));
        assert_eq!((held.now(), held.most(), held.refused()), (100, 100, 1));
        drop(one);
        assert_eq!((held.now(), held.most()), (40, 100));
        assert!(other.grow(60));
        drop(other);
        assert_eq!(held.now(), 0);
    }
}
