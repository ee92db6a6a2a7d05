//! References of markets, reserves and feeds.

use super::{Faults, known_chains, with};
use crate::ingest::batch::Batch;
use rds_shared::model::market::MarketShape;
use rds_store::registry::references;
use rds_store::{StoreError, Tx};

impl Faults {
    /// Chains, protocols and markets must be known.
    pub(super) async fn markets(&mut self, tx: &mut Tx<'_>, batch: &Batch) -> Result<(), StoreError> {
        let parts = batch.market_states.len() + batch.reserves.len() + batch.emodes.len();
        if batch.markets.is_empty() && batch.feeds.is_empty() && batch.hub_assets.is_empty() && parts == 0 {
            return Ok(());
        }
        let chains = known_chains(tx, batch).await?;
        for (line, feed) in &batch.feeds {
            self.on_chain(*line, &chains, feed.chain_id, &[("address", Some(&feed.address))]);
        }
        if !batch.markets.is_empty() || !batch.hub_assets.is_empty() {
            let protocols = with(references::protocols(tx).await?, batch.protocols.iter().map(|(_, p)| &p.id));
            for (line, asset) in &batch.hub_assets {
                let written = [
                    ("hub_address", Some(asset.hub_address.as_str())),
                    ("asset_address", Some(asset.asset_address.as_str())),
                    ("interest_rate_strategy", asset.interest_rate_strategy.as_deref()),
                    ("wrapper_address", asset.wrapper_address.as_deref()),
                ];
                self.on_chain(*line, &chains, asset.chain_id, &written);
                if !protocols.contains(&asset.protocol_id) {
                    self.unknown(*line, "protocol_id", "protocol", &asset.protocol_id);
                }
            }
            for (line, market) in &batch.markets {
                let written =
                    [("address", Some(market.address.as_str())), ("hub_address", market.hub_address.as_deref())];
                self.on_chain(*line, &chains, market.chain_id, &written);
                if !protocols.contains(&market.protocol_id) {
                    self.unknown(*line, "protocol_id", "protocol", &market.protocol_id);
                }
            }
        }
        if parts == 0 {
            return Ok(());
        }
        let mut shapes = references::markets(tx).await?;
        shapes.extend(batch.markets.iter().map(|(_, market)| (market.contract.clone(), market.shape)));
        for (line, state) in &batch.market_states {
            match shapes.get(&state.contract) {
                None => self.unknown(*line, "address", "market", &state.contract),
                Some(MarketShape::Pair) => {}
                Some(_) => self.add(
                    *line,
                    "address",
                    "must be a pair; the totals of other markets are the sums of their reserves",
                ),
            }
        }
        for (line, reserve) in &batch.reserves {
            match shapes.get(&reserve.contract) {
                None => self.unknown(*line, "market_address", "market", &reserve.contract),
                Some(MarketShape::Pair) => {
                    self.add(*line, "market_address", "must not be a pair, which has no reserves")
                }
                Some(MarketShape::Pool) if reserve.gates.is_some() => {
                    self.add(*line, "gates", "is allowed only for a reserve of a spoke");
                }
                Some(_) => {}
            }
            let written = [
                ("asset_address", Some(reserve.asset_address.as_str())),
                ("token_address", reserve.token_address.as_deref()),
                ("hub_address", reserve.hub_address.as_deref()),
            ];
            self.on_chain(*line, &chains, reserve.chain_id, &written);
        }
        for (line, emode) in &batch.emodes {
            if !shapes.contains_key(&emode.contract) {
                self.unknown(*line, "market_address", "market", &emode.contract);
            }
        }
        Ok(())
    }
}
