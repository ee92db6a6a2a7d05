//! Bytes that requests hold in memory, counted and bounded.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The bytes in memory of one kind of request.
#[derive(Debug)]
pub struct HeldBytes {
    bound: u64,
    now: AtomicU64,
    maximum: AtomicU64,
    refused: AtomicU64,
}

/// The bytes of one request, released when this is dropped.
#[derive(Debug)]
pub struct Share<'a> {
    of: &'a HeldBytes,
    bytes: u64,
}

impl HeldBytes {
    /// An empty count of at most `bound` bytes.
    pub const fn up_to(bound: u64) -> Self {
        HeldBytes { bound, now: AtomicU64::new(0), maximum: AtomicU64::new(0), refused: AtomicU64::new(0) }
    }

    /// An empty share for one request.
    pub fn share(&self) -> Share<'_> {
        Share { of: self, bytes: 0 }
    }

    /// Bytes in memory now.
    pub fn now(&self) -> u64 {
        self.now.load(Relaxed)
    }

    /// Maximum number of bytes that were in memory at once.
    pub fn maximum(&self) -> u64 {
        self.maximum.load(Relaxed)
    }

    /// Requests refused because they would have exceeded the bound.
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }
}

impl Share<'_> {
    /// Adds `bytes`; `false` if they would exceed the bound.
    #[must_use]
    pub fn grow(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let before = self.of.now.fetch_add(bytes, Relaxed);
        if before + bytes > self.of.bound {
            self.of.now.fetch_sub(bytes, Relaxed);
            self.of.refused.fetch_add(1, Relaxed);
            return false;
        }
        self.of.maximum.fetch_max(before + bytes, Relaxed);
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
    fn bytes_fit_up_to_the_bound_and_are_released_with_their_request() {
        let held = HeldBytes::up_to(100);
        let (mut one, mut other) = (held.share(), held.share());
        assert!(one.grow(60) && other.grow(40) && !other.grow(1));
        assert_eq!((held.now(), held.maximum(), held.refused()), (100, 100, 1));
        drop(one);
        assert_eq!((held.now(), held.maximum()), (40, 100));
        assert!(other.grow(60));
        drop(other);
        assert_eq!(held.now(), 0);
    }
}
