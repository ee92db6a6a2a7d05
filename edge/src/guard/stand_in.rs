//! The counters that stand in for an address's object while that cannot be reached: the same limits, in this isolate alone.

use rds_shared::access::ClientNet;
use rds_shared::access::budget::{AddressBudget, AddressCount, Verdict, window_of};
use std::collections::BTreeMap;

/// Counters at once. While all of them are in use, further addresses get no service: without a count there is no limit.
const MOST: usize = 4_096;

/// Seconds for which counters count as used after the last charge: callers come and go.
const USED_FOR: i64 = 60;

/// The counters.
#[derive(Debug, Default)]
pub struct StandIn {
    used_at: Option<i64>,
    counts: BTreeMap<(ClientNet, AddressBudget), AddressCount>,
}

impl StandIn {
    /// Charges a request at `now_seconds`; `None` when there is no counter left to charge it to.
    pub fn take(&mut self, net: ClientNet, budget: AddressBudget, now_seconds: i64) -> Option<Verdict> {
        self.used_at = Some(now_seconds);
        let key = (net, budget);
        if self.counts.len() >= MOST && !self.counts.contains_key(&key) {
            let window = window_of(now_seconds);
            self.counts.retain(|_, count| count.minute.window >= window);
            if self.counts.len() >= MOST {
                return None;
            }
        }
        Some(self.counts.entry(key).or_default().take(budget, now_seconds))
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

    fn take(counters: &mut StandIn, number: u32, now: i64) -> Option<bool> {
        let net = ClientNet::V4(Ipv4Addr::from_bits(number));
        counters.take(net, AddressBudget::Anonymous, now).map(|verdict| verdict.admitted)
    }

    #[test]
    fn the_limits_are_the_same() {
        let mut counters = StandIn::default();
        assert!((0..10).all(|_| take(&mut counters, 1, NOW) == Some(true)));
        assert_eq!(take(&mut counters, 1, NOW), Some(false));
        assert_eq!(take(&mut counters, 2, NOW), Some(true));
        assert_eq!(take(&mut counters, 1, NOW + 60), Some(true));
    }

    #[test]
    fn who_cannot_be_counted_is_not_served_until_the_window_ends() {
        let mut counters = StandIn::default();
        for number in 0..4_096 {
            assert_eq!(take(&mut counters, number, NOW), Some(true));
        }
        assert_eq!(take(&mut counters, 9_999, NOW), None);
        assert_eq!(take(&mut counters, 17, NOW), Some(true), "who has a counter keeps it");
        assert_eq!(take(&mut counters, 9_999, NOW + 60), Some(true));
    }
}
