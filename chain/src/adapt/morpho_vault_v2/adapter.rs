//! What an adapter holds for its vault.
//!
//! An adapter says what it is worth (`realAssets`), and the vault believes it. Where the assets are is believed only if the vault or the
//! markets that the adapter names show a position of the adapter that is worth as much.

use super::{Vault, idle_question, places};
use crate::abi::{Call, Function, Word, keccak256};
use crate::adapt::metamorpho::Exposure;
use crate::adapt::morpho::{self, Market};
use crate::adapt::part::{Part, divide};
use crate::adapt::question::{Answers, Question};
use crate::adapt::scale::{PPM, multiply_divide, ppm_of};
use crate::adapt::{Unknown, Value};
use crate::block::Address;
use alloc::vec;
use alloc::vec::Vec;

/// More markets of one adapter are implausible: the adapter computes the interest of all of them whenever it is asked for its assets.
pub const MAX_MARKETS: u64 = 64;
/// What markets may be worth more than at their last update, by the interest since then: a tenth. An adapter that names more holds it
/// elsewhere.
const MAX_INTEREST_PPM: u32 = 100_000;

/// The questions that show what an adapter is.
const FIRST_STEP: [Function; 6] = [
    Function::RealAssets,
    Function::ParentVault,
    Function::MorphoVaultV1,
    Function::MorphoOfAdapter,
    Function::MarketIdsLength,
    Function::MarketParamsListLength,
];

/// What an adapter holds positions in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Shares of this vault of MetaMorpho.
    Vault(Address),
    /// Positions in this many markets of this contract of Morpho Blue, listed by id, with shares that the adapter counts itself.
    Markets { morpho: Address, length: u64 },
    /// The same of the adapter's first version, which lists parameters and owns whatever position it has.
    FirstMarkets { morpho: Address, length: u64 },
    /// Something else.
    Other,
}

/// An adapter of a vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adapter {
    pub contract: Address,
    /// What the adapter holds, in the smallest unit of the vault's asset, as the adapter counts it.
    pub real_assets: Value<u128>,
    pub kind: Value<Kind>,
}

/// Where assets of a vault are.
#[allow(clippy::large_enum_variant, reason = "a vault has a few places, and they are read once")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the vault itself.
    Idle,
    /// In this other vault.
    Vault(Address),
    /// In this market.
    Market(Exposure),
    /// With this adapter, and nothing shows where.
    Elsewhere(Address),
}

impl Adapter {
    /// The questions of the third step.
    pub fn first_step(adapter: Address) -> Vec<Question> {
        FIRST_STEP.map(|function| Question::new(adapter, function)).into()
    }

    /// The answers to [`first_step`](Self::first_step).
    pub fn from_answers(answers: &Answers, vault: Address, contract: Address) -> Self {
        let question = |function| Question::new(contract, function);
        Self {
            contract,
            real_assets: answers.number(&question(Function::RealAssets)),
            kind: kind(answers, vault, contract),
        }
    }

    /// The id under which the vault limits all that an adapter of a known kind gets.
    pub fn id(&self) -> Word {
        let named = Call::tuple().bytes(b"this").word(Word::from_address(self.contract));
        Word(keccak256(&named.encode()))
    }

    /// The questions of the fourth step: the adapter's shares of its vault, or its list of markets.
    pub fn position_step(&self) -> Vec<Question> {
        match self.kind {
            Ok(Kind::Vault(inner)) => vec![Question::new(inner, Function::Asset), self.shares_question(inner)],
            Ok(Kind::Markets { length, .. }) => {
                places(self.contract, Function::MarketIds, length, MAX_MARKETS).collect()
            }
            Ok(Kind::FirstMarkets { length, .. }) => {
                places(self.contract, Function::MarketParamsList, length, MAX_MARKETS).collect()
            }
            Ok(Kind::Other) | Err(_) => Vec::new(),
        }
    }

    /// The questions of the fifth step: what the shares are worth, or the markets.
    pub fn worth_step(&self, answers: &Answers) -> Vec<Question> {
        match self.kind {
            Ok(Kind::Vault(inner)) => {
                let shares = answers.word(&self.shares_question(inner));
                shares.ok().map(|shares| worth_question(inner, shares)).into_iter().collect()
            }
            Ok(Kind::Markets { morpho, .. } | Kind::FirstMarkets { morpho, .. }) => {
                let ids = self.markets(answers).unwrap_or_default();
                ids.into_iter().flat_map(|id| self.market_step(morpho, id)).collect()
            }
            Ok(Kind::Other) | Err(_) => Vec::new(),
        }
    }

    fn shares_question(&self, inner: Address) -> Question {
        Question::with(inner, Function::BalanceOf, &[Word::from_address(self.contract)])
    }

    fn counted_question(&self, id: Word) -> Question {
        Question::with(self.contract, Function::SupplyShares, &[id])
    }

    fn market_step(&self, morpho: Address, id: Word) -> Vec<Question> {
        let mut questions = morpho::first_step(morpho, id);
        questions.push(morpho::position_question(morpho, id, self.contract));
        if matches!(self.kind, Ok(Kind::Markets { .. })) {
            questions.push(self.counted_question(id));
        }
        questions
    }

    /// The ids of the adapter's markets; none if it has another kind. Unknown if one of them is; implausible if one is listed twice.
    fn markets(&self, answers: &Answers) -> Value<Vec<Word>> {
        let ids = match self.kind? {
            Kind::Markets { length, .. } => {
                let questions = places(self.contract, Function::MarketIds, length, MAX_MARKETS);
                questions.map(|question| answers.word(&question)).collect::<Value<Vec<Word>>>()?
            }
            Kind::FirstMarkets { length, .. } => {
                let id = |question: Question| {
                    let words = answers.words::<5>(&question)?;
                    Ok(Word(keccak256(words.map(|word| word.0).as_flattened())))
                };
                places(self.contract, Function::MarketParamsList, length, MAX_MARKETS).map(id).collect::<Value<_>>()?
            }
            Kind::Vault(_) | Kind::Other => Vec::new(),
        };
        let is_repeated = |(index, id): (usize, &Word)| ids.iter().take(index).any(|earlier| earlier == id);
        if ids.iter().enumerate().any(is_repeated) { Err(Unknown::Implausible) } else { Ok(ids) }
    }

    /// Where the adapter's assets are, of a vault with this asset. Their sum is what the adapter says that it holds.
    fn places(&self, answers: &Answers, asset: Address) -> Value<Vec<(Place, u128)>> {
        let assets = self.real_assets?;
        if assets == 0 {
            return Ok(Vec::new());
        }
        let found = match self.kind? {
            Kind::Vault(inner) => self.in_vault(answers, asset, inner, assets),
            Kind::Markets { morpho, .. } | Kind::FirstMarkets { morpho, .. } => {
                self.in_markets(answers, asset, morpho, assets)
            }
            Kind::Other => Ok(None),
        };
        match found {
            Ok(Some(places)) => Ok(places),
            Err(Unknown::Unread) => Err(Unknown::Unread),
            Ok(None) | Err(_) => Ok(vec![(Place::Elsewhere(self.contract), assets)]),
        }
    }

    /// `None` if the shares of the other vault are worth less than the adapter says.
    fn in_vault(
        &self,
        answers: &Answers,
        asset: Address,
        inner: Address,
        assets: u128,
    ) -> Value<Option<Vec<(Place, u128)>>> {
        let shares = answers.word(&self.shares_question(inner))?;
        let worth = answers.number(&worth_question(inner, shares))?;
        let is_same = answers.contract(&Question::new(inner, Function::Asset))? == asset;
        Ok((is_same && assets <= worth).then(|| vec![(Place::Vault(inner), assets)]))
    }

    /// The adapter's assets, divided as the supplied assets at the markets' last updates. `None` if the adapter says that it has much more
    /// than was supplied then.
    fn in_markets(
        &self,
        answers: &Answers,
        asset: Address,
        morpho: Address,
        assets: u128,
    ) -> Value<Option<Vec<(Place, u128)>>> {
        let supplied = |id: Word| {
            let Market { params, totals } = Market::from_answers(answers, morpho, id);
            let (params, totals) = (params?, totals?);
            let position = morpho::position(answers, &morpho::position_question(morpho, id, self.contract))?;
            let shares = match self.kind? {
                Kind::Markets { .. } => answers.number(&self.counted_question(id))?,
                _ => position.supply_shares,
            };
            if params.loan_token != asset || shares > position.supply_shares {
                return Err(Unknown::Implausible);
            }
            Ok((Exposure { id, params, totals }, totals.supplied(shares)?))
        };
        let markets: Vec<(Exposure, u128)> = self.markets(answers)?.into_iter().map(supplied).collect::<Value<_>>()?;
        let total = markets.iter().try_fold(0_u128, |total, (_, supplied)| total.checked_add(*supplied));
        let total = total.ok_or(Unknown::Implausible)?;
        let most_ppm = PPM.saturating_add(MAX_INTEREST_PPM);
        if total == 0 || ppm_of(assets, total)? > most_ppm {
            return Ok(None);
        }
        let mut left = assets;
        let mut places = Vec::with_capacity(markets.len());
        for (market, supplied) in markets {
            let (part, _) = multiply_divide(assets, supplied, total).ok_or(Unknown::Implausible)?;
            left = left.saturating_sub(part);
            places.push((Place::Market(market), part));
        }
        // What was rounded off: less than one unit a market.
        if let Some((_, largest)) = places.iter_mut().max_by_key(|(_, part)| *part) {
            *largest = largest.saturating_add(left);
        }
        Ok(Some(places))
    }
}

fn worth_question(inner: Address, shares: Word) -> Question {
    Question::with(inner, Function::PreviewRedeem, &[shares])
}

/// What the adapter is, by its functions. [`Kind::Other`] for an adapter of another vault, and for one that has the functions of two kinds.
fn kind(answers: &Answers, vault: Address, contract: Address) -> Value<Kind> {
    let question = |function| Question::new(contract, function);
    // A function that the adapter does not have shows what it is not; a provider that failed shows nothing.
    let known = |value: Value<Address>| match value {
        Err(Unknown::Unread) => Err(Unknown::Unread),
        value => Ok(value.ok()),
    };
    let length = |function| match answers.number_up_to(&question(function), MAX_MARKETS) {
        Err(Unknown::Unread) => Err(Unknown::Unread),
        value => Ok(value.ok()),
    };
    let inner = known(answers.contract(&question(Function::MorphoVaultV1)))?;
    let morpho = known(answers.contract(&question(Function::MorphoOfAdapter)))?;
    let (ids, params) = (length(Function::MarketIdsLength)?, length(Function::MarketParamsListLength)?);
    if known(answers.contract(&question(Function::ParentVault)))? != Some(vault) {
        return Ok(Kind::Other);
    }
    Ok(match (inner, morpho, ids, params) {
        (Some(inner), None, None, None) => Kind::Vault(inner),
        (None, Some(morpho), Some(length), None) => Kind::Markets { morpho, length },
        (None, Some(morpho), None, Some(length)) => Kind::FirstMarkets { morpho, length },
        _ => Kind::Other,
    })
}

/// Where the vault's assets are: with each adapter in the vault's order, then what is idle. A place without assets has the share 0.
///
/// Unknown if one of the amounts is: a list with a gap would give the other places shares that are too large.
pub fn exposures(answers: &Answers, contract: Address, vault: &Vault, adapters: &[Adapter]) -> Value<Vec<Part<Place>>> {
    let asset = vault.asset?;
    let mut all = Vec::new();
    for adapter in adapters {
        all.extend(adapter.places(answers, asset)?);
    }
    all.push((Place::Idle, answers.number(&idle_question(asset, contract))?));
    divide(all)
}
