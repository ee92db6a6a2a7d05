//! Hub-and-spoke lending: whether a reserve lends and takes deposits.
//!
//! A spoke's reserve draws liquidity from a hub. Both the spoke and the hub can refuse loans and deposits.

use crate::model::status::{BorrowStatus, DepositStatus};

/// The flags of a reserve on its spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpokeGate {
    /// All operations are stopped.
    pub paused: bool,
    /// New deposits and new loans are refused.
    pub frozen: bool,
    /// Whether the reserve is lent at all; a collateral-only reserve is not.
    pub borrowable: bool,
}

/// The hub's limits for one spoke in one asset. Amounts are in whole units of the asset; `None` as a cap means no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HubGate {
    /// Whether the hub admits the spoke.
    pub active: bool,
    /// Whether the spoke's operations are stopped.
    pub halted: bool,
    /// Maximum that the spoke may owe.
    pub draw_cap: Option<f64>,
    /// Amount the spoke owes.
    pub owed: f64,
    /// Maximum that the spoke may have added.
    pub add_cap: Option<f64>,
    /// Amount the spoke has added.
    pub added: f64,
}

impl HubGate {
    /// Units that can still be added; `None` without a cap.
    pub fn add_room(&self) -> Option<f64> {
        self.add_cap.map(|cap| (cap - self.added).max(0.0))
    }
}

/// Whether the reserve lends. A gate is `None` if it could not be read.
///
/// A refusal of one gate is final even if the other could not be read; `paused` precedes `disabled`, which precedes `capped`. Without a
/// refusal the status is `open` if both gates were read, otherwise `unknown`.
pub fn borrow_status(spoke: Option<SpokeGate>, hub: Option<HubGate>) -> BorrowStatus {
    if spoke.is_some_and(|gate| gate.paused) || hub.is_some_and(|gate| gate.halted) {
        return BorrowStatus::Paused;
    }
    if spoke.is_some_and(|gate| gate.frozen || !gate.borrowable) || hub.is_some_and(|gate| !gate.active) {
        return BorrowStatus::Disabled;
    }
    if hub.is_some_and(|gate| gate.draw_cap.is_some_and(|cap| gate.owed >= cap)) {
        return BorrowStatus::Capped;
    }
    match (spoke, hub) {
        (Some(_), Some(_)) => BorrowStatus::Open,
        _ => BorrowStatus::Unknown,
    }
}

/// Whether the reserve takes deposits: unknown without the hub, closed when the add cap is reached or a gate refuses.
pub fn deposit_status(spoke: Option<SpokeGate>, hub: Option<HubGate>) -> DepositStatus {
    let Some(gate) = hub else { return DepositStatus::Unknown };
    let full = gate.add_room().is_some_and(|room| room <= 0.0);
    if full || !gate.active || gate.halted || spoke.is_some_and(|gate| gate.paused || gate.frozen) {
        return DepositStatus::Closed;
    }
    if spoke.is_some() { DepositStatus::Open } else { DepositStatus::Unknown }
}

/// Remaining capacity under the hub's add cap, in USD; `None` if the hub sets no cap or was not read, or if the price is unknown.
pub fn deposit_capacity_usd(hub: Option<HubGate>, price_usd: Option<f64>) -> Option<f64> {
    let (room, price) = hub?.add_room().zip(price_usd)?;
    Some(room * price).filter(|capacity| capacity.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const BOTH: [bool; 2] = [false, true];

    fn spokes() -> Vec<Option<SpokeGate>> {
        let mut all = alloc::vec![None];
        for paused in BOTH {
            for frozen in BOTH {
                all.extend(BOTH.map(|borrowable| Some(SpokeGate { paused, frozen, borrowable })));
            }
        }
        all
    }

    fn hubs() -> Vec<Option<HubGate>> {
        let mut all = alloc::vec![None];
        for active in BOTH {
            for halted in BOTH {
                for draw_cap in [None, Some(0.0), Some(9.0), Some(10.0), Some(11.0)] {
                    for add_cap in [None, Some(20.0), Some(21.0)] {
                        all.push(Some(HubGate { active, halted, draw_cap, owed: 10.0, add_cap, added: 20.0 }));
                    }
                }
            }
        }
        all
    }

    /// Compares every combination of gates with an independent definition of each status.
    #[test]
    fn a_reserve_lends_only_if_both_gates_allow_it() {
        for spoke in spokes() {
            for hub in hubs() {
                let status = borrow_status(spoke, hub);
                let stopped = [spoke.is_some_and(|s| s.paused), hub.is_some_and(|h| h.halted)].contains(&true);
                let refused = [
                    spoke.is_some_and(|s| s.frozen),
                    spoke.is_some_and(|s| !s.borrowable),
                    hub.is_some_and(|h| !h.active),
                ]
                .contains(&true);
                let full = hub.is_some_and(|h| matches!(h.draw_cap, Some(cap) if cap <= 10.0));
                let unread = spoke.is_none() || hub.is_none();
                assert_eq!(status == BorrowStatus::Open, !stopped && !refused && !full && !unread, "{spoke:?} {hub:?}");
                assert_eq!(status == BorrowStatus::Paused, stopped, "{spoke:?} {hub:?}");
                assert_eq!(status == BorrowStatus::Disabled, refused && !stopped, "{spoke:?} {hub:?}");
                assert_eq!(status == BorrowStatus::Capped, full && !stopped && !refused, "{spoke:?} {hub:?}");
                assert_eq!(
                    status == BorrowStatus::Unknown,
                    unread && !stopped && !refused && !full,
                    "{spoke:?} {hub:?}"
                );
            }
        }
    }

    #[test]
    fn deposits_need_a_known_hub_and_close_at_its_add_cap() {
        for spoke in spokes() {
            assert_eq!(deposit_status(spoke, None).is_depositable(), None);
            for gate in hubs().into_iter().flatten() {
                let depositable = deposit_status(spoke, Some(gate)).is_depositable();
                if gate.add_cap == Some(20.0) {
                    assert_eq!(depositable, Some(false), "no room: {spoke:?} {gate:?}");
                }
                let stopped = !gate.active || gate.halted || spoke.is_some_and(|spoke| spoke.paused || spoke.frozen);
                let room = gate.add_cap != Some(20.0);
                assert_eq!(depositable == Some(true), room && !stopped && spoke.is_some(), "{spoke:?} {gate:?}");
            }
        }
    }

    #[test]
    fn headroom_is_priced_and_never_negative() {
        let hub =
            |add_cap, added| Some(HubGate { active: true, halted: false, draw_cap: None, owed: 0.0, add_cap, added });
        assert_eq!(deposit_capacity_usd(hub(Some(30.0), 20.0), Some(2.5)), Some(25.0));
        assert_eq!(deposit_capacity_usd(hub(Some(10.0), 20.0), Some(2.5)), Some(0.0));
        assert_eq!(deposit_capacity_usd(hub(None, 20.0), Some(2.5)), None);
        assert_eq!(deposit_capacity_usd(hub(Some(30.0), 20.0), None), None);
        assert_eq!(deposit_capacity_usd(None, Some(2.5)), None);
    }
}
