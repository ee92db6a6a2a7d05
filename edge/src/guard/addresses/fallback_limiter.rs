//! The fallback limiter, used while an address's Durable Object cannot be reached: the same limits, counted in this isolate alone.

use rds_shared::access::address_table::AddressTable;
use rds_shared::access::budget::{AddressBudget, Verdict};
use rds_shared::access::{ClientNet, Salt};

/// Maximum number of counters.
const MAX_COUNTERS: usize = 4_096;

/// How long after the last charge the limiter counts as in use, in seconds.
const USED_SECONDS: i64 = 60;

#[derive(Debug)]
pub struct FallbackLimiter {
    used_at: Option<i64>,
    counts: AddressTable,
}

impl Default for FallbackLimiter {
    fn default() -> Self {
        FallbackLimiter { used_at: None, counts: AddressTable::new(MAX_COUNTERS) }
    }
}

impl FallbackLimiter {
    /// Charges a request at `now_seconds`; with `shared`, also to the neighbourhood of the address.
    pub fn take(
        &mut self,
        (net, budget): (ClientNet, AddressBudget),
        shared: bool,
        salt: &Salt,
        now_seconds: i64,
    ) -> Verdict {
        self.used_at = Some(now_seconds);
        self.counts.take((net, budget), shared, salt, now_seconds)
    }

    /// Whether any address was charged here within the last 60 seconds.
    pub fn is_used(&self, now_seconds: i64) -> bool {
        self.used_at.is_some_and(|at| now_seconds.saturating_sub(at) < USED_SECONDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const NOW: i64 = 1_795_219_205;

    fn take(counters: &mut FallbackLimiter, number: u32, now: i64) -> bool {
        let net = ClientNet::V4(Ipv4Addr::from_bits(number << 8));
        counters.take((net, AddressBudget::Anonymous), true, &Salt::new([7; 32]), now).admitted
    }

    #[test]
    fn the_limits_are_the_same() {
        let mut counters = FallbackLimiter::default();
        assert!((0..10).all(|_| take(&mut counters, 1, NOW)));
        assert!(!take(&mut counters, 1, NOW));
        assert!(take(&mut counters, 2, NOW) && take(&mut counters, 1, NOW + 60));
        assert!(counters.is_used(NOW + 100) && !counters.is_used(NOW + 200));
    }

    #[test]
    fn many_addresses_do_not_use_up_the_limits_of_others() {
        let mut counters = FallbackLimiter::default();
        assert!((0..5_000).all(|number| take(&mut counters, number, NOW)));
        assert!(take(&mut counters, 9_999, NOW) && take(&mut counters, 17, NOW));
    }
}
