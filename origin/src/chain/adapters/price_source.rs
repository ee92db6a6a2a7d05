//! What a lending market takes its prices from.
//!
//! A contract's functions do not show that it does what they promise: anybody can write one that has the same functions and lies. A price
//! source therefore has a class only if the operator's file names it, or if a factory that the file names made it; then it is as weak as
//! the weakest of its parts. Everything else is unknown.

use super::super::asked::Asked;
use super::Site;
use rds_chain::Address;
use rds_chain::adapt::morpho_oracle;
use rds_chain::adapt::question::Question;
use rds_rpc::reads::Reads;
use rds_shared::scoring::tables;
use rds_shared::scoring::vault::Oracle;
use std::collections::{BTreeMap, BTreeSet};

/// A price source, or what a price is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PriceSource {
    pub class: Oracle,
    /// The contract itself, and the feeds behind it.
    pub contracts: Vec<Address>,
}

/// Price sources by contract, with the questions that showed them.
#[derive(Debug, Default)]
pub(super) struct PriceSources(BTreeMap<Address, (PriceSource, Vec<Question>)>);

impl PriceSources {
    /// Finds out about these contracts.
    pub async fn read(site: Site<'_>, contracts: BTreeSet<Address>, asked: &mut Asked) -> Self {
        let factories = &site.reads.oracle_factories;
        let unknown: Vec<Address> = contracts.iter().copied().filter(|it| stated(site.reads, *it).is_none()).collect();
        let origins = unknown
            .iter()
            .flat_map(|contract| factories.iter().map(|factory| morpho_oracle::origin_step(*factory, *contract)));
        asked.ask(site.reader, site.block, origins.collect()).await;
        let made: BTreeMap<Address, Address> = unknown
            .iter()
            .filter_map(|contract| {
                let is_maker =
                    |factory: &&Address| morpho_oracle::is_made_by(asked.answers(), **factory, *contract) == Ok(true);
                factories.iter().find(is_maker).map(|factory| (*contract, *factory))
            })
            .collect();
        let parts = made.keys().flat_map(|it| morpho_oracle::parts_step(*it)).collect();
        asked.ask(site.reader, site.block, parts).await;
        let of = |contract: Address| {
            let known = stated(site.reads, contract).unwrap_or(Oracle::Unknown);
            let plain = PriceSource { class: known, contracts: vec![contract] };
            let Some(factory) = made.get(&contract) else { return (plain, Vec::new()) };
            let Ok(parts) = morpho_oracle::parts(asked.answers(), contract) else { return (plain, Vec::new()) };
            let questions =
                [morpho_oracle::origin_step(*factory, contract)].into_iter().chain(morpho_oracle::parts_step(contract));
            let contracts = [contract].into_iter().chain(parts.feeds.iter().copied()).collect();
            (PriceSource { class: class(site.reads, &parts), contracts }, questions.collect())
        };
        PriceSources(contracts.into_iter().map(|contract| (contract, of(contract))).collect())
    }

    /// What is known of a contract; unknown if it is none of those that were asked about.
    pub fn of(&self, contract: Address) -> PriceSource {
        let known = self.0.get(&contract).map(|(source, _)| source.clone());
        known.unwrap_or(PriceSource { class: Oracle::Unknown, contracts: vec![contract] })
    }

    /// The questions whose answers show what the contract is.
    pub fn questions(&self, contract: Address) -> impl Iterator<Item = &Question> {
        self.0.get(&contract).into_iter().flat_map(|(_, questions)| questions)
    }
}

/// What the operator's file says of a contract. A feed for a price in USD is one that the operator looked at.
fn stated(reads: &Reads, contract: Address) -> Option<Oracle> {
    let is_feed = || reads.prices.values().any(|price| price.feed == contract);
    reads.oracles.get(&contract).copied().or_else(|| is_feed().then_some(Oracle::PushFeed))
}

/// The class of a price that is made of these parts: that of the weakest.
fn class(reads: &Reads, parts: &morpho_oracle::Parts) -> Oracle {
    let feeds = parts.feeds.iter().map(|feed| stated(reads, *feed).unwrap_or(Oracle::Unknown));
    let vaults = parts.vaults.iter().map(|_| Oracle::ExchangeRate);
    // A price without parts is the constant 1.
    feeds.chain(vaults).min_by_key(|class| tables::oracle_cap(*class)).unwrap_or(Oracle::Fixed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_chain::adapt::morpho_oracle::Parts;

    const CHAINLINK: Address = Address([1; 20]);
    const TWAP: Address = Address([2; 20]);
    const OTHER: Address = Address([3; 20]);

    fn reads() -> Reads {
        Reads {
            every_seconds: 1,
            protocols: BTreeMap::new(),
            prices: BTreeMap::new(),
            oracles: [(CHAINLINK, Oracle::PushFeed), (TWAP, Oracle::Twap)].into(),
            oracle_factories: BTreeSet::new(),
            discovery: None,
        }
    }

    #[test]
    fn a_price_is_as_weak_as_its_weakest_part() {
        let of = |feeds: &[Address], vaults: &[Address]| {
            class(&reads(), &Parts { feeds: feeds.to_vec(), vaults: vaults.to_vec() })
        };
        assert_eq!(of(&[CHAINLINK], &[]), Oracle::PushFeed);
        assert_eq!(of(&[CHAINLINK], &[OTHER]), Oracle::ExchangeRate);
        assert_eq!(of(&[CHAINLINK, TWAP], &[OTHER]), Oracle::Twap);
        assert_eq!(of(&[CHAINLINK, OTHER], &[]), Oracle::Unknown);
        assert_eq!(of(&[], &[]), Oracle::Fixed);
    }
}
