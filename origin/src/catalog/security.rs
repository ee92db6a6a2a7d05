//! The security registry's published rows and the loss board, encoded.

use rds_shared::model::EncodedRow;
use rds_shared::model::loss::{Coverage, LossRow};
use rds_shared::model::money::Cents;
use rds_shared::model::security::SecurityEvent;
use rds_shared::route::{Row, RowQuery, routes};
use rds_shared::select::losses::LossIndex;
use rds_shared::select::security::SecurityIndex;

/// The published rows of the registry and the loss board. Both are rebuilt together, because the board uses data of the registry.
#[derive(Debug)]
pub struct Security {
    events: Vec<EncodedRow>,
    event_index: SecurityIndex,
    losses: Vec<EncodedRow>,
    loss_index: LossIndex,
    /// Coverage of the whole board.
    pub coverage: Coverage,
}

impl Default for Security {
    fn default() -> Self {
        Security {
            events: Vec::new(),
            event_index: SecurityIndex::build(&[]),
            losses: Vec::new(),
            loss_index: LossIndex::build(&[]),
            coverage: Coverage::default(),
        }
    }
}

/// The facts of both lists.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SecurityFacts {
    /// Published rows, in ascending order of ids.
    pub events: Vec<SecurityEvent>,
    /// The board's cases, in ascending order of ids.
    pub losses: Vec<LossRow>,
}

impl Security {
    /// Encodes and indexes both lists.
    pub(super) fn build(facts: &SecurityFacts) -> Result<Self, serde_json::Error> {
        let SecurityFacts { events, losses } = facts;
        Ok(Security {
            event_index: SecurityIndex::build(events),
            events: events.iter().map(|row| EncodedRow::encode(row, None)).collect::<Result<_, _>>()?,
            loss_index: LossIndex::build(losses),
            losses: losses.iter().map(|row| EncodedRow::encode(row, None)).collect::<Result<_, _>>()?,
            coverage: Coverage::of(losses),
        })
    }

    /// The requested page of published rows, and the number of matches on all pages.
    pub fn events(&self, query: RowQuery<'_, routes::SecurityEventList>) -> (Vec<&EncodedRow>, usize) {
        let found = self.event_index.select(query);
        (found.rows.iter().filter_map(|row| self.events.get(*row as usize)).collect(), found.total)
    }

    /// The requested page of the board, the number of matches on all pages, and the total loss of all matches.
    pub fn losses<R: Row>(&self, query: RowQuery<'_, R>) -> (Vec<&EncodedRow>, usize, Cents) {
        let (found, lost) = self.loss_index.select(query);
        (found.rows.iter().filter_map(|row| self.losses.get(*row as usize)).collect(), found.total, lost)
    }
}
