//! Whether the value of an input follows from the answers in its evidence, for the inputs whose rule is short.

use super::evidence::{Evidence, Question};
use rds_chain::Address;
use rds_chain::abi::{Data, Function, Word};

/// Largest difference in USD between an amount that was computed here and a published one, which was rounded twice.
const DOLLAR: f64 = 1.0;
/// The same, relative: floating-point numbers have 15 digits.
const RELATIVE: f64 = 1e-9;

/// What the answers say about the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Derived {
    Follows,
    /// Another value follows, this one.
    Other(String),
    /// The rule for this input is not known here, or needs more than the evidence contains.
    Unknown,
}

/// Derives the input `name` from its evidence and compares it with its `value`, which is JSON.
pub fn derive(name: &str, value: &str, evidence: &Evidence) -> Derived {
    let found = match name {
        "caps.tvl_usd" => tvl_usd(value, evidence),
        "asset.exposures_status" => exposures_status(value, evidence),
        _ => None,
    };
    found.unwrap_or(Derived::Unknown)
}

/// The assets that the vault manages, times the price of the feed.
fn tvl_usd(value: &str, evidence: &Evidence) -> Option<Derived> {
    let published: f64 = value.parse().ok()?;
    let (_, total) = only(evidence, Function::TotalAssets, |_| true)?;
    let (feed, round) = only(evidence, Function::LatestRoundData, |_| true)?;
    let (_, of_feed) = only(evidence, Function::Decimals, |contract| contract == feed)?;
    let (_, of_asset) = only(evidence, Function::Decimals, |contract| contract != feed)?;
    let units = |amount: Word, decimals: Word| {
        format!("{}e-{}", amount.to_u128().ok()?, decimals.to_u64().ok()?).parse::<f64>().ok()
    };
    let price = Data::new(round).word(1).ok()?;
    let usd = units(word(total)?, word(of_asset)?)? * units(price, word(of_feed)?)?;
    let is_same = (published - usd).abs() <= DOLLAR + usd * RELATIVE;
    Some(if is_same { Derived::Follows } else { Derived::Other(format!("{usd:.2}")) })
}

/// A vault that holds as much of its asset as it manages has nothing else.
fn exposures_status(value: &str, evidence: &Evidence) -> Option<Derived> {
    let (_, total) = only(evidence, Function::TotalAssets, |_| true)?;
    let (_, held) = only(evidence, Function::BalanceOf, |_| true)?;
    let status = if word(held)? >= word(total)? { "observed" } else { "unavailable" };
    let is_same = value == format!("\"{status}\"");
    Some(if is_same { Derived::Follows } else { Derived::Other(status.to_owned()) })
}

fn word(answer: &[u8]) -> Option<Word> {
    Data::new(answer).word(0).ok()
}

/// The contract and the answer of the only call of this function to a contract of this kind.
fn only(evidence: &Evidence, function: Function, is_meant: impl Fn(Address) -> bool) -> Option<(Address, &[u8])> {
    let selector = function.selector();
    let mut calls = evidence.calls.iter().filter_map(|call| match (&call.question, &call.answer) {
        (Question::Call { contract, data }, Some(answer)) if data.starts_with(&selector) && is_meant(*contract) => {
            Some((*contract, answer.as_slice()))
        }
        _ => None,
    });
    let found = calls.next()?;
    calls.next().is_none().then_some(found)
}
