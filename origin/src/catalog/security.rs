//! The security registry's published rows and the loss board of the catalog.

use rds_shared::model::EncodedRow;
use rds_shared::model::loss::{Coverage, LossRow};
use rds_shared::model::security::SecurityEvent;
use rds_shared::read_model::listed::Listed;
use rds_shared::read_model::security::Security;
use rds_shared::select::losses::LossIndex;
use rds_shared::select::security::SecurityIndex;
use serde::Serialize;

/// The facts of both lists. Both are rebuilt together, because the board uses data of the registry.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SecurityFacts {
    /// Published rows, in ascending order of ids.
    pub events: Vec<SecurityEvent>,
    /// The board's cases, in ascending order of ids.
    pub losses: Vec<LossRow>,
}

/// Encodes and indexes both lists.
pub(super) fn build(facts: &SecurityFacts) -> Result<Security, serde_json::Error> {
    let SecurityFacts { events, losses } = facts;
    Ok(Security {
        events: Listed::new(encoded(events)?, SecurityIndex::build(events)),
        losses: Listed::new(encoded(losses)?, LossIndex::build(losses)),
        coverage: Coverage::of(losses),
    })
}

fn encoded<T: Serialize>(rows: &[T]) -> Result<Vec<EncodedRow>, serde_json::Error> {
    rows.iter().map(|row| EncodedRow::encode(row, None)).collect()
}
