//! Observations, as sources send them.

use rds_origin::ingest::{Batch, IngestError};

/// No line stops the reading, and what is read the same twice is the same.
pub fn holds(data: &[u8]) {
    match (Batch::read(data), Batch::read(data)) {
        (Ok(batch), Ok(again)) => assert_eq!(batch, again),
        (Err(IngestError::TooLarge), Err(IngestError::TooLarge)) => {}
        (one, other) => panic!("{one:?} and {other:?}"),
    }
}
