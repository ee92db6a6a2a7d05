//! Finds vaults that the registry does not have: by the events of the factories that make them, and by their own `Deposit` and `Withdraw`
//! events.
//!
//! A factory that the operator named says to which protocol its vaults belong. Of all others it is not known, so that they are not served.
//! A contract counts as a vault if it answers as ERC-4626 asks: its asset is a token with decimals, a share has a plausible value, and it
//! does not claim more of the asset than exists. That is stricter than the events, which anybody can emit.

use super::observed::ReadBlock;
use super::state::{self, States};
use rds_chain::abi::{Call, Function};
use rds_chain::adapt::governance::{Answer, Question};
use rds_chain::adapt::{CallAnswer, erc4626, token};
use rds_chain::body::READER;
use rds_chain::reader::Field;
use rds_chain::{Address, Block};
use rds_facts::fact::Kind;
use rds_facts::{Asset, At, ChainCandidate, Vault};
use rds_rpc::agree::Reader;
use rds_rpc::reads::Discovery;
use rds_shared::scoring::asset::AssetCategory;
use rds_shared::scoring::vault::{AssetMode, Exit, Source};
use rds_shared::wire::Timestamp;
use rds_store::chains::Known;
use std::collections::{BTreeMap, BTreeSet};

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub assets: Vec<Asset>,
    pub candidates: Vec<ChainCandidate>,
    pub vaults: Vec<Vault>,
    /// Up to this block, every contract was looked at.
    pub searched_to: u64,
    /// The factories whose events were looked at up to that block.
    pub factories: Vec<String>,
}

/// How far the chain was searched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Searched {
    pub to: Option<i64>,
    pub factories: Vec<String>,
}

/// A contract that may be a vault.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    contract: Address,
    /// The block of the event by which it was found.
    number: u64,
    /// The protocol of the factory that made it.
    protocol: Option<String>,
}

/// Most contracts that are looked at in one cycle. Anybody can emit events; the others are looked at in the next cycles.
const MAX_PROBES: usize = 256;

/// Looks for vaults in the blocks that were not searched yet. `None` if the events could not be read: they are looked for again.
pub(super) async fn search(
    reader: &mut Reader,
    block: &Block,
    at: &ReadBlock,
    discovery: &Discovery,
    searched: &Searched,
    known: &Known,
) -> Option<Found> {
    let new = seen(reader, block, discovery, searched, known).await?;
    let searched_to = searched_to(&new, block.id.number);
    let factories = discovery.factories.keys().map(Address::to_string).collect();
    let mut found = Found { searched_to, factories, ..Found::default() };
    let new: Vec<Seen> = new.into_iter().take(MAX_PROBES).collect();
    for (candidate, seen) in probe(reader, block, at, &new).await {
        if let Some(protocol) = seen.protocol.as_ref().or(discovery.protocol.as_ref()) {
            let first_seen_at =
                reader.block_at(seen.number).await.ok().and_then(|it| i64::try_from(it.block.time).ok());
            let asset_is_known = known.assets.contains(&candidate.asset_address)
                || found.assets.iter().any(|asset| asset.address.as_ref() == Some(&candidate.asset_address));
            if !asset_is_known {
                found.assets.push(asset(at, &candidate.asset_address, candidate.asset_symbol.clone()));
            }
            found.vaults.push(vault(at, &candidate, protocol, first_seen_at));
        }
        found.candidates.push(candidate);
    }
    Some(found)
}

/// The contracts to look at, in the order of their blocks.
async fn seen(
    reader: &Reader,
    block: &Block,
    discovery: &Discovery,
    searched: &Searched,
    known: &Known,
) -> Option<Vec<Seen>> {
    let next = searched.to.and_then(|number| u64::try_from(number.saturating_add(1)).ok()).unwrap_or(0);
    let since = next.max(discovery.from_block);
    let is_searched = |factory: &Address| searched.factories.contains(&factory.to_string());
    let (followed, added): (Vec<Address>, Vec<Address>) =
        discovery.factories.keys().copied().partition(|factory| is_searched(factory));
    let mut made = reader.created_vaults(block, since, &followed).await?;
    made.extend(reader.created_vaults(block, discovery.from_block, &added).await?);
    let mut new: BTreeMap<Address, Seen> = BTreeMap::new();
    for (contract, factory, number) in made {
        let protocol = discovery.factories.get(&factory).cloned();
        // A contract is made once; a second event about it changes nothing.
        new.entry(contract).or_insert(Seen { contract, number, protocol });
    }
    // A candidate of unknown protocol becomes a vault once a factory tells that it made it.
    new.retain(|contract, _| !known.vaults.contains(&contract.to_string()));
    for (contract, number) in reader.used_vaults(block, since).await? {
        let address = contract.to_string();
        if !known.vaults.contains(&address) && !known.candidates.contains(&address) {
            new.entry(contract).or_insert(Seen { contract, number, protocol: None });
        }
    }
    let mut new: Vec<Seen> = new.into_values().collect();
    new.sort_by_key(|seen| seen.number);
    Some(new)
}

/// Up to which block the contracts of `new`, in the order of their blocks, are all looked at in this cycle.
fn searched_to(new: &[Seen], newest: u64) -> u64 {
    match (new.first(), new.get(MAX_PROBES)) {
        // More contracts than are looked at in one block: the rest of that block is given up, or the search would never leave it.
        (Some(first), Some(next)) if first.number == next.number => next.number,
        (_, Some(next)) => next.number.saturating_sub(1),
        _ => newest,
    }
}

/// Those of the contracts that answer as vaults do.
async fn probe(reader: &mut Reader, block: &Block, at: &ReadBlock, contracts: &[Seen]) -> Vec<(ChainCandidate, Seen)> {
    let mut unused = States::default();
    let addresses: Vec<Address> = contracts.iter().map(|seen| seen.contract).collect();
    let first = state::fields(reader, block, &addresses, &erc4626::first_step(READER, READER), &mut unused).await;
    let mut found = Vec::new();
    for (seen, first) in contracts.iter().zip(first) {
        let contract = &seen.contract;
        let vault = erc4626::Vault::from_readings(&first.iter().map(|it| it.reading.clone()).collect::<Vec<_>>());
        let (Ok(asset), Ok(share_decimals), Ok(total)) = (vault.asset, vault.decimals, vault.total_assets) else {
            continue;
        };
        let of_asset = [Field::new(Function::Decimals), Field::new(Function::TotalSupply)];
        let of_asset = state::fields(reader, block, &[asset], &of_asset, &mut unused).await;
        let word = |place: usize| state::word(of_asset.first()?.get(place)?);
        let (Some(decimals), Some(supply)) = (word(0).and_then(|it| erc4626::decimals(it).ok()), word(1)) else {
            continue;
        };
        let Some(share) = erc4626::share_value(share_decimals) else { continue };
        let share = state::fields(reader, block, &[*contract], &[share], &mut unused).await;
        let share = share.first().and_then(|it| it.first()).and_then(|it| it.reading.as_ref());
        if total > supply || erc4626::price_per_share(share, decimals).is_err() {
            continue;
        }
        let texts = texts(reader, block, *contract, asset).await;
        let text = |place: usize| texts.get(place).cloned().flatten();
        found.push((
            ChainCandidate {
                kind: Kind,
                observed_at: at.time,
                source: at.source(),
                chain_id: at.chain_id,
                address: contract.to_string(),
                name: text(0),
                symbol: text(1),
                asset_address: asset.to_string(),
                asset_symbol: text(2),
                asset_decimals: decimals.into(),
                block_number: i64::try_from(seen.number).unwrap_or(i64::MAX),
            },
            seen.clone(),
        ));
    }
    found
}

/// Name and symbol of the vault, and the asset's symbol.
async fn texts(reader: &Reader, block: &Block, vault: Address, asset: Address) -> Vec<Option<String>> {
    let question =
        |contract, function: Function| Question::Call { contract, data: Call::new(function.selector()).encode() };
    let questions =
        [question(vault, Function::Name), question(vault, Function::Symbol), question(asset, Function::Symbol)];
    let answers = reader.answers(block, &questions).await;
    let text = |answer: &CallAnswer| token::text(Some(answer), token::MAX_TEXT_BYTES).ok();
    answers
        .iter()
        .map(|answer| match &answer.answer {
            Answer::Call(answer) => text(answer),
            _ => None,
        })
        .collect()
}

/// Most assets that are added to the registry in one cycle because vaults hold them. The others follow in the next cycles.
const MAX_ASSETS: usize = 64;

/// These tokens as rows of the registry. A contract without decimals is no token.
pub(super) async fn assets(
    reader: &mut Reader,
    block: &Block,
    at: &ReadBlock,
    contracts: &BTreeSet<Address>,
) -> Vec<Asset> {
    let contracts: Vec<Address> = contracts.iter().copied().take(MAX_ASSETS).collect();
    let mut unused = States::default();
    let decimals = state::fields(reader, block, &contracts, &[Field::new(Function::Decimals)], &mut unused).await;
    let questions: Vec<Question> = contracts
        .iter()
        .map(|contract| Question::Call { contract: *contract, data: Call::new(Function::Symbol.selector()).encode() })
        .collect();
    let symbols = reader.answers(block, &questions).await;
    let mut assets = Vec::new();
    for ((contract, decimals), symbol) in contracts.iter().zip(&decimals).zip(&symbols) {
        let is_token = decimals.first().and_then(state::word).is_some_and(|it| erc4626::decimals(it).is_ok());
        let symbol = match &symbol.answer {
            Answer::Call(answer) => token::text(Some(answer), token::MAX_TEXT_BYTES).ok(),
            _ => None,
        };
        if is_token {
            assets.push(asset(at, &contract.to_string(), symbol));
        }
    }
    assets
}

/// The id of an asset that discovery adds to the registry.
fn asset_id(at: &ReadBlock, address: &str) -> String {
    format!("token-{}-{address}", at.chain_id)
}

/// The asset as a row of the registry, of which only the contract is known.
fn asset(at: &ReadBlock, address: &str, symbol: Option<String>) -> Asset {
    Asset {
        kind: Kind,
        observed_at: at.time,
        source: at.source(),
        id: asset_id(at, address),
        discovered_at: At::default(),
        chain_id: at.chain_id,
        address: Some(address.to_owned()),
        symbol: symbol.unwrap_or_else(|| "unknown".to_owned()),
        name: None,
        category: AssetCategory::Unreviewed,
        tags: Vec::new(),
        underlying: None,
        dependency_chain: Vec::new(),
        lockup_days: 0,
        attestation_cadence: None,
        instrument_type: None,
        issuer: None,
        product_candidate: None,
    }
}

/// The vault as a row of the registry.
fn vault(at: &ReadBlock, found: &ChainCandidate, protocol: &str, first_seen_at: Option<i64>) -> Vault {
    Vault {
        kind: Kind,
        observed_at: at.time,
        source: at.source(),
        id: String::new(),
        protocol_id: protocol.to_owned(),
        chain_id: at.chain_id,
        address: found.address.clone(),
        name: found.name.clone().unwrap_or_else(|| found.address.clone()),
        symbol: found.symbol.clone(),
        asset_symbol: found.asset_symbol.clone(),
        asset_address: Some(found.asset_address.clone()),
        asset_decimals: Some(found.asset_decimals),
        curator_id: None,
        strategy: None,
        asset_mode: AssetMode::Holdings,
        deployed_at: None,
        first_seen_at: first_seen_at.map(|seconds| At(Timestamp::from_seconds(seconds))),
        is_immutable: None,
        timelock_seconds: None,
        signers: None,
        exit: Exit::Unknown,
        source_code: Source::Unknown,
        is_active: true,
        is_shutdown: false,
        is_stablecoin: false,
        is_lsd: false,
        single_exposure: false,
        no_il: false,
        management_fee: None,
        performance_fee: None,
        tags: Vec::new(),
        flags: Vec::new(),
        evidence: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_goes_on_after_the_last_block_that_was_looked_at_whole() {
        let seen = |number: &u64| Seen { contract: Address::ZERO, number: *number, protocol: None };
        let new = |numbers: &[u64]| numbers.iter().map(seen).collect::<Vec<_>>();
        assert_eq!(searched_to(&new(&[]), 90), 90);
        assert_eq!(searched_to(&new(&[5; MAX_PROBES]), 90), 90);
        assert_eq!(searched_to(&new(&[5; MAX_PROBES + 1]), 90), 5);
        let mut many = vec![5; MAX_PROBES - 1];
        many.extend([7, 7, 9]);
        assert_eq!(searched_to(&new(&many), 90), 6);
    }
}
