//! Property of the parser of observations, as sources send them.

use rds_engine::ingest::{Batch, IngestError};

/// Only an oversized body is refused as a whole, and parsing is deterministic.
pub fn holds(data: &[u8]) {
    match (Batch::read(data), Batch::read(data)) {
        (Ok(batch), Ok(again)) => assert_eq!(batch, again),
        (Err(IngestError::TooLarge), Err(IngestError::TooLarge)) => {}
        (one, other) => panic!("{one:?} and {other:?}"),
    }
}
