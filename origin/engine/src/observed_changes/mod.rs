//! Events that the service creates from changed readings, in the transaction that ingests the readings.
//!
//! | type | created when |
//! |---|---|
//! | `DepositabilityChange` | a vault's deposit status moves between `open` and `closed` |
//! | `BadDebt` | a vault or a market gains bad debt |
//! | `AllocationChange` | a tenth or more of a vault's allocation differs from the allocation last notified |
//! | `ControlChange` | the timelock or the signers of a vault, as read on its chain, differ from those last notified |
//! | `RatingChange` | a published score or tier changes |
//!
//! The rules are in `shared::rules::observed_changes`.
//!
//! # Invariants
//!
//! - An event's key is its subject, the reading's instant and the change, so a reading creates its event once, however often the reading is
//!   ingested (`origin/tests/it/events/observed.rs`).

mod allocation;
mod bad_debt;
mod control;
mod depositability;
mod rating;

pub use rating::rating_changes;

use crate::publication::{self, How};
use rds_facts::VaultState;
use rds_shared::wire::Timestamp;
use rds_store::{StoreError, Tx};

/// The changes of a batch from which the service may create events.
#[derive(Debug, Clone, Default)]
pub struct Readings<'b> {
    /// Every vault state of the batch.
    pub states: Vec<&'b VaultState>,
    /// Vaults whose newest state changed.
    pub vaults: Vec<String>,
    /// Vaults of which it was read who controls them.
    pub controlled: Vec<String>,
    /// Vaults whose deposit status comes from a reserve that changed.
    pub gated: Vec<String>,
    /// Vaults whose exposures changed.
    pub exposed: Vec<String>,
    /// Vaults whose strategies changed.
    pub strategic: Vec<String>,
    /// Markets whose state changed.
    pub markets: Vec<String>,
}

/// Creates and publishes the events that follow from the readings; returns the number of new events.
pub async fn tell(tx: &mut Tx<'_>, readings: &Readings<'_>, now: Timestamp) -> Result<u64, StoreError> {
    let mut events = depositability::moves(tx, readings).await?;
    events.extend(bad_debt::gains(tx, readings).await?);
    events.extend(control::moves(tx, readings).await?);
    events.extend(allocation::shifts(tx, readings).await?);
    Ok(publication::publish_new(tx, &events, How::Published, now).await?.len() as u64)
}

/// An amount as shown in titles: `1234567.8` is `1.23M USD`.
fn dollars(usd: f64) -> String {
    match usd {
        usd if usd >= 1e9 => format!("{:.2}B USD", usd / 1e9),
        usd if usd >= 1e6 => format!("{:.2}M USD", usd / 1e6),
        usd if usd >= 1e3 => format!("{:.1}k USD", usd / 1e3),
        usd => format!("{usd:.0} USD"),
    }
}
