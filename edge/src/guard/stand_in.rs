//! The counters that stand in for an address's object while that cannot be reached: the same limits, in this isolate alone.

use rds_shared::access::address_table::AddressTable;
use rds_shared::access::budget::{AddressBudget, Verdict};
use rds_shared::access::{ClientNet, Salt};

/// Counters at once.
const MOST: usize = 4_096;

/// Seconds for which counters count as used after the last charge: callers come and go.
const USED_FOR: i64 = 60;

/// The counters.
#[derive(Debug)]
pub struct StandIn {
    used_at: Option<i64>,
    counts: AddressTable,
}

impl Default for StandIn {
    fn default() -> Self {
        StandIn { used_at: None, counts: AddressTable::new(MOST) }
    }
}

impl StandIn {
    /// Charges a request at `now_seconds`; with `shared`, to the neighbourhood of the address, too.
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

    /// Whether any address was charged here lately.
    pub fn is_used(&self, now_seconds: i64) -> bool {
        self.used_at.is_some_and(|at| now_seconds.saturating_sub(at) < USED_FOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const NOW: i64 = 1_795_219_205;

    fn take(counters: &mut StandIn, number: u32, now: i64) -> bool {
        let net = ClientNet::V4(Ipv4Addr::from_bits(number << 8));
        counters.take((net, AddressBudget::Anonymous), true, &Salt::new([7; 32]), now).admitted
    }

    #[test]
    fn the_limits_are_the_same() {
        let mut counters = StandIn::default();
        assert!((0..10).all(|_| take(&mut counters, 1, NOW)));
        assert!(!take(&mut counters, 1, NOW));
        assert!(take(&mut counters, 2, NOW) && take(&mut counters, 1, NOW + 60));
        assert!(counters.is_used(NOW + 100) && !counters.is_used(NOW + 200));
    }

    #[test]
    fn a_crowd_fills_no_counter_that_strangers_share() {
        let mut counters = StandIn::default();
        assert!((0..5_000).all(|number| take(&mut counters, number, NOW)));
        assert!(take(&mut counters, 9_999, NOW) && take(&mut counters, 17, NOW));
    }
}
