//! lending_reserves.jsonl: pools and spokes of one lending protocol, with their reserves.
//!
//! The file is an address book of contracts. Supply, rates, caps and gates stay unknown, and a listed reserve may be frozen.

use super::adapter::{Adapter, Contract, Known, Observed};
use super::lending_emodes::LendingEmodes;
use super::signer_sets::SignerSets;
use super::timelocks::Timelocks;
use rds_engine::ingest::Observation;
use rds_facts::fact::Kind;
use rds_facts::{Gates, HubAsset, Market, MarketReserve};
use rds_shared::model::market::{MarketShape, MarketSource};
use rds_shared::wire::Timestamp;
use rds_store::At;
use serde::Deserialize;

/// The file states only the year of its release, 2026; this is the earliest possible date.
pub(super) const AS_OF: Timestamp = Timestamp::from_seconds(1_767_225_600);
/// The protocol that publishes the address book.
const PROTOCOL: &str = "aave";
/// Key hint of a market whose name consists only of protocol, version and chain.
const ONLY_ONE: &str = "main";
/// Instances besides a version's main pool: version, name suffix in the address book, and section of the permissions book.
const INSTANCES: [(u32, &str, Option<&str>); 6] = [
    (2, "AMM", Some("V2_AMM")),
    (2, "Arc", Some("V2_ARC")),
    (3, "EtherFi", Some("ETHERFI")),
    (3, "Horizon", None),
    (3, "Lido", Some("LIDO")),
    (3, "Whitelabel", Some("V3_WHITE_LABEL")),
];

pub struct LendingReserves;

/// A reserve of a pool or spoke, or an asset of a hub.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RowKind {
    PoolReserve,
    HubAsset,
    SpokeReserve,
}

impl Row {
    /// The market's contract and shape; `None` if the row does not belong to a market.
    fn market(&self) -> Option<(Contract, MarketShape)> {
        let (address, shape) = match self.kind {
            RowKind::PoolReserve => (self.pool_address.as_ref()?, MarketShape::Pool),
            RowKind::SpokeReserve => (self.spoke_address.as_ref()?, MarketShape::Spoke),
            RowKind::HubAsset => return None,
        };
        Some(((self.chain_id, address.clone()), shape))
    }

    /// The section of the permissions book with this market's permissions, if there is one.
    fn section(&self) -> Option<String> {
        let named = |(version, name, _): &&(u32, &str, _)| *version == self.version && self.market.ends_with(name);
        match INSTANCES.iter().find(named) {
            Some((_, _, section)) => section.map(str::to_owned),
            None => Some(format!("V{}", self.version)),
        }
    }

    /// The row as an asset of a hub; `None` without the hub's address or name.
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

    /// The market's name without protocol, version and chain.
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
    /// Whether a spoke has a single hub is known only after all of its reserves were read.
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
                None => Observed::Skipped("the row names no contract"),
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
            evidence: None,
        };
        // A spoke may have reserves of one asset from several hubs, so the hub is part of the reserve's name.
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
            // A spoke's reserve has gates on the spoke and on the hub; both are null, because the file states neither.
            gates: (shape == MarketShape::Spoke).then(Gates::default),
            borrow_status: None,
            deposit_status: None,
            deposit_capacity_usd: None,
            is_active: true,
            evidence: None,
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
    fn a_key_is_the_name_without_protocol_version_and_chain() {
        let known = Known { chains: [(1, "ethereum".to_owned()), (56, "bsc".to_owned())].into(), ..Known::default() };
        let hint = |market: &str, chain: i64, spoke: Option<&str>| row(market, chain, spoke, None).key_hint(&known);
        assert_eq!(hint("AaveV3Ethereum", 1, None), "main");
        assert_eq!(hint("AaveV3EthereumLido", 1, None), "Lido");
        assert_eq!(hint("AaveV3BNB", 56, None), "BNB");
        assert_eq!(hint("AaveV4Ethereum", 1, Some("ethena_ecosystem")), "ethena_ecosystem");
    }

    #[test]
    fn a_spoke_has_a_hub_only_if_all_of_its_reserves_name_the_same_one() {
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
