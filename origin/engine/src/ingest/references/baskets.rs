//! References of baskets: rules name a known basket, rules and constituent types never change, and at most one basket is basket A.

use super::Faults;
use crate::ingest::batch::Batch;
use rds_facts::fact::Fact;
use rds_store::{At, StoreError, Tx, baskets};
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
                let reason = format!("must stay {known}: the type of {:?} cannot change", basket.id);
                self.add(*line, "constituent_type", reason);
            }
        }
        self.basket_a(tx, batch).await?;
        let mut rules: HashMap<(String, String), [u8; 32]> = baskets::rule_hashes(tx).await?;
        for (line, given) in &batch.basket_rules {
            if !types.contains_key(&given.basket_id) {
                self.unknown(*line, "basket_id", "basket", &given.basket_id);
            }
            let name = (given.basket_id.clone(), given.version.clone());
            if *rules.entry(name).or_insert_with(|| given.content_hash()) != given.content_hash() {
                let reason = format!("{:?} already exists with other rules or another instant", given.version);
                self.add(*line, "version", format!("{reason}; give the new rules another version"));
            }
        }
        Ok(())
    }

    /// At most one basket may be basket A, to which `in_basket_a` of assets refers. A line older than the stored row has no effect, so its
    /// mark does not count.
    async fn basket_a(&mut self, tx: &mut Tx<'_>, batch: &Batch) -> Result<(), StoreError> {
        let mut marked: HashMap<String, (bool, At)> = baskets::marked(tx).await?;
        for (_, basket) in &batch.baskets {
            let given = (basket.is_basket_a, basket.observed_at);
            let known = marked.entry(basket.id.clone()).or_insert(given);
            if basket.observed_at > known.1 {
                *known = given;
            }
        }
        let is_marked = |id: &str| marked.get(id).is_some_and(|(is_basket_a, _)| *is_basket_a);
        for (line, basket) in batch.baskets.iter().filter(|(_, basket)| basket.is_basket_a && is_marked(&basket.id)) {
            let other = marked.keys().filter(|id| **id != basket.id && is_marked(id)).min();
            if let Some(other) = other {
                self.add(
                    *line,
                    "is_basket_a",
                    format!("must not be true while {other:?} is basket A; set it to false there in the same batch"),
                );
            }
        }
        Ok(())
    }
}
