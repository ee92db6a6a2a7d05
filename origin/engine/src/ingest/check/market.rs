//! Checks of markets, feeds and positions.

use super::fields::Check;
use super::rule::{BALANCE, DECIMAL, Unit};
use rds_facts::{HubAsset, Market, MarketEmode, MarketReserve, MarketState, OracleFeed, Position, contract};
use rds_shared::model::market::MarketShape;
use rds_shared::rules::hub_spoke;

/// Allowed heartbeats of a feed, in seconds; a heartbeat longer than a leap year is an error.
const HEARTBEAT: std::ops::RangeInclusive<i128> = 1..=31_622_400;

impl Check {
    pub(super) fn market(&mut self, market: &mut Market) {
        self.header(market.observed_at, &market.source);
        market.contract = self.contract("address", market.chain_id, &mut market.address);
        self.slug("protocol_id", &market.protocol_id);
        self.slug("protocol_version", &market.protocol_version);
        self.text("name", &market.name);
        self.optional_text("key_hint", market.key_hint.as_ref());
        self.optional_address("hub_address", market.hub_address.as_mut());
        let has_hub = market.shape == MarketShape::Spoke || market.hub_address.is_none();
        self.must("hub_address", has_hub, "is allowed only for a spoke");
        let sides = [
            ("loan_asset_symbol", market.loan_asset_symbol.as_ref()),
            ("collateral_asset_symbol", market.collateral_asset_symbol.as_ref()),
        ];
        for (field, symbol) in sides {
            self.optional_text(field, symbol);
            let is_pair = market.shape == MarketShape::Pair;
            self.must(field, !is_pair || symbol.is_some(), "is required for a pair");
            self.must(field, is_pair || symbol.is_none(), "is allowed only for a pair");
        }
        if let Some(evidence) = &market.evidence {
            self.evidence_of_chain(evidence);
        }
        self.fraction("lltv", market.lltv);
        let has_lltv = market.shape == MarketShape::Pair || market.lltv.is_none();
        self.must("lltv", has_lltv, "is allowed only for a pair");
    }

    pub(super) fn market_state(&mut self, state: &mut MarketState) {
        self.header(state.observed_at, &state.source);
        state.contract = self.contract("address", state.chain_id, &mut state.address);
        self.amount("total_supplied_usd", state.total_supplied_usd);
        self.amount("total_borrowed_usd", state.total_borrowed_usd);
        self.amount("bad_debt_usd", state.bad_debt_usd);
    }

    /// Checks a reserve and derives its statuses and deposit capacity from its gates.
    pub(super) fn market_reserve(&mut self, reserve: &mut MarketReserve) {
        self.header(reserve.observed_at, &reserve.source);
        reserve.contract = self.contract("market_address", reserve.chain_id, &mut reserve.market_address);
        self.text("reserve", &reserve.reserve);
        self.text("asset_symbol", &reserve.asset_symbol);
        self.address("asset_address", &mut reserve.asset_address);
        self.optional_address("token_address", reserve.token_address.as_mut());
        self.optional_address("hub_address", reserve.hub_address.as_mut());
        self.fraction("fee_rate", reserve.fee_rate);
        if let Some(evidence) = &reserve.evidence {
            self.evidence_of_chain(evidence);
        }
        let Some(gates) = reserve.gates else { return };
        if let Some(hub) = gates.hub {
            let amounts = [
                ("draw_cap", hub.draw_cap),
                ("owed", Some(hub.owed)),
                ("add_cap", hub.add_cap),
                ("added", Some(hub.added)),
            ];
            for (field, amount) in amounts {
                self.number(&format!("gates.hub.{field}"), amount, 0.0..=f64::MAX, Unit::Units);
            }
        }
        self.number("gates.price_usd", gates.price_usd, 0.0..=1e12, Unit::UsdPerUnit);
        let (spoke, hub) = (gates.spoke.map(Into::into), gates.hub.map(Into::into));
        reserve.borrow_status = Some(hub_spoke::borrow_status(spoke, hub));
        reserve.deposit_status = Some(hub_spoke::deposit_status(spoke, hub));
        reserve.deposit_capacity_usd = hub_spoke::deposit_capacity_usd(hub, gates.price_usd);
    }

    pub(super) fn market_emode(&mut self, emode: &mut MarketEmode) {
        self.header(emode.observed_at, &emode.source);
        emode.contract = self.contract("market_address", emode.chain_id, &mut emode.market_address);
        self.count("emode_id", Some(emode.emode_id));
        self.text("label", &emode.label);
        self.fraction("ltv", Some(emode.ltv));
        self.fraction("liquidation_threshold", Some(emode.liquidation_threshold));
        self.fraction("liquidation_bonus", Some(emode.liquidation_bonus));
        if let Some(evidence) = &emode.evidence {
            self.evidence_of_chain(evidence);
        }
        let lists = [
            ("collateral_assets", &mut emode.collateral_assets),
            ("borrowable_assets", &mut emode.borrowable_assets),
            ("ltv_zero_assets", &mut emode.ltv_zero_assets),
        ];
        for (field, addresses) in lists {
            for (place, address) in addresses.iter_mut().enumerate() {
                self.address(&format!("{field}[{place}]"), address);
            }
        }
    }

    pub(super) fn hub_asset(&mut self, asset: &mut HubAsset) {
        self.header(asset.observed_at, &asset.source);
        asset.hub = self.contract("hub_address", asset.chain_id, &mut asset.hub_address);
        self.slug("protocol_id", &asset.protocol_id);
        self.slug("protocol_version", &asset.protocol_version);
        self.text("hub_name", &asset.hub_name);
        self.text("asset_symbol", &asset.asset_symbol);
        self.address("asset_address", &mut asset.asset_address);
        self.optional_address("interest_rate_strategy", asset.interest_rate_strategy.as_mut());
        self.optional_address("wrapper_address", asset.wrapper_address.as_mut());
    }

    pub(super) fn oracle_feed(&mut self, feed: &mut OracleFeed) {
        self.header(feed.observed_at, &feed.source);
        feed.contract = self.contract("address", feed.chain_id, &mut feed.address);
        for (field, text) in [
            ("asset", &feed.asset),
            ("quote", &feed.quote),
            ("description", &feed.description),
            ("vendor", &feed.vendor),
        ] {
            self.optional_text(field, text.as_ref());
        }
        self.texts("other_descriptions", &feed.other_descriptions);
        self.texts("used_by", &feed.used_by);
        self.texts("reserve_symbols", &feed.reserve_symbols);
        self.whole("heartbeat_seconds", feed.heartbeat_seconds, HEARTBEAT, Unit::Seconds);
        self.fraction("deviation_threshold", feed.deviation_threshold);
        self.optional_form("last_answer", &DECIMAL, feed.last_answer.as_ref());
        self.not_later("last_update_at", feed.last_update_at, feed.observed_at);
    }

    pub(super) fn position(&mut self, position: &mut Position) {
        self.header(position.observed_at, &position.source);
        self.address("holder", &mut position.holder);
        self.vault_id("vault_id", &mut position.vault_id);
        self.form("balance_raw", &BALANCE, &position.balance_raw);
        self.fraction("share", position.share);
    }

    fn contract(&mut self, field: &str, chain_id: i64, address: &mut String) -> String {
        self.address(field, address);
        contract(chain_id, address)
    }
}
