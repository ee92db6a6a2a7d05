//! References of events to chains, curators and markets.

use super::{Faults, known_chains, with};
use crate::ingest::batch::Batch;
use rds_store::registry::references;
use rds_store::{StoreError, Tx};
use std::collections::HashSet;

impl Faults {
    /// Chains, curators and markets of events must be known.
    pub(super) async fn events(&mut self, tx: &mut Tx<'_>, batch: &Batch) -> Result<(), StoreError> {
        if batch.events.iter().any(|(_, event)| event.chain_id.is_some()) {
            let chains = known_chains(tx, batch).await?;
            for (line, event) in &batch.events {
                if let Some(chain_id) = event.chain_id {
                    let written = [("market_address", event.market_address.as_deref())];
                    self.on_chain(*line, &chains, chain_id, &written);
                }
            }
        }
        if batch.events.iter().any(|(_, event)| event.curator_id.is_some()) {
            let known = with(references::curators(tx).await?, batch.curators.iter().map(|(_, c)| &c.id));
            let named = batch
                .events
                .iter()
                .filter_map(|(line, event)| Some((*line, "curator_id".to_owned(), event.curator_id.as_deref()?)));
            self.unknown_of("curator", &known, named.collect());
        }
        if batch.events.iter().any(|(_, event)| event.market.is_some()) {
            let known: HashSet<String> = references::markets(tx).await?.into_keys().collect();
            let known = with(known, batch.markets.iter().map(|(_, market)| &market.contract));
            let named = batch
                .events
                .iter()
                .filter_map(|(line, event)| Some((*line, "market_address".to_owned(), event.market.as_deref()?)));
            self.unknown_of("market", &known, named.collect());
        }
        Ok(())
    }
}
