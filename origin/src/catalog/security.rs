//! The security registry's published rows and the loss board of the catalog.

use super::rows::NextRows;
use rds_shared::model::loss::{Coverage, LossRow};
use rds_shared::model::security::SecurityEvent;
use rds_shared::read_model::security::{event_row, loss_row};
use rds_shared::read_model::singles::coverage_row;
use rds_shared::replica::Family;

/// The facts of both lists. Both are rebuilt together, because the board uses data of the registry.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SecurityFacts {
    /// Published rows, in ascending order of ids.
    pub events: Vec<SecurityEvent>,
    /// The board's cases, in ascending order of ids.
    pub losses: Vec<LossRow>,
}

/// Encodes both lists.
pub(super) fn encode(facts: &SecurityFacts, rows: &mut NextRows) -> anyhow::Result<()> {
    let SecurityFacts { events, losses } = facts;
    rows.set(Family::SecurityEvents, events.iter().map(event_row).collect::<Result<_, _>>()?)?;
    rows.set(Family::Losses, losses.iter().map(loss_row).collect::<Result<_, _>>()?)?;
    rows.update(Family::Singles, [coverage_row(&Coverage::of(losses))?])
}
