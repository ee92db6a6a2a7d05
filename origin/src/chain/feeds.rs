//! Price feeds: those of the operator's file, and those from which lending markets take their prices.

use super::asked::Asked;
use super::observed::{REWRITE_SECONDS, ReadBlock};
use rds_chain::abi::{Function, Word};
use rds_chain::adapt::question::Question;
use rds_chain::adapt::{erc4626, feed};
use rds_chain::{Address, Block};
use rds_facts::fact::Kind;
use rds_facts::{At, OracleFeed};
use rds_rpc::agree::Reader;
use rds_rpc::reads::Reads;
use rds_shared::model::oracle::FeedKind;
use rds_shared::wire::Timestamp;
use rds_store::chains::KnownFeed;
use std::collections::{BTreeMap, BTreeSet};

/// Functions of a feed.
const FUNCTIONS: [Function; 3] = [Function::LatestRoundData, Function::Decimals, Function::Description];

/// The feeds at `contracts` and in the operator's file, unless the store has them as they are. What a source states of a feed and the chain
/// does not show, such as its operator, stays.
pub(super) async fn read(
    reader: &Reader,
    block: &Block,
    at: &ReadBlock,
    reads: &Reads,
    contracts: &BTreeSet<Address>,
    known: &BTreeMap<String, KnownFeed>,
    asked: &mut Asked,
) -> Vec<OracleFeed> {
    let heartbeats: BTreeMap<Address, u64> =
        reads.prices.values().map(|price| (price.feed, price.heartbeat_seconds)).collect();
    let all: BTreeSet<Address> = contracts.iter().chain(heartbeats.keys()).copied().collect();
    let questions = |contract: Address| FUNCTIONS.map(|function| Question::new(contract, function));
    asked.ask(reader, block, all.iter().flat_map(|contract| questions(*contract)).collect()).await;
    let mut feeds = Vec::new();
    for contract in all {
        if asked.is_disputed(&questions(contract)) {
            continue;
        }
        let known = known.get(&contract.to_string());
        let feed = observed(at, block, contract, heartbeats.get(&contract).copied(), known, asked);
        if is_changed(&feed, known) {
            feeds.push(feed);
        }
    }
    feeds
}

fn is_changed(feed: &OracleFeed, known: Option<&KnownFeed>) -> bool {
    known.is_none_or(|known| {
        known.last_answer != feed.last_answer
            || known.last_update_at != feed.last_update_at
            || known.heartbeat_seconds != feed.heartbeat_seconds
            || feed.observed_at.0.seconds_since(known.observed_at.0) >= REWRITE_SECONDS
    })
}

fn observed(
    at: &ReadBlock,
    block: &Block,
    contract: Address,
    heartbeat: Option<u64>,
    known: Option<&KnownFeed>,
    asked: &Asked,
) -> OracleFeed {
    let answer = |function| asked.answers().get(&Question::new(contract, function));
    let round = feed::round(answer(Function::LatestRoundData)).ok();
    let decimals = asked.answers().word(&Question::new(contract, Function::Decimals)).and_then(erc4626::decimals).ok();
    let description = feed::description(answer(Function::Description)).ok();
    // A feed that says it answered after the block is not believed.
    let round = round.filter(|round| round.updated_at != 0 && round.updated_at <= block.time);
    let last_answer = round.zip(decimals).and_then(|(round, decimals)| decimal(round.answer, decimals));
    let time = |seconds: u64| i64::try_from(seconds).ok().map(|seconds| At(Timestamp::from_seconds(seconds)));
    let (asset, quote) = description.as_deref().map(pair).unwrap_or_default();
    let known = known.cloned().unwrap_or_default();
    OracleFeed {
        kind: Kind,
        observed_at: at.time,
        source: at.source(),
        contract: String::new(),
        chain_id: at.chain_id,
        address: contract.to_string(),
        feed_kind: known.feed_kind.as_deref().and_then(|kind| kind.parse().ok()).unwrap_or(FeedKind::Price),
        asset: known.asset.or(asset),
        quote: known.quote.or(quote),
        description: known.description.or(description),
        other_descriptions: known.other_descriptions,
        vendor: known.vendor,
        heartbeat_seconds: heartbeat.and_then(|seconds| i64::try_from(seconds).ok()).or(known.heartbeat_seconds),
        deviation_threshold: known.deviation_threshold,
        last_update_at: last_answer.as_ref().and_then(|_| time(round?.updated_at)),
        last_answer,
        used_by: known.used_by,
        reserve_symbols: known.reserve_symbols,
    }
}

/// Asset and unit of a feed that is named as `ETH / USD`.
fn pair(description: &str) -> (Option<String>, Option<String>) {
    match description.split_once(" / ") {
        Some((asset, quote)) if !asset.is_empty() && !quote.is_empty() && !quote.contains(" / ") => {
            (Some(asset.to_owned()), Some(quote.to_owned()))
        }
        _ => (None, None),
    }
}

/// An answer as decimal text. `None` for one that is no price: negative, or above 2^128.
fn decimal(answer: Word, decimals: u8) -> Option<String> {
    let digits = answer.to_u128().ok()?.to_string();
    let places = usize::from(decimals);
    if places == 0 {
        return Some(digits);
    }
    let digits = format!("{digits:0>width$}", width = places.saturating_add(1));
    let (whole, fraction) = digits.split_at_checked(digits.len().saturating_sub(places))?;
    let fraction = fraction.trim_end_matches('0');
    Some(if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_written_with_its_decimals() {
        let of = |answer: u128, decimals| decimal(Word::from_u128(answer), decimals).unwrap();
        assert_eq!(of(300_012_000_000, 8), "3000.12");
        assert_eq!(of(5, 8), "0.00000005");
        assert_eq!((of(0, 18), of(7, 0), of(100_000_000, 8)), ("0".to_owned(), "7".to_owned(), "1".to_owned()));
        assert_eq!(decimal(Word::MAX, 8), None);
    }

    #[test]
    fn a_feed_is_about_what_its_name_says() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(pair("ETH / USD"), (some("ETH"), some("USD")));
        for other in ["Calculated wstETH", " / USD", "A / B / C"] {
            assert_eq!(pair(other), (None, None), "{other}");
        }
    }
}
