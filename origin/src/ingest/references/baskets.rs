//! What rules of baskets refer to, and that neither they nor a basket's kind ever change.

use super::Faults;
use crate::ingest::batch::Batch;
use crate::ingest::fact::Fact;
use crate::store::{StoreError, Tx, baskets};
use std::collections::HashMap;

impl Faults {
    pub(super) async fn baskets(&mut self, tx: &mut Tx<'_>, batch: &Batch) -> Result<(), StoreError> {
        if batch.baskets.is_empty() && batch.basket_rules.is_empty() {
            return Ok(());
        }
        let mut types: HashMap<String, String> = baskets::constituent_types(tx).await?;
        for (line, basket) in &batch.baskets {
            let given = basket.constituent_type.as_str();
            let known = types.entry(basket.id.clone()).or_insert_with(|| given.to_owned());
            if known != given {
                let reason = format!("{:?} is a basket of {known}s, and stays one", basket.id);
                self.add(*line, "constituent_type", reason);
            }
        }
        let mut rules: HashMap<(String, String), [u8; 32]> = baskets::rule_hashes(tx).await?;
        for (line, given) in &batch.basket_rules {
            if !types.contains_key(&given.basket_id) {
                self.unknown(*line, "basket_id", "basket", &given.basket_id);
            }
            let name = (given.basket_id.clone(), given.version.clone());
            if *rules.entry(name).or_insert_with(|| given.content_hash()) != given.content_hash() {
                let reason = format!("{:?} is known with other rules or another instant", given.version);
                self.add(*line, "version", format!("{reason}; give new rules another version"));
            }
        }
        Ok(())
    }
}
