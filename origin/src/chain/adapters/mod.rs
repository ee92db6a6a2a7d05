//! What the contracts of a protocol show of its vaults, besides what every vault of ERC-4626 shows.
//!
//! | file | vaults |
//! |---|---|
//! | `metamorpho.rs` | of MetaMorpho |
//! | `morpho_vault_v2.rs` | of Morpho Vault V2 |
//! | `euler_v2.rs` | of Euler v2 |
//! | `yearn_v3.rs` | of Yearn v3 |
//! | `aave_v3.rs`, `pool_market.rs` | supply tokens of Aave v3, and their pools |
//! | `compound_v3.rs` | markets of Compound v3 |
//! | `erc7540.rs` | asynchronous vaults |
//! | `price_source.rs` | what a lending market takes its prices from |
//! | `members.rs` | exposures from contracts, by the registry's ids |
//!
//! Every vault of a protocol is asked in the same steps, all vaults of a step together.

mod aave_v3;
mod compound_v3;
mod erc7540;
mod euler_v2;
mod members;
mod metamorpho;
mod morpho_vault_v2;
mod pool_market;
mod price_source;
mod yearn_v3;

pub(super) use members::{Holdings, Registry};
#[cfg(test)]
pub(super) use pool_market::{ModeTerms, ReserveTerms};
pub(super) use pool_market::{PoolMarket, PoolMode, PoolReserve, read as pools};

use super::asked::Asked;
use super::observed::{AgreedCall, ReadBlock};
use super::state::{Price, Vault};
use rds_chain::adapt::question::Question;
use rds_chain::{Address, Block};
use rds_facts::{ChainReading, ReadField};
use rds_rpc::agree::Reader;
use rds_rpc::reads::{Adapter, Reads};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Where and how is read.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub reader: &'a Reader,
    pub block: &'a Block,
    pub at: &'a ReadBlock,
    pub reads: &'a Reads,
    pub registry: &'a Registry,
    /// Prices of assets in USD, of those that have one.
    pub prices: &'a BTreeMap<Address, Price>,
}

/// What an adapter read of one vault.
#[derive(Debug, Default)]
pub(super) struct Adapted {
    pub readings: Vec<ChainReading>,
    /// What the vault holds or lends against; `None` if the adapter could not tell this time, so that what is known stays.
    pub holdings: Option<Holdings>,
    /// Whether the operators contradict each other about something that was asked.
    pub is_disputed: bool,
    /// An answer of one of the contracts that were asked.
    pub seen: Option<AgreedCall>,
    /// Seconds that the vault makes its owners wait; 0 if it has no such delay, `None` if it was not read.
    pub own_delay: Option<u64>,
}

/// What the adapter reads of these vaults, in their order.
pub(super) async fn read(site: Site<'_>, adapter: Adapter, vaults: &[Vault<'_>], asked: &mut Asked) -> Vec<Adapted> {
    match adapter {
        Adapter::Erc4626 => vaults.iter().map(|_| Adapted::default()).collect(),
        Adapter::Erc7540 => erc7540::read(site, vaults, asked).await,
        Adapter::Metamorpho => metamorpho::read(site, vaults, asked).await,
        Adapter::MorphoVaultV2 => morpho_vault_v2::read(site, vaults, asked).await,
        Adapter::EulerV2 => euler_v2::read(site, vaults, asked).await,
        Adapter::YearnV3 => yearn_v3::read(site, vaults, asked).await,
        Adapter::AaveV3 => aave_v3::read(site, vaults, asked).await,
        Adapter::CompoundV3 => compound_v3::read(site, vaults, asked).await,
    }
}

/// The assets whose price the adapter needs, of vaults that have no function `asset()`.
pub(super) async fn assets(
    reader: &Reader,
    block: &Block,
    adapter: Adapter,
    vaults: &[Vault<'_>],
    asked: &mut Asked,
) -> Vec<Address> {
    match adapter {
        Adapter::AaveV3 => aave_v3::assets(reader, block, vaults, asked).await,
        Adapter::CompoundV3 => compound_v3::assets(reader, block, vaults, asked).await,
        _ => Vec::new(),
    }
}

/// The questions of a step about each vault.
fn each(vaults: &[Vault<'_>], step: impl Fn(Address) -> Vec<Question>) -> Vec<Question> {
    vaults.iter().flat_map(|(_, contract)| step(*contract)).collect()
}

/// Readings of one vault.
struct Readings<'a> {
    site: Site<'a>,
    vault_id: &'a str,
    found: Vec<ChainReading>,
}

impl<'a> Readings<'a> {
    fn new(site: Site<'a>, vault_id: &'a str) -> Self {
        Readings { site, vault_id, found: Vec::new() }
    }

    /// Adds a value that follows from the answers to these questions.
    fn add<'q>(
        &mut self,
        asked: &Asked,
        field: ReadField,
        value: Value,
        from: impl IntoIterator<Item = &'q Question>,
        price: Option<&Price>,
    ) {
        let calls = asked.evidence(from);
        let calls: Vec<&AgreedCall> = calls.iter().chain(price.into_iter().flat_map(|price| &price.from)).collect();
        self.found.extend(self.site.at.reading(self.vault_id, field, value, &calls));
    }

    /// Adds a fraction, if it is known.
    fn fraction<'q>(
        &mut self,
        asked: &Asked,
        field: ReadField,
        ppm: Option<u32>,
        from: impl IntoIterator<Item = &'q Question>,
    ) {
        if let Some(ppm) = ppm {
            self.add(asked, field, json!(fraction(ppm.into())), from, None);
        }
    }
}

/// Parts per million as a fraction.
fn fraction(ppm: f64) -> f64 {
    ppm.round() / 1e6
}
