//! Simulated lending markets: pools, a spoke with its hub, and pairs, in every state.

use super::actor::Actor;
use super::moment::Moment;
use super::platforms::CHAIN_ID;
use super::random::Random;
use super::source::SOURCE;
use super::tokens::Token;
use super::vault::SimVault;
use rds_engine::ingest::Observation;
use rds_facts::fact::Kind;
use rds_facts::{Gates, HubGate, Market, MarketEmode, MarketReserve, MarketState, SpokeGate, contract};
use rds_shared::model::market::{MarketShape, MarketSource};
use rds_shared::model::status::BorrowStatus;

/// A market and its parts.
struct Lending {
    key: &'static str,
    name: &'static str,
    platform: &'static str,
    version: &'static str,
    makeup: Makeup,
    found: MarketSource,
}

enum Makeup {
    /// The reserves of these vaults.
    Pool(&'static [&'static str]),
    /// The reserves of these vaults, which draw from a hub, and reserves without a vault, each as asset and gates.
    Spoke(&'static [&'static str], &'static [(&'static str, Gates)]),
    /// One loan asset against one collateral.
    Pair(Pair),
}

#[derive(Clone, Copy)]
struct Pair {
    loan: &'static str,
    collateral: &'static str,
    lltv: f64,
    /// The vault whose TVL and loans the market reports as its totals.
    vault: &'static str,
    /// Whether the protocol reports the borrowed amount.
    reports_borrowed: bool,
    listed: bool,
}

const OPEN: SpokeGate = SpokeGate { paused: false, frozen: false, borrowable: true };
/// A hub's limits for a spoke that it admits without caps; the spoke owes 400 units of the asset and has added 1,000.
const GRANTED: HubGate =
    HubGate { active: true, halted: false, draw_cap: None, owed: 400.0, add_cap: None, added: 1_000.0 };

/// Reserves without a vault: one at both caps, one whose hub gate was not read, and one that is inactive at the hub.
const NO_VAULTS: [(&str, Gates); 3] = [
    (
        "dgld",
        Gates {
            spoke: Some(OPEN),
            hub: Some(HubGate { draw_cap: Some(400.0), add_cap: Some(1_000.0), ..GRANTED }),
            price_usd: Some(2_410.0),
        },
    ),
    ("wisp", Gates { spoke: Some(OPEN), hub: None, price_usd: Some(1.0) }),
    ("flrn", Gates { spoke: Some(OPEN), hub: Some(HubGate { active: false, ..GRANTED }), price_usd: Some(1.0) }),
];

const MARKETS: [Lending; 9] = [
    Lending {
        key: "Core",
        name: "Quillfish Core",
        platform: "quillfish",
        version: "v3",
        makeup: Makeup::Pool(&[
            "Quillfish Penny Pool",
            "Quillfish Ether Pool",
            "Quillfish Florin Pool",
            "Quillfish Mirage Pool (retired)",
            "Quillfish Savings Penny Pool",
        ]),
        found: MarketSource::ProtocolApi,
    },
    Lending {
        key: "Prime",
        name: "Quillfish Prime Spoke",
        platform: "quillfish",
        version: "v4",
        makeup: Makeup::Spoke(
            &["Quillfish Staked Ether Pool", "Quillfish Quill Pool", "Quillfish Bitcoin Pool"],
            &NO_VAULTS,
        ),
        found: MarketSource::OnchainRpc,
    },
    // All of its reserves are shut down.
    Lending {
        key: "Mirage",
        name: "Quillfish Mirage",
        platform: "quillfish",
        version: "v2",
        makeup: Makeup::Pool(&["Quillfish Mirage Pool (retired)"]),
        found: MarketSource::OnchainRpc,
    },
    // Its borrow side has not been read.
    Lending {
        key: "Savings",
        name: "Quillfish Savings",
        platform: "quillfish",
        version: "v2",
        makeup: Makeup::Pool(&["Slowriver Savings Penny"]),
        found: MarketSource::OnchainRpc,
    },
    Lending {
        key: "Moths",
        name: "Mothlamp Markets",
        platform: "mothlamp",
        version: "v0.9",
        makeup: Makeup::Pool(&["Mothlamp Penny / Ether", "Mothlamp Florin / Bitcoin"]),
        found: MarketSource::OnchainRpc,
    },
    pair(
        "dETH sdETH",
        "Ether / Staked Ether",
        Pair { lltv: 0.945, ..reported("deth", "sdeth", "Brambleway Ether / Staked Ether") },
    ),
    pair("PNY dBTC", "Penny / Bitcoin", reported("pny", "dbtc", "Brambleway Penny / Bitcoin")),
    // Its borrow side is not reported.
    pair(
        "PNY dGLD",
        "Penny / Gold",
        Pair { reports_borrowed: false, ..reported("pny", "dgld", "Brambleway Penny / Gold") },
    ),
    // The protocol does not list it, so it is not served.
    pair("SHRD dETH", "Shard / Ether", Pair { listed: false, ..reported("shrd", "deth", "Brambleway Shard / Ether") }),
];

/// A listed pair with both sides reported.
const fn reported(loan: &'static str, collateral: &'static str, vault: &'static str) -> Pair {
    Pair { loan, collateral, lltv: 0.86, vault, reports_borrowed: true, listed: true }
}

const fn pair(key: &'static str, name: &'static str, pair: Pair) -> Lending {
    Lending {
        key,
        name,
        platform: "brambleway",
        version: "v1",
        makeup: Makeup::Pair(pair),
        found: MarketSource::ProtocolApi,
    }
}

/// The contract of the market with this index.
pub(super) fn address(number: u64) -> String {
    Random::of(0, "market", number).address()
}

/// The contracts of all markets, in the form that mappings use.
pub fn contracts() -> impl Iterator<Item = String> {
    (0..).zip(&MARKETS).map(|(number, _)| contract(CHAIN_ID, &address(number)))
}

/// A hub that a spoke draws from.
pub struct Hub {
    pub platform: &'static str,
    pub version: &'static str,
    pub address: String,
}

/// The hub of every spoke.
pub fn hubs() -> Vec<Hub> {
    let spokes = (0..).zip(&MARKETS).filter(|(_, market)| matches!(market.makeup, Makeup::Spoke(..)));
    let hub = |(number, market): (u64, &Lending)| Hub {
        platform: market.platform,
        version: market.version,
        address: Random::of(0, "hub", number).address(),
    };
    spokes.map(hub).collect()
}

/// The markets' observations at `moment`. Markets, reserves of pools and reserves without a vault are observed in the first hour; gates of
/// spokes and totals of pairs every hour.
pub fn news(moment: Moment, actors: &[Actor], seed: u64) -> Vec<Observation> {
    let vault = |name: &str| actors.iter().find(|actor| actor.name() == name).map(|actor| actor.at(moment));
    let mut news = Vec::new();
    for (number, market) in (0..).zip(&MARKETS) {
        let place = Place { address: address(number), number, moment };
        let first = moment.before().is_none();
        if first {
            news.push(Observation::Market(Box::new(place.identity(market))));
        }
        match &market.makeup {
            Makeup::Pool(names) if first => {
                let vaults = names.iter().filter_map(|name| vault(name));
                news.extend(vaults.map(|vault| place.reserve(vault.token, Some(vault.address.clone()), None)));
                if number == 0 {
                    news.push(place.emode());
                }
            }
            Makeup::Pool(_) => {}
            Makeup::Spoke(names, others) => {
                for vault in names.iter().filter_map(|name| vault(name)) {
                    let gates = gates(&vault, moment, seed);
                    news.push(place.reserve(vault.token, Some(vault.address.clone()), Some(gates)));
                }
                let others = others.iter().filter(|_| first);
                news.extend(others.map(|(token, gates)| place.reserve(Token::named(token), None, Some(*gates))));
            }
            Makeup::Pair(pair) => {
                let Some(vault) = vault(pair.vault) else { continue };
                let reading = vault.reading(moment.at(), i64::from(moment.hour), seed);
                news.push(Observation::MarketState(MarketState {
                    kind: Kind,
                    observed_at: moment.at(),
                    source: SOURCE.to_owned(),
                    contract: String::new(),
                    chain_id: CHAIN_ID,
                    address: place.address.clone(),
                    total_supplied_usd: reading.tvl_usd,
                    total_borrowed_usd: reading.active_loans_usd.filter(|_| pair.reports_borrowed),
                    bad_debt_usd: None,
                }));
            }
        }
    }
    news
}

/// The gates from which the vault's simulated borrow status and capacity follow.
fn gates(vault: &SimVault, moment: Moment, seed: u64) -> Gates {
    let (market, usd) = (&vault.market, vault.token.usd);
    let reading = vault.reading(moment.at(), i64::from(moment.hour), seed);
    let added = reading.tvl_native.unwrap_or(0.0);
    let owed = added * reading.utilization.unwrap_or(0.0);
    let capped = market.borrow == BorrowStatus::Capped;
    let spoke = SpokeGate {
        paused: market.borrow == BorrowStatus::Paused,
        frozen: false,
        borrowable: market.borrow != BorrowStatus::Disabled,
    };
    let hub = HubGate {
        active: true,
        halted: false,
        draw_cap: Some(if capped { owed } else { owed * 1.4 + 1.0 }),
        owed,
        add_cap: market.capacity_usd.map(|room| added + room / usd),
        added,
    };
    Gates { spoke: Some(spoke), hub: Some(hub), price_usd: Some(usd) }
}

/// One market's contract at one moment.
struct Place {
    address: String,
    number: u64,
    moment: Moment,
}

impl Place {
    fn hub(&self) -> String {
        Random::of(0, "hub", self.number).address()
    }

    fn identity(&self, market: &Lending) -> Market {
        let (shape, pair) = match market.makeup {
            Makeup::Pool(_) => (MarketShape::Pool, None),
            Makeup::Spoke(..) => (MarketShape::Spoke, None),
            Makeup::Pair(pair) => (MarketShape::Pair, Some(pair)),
        };
        let symbol = |id: &str| Token::named(id).symbol.to_owned();
        Market {
            kind: Kind,
            observed_at: self.moment.at(),
            source: SOURCE.to_owned(),
            contract: String::new(),
            protocol_id: market.platform.to_owned(),
            protocol_version: market.version.to_owned(),
            chain_id: CHAIN_ID,
            address: self.address.clone(),
            name: market.name.to_owned(),
            key_hint: Some(market.key.to_owned()),
            shape,
            hub_address: (shape == MarketShape::Spoke).then(|| self.hub()),
            discovered_by: market.found,
            loan_asset_symbol: pair.map(|pair| symbol(pair.loan)),
            collateral_asset_symbol: pair.map(|pair| symbol(pair.collateral)),
            lltv: pair.map(|pair| pair.lltv),
            is_protocol_listed: pair.is_none_or(|pair| pair.listed),
            evidence: None,
        }
    }

    fn reserve(&self, token: &Token, token_address: Option<String>, gates: Option<Gates>) -> Observation {
        Observation::MarketReserve(Box::new(MarketReserve {
            kind: Kind,
            observed_at: self.moment.at(),
            source: SOURCE.to_owned(),
            contract: String::new(),
            reserve: token.id.to_owned(),
            chain_id: CHAIN_ID,
            market_address: self.address.clone(),
            asset_symbol: token.symbol.to_owned(),
            asset_address: token.address(),
            token_address,
            hub_address: gates.map(|_| self.hub()),
            fee_rate: Some(0.1),
            gates,
            borrow_status: None,
            deposit_status: None,
            deposit_capacity_usd: None,
            is_active: true,
            evidence: None,
        }))
    }

    fn emode(&self) -> Observation {
        let address = |id: &str| Token::named(id).address();
        Observation::MarketEmode(Box::new(MarketEmode {
            kind: Kind,
            observed_at: self.moment.at(),
            source: SOURCE.to_owned(),
            contract: String::new(),
            emode_id: 1,
            chain_id: CHAIN_ID,
            market_address: self.address.clone(),
            label: "Dollars against dollars".to_owned(),
            ltv: 0.9,
            liquidation_threshold: 0.93,
            liquidation_bonus: 0.01,
            collateral_assets: vec![address("pny"), address("flrn"), address("mrg")],
            borrowable_assets: vec![address("pny"), address("flrn")],
            ltv_zero_assets: vec![address("mrg")],
            is_active: true,
            evidence: None,
        }))
    }
}
