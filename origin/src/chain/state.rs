//! Amounts, prices and limits of vaults of ERC-4626.

use super::gate::DepositLimit;
use super::observed::{self, AgreedCall, AgreedField, ReadBlock};
use rds_chain::abi::{Call, Function, Word};
use rds_chain::adapt::erc4626::{self, Limit};
use rds_chain::adapt::governance::{Answer, Question};
use rds_chain::adapt::{self, Unknown, feed};
use rds_chain::body::READER;
use rds_chain::plan::{Limits, Reading};
use rds_chain::reader::Field;
use rds_chain::{Address, Block};
use rds_facts::{ChainReading, ReadField};
use rds_rpc::agree::Reader;
use rds_rpc::reads::Reads;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A vault to read: its id, and its contract.
pub(super) type Vault<'a> = (&'a str, Address);

/// What was read of one vault.
#[derive(Debug, Default)]
pub(super) struct VaultState {
    pub readings: Vec<ChainReading>,
    /// Whether the operators contradict each other about a field, so that it keeps its older value.
    pub is_disputed: bool,
    /// An answer to a call of the vault, as evidence that it was asked.
    pub seen: Option<AgreedCall>,
    /// The asset, the amount of it that the vault manages, and the call that says so.
    pub managed: Option<(Address, Word, AgreedCall)>,
    /// What a trial of a deposit needs, if the vault says that it takes deposits.
    pub deposit_limit: Option<DepositLimit>,
}

/// What was read of the vaults, in their order.
#[derive(Debug, Default)]
pub(super) struct States {
    pub vaults: Vec<VaultState>,
    /// Prices in USD, of the assets that have one.
    pub prices: BTreeMap<Address, Price>,
    /// How often each operator answered otherwise than the others.
    pub dissent: BTreeMap<String, u64>,
}

/// A price in USD with the calls that it comes from.
#[derive(Debug, Clone)]
pub(super) struct Price {
    usd: f64,
    pub from: Vec<AgreedCall>,
}

impl Price {
    /// What an amount in whole units is worth, in USD.
    pub fn of(&self, amount: f64) -> f64 {
        cents(amount * self.usd)
    }
}

/// Reads the state of `vaults` at `block`, and the prices of their assets and of `more_assets`.
pub(super) async fn read(
    reader: &mut Reader,
    block: &Block,
    at: &ReadBlock,
    reads: &Reads,
    vaults: &[Vault<'_>],
    more_assets: Vec<Address>,
) -> States {
    let mut states = States::default();
    let contracts: Vec<Address> = vaults.iter().map(|(_, contract)| *contract).collect();
    let first_step = erc4626::first_step(READER, READER);
    let first = fields(reader, block, &contracts, &first_step, &mut states).await;
    let parsed: Vec<erc4626::Vault> = first
        .iter()
        .map(|seen| erc4626::Vault::from_readings(&seen.iter().map(|it| it.reading.clone()).collect::<Vec<_>>()))
        .collect();

    let assets: BTreeSet<Address> = parsed.iter().filter_map(|vault| vault.asset.ok()).collect();
    let assets: Vec<Address> = assets.into_iter().collect();
    let of_asset = [Field::new(Function::Decimals), Field::new(Function::TotalSupply)];
    let tokens = fields(reader, block, &assets, &of_asset, &mut states).await;
    let tokens: BTreeMap<Address, Vec<AgreedField>> = assets.iter().copied().zip(tokens).collect();
    let priced: BTreeSet<Address> = assets.into_iter().chain(more_assets).collect();
    let priced: Vec<Address> = priced.into_iter().collect();
    let prices = prices(reader, block, reads, &priced, &mut states).await;
    let share_values = share_values(reader, block, &contracts, &parsed, &mut states).await;

    for (position, ((id, _), (vault, first))) in vaults.iter().zip(parsed.iter().zip(&first)).enumerate() {
        let asset = vault.asset.ok();
        let answers = VaultAnswers {
            at,
            id,
            vault,
            first,
            share_value: share_values.get(&position),
            token: asset.and_then(|asset| tokens.get(&asset)).map(Vec::as_slice).unwrap_or_default(),
            price: asset.and_then(|asset| prices.get(&asset)),
        };
        states.vaults.push(answers.state());
    }
    states.prices = prices;
    states
}

/// The fields of each contract. Counts who answered otherwise.
pub(super) async fn fields(
    reader: &mut Reader,
    block: &Block,
    contracts: &[Address],
    fields: &[Field],
    states: &mut States,
) -> Vec<Vec<AgreedField>> {
    if contracts.is_empty() {
        return Vec::new();
    }
    let mut verdicts = reader.fields(block, contracts, fields, Limits::default()).await.into_iter();
    let mut of_contracts = Vec::with_capacity(contracts.len());
    for contract in contracts {
        let of_contract: Vec<AgreedField> = fields
            .iter()
            .zip(verdicts.by_ref())
            .map(|(field, verdict)| observed::field(*contract, field, verdict))
            .collect();
        for operator in of_contract.iter().flat_map(|seen| &seen.dissenters) {
            *states.dissent.entry(operator.clone()).or_default() += 1;
        }
        of_contracts.push(of_contract);
    }
    of_contracts
}

/// The word that a contract returned.
pub(super) fn word(seen: &AgreedField) -> Option<Word> {
    match seen.reading.as_ref()? {
        Reading::Read(outcome) => outcome.returned(),
        Reading::Unread(_) => None,
    }
}

/// The values of one share, by position of the vault. Vaults whose shares have the same decimals are asked together.
async fn share_values(
    reader: &mut Reader,
    block: &Block,
    contracts: &[Address],
    vaults: &[erc4626::Vault],
    states: &mut States,
) -> BTreeMap<usize, AgreedField> {
    let mut by_decimals: BTreeMap<u8, Vec<(usize, Address)>> = BTreeMap::new();
    for (position, (vault, contract)) in vaults.iter().zip(contracts).enumerate() {
        if let Ok(decimals) = vault.decimals {
            by_decimals.entry(decimals).or_default().push((position, *contract));
        }
    }
    let mut values = BTreeMap::new();
    for (decimals, vaults) in by_decimals {
        let Some(field) = erc4626::share_value(decimals) else { continue };
        let contracts: Vec<Address> = vaults.iter().map(|(_, contract)| *contract).collect();
        let seen = fields(reader, block, &contracts, &[field], states).await;
        let positions = vaults.iter().map(|(position, _)| *position);
        values.extend(positions.zip(seen.into_iter().filter_map(|seen| seen.into_iter().next())));
    }
    values
}

/// The prices of the assets that have a feed whose answer can be used.
async fn prices(
    reader: &mut Reader,
    block: &Block,
    reads: &Reads,
    assets: &[Address],
    states: &mut States,
) -> BTreeMap<Address, Price> {
    let priced = assets.iter().filter_map(|asset| Some((*asset, *reads.prices.get(asset)?)));
    let priced: Vec<(Address, rds_rpc::reads::PriceFeed)> = priced.collect();
    let feeds: Vec<Address> = priced.iter().map(|(_, it)| it.feed).collect();
    let seen_fields =
        fields(reader, block, &feeds, &[Field::new(Function::Decimals), Field::new(Function::Aggregator)], states)
            .await;
    let aggregators = seen_fields.iter().map(|seen| feed::aggregator(seen.get(1).and_then(|it| it.reading.as_ref())));
    let aggregators: Vec<adapt::Value<Address>> = aggregators.collect();
    let data = Call::new(Function::LatestRoundData.selector()).encode();
    let questions: Vec<Question> =
        feeds.iter().map(|feed| Question::Call { contract: *feed, data: data.clone() }).collect();
    let rounds = reader.answers(block, &questions).await;
    let mut prices = BTreeMap::new();
    for (place, ((asset, source), (question, answer))) in priced.iter().zip(questions.iter().zip(&rounds)).enumerate() {
        for operator in &answer.dissenters {
            *states.dissent.entry(operator.clone()).or_default() += 1;
        }
        let (Answer::Call(round), Some(fields)) = (&answer.answer, seen_fields.get(place)) else { continue };
        let bounds = match aggregators.get(place).copied().unwrap_or(Err(Unknown::Unread)) {
            Ok(aggregator) => {
                let bounds = [Field::new(Function::MinAnswer), Field::new(Function::MaxAnswer)];
                let read = self::fields(reader, block, &[aggregator], &bounds, states).await;
                let of = |place: usize| read.first().and_then(|it| it.get(place)).and_then(|it| it.reading.clone());
                feed::bounds(of(0).as_ref(), of(1).as_ref())
            }
            // A feed without this function has no bounds. One that was not read may have some, so its price is not used.
            Err(Unknown::NoAnswer) => Ok(feed::Bounds { min: None, max: None }),
            Err(unknown) => Err(unknown),
        };
        let decimals = fields.first();
        let judged = feed::judge(
            feed::round(Some(round)),
            decimals.and_then(|it| it.reading.as_ref()),
            bounds,
            source.heartbeat_seconds,
            block.time,
        );
        let from = [observed::question(question, answer), decimals.and_then(|it| it.seen.clone())];
        if let Ok(price) = judged
            && let Some(usd) = units(price.answer, price.decimals)
            && from.iter().all(Option::is_some)
        {
            prices.insert(*asset, Price { usd, from: from.into_iter().flatten().collect() });
        }
    }
    prices
}

/// Everything that was read for one vault.
struct VaultAnswers<'a> {
    at: &'a ReadBlock,
    id: &'a str,
    vault: &'a erc4626::Vault,
    first: &'a [AgreedField],
    share_value: Option<&'a AgreedField>,
    /// Decimals and supply of the asset.
    token: &'a [AgreedField],
    price: Option<&'a Price>,
}

impl VaultAnswers<'_> {
    fn state(&self) -> VaultState {
        let seen = self.first.iter().chain(self.share_value).chain(self.token);
        let is_disputed = seen.clone().any(|it| it.is_disputed);
        let mut readings = self.amounts();
        readings.extend(self.deposits());
        let seen = self.first.iter().find_map(|it| it.seen.clone());
        let managed =
            || Some((self.vault.asset.ok()?, self.vault.total_assets.ok()?, self.of(Function::TotalAssets)?.clone()));
        VaultState { readings, is_disputed, seen, managed: managed(), deposit_limit: self.deposit_limit() }
    }

    fn deposit_limit(&self) -> Option<DepositLimit> {
        let max_deposit = match self.vault.max_deposit.ok()? {
            Limit::Unlimited => Word::MAX,
            Limit::Amount(Word::ZERO) => return None,
            Limit::Amount(amount) => amount,
        };
        let (asset, (decimals, _)) = (self.vault.asset.ok()?, self.asset_decimals()?);
        Some(DepositLimit { asset, decimals, max_deposit, seen: self.of(Function::MaxDeposit)?.clone() })
    }

    fn of(&self, function: Function) -> Option<&AgreedCall> {
        let place = erc4626::FIRST_STEP.iter().position(|it| *it == function)?;
        self.first.get(place)?.seen.as_ref()
    }

    fn asset_decimals(&self) -> Option<(u8, &AgreedCall)> {
        let seen = self.token.first()?;
        Some((erc4626::decimals(word(seen)?).ok()?, seen.seen.as_ref()?))
    }

    fn amounts(&self) -> Vec<ChainReading> {
        let Some((decimals, decimals_seen)) = self.asset_decimals() else { return Vec::new() };
        let mut readings = Vec::new();
        let mut add = |field, value: f64, from: &[&AgreedCall]| {
            readings.extend(self.at.reading(self.id, field, number(value), from));
        };
        if let Ok(total) = self.vault.total_assets
            // Nobody has more of a token than there is.
            && self.token.get(1).and_then(word).is_some_and(|supply| total <= supply)
            && let Some(amount) = units(total, decimals)
            && let Some(seen) = self.of(Function::TotalAssets)
        {
            add(ReadField::TvlNative, amount, &[seen, decimals_seen]);
            if let Some(price) = self.price {
                let from: Vec<&AgreedCall> = [seen, decimals_seen].into_iter().chain(&price.from).collect();
                add(ReadField::TvlUsd, price.of(amount), &from);
            }
        }
        if let Some(value) = self.share_value
            && let Ok(price) = erc4626::price_per_share(value.reading.as_ref(), decimals)
            && let Some(amount) = units(price, decimals)
            && let (Some(seen), Some(of_share)) = (&value.seen, self.of(Function::Decimals))
        {
            add(ReadField::PricePerShare, amount, &[seen, of_share, decimals_seen]);
        }
        readings
    }

    /// Whether anybody may deposit. A limit that the vault does not state shows nothing.
    fn deposits(&self) -> Vec<ChainReading> {
        let (Ok(limit), Some(seen)) = (self.vault.max_deposit, self.of(Function::MaxDeposit)) else {
            return Vec::new();
        };
        let status = if limit == Limit::Amount(Word::ZERO) { "closed" } else { "open" };
        let status = self.at.reading(self.id, ReadField::DepositStatus, json!(status), &[seen]);
        let capacity = || {
            let (Limit::Amount(amount), (decimals, of_asset), price) = (limit, self.asset_decimals()?, self.price?)
            else {
                return None;
            };
            let usd = price.of(units(amount, decimals)?);
            let from: Vec<&AgreedCall> = [seen, of_asset].into_iter().chain(&price.from).collect();
            // More than a trillion USD is no limit.
            (usd <= 1e12).then(|| self.at.reading(self.id, ReadField::DepositCapacityUsd, number(usd), &from)).flatten()
        };
        status.into_iter().chain(capacity()).collect()
    }
}

/// An integer of a token's smallest units as whole units: the nearest number of 64 bits. `None` above 2^128.
pub(super) fn units(amount: Word, decimals: u8) -> Option<f64> {
    format!("{}e-{decimals}", amount.to_u128().ok()?).parse().ok()
}

/// Rounded to the cent.
fn cents(usd: f64) -> f64 {
    (usd * 100.0).round() / 100.0
}

fn number(value: f64) -> Value {
    json!(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_the_nearest_number_of_whole_units() {
        assert_eq!(units(Word::from_u128(1_234_567), 6), Some(1.234_567));
        assert_eq!(units(Word::from_u128(100_000_000_000_000_000_003), 18), Some(100.0));
        assert_eq!(units(Word::MAX, 18), None);
        assert_eq!(cents(1.005_000_1), 1.01);
    }
}
