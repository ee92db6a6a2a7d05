//! lending_reserves.jsonl: pools and spokes of one lending protocol, with their reserves.
//!
//! The file is an address book. It knows contracts and nothing that moves: supply, rates, caps and gates stay unknown, and a
//! listed reserve may be frozen.

use super::adapter::{Adapter, Contract, Known, Observed};
use super::lending_emodes::LendingEmodes;
use super::signer_sets::SignerSets;
use super::timelocks::Timelocks;
use crate::facts::fact::Kind;
use crate::facts::{Gates, HubAsset, Market, MarketReserve};
use crate::ingest::Observation;
use crate::store::At;
use rds_shared::model::market::{MarketShape, MarketSource};
use rds_shared::wire::Timestamp;
use serde::Deserialize;

/// The file states the year of its release, 2026; the start of it is the earliest it can be of.
pub(super) const AS_OF: Timestamp = Timestamp::from_seconds(1_767_225_600);
/// Whose address book it is.
const PROTOCOL: &str = "aave";
/// What a market of a chain is called that has no name of its own.
const ONLY_ONE: &str = "main";
/// Instances beside a generation's main pool: how the address book ends their names, and the permissions book's section of them.
const INSTANCES: [(u32, &str, Option<&str>); 6] = [
    (2, "AMM", Some("V2_AMM")),
    (2, "Arc", Some("V2_ARC")),
    (3, "EtherFi", Some("ETHERFI")),
    (3, "Horizon", None),
    (3, "Lido", Some("LIDO")),
    (3, "Whitelabel", Some("V3_WHITE_LABEL")),
];

/// Reads the reserves.
pub struct LendingReserves;

/// A row.
#[derive(Deserialize)]
pub struct Row {
    market: String,
    version: u32,
    chain_id: i64,
    kind: RowKind,
    hub_name: Option<String>,
    spoke_name: Option<String>,
    symbol: String,
    underlying: String,
    pool_address: Option<String>,
    hub_address: Option<String>,
    spoke_address: Option<String>,
    a_token: Option<String>,
    interest_rate_strategy: Option<String>,
    erc4626_wrapper: Option<String>,
    source: String,
}

/// What a row is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RowKind {
    PoolReserve,
    HubAsset,
    SpokeReserve,
}

impl Row {
    /// The market's contract and shape; none for what is no market's.
    fn market(&self) -> Option<(Contract, MarketShape)> {
        let (address, shape) = match self.kind {
            RowKind::PoolReserve => (self.pool_address.as_ref()?, MarketShape::Pool),
            RowKind::SpokeReserve => (self.spoke_address.as_ref()?, MarketShape::Spoke),
            RowKind::HubAsset => return None,
        };
        Some(((self.chain_id, address.clone()), shape))
    }

    /// The section of the permissions book that this market's permissions stand in, if it has one.
    fn section(&self) -> Option<String> {
        let named = |(version, name, _): &&(u32, &str, _)| *version == self.version && self.market.ends_with(name);
        match INSTANCES.iter().find(named) {
            Some((_, _, section)) => section.map(str::to_owned),
            None => Some(format!("V{}", self.version)),
        }
    }

    /// An asset of a hub; none for a row that is of no hub.
    fn hub_asset(self) -> Option<HubAsset> {
        Some(HubAsset {
            kind: Kind,
            observed_at: At(AS_OF),
            source: self.source,
            hub: String::new(),
            asset_address: self.underlying,
            protocol_id: PROTOCOL.to_owned(),
            protocol_version: format!("v{}", self.version),
            chain_id: self.chain_id,
            hub_address: self.hub_address?,
            hub_name: self.hub_name?,
            asset_symbol: self.symbol,
            interest_rate_strategy: self.interest_rate_strategy,
            wrapper_address: self.erc4626_wrapper,
            is_active: true,
        })
    }

    /// What is left of the market's name without protocol, generation and chain.
    fn key_hint(&self, known: &Known) -> String {
        if let Some(spoke) = &self.spoke_name {
            return spoke.clone();
        }
        let name =
            self.market.strip_prefix("AaveV").unwrap_or(&self.market).trim_start_matches(|c: char| c.is_ascii_digit());
        let chain = known.chains.get(&self.chain_id).map_or("", String::as_str);
        let rest = match name.get(..chain.len()) {
            Some(start) if start.eq_ignore_ascii_case(chain) => name.get(chain.len()..).unwrap_or_default(),
            _ => name,
        };
        if rest.is_empty() { ONLY_ONE.to_owned() } else { rest.to_owned() }
    }
}

impl Adapter for LendingReserves {
    const FILE: &'static str = "lending_reserves.jsonl";
    const NEEDED_BY: &'static [&'static str] = &[LendingEmodes::FILE, SignerSets::FILE, Timelocks::FILE];
    /// Whether a spoke has one hub is known when all of its reserves are.
    const READ_TWICE: bool = true;
    type Row = Row;

    fn learn(&self, row: &Row, known: &mut Known) {
        if let (Some((contract, _)), Some(section)) = (row.market(), row.section()) {
            known.sections.entry((row.chain_id, section)).or_default().insert(contract);
        }
        match row.market() {
            Some(((chain_id, address), MarketShape::Pool)) => {
                known.pools.insert((chain_id, row.market.clone()), address);
            }
            Some((spoke, _)) => {
                known.hubs.entry(spoke).or_default().insert(row.hub_address.clone());
            }
            None => {}
        }
    }

    fn observe(&self, row: Row, known: &Known) -> Observed {
        let Some((contract, shape)) = row.market() else {
            return match row.hub_asset() {
                Some(asset) => Observed::As(vec![Observation::HubAsset(Box::new(asset))]),
                None => Observed::Skipped("no contract is named"),
            };
        };
        let only_hub = match known.hubs.get(&contract).map(|hubs| hubs.iter().collect::<Vec<_>>()).as_deref() {
            Some([Some(hub)]) => Some(hub.clone()),
            _ => None,
        };
        let name = match &row.spoke_name {
            Some(spoke) => format!("{} {spoke}", row.market),
            None => row.market.clone(),
        };
        let market = Market {
            kind: Kind,
            observed_at: At(AS_OF),
            source: row.source.clone(),
            contract: String::new(),
            protocol_id: PROTOCOL.to_owned(),
            protocol_version: format!("v{}", row.version),
            chain_id: row.chain_id,
            address: contract.1.clone(),
            name,
            key_hint: Some(row.key_hint(known)),
            shape,
            hub_address: only_hub,
            // The address book is the protocol's own publication.
            discovered_by: MarketSource::ProtocolApi,
            loan_asset_symbol: None,
            collateral_asset_symbol: None,
            lltv: None,
            is_protocol_listed: true,
        };
        // A spoke may hold one asset from several hubs.
        let reserve = match &row.hub_name {
            Some(hub) => format!("{}@{hub}", row.underlying),
            None => row.underlying.clone(),
        };
        let reserve = MarketReserve {
            kind: Kind,
            observed_at: At(AS_OF),
            source: row.source,
            contract: String::new(),
            reserve,
            chain_id: row.chain_id,
            market_address: contract.1,
            asset_symbol: row.symbol,
            asset_address: row.underlying,
            token_address: row.a_token,
            hub_address: row.hub_address,
            fee_rate: None,
            // A spoke's reserve has both gates, and neither was read.
            gates: (shape == MarketShape::Spoke).then(Gates::default),
            borrow_status: None,
            deposit_status: None,
            deposit_capacity_usd: None,
            is_active: true,
        };
        Observed::As(vec![Observation::Market(Box::new(market)), Observation::MarketReserve(Box::new(reserve))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(market: &str, chain_id: i64, spoke: Option<&str>, hub: Option<&str>) -> Row {
        let kind = if spoke.is_some() { "spoke_reserve" } else { "pool_reserve" };
        serde_json::from_value(json!({
            "market": market, "version": 3, "chain_id": chain_id, "kind": kind, "hub_name": hub, "spoke_name": spoke, "symbol": "USDC",
            "underlying": "0xa", "pool_address": "0xb", "hub_address": hub.map(|hub| format!("0x{hub}")), "spoke_address": spoke.map(|_| "0xc"),
            "a_token": null, "source": "s",
        }))
        .unwrap()
    }

    #[test]
    fn a_key_is_what_protocol_generation_and_chain_leave_of_the_name() {
        let known = Known { chains: [(1, "ethereum".to_owned()), (56, "bsc".to_owned())].into(), ..Known::default() };
        let hint = |market: &str, chain: i64, spoke: Option<&str>| row(market, chain, spoke, None).key_hint(&known);
        assert_eq!(hint("AaveV3Ethereum", 1, None), "main");
        assert_eq!(hint("AaveV3EthereumLido", 1, None), "Lido");
        assert_eq!(hint("AaveV3BNB", 56, None), "BNB");
        assert_eq!(hint("AaveV4Ethereum", 1, Some("ethena_ecosystem")), "ethena_ecosystem");
    }

    #[test]
    fn a_spoke_has_a_hub_when_all_of_its_reserves_name_the_same_one() {
        let hub_of = |rows: &[Option<&str>]| {
            let mut known = Known::default();
            rows.iter().for_each(|hub| LendingReserves.learn(&row("AaveV4Arc", 1, Some("main"), *hub), &mut known));
            match LendingReserves.observe(row("AaveV4Arc", 1, Some("main"), rows[0]), &known) {
                Observed::As(observations) => match &observations[0] {
                    Observation::Market(market) => market.hub_address.clone(),
                    _ => None,
                },
                Observed::Skipped(_) => None,
            }
        };
        assert_eq!(hub_of(&[Some("core"), Some("core")]).as_deref(), Some("0xcore"));
        assert_eq!(hub_of(&[Some("core"), Some("plus")]), None);
        assert_eq!(hub_of(&[Some("core"), None]), None, "one of them may be another hub's");
    }
}
