//! Net rates that stand out among the vaults of the same asset and chain.

use super::inputs::{Vault, ppm};
use rds_shared::scoring::tables::OUTLIER_APR_PPM;
use rds_shared::scoring::vault::outlier_apr;
use rds_store::vaults::rewards::{self, Rates};
use rds_store::{StoreError, Tx, scoring};
use std::collections::{BTreeSet, HashMap};

type Place = (i64, String);

/// Net rates of the active vaults of an asset and chain, in parts per million. Loaded at most once a run, and only when needed.
#[derive(Debug, Default)]
pub struct Peers(HashMap<Place, Vec<i64>>);

impl Peers {
    /// Sets `stands_out` for vaults with outlying net rates.
    pub async fn mark(&mut self, tx: &mut Tx<'_>, vaults: &mut [Vault]) -> Result<(), StoreError> {
        // Few vaults have a rate this high, so few groups are loaded.
        let high: BTreeSet<Place> = vaults.iter().filter_map(place_of_a_high_rate).collect();
        self.load(tx, high.into_iter().filter(|place| !self.0.contains_key(place)).collect()).await?;
        for vault in vaults {
            vault.stands_out = place_of_a_high_rate(vault)
                .and_then(|place| self.0.get(&place))
                .is_some_and(|peers| outlier_apr(vault.input.apr_net_ppm, peers));
        }
        Ok(())
    }

    async fn load(&mut self, tx: &mut Tx<'_>, places: Vec<Place>) -> Result<(), StoreError> {
        if places.is_empty() {
            return Ok(());
        }
        let rows = scoring::base_rates(tx, &places).await?;
        let ids: Vec<String> = rows.iter().map(|row| row.id.clone()).collect();
        let mut running = rewards::running(&mut **tx, Some(&ids)).await?;
        self.0.extend(places.into_iter().map(|place| (place, Vec::new())));
        for row in rows {
            let apr_net = Rates::apr_net(row.base_apr, &running.remove(&row.id).unwrap_or_default());
            if let Some(rate) = apr_net.and_then(ppm) {
                self.0.entry((row.chain_id, row.asset_address)).or_default().push(rate);
            }
        }
        Ok(())
    }
}

fn place_of_a_high_rate(vault: &Vault) -> Option<Place> {
    vault.input.apr_net_ppm.filter(|rate| *rate > OUTLIER_APR_PPM)?;
    Some((vault.row.chain_id, vault.row.asset_address.clone()?))
}
