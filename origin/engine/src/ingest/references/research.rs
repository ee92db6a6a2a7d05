//! References of external findings.

use super::{Faults, known_chains};
use crate::ingest::batch::Batch;
use rds_store::{StoreError, Tx};

impl Faults {
    /// Chains of a record must be known.
    pub(super) async fn research(&mut self, tx: &mut Tx<'_>, batch: &Batch) -> Result<(), StoreError> {
        if batch.research.is_empty() {
            return Ok(());
        }
        let chains = known_chains(tx, batch).await?;
        for (line, record) in &batch.research {
            for (place, id) in record.chain_ids.iter().enumerate().filter(|(_, id)| !chains.contains_key(id)) {
                self.add(*line, format!("chain_ids[{place}]"), format!("{id} is not a known chain"));
            }
        }
        Ok(())
    }
}
