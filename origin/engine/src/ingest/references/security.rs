//! References of registry rows, loss cases and signals.

use super::{Faults, known_chains, with};
use crate::ingest::batch::Batch;
use rds_store::registry::references;
use rds_store::{StoreError, Tx};
use std::collections::HashSet;

impl Faults {
    /// Chains, protocols and vaults must be known.
    pub(super) async fn security(&mut self, tx: &mut Tx<'_>, batch: &Batch) -> Result<(), StoreError> {
        if !batch.security.is_empty() || !batch.losses.is_empty() {
            let chains = known_chains(tx, batch).await?;
            let named = batch.security.iter().map(|(line, one)| (*line, "chain_id", one.chain_id.as_slice()));
            let named = named.chain(batch.losses.iter().map(|(line, one)| (*line, "chain_ids", &one.chain_ids[..])));
            for (line, field, ids) in named {
                for id in ids.iter().filter(|id| !chains.contains_key(id)) {
                    self.add(line, field, format!("{id} is not a known chain"));
                }
            }
            let protocols = with(references::protocols(tx).await?, batch.protocols.iter().map(|(_, p)| &p.id));
            let named = batch.security.iter().filter_map(|(line, one)| Some((*line, one.protocol_id.as_deref()?)));
            let cases = batch.losses.iter().filter_map(|(line, one)| Some((*line, one.protocol_id.as_deref()?)));
            let named = named.chain(cases).map(|(line, id)| (line, "protocol_id".to_owned(), id)).collect();
            self.unknown_of("protocol", &protocols, named);
        }
        let mut asked: Vec<(u64, String, &str)> = Vec::new();
        for (line, signal) in &batch.signals {
            for (place, vault) in signal.given_vaults.iter().flatten().enumerate() {
                asked.push((*line, format!("given_vaults[{place}].vault_id"), &vault.vault_id));
            }
        }
        if !asked.is_empty() {
            let ids: HashSet<&str> = asked.iter().map(|(_, _, id)| *id).collect();
            let known = references::vaults(tx, &ids.into_iter().collect::<Vec<_>>()).await?;
            self.unknown_of("vault", &with(known, batch.vaults.iter().map(|(_, vault)| &vault.id)), asked);
        }
        Ok(())
    }
}
