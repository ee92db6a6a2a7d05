//! Events that the service makes itself, out of what its readings changed: in the transaction that takes the readings in.
//!
//! | type | told when |
//! |---|---|
//! | `DepositabilityChange` | a vault's deposit status moves between `open` and `closed` |
//! | `BadDebt` | a vault or a market gains bad debt |
//! | `AllocationChange` | a tenth or more of what a vault lends or holds sits elsewhere than when that was last told |
//! | `RatingChange` | a published score or tier moves |
//!
//! The rules are `shared::rules::changes`. A key names the subject, the instant of the reading and the move, so that a reading
//! tells the same event once, whoever takes it in and however often.
//!
//! # Invariants
//!
//! - An event's key is its subject, the reading's instant and the change, so one reading makes it once (`tests/it/events_observed.rs`).

mod allocation;
mod bad_debt;
mod depositability;
mod rating;

pub use rating::rating_changes;

use crate::facts::VaultState;
use crate::publication::{self, How};
use crate::store::{StoreError, Tx};
use rds_shared::wire::Timestamp;

/// What a batch changed, as far as events follow from it.
#[derive(Debug, Clone, Default)]
pub struct Readings<'b> {
    /// Every state that was taken in.
    pub states: Vec<&'b VaultState>,
    /// Vaults whose newest state is another one now.
    pub vaults: Vec<String>,
    /// Vaults of reserves of which anything changed.
    pub gated: Vec<String>,
    /// Vaults with another exposure.
    pub exposed: Vec<String>,
    /// Vaults with another strategy.
    pub strategic: Vec<String>,
    /// Markets with another state.
    pub markets: Vec<String>,
}

/// Tells what the readings changed; answers how many events that are new.
pub async fn tell(tx: &mut Tx<'_>, readings: &Readings<'_>, now: Timestamp) -> Result<u64, StoreError> {
    let mut events = depositability::moves(tx, readings).await?;
    events.extend(bad_debt::gains(tx, readings).await?);
    events.extend(allocation::shifts(tx, readings).await?);
    Ok(publication::publish_new(tx, &events, How::Published, now).await?.len() as u64)
}

/// A figure as titles show it: `1234567.8` is `1.23M`.
fn dollars(usd: f64) -> String {
    match usd {
        usd if usd >= 1e9 => format!("{:.2}B USD", usd / 1e9),
        usd if usd >= 1e6 => format!("{:.2}M USD", usd / 1e6),
        usd if usd >= 1e3 => format!("{:.1}k USD", usd / 1e3),
        usd => format!("{usd:.0} USD"),
    }
}
