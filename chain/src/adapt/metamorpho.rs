//! Vaults of MetaMorpho (Morpho Vaults, versions 1.0 and 1.1), which lend one asset to several markets of Morpho Blue.
//!
//! A vault is read in four steps: [`first_step`]; [`Vault::queue_step`], which needs the lengths of the queues; [`market_step`], which
//! needs the markets' ids; and the prices of the markets' collateral ([`morpho::price_question`]).
//!
//! Every market in which the vault may have assets is in its withdraw queue: the contract removes none that still has some, except after
//! the market's timelock. The exposures are therefore made from that queue.

use super::morpho::{self, Market, Params, Totals};
use super::part::{Part, divide};
use super::question::{Answers, Question};
use super::scale::wad_to_ppm;
use super::{Unknown, Value};
use crate::abi::{Function, Word};
use crate::block::Address;
use alloc::vec::Vec;

/// MetaMorpho's own maximum length of a queue.
pub const MAX_QUEUE: u64 = 30;
/// MetaMorpho's own maximum of the fee: 50 % of the interest.
const MAX_FEE_PPM: u32 = 500_000;
/// MetaMorpho's own maximum of the timelock: two weeks.
const MAX_TIMELOCK: u64 = 14 * 86_400;

/// The functions of the first step.
pub const FIRST_STEP: [Function; 10] = [
    Function::Morpho,
    Function::Asset,
    Function::TotalAssets,
    Function::Fee,
    Function::Timelock,
    Function::Curator,
    Function::Guardian,
    Function::SupplyQueueLength,
    Function::WithdrawQueueLength,
    Function::LostAssets,
];

/// A vault after the first step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vault {
    /// The Morpho Blue contract; never the zero address.
    pub morpho: Value<Address>,
    /// The token that is deposited and lent; never the zero address.
    pub asset: Value<Address>,
    /// Assets that the vault manages, as the vault counts them: interest up to the block included.
    pub total_assets: Value<u128>,
    /// The vault's part of the interest, in parts per million.
    pub fee_ppm: Value<u32>,
    /// Delay of changes that increase the risk, in seconds; at most two weeks, and 0 if there is none.
    pub timelock: Value<u64>,
    /// Who sets the caps; `None` if nobody but the owner does.
    pub curator: Value<Option<Address>>,
    /// Who can revoke a pending change; `None` if nobody but the owner can.
    pub guardian: Value<Option<Address>>,
    /// Number of markets that deposits go to; at most [`MAX_QUEUE`].
    pub supply_queue: Value<u64>,
    /// Number of markets that withdrawals come from; at most [`MAX_QUEUE`].
    pub withdraw_queue: Value<u64>,
    /// Assets that were lost in markets and are still in the price of the share. Since version 1.1; 1.0 lowers the price instead.
    pub lost_assets: Value<u128>,
}

/// The questions of the first step.
pub fn first_step(vault: Address) -> Vec<Question> {
    FIRST_STEP.map(|function| Question::new(vault, function)).into()
}

impl Vault {
    /// The answers to [`first_step`].
    pub fn from_answers(answers: &Answers, vault: Address) -> Self {
        let question = |function| Question::new(vault, function);
        let role = |function| {
            let holder = answers.address(&question(function))?;
            Ok((holder != Address::ZERO).then_some(holder))
        };
        Self {
            morpho: answers.contract(&question(Function::Morpho)),
            asset: answers.contract(&question(Function::Asset)),
            total_assets: answers.number(&question(Function::TotalAssets)),
            fee_ppm: answers.number(&question(Function::Fee)).and_then(|fee| wad_to_ppm(fee, MAX_FEE_PPM)),
            timelock: answers.number_up_to(&question(Function::Timelock), MAX_TIMELOCK),
            curator: role(Function::Curator),
            guardian: role(Function::Guardian),
            supply_queue: answers.number_up_to(&question(Function::SupplyQueueLength), MAX_QUEUE),
            withdraw_queue: answers.number_up_to(&question(Function::WithdrawQueueLength), MAX_QUEUE),
            lost_assets: answers.number(&question(Function::LostAssets)),
        }
    }

    /// The questions of the second step: the markets of both queues. A queue of unknown length has none.
    pub fn queue_step(&self, vault: Address) -> Vec<Question> {
        let supply = questions(vault, Function::SupplyQueue, self.supply_queue);
        supply.chain(questions(vault, Function::WithdrawQueue, self.withdraw_queue)).collect()
    }

    /// The ids of the markets of the supply queue. Unknown if one of them is.
    pub fn supply_markets(&self, answers: &Answers, vault: Address) -> Value<Vec<Word>> {
        self.supply_queue?;
        questions(vault, Function::SupplyQueue, self.supply_queue).map(|question| answers.word(&question)).collect()
    }

    /// The ids of the markets of the withdraw queue. Unknown if one of them is; implausible if a market is in it twice.
    pub fn withdraw_markets(&self, answers: &Answers, vault: Address) -> Value<Vec<Word>> {
        self.withdraw_queue?;
        let questions = questions(vault, Function::WithdrawQueue, self.withdraw_queue);
        let ids: Vec<Word> = questions.map(|question| answers.word(&question)).collect::<Value<_>>()?;
        let is_repeated = |(index, id): (usize, &Word)| ids.iter().take(index).any(|earlier| earlier == id);
        if ids.iter().enumerate().any(is_repeated) { Err(Unknown::Implausible) } else { Ok(ids) }
    }
}

fn questions(vault: Address, function: Function, length: Value<u64>) -> impl Iterator<Item = Question> {
    let question = move |index: u64| Question::with(vault, function, &[Word::from_u128(index.into())]);
    (0..length.unwrap_or(0).min(MAX_QUEUE)).map(question)
}

/// The questions of the third step, about one market of a vault's withdraw queue.
pub fn market_step(vault: Address, morpho: Address, id: Word) -> Vec<Question> {
    let mut questions = morpho::first_step(morpho, id);
    questions.push(morpho::position_question(morpho, id, vault));
    questions.push(Question::with(vault, Function::Config, &[id]));
    questions
}

/// How a vault uses a market.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarketConfig {
    /// The most that the vault may supply, in the smallest unit of the asset. 2^184 − 1, which stands for "no limit", is a word of its own
    /// size, so the cap is kept as a word.
    pub cap: Word,
    /// Whether the market is in the withdraw queue.
    pub is_enabled: bool,
    /// From when on the market may be removed although the vault has assets in it, in seconds since 1970-01-01T00:00:00Z; `None` if no
    /// removal is pending.
    pub removable_at: Option<u64>,
}

/// The answer to `config(id)`.
pub fn market_config(answers: &Answers, vault: Address, id: Word) -> Value<MarketConfig> {
    let [cap, is_enabled, removable_at] = answers.words(&Question::with(vault, Function::Config, &[id]))?;
    Ok(MarketConfig {
        cap: cap.to_uint(184)?,
        is_enabled: is_enabled.to_bool()?,
        removable_at: Some(removable_at.to_u64()?).filter(|time| *time != 0),
    })
}

/// A market in which a vault has assets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exposure {
    /// The market's id.
    pub id: Word,
    /// The market's parameters. Without collateral token the assets are idle.
    pub params: Params,
    /// The market's totals.
    pub totals: Totals,
}

/// The exposures of a vault: what it has supplied to each market of its withdraw queue, in the queue's order.
///
/// Unknown if anything about one of the markets is: a list with a gap would give the other markets shares that are too large. A market
/// of another loan token than the vault's asset is implausible.
pub fn exposures(
    answers: &Answers,
    vault: Address,
    asset: Address,
    morpho: Address,
    ids: &[Word],
) -> Value<Vec<Part<Exposure>>> {
    let place = |id: &Word| {
        let market = Market::from_answers(answers, morpho, *id);
        let (params, totals) = (market.params?, market.totals?);
        let position = morpho::position(answers, &morpho::position_question(morpho, *id, vault))?;
        if params.loan_token != asset {
            return Err(Unknown::Implausible);
        }
        Ok((Exposure { id: *id, params, totals }, totals.supplied(position.supply_shares)?))
    };
    divide(ids.iter().map(place).collect::<Value<_>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_sol_types::private::{FixedBytes, U256};
    use alloy_sol_types::{SolCall, SolType, sol_data};
    use std::vec;

    alloy_sol_types::sol! {
        function MORPHO() returns (address);
        function config(bytes32 id) returns (uint184 cap, bool enabled, uint64 removableAt);
        function withdrawQueue(uint256 index) returns (bytes32);
        function supplyQueueLength() returns (uint256);
        function guardian() returns (address);
    }

    const VAULT: Address = Address([0xaa; 20]);
    const MORPHO: Address = Address([0xbb; 20]);
    const ASSET: Address = Address([0xcc; 20]);

    fn words(words: &[Word]) -> Vec<u8> {
        words.iter().flat_map(|word| word.0).collect()
    }

    fn answer(answers: &mut Answers, question: Question, numbers: &[u128]) {
        let numbers: Vec<Word> = numbers.iter().map(|number| Word::from_u128(*number)).collect();
        answers.insert(question, Ok(words(&numbers)));
    }

    fn vault(fee: u128, timelock: u128, length: u128) -> Vault {
        let mut answers = Answers::new();
        let numbers = [0xbb, 0xcc, 1_000, fee, timelock, 0, 0xdd, length, length, 25];
        for (function, number) in FIRST_STEP.into_iter().zip(numbers) {
            answer(&mut answers, Question::new(VAULT, function), &[number]);
        }
        Vault::from_answers(&answers, VAULT)
    }

    /// Adds a market with these totals and this position of the vault.
    fn add_market(answers: &mut Answers, collateral: Option<Address>, loan_token: Address, supplied: u128) -> Word {
        let params = Params { loan_token, collateral_token: collateral, oracle: None, rate_model: None, lltv_wad: 0 };
        let id = params.id();
        let fields =
            [loan_token, collateral.unwrap_or(Address::ZERO), Address::ZERO, Address::ZERO].map(Word::from_address);
        let mut data = words(&fields);
        data.extend(Word::ZERO.0);
        answers.insert(Question::with(MORPHO, Function::IdToMarketParams, &[id]), Ok(data));
        let shares = supplied * 1_000_000;
        answer(
            answers,
            Question::with(MORPHO, Function::Market, &[id]),
            &[supplied * 2, shares * 2, supplied, 0, 5, 0],
        );
        answer(answers, morpho::position_question(MORPHO, id, VAULT), &[shares, 0, 0]);
        id
    }

    #[test]
    fn a_vault_is_read_and_its_queues_are_asked_for_entry_by_entry() {
        let vault = vault(10_u128.pow(17), 86_400, 3);
        assert_eq!((vault.fee_ppm, vault.timelock), (Ok(100_000), Ok(86_400)));
        assert_eq!((vault.curator, vault.lost_assets), (Ok(None), Ok(25)));
        assert!(matches!(vault.guardian, Ok(Some(_))));
        let questions = vault.queue_step(VAULT);
        assert_eq!(questions.len(), 6);
        assert!(questions.iter().all(|question| question.field().is_some()));
        assert_eq!(questions[5], Question::with(VAULT, Function::WithdrawQueue, &[Word::from_u128(2)]));
    }

    #[test]
    fn values_beyond_the_limits_of_the_contract_are_implausible_and_lead_to_no_question() {
        let strange = vault(6 * 10_u128.pow(17), 14 * 86_400 + 1, 31);
        assert_eq!((strange.fee_ppm, strange.timelock), (Err(Unknown::Implausible), Err(Unknown::Implausible)));
        assert_eq!(
            (strange.supply_queue, strange.withdraw_queue),
            (Err(Unknown::Implausible), Err(Unknown::Implausible))
        );
        assert_eq!(strange.queue_step(VAULT), []);
        assert_eq!(strange.withdraw_markets(&Answers::new(), VAULT), Err(Unknown::Implausible));
        let limit = vault(5 * 10_u128.pow(17), 14 * 86_400, 30);
        assert_eq!((limit.fee_ppm, limit.timelock), (Ok(500_000), Ok(14 * 86_400)));
        assert_eq!(limit.queue_step(VAULT).len(), 60);
    }

    #[test]
    fn a_queue_with_an_unread_or_repeated_market_is_unknown() {
        let vault = vault(0, 0, 2);
        let mut answers = Answers::new();
        let question = |index| Question::with(VAULT, Function::WithdrawQueue, &[Word::from_u128(index)]);
        answer(&mut answers, question(0), &[5]);
        assert_eq!(vault.withdraw_markets(&answers, VAULT), Err(Unknown::Unread));
        answer(&mut answers, question(1), &[5]);
        assert_eq!(vault.withdraw_markets(&answers, VAULT), Err(Unknown::Implausible));
        answer(&mut answers, question(1), &[6]);
        assert_eq!(vault.withdraw_markets(&answers, VAULT), Ok(vec![Word::from_u128(5), Word::from_u128(6)]));
    }

    #[test]
    fn exposures_are_the_supplied_assets_of_each_market_and_a_gap_makes_them_unknown() {
        let mut answers = Answers::new();
        let lent = add_market(&mut answers, Some(Address([1; 20])), ASSET, 2_000_000);
        let idle = add_market(&mut answers, None, ASSET, 1_000_000);
        let parts = exposures(&answers, VAULT, ASSET, MORPHO, &[lent, idle]).unwrap();
        assert_eq!(parts.iter().map(|part| part.share_ppm).collect::<Vec<_>>(), [666_667, 333_333]);
        assert_eq!(parts[0].place.params.collateral_token, Some(Address([1; 20])));
        assert_eq!((parts[1].place.params.collateral_token, parts[1].assets), (None, 1_000_000));
        let other = add_market(&mut answers, None, Address([9; 20]), 1);
        assert_eq!(exposures(&answers, VAULT, ASSET, MORPHO, &[lent, other]), Err(Unknown::Implausible));
        assert_eq!(exposures(&answers, VAULT, ASSET, MORPHO, &[lent, Word::ZERO]), Err(Unknown::Unread));
        assert_eq!(exposures(&answers, VAULT, ASSET, MORPHO, &[]), Ok(vec![]));
    }

    #[test]
    fn the_use_of_a_market_has_a_cap_and_perhaps_a_pending_removal() {
        let (mut answers, id) = (Answers::new(), Word::from_u128(4));
        let question = Question::with(VAULT, Function::Config, &[id]);
        answer(&mut answers, question.clone(), &[500, 1, 0]);
        let config = MarketConfig { cap: Word::from_u128(500), is_enabled: true, removable_at: None };
        assert_eq!(market_config(&answers, VAULT, id), Ok(config));
        answer(&mut answers, question.clone(), &[0, 1, 77]);
        assert_eq!(market_config(&answers, VAULT, id).map(|config| config.removable_at), Ok(Some(77)));
        answers.insert(question, Ok(words(&[Word::MAX, Word::ZERO, Word::ZERO])));
        assert_eq!(market_config(&answers, VAULT, id), Err(Unknown::Implausible));
        assert_eq!(market_step(VAULT, MORPHO, id).len(), 4);
    }

    #[test]
    fn calls_are_those_of_alloy_and_its_answers_are_read() {
        for (function, selector) in [
            (Function::Morpho, MORPHOCall::SELECTOR),
            (Function::SupplyQueueLength, supplyQueueLengthCall::SELECTOR),
            (Function::Guardian, guardianCall::SELECTOR),
        ] {
            assert_eq!(function.selector(), selector, "{}", function.signature());
        }
        let queue = questions(VAULT, Function::WithdrawQueue, Ok(3)).last().unwrap();
        assert_eq!(queue.calldata(), withdrawQueueCall { index: U256::from(2) }.abi_encode());
        let question = Question::with(VAULT, Function::Config, &[Word([4; 32])]);
        assert_eq!(question.calldata(), configCall { id: FixedBytes([4; 32]) }.abi_encode());
        let largest: U256 = (U256::from(1) << 184) - U256::from(1);
        type Config = (sol_data::Uint<256>, sol_data::Bool, sol_data::Uint<64>);
        let mut answers = Answers::new();
        answers.insert(question, Ok(Config::abi_encode_params(&(largest, true, 9_u64))));
        let expected = MarketConfig { cap: Word(largest.to_be_bytes()), is_enabled: true, removable_at: Some(9) };
        assert_eq!(market_config(&answers, VAULT, Word([4; 32])), Ok(expected));
    }
}
