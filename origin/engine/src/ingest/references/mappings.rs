//! References of mappings.

use super::{Faults, known_chains, with};
use crate::ingest::batch::Batch;
use rds_shared::model::mapping::SubjectType;
use rds_store::registry::references;
use rds_store::{StoreError, Tx};
use std::collections::HashSet;

impl Faults {
    /// Chains and subjects must be known, and addresses must be in their chain's namespace.
    pub(super) async fn mappings(&mut self, tx: &mut Tx<'_>, batch: &Batch) -> Result<(), StoreError> {
        if batch.mappings.is_empty() {
            return Ok(());
        }
        let chains = known_chains(tx, batch).await?;
        for (line, mapping) in &batch.mappings {
            if let Some(signers) = &mapping.signers {
                let owners = signers.owners.iter().flatten().enumerate();
                let named: Vec<(String, &str)> =
                    owners.map(|(place, owner)| (format!("signers.owners[{place}]"), owner.as_str())).collect();
                let mut written = vec![("signers.address", Some(signers.address.as_str()))];
                written.push(("signers.proxy_admin", signers.proxy_admin.as_deref()));
                written.extend(named.iter().map(|(field, owner)| (field.as_str(), Some(*owner))));
                self.on_chain(*line, &chains, signers.chain_id, &written);
            }
            let ends = mapping.bridge.iter().flat_map(|bridge| &bridge.ends).enumerate();
            for (place, end) in ends {
                if end.chain_id.is_some_and(|chain| !chains.contains_key(&chain)) {
                    self.add(*line, format!("bridge.ends[{place}].chain_id"), "is not a known chain");
                }
            }
        }
        for subject_type in SubjectType::ALL {
            self.subjects(tx, batch, *subject_type).await?;
        }
        Ok(())
    }

    async fn subjects(&mut self, tx: &mut Tx<'_>, batch: &Batch, subject_type: SubjectType) -> Result<(), StoreError> {
        let mut asked: Vec<(u64, String, &str)> = Vec::new();
        for (line, mapping) in &batch.mappings {
            let subjects = mapping.applies_to.iter().enumerate();
            let subjects = subjects.filter(|(_, subject)| subject.subject_type == subject_type);
            asked.extend(subjects.map(|(place, it)| (*line, format!("applies_to[{place}].id"), it.id.as_str())));
        }
        if asked.is_empty() {
            return Ok(());
        }
        let ids: Vec<&str> = asked.iter().map(|(_, _, id)| *id).collect::<HashSet<_>>().into_iter().collect();
        let known = match subject_type {
            SubjectType::Vault => {
                with(references::vaults(tx, &ids).await?, batch.vaults.iter().map(|(_, vault)| &vault.id))
            }
            SubjectType::Protocol => {
                with(references::protocols(tx).await?, batch.protocols.iter().map(|(_, protocol)| &protocol.id))
            }
            SubjectType::Asset => {
                let stored = references::assets(tx).await?.into_keys().collect();
                with(stored, batch.assets.iter().map(|(_, asset)| &asset.id))
            }
            SubjectType::Market => {
                let stored = references::markets(tx).await?.into_keys().collect();
                with(stored, batch.markets.iter().map(|(_, market)| &market.contract))
            }
            SubjectType::Feed => {
                with(references::feeds(tx, &ids).await?, batch.feeds.iter().map(|(_, feed)| &feed.contract))
            }
        };
        self.unknown_of(subject_type.as_str(), &known, asked);
        Ok(())
    }
}
