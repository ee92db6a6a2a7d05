//! Vaults of Morpho Vault V2, which give one asset to adapters: contracts that hold positions in vaults of MetaMorpho, or in markets of
//! Morpho Blue.
//!
//! A vault is read in five steps: [`first_step`]; [`Vault::adapter_step`], which needs the number of adapters; [`Adapter::first_step`],
//! which needs their addresses; [`Adapter::position_step`] and [`Adapter::worth_step`], which need what the adapter is. [`exposures`] then
//! says where the assets are. [`caps_step`] asks for the limits of one id.
//!
//! The vault's `maxDeposit`, `maxMint`, `maxWithdraw` and `maxRedeem` always answer 0, so they show nothing. Who is a sentinel or an
//! allocator stands in mappings that no function lists.
//!
//! Source of names and meanings: `VaultV2.sol`, `MorphoVaultV1Adapter.sol`, `MorphoMarketV1Adapter.sol` and `MorphoMarketV1AdapterV2.sol` of
//! Morpho's repository `vault-v2`.

mod adapter;

pub use adapter::{Adapter, Kind, MAX_MARKETS, Place, exposures};

use super::question::{Answers, Question};
use super::scale::{PPM, wad_to_ppm};
use super::{Unknown, Value};
use crate::abi::{Function, Word};
use crate::block::Address;
use alloc::vec::Vec;

/// More adapters are implausible: every deposit asks each of them for its assets.
pub const MAX_ADAPTERS: u64 = 64;
/// Longer delays, in seconds, are as good as none that ends: a hundred years.
const MAX_DELAY: u64 = 100 * 31_536_000;

/// The functions of the first step, besides the delays.
pub const FIRST_STEP: [Function; 9] = [
    Function::Asset,
    Function::TotalAssets,
    Function::Curator,
    Function::AdaptersLength,
    Function::LiquidityAdapter,
    Function::ReceiveSharesGate,
    Function::SendSharesGate,
    Function::ReceiveAssetsGate,
    Function::SendAssetsGate,
];

/// Functions of the curator that can put assets at more risk, or keep depositors from leaving. Fees, allocators and what lowers a cap are
/// not among them.
pub const RISKY: [Function; 8] = [
    Function::AddAdapter,
    Function::RemoveAdapter,
    Function::IncreaseAbsoluteCap,
    Function::IncreaseRelativeCap,
    Function::SetReceiveSharesGate,
    Function::SetSendSharesGate,
    Function::SetReceiveAssetsGate,
    Function::SetForceDeallocatePenalty,
];

/// How long the curator waits before one function takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Delay {
    /// This many seconds.
    Seconds(u64),
    /// Nobody can call the function any more: it was given up, or waits for more than a hundred years.
    Never,
}

/// Contracts that decide who may hold and move shares and assets; `None` if everybody may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gates {
    /// Decides who receives shares, also by a deposit.
    pub receive_shares: Value<Option<Address>>,
    /// Decides who sends shares, also by a withdrawal.
    pub send_shares: Value<Option<Address>>,
    /// Decides who receives assets by a withdrawal.
    pub receive_assets: Value<Option<Address>>,
    /// Decides who deposits.
    pub send_assets: Value<Option<Address>>,
}

impl Gates {
    /// Whether everybody may deposit, as far as gates decide it.
    pub fn let_everybody_in(&self) -> Value<bool> {
        Ok(self.receive_shares?.is_none() && self.send_assets?.is_none())
    }

    /// Whether everybody may leave, as far as gates decide it.
    pub fn let_everybody_out(&self) -> Value<bool> {
        Ok(self.send_shares?.is_none() && self.receive_assets?.is_none())
    }
}

/// A vault after the first step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vault {
    /// The token that is deposited; never the zero address.
    pub asset: Value<Address>,
    /// Assets that the vault manages, as the vault counts them: interest up to the block included, at most at the vault's maximum rate.
    pub total_assets: Value<u128>,
    /// Who adds adapters and sets caps, after a delay; `None` if nobody does.
    pub curator: Value<Option<Address>>,
    /// Number of adapters; at most [`MAX_ADAPTERS`].
    pub adapters: Value<u64>,
    /// The adapter to which deposits go and from which withdrawals come; `None` if deposits stay idle.
    pub liquidity_adapter: Value<Option<Address>>,
    /// Who may hold and move shares and assets.
    pub gates: Gates,
    /// The delay of each function of [`RISKY`], in its order.
    pub delays: [Value<Delay>; RISKY.len()],
}

/// The questions of the first step.
pub fn first_step(vault: Address) -> Vec<Question> {
    let state = FIRST_STEP.into_iter().map(|function| Question::new(vault, function));
    state.chain(RISKY.into_iter().flat_map(|function| delay_step(vault, function))).collect()
}

/// The questions about the delay of a function of the curator.
pub fn delay_step(vault: Address, function: Function) -> [Question; 2] {
    let selector = Word::from_fixed(function.selector());
    [Function::TimelockOf, Function::Abdicated].map(|asked| Question::with(vault, asked, &[selector]))
}

/// The answers to [`delay_step`].
fn delay(answers: &Answers, vault: Address, function: Function) -> Value<Delay> {
    let [timelock, abdicated] = delay_step(vault, function);
    if answers.flag(&abdicated)? {
        return Ok(Delay::Never);
    }
    let seconds = answers.word(&timelock)?.to_u64().ok().filter(|seconds| *seconds <= MAX_DELAY);
    Ok(seconds.map_or(Delay::Never, Delay::Seconds))
}

impl Vault {
    /// The answers to [`first_step`].
    pub fn from_answers(answers: &Answers, vault: Address) -> Self {
        let question = |function| Question::new(vault, function);
        let optional = |function| {
            let address = answers.address(&question(function))?;
            Ok((address != Address::ZERO).then_some(address))
        };
        Self {
            asset: answers.contract(&question(Function::Asset)),
            total_assets: answers.number(&question(Function::TotalAssets)),
            curator: optional(Function::Curator),
            adapters: answers.number_up_to(&question(Function::AdaptersLength), MAX_ADAPTERS),
            liquidity_adapter: optional(Function::LiquidityAdapter),
            gates: Gates {
                receive_shares: optional(Function::ReceiveSharesGate),
                send_shares: optional(Function::SendSharesGate),
                receive_assets: optional(Function::ReceiveAssetsGate),
                send_assets: optional(Function::SendAssetsGate),
            },
            delays: RISKY.map(|function| delay(answers, vault, function)),
        }
    }

    /// How long depositors have before anything of [`RISKY`] takes effect: the shortest of the delays. Unknown if one of them is.
    pub fn shortest_delay(&self) -> Value<Delay> {
        self.delays.iter().try_fold(Delay::Never, |shortest, delay| delay.map(|delay| delay.min(shortest)))
    }

    /// The questions of the second step: the adapters, and what the vault holds of its asset. A list of unknown length has none.
    pub fn adapter_step(&self, vault: Address) -> Vec<Question> {
        let idle = self.asset.ok().map(|asset| idle_question(asset, vault));
        places(vault, Function::Adapters, self.adapters.unwrap_or(0), MAX_ADAPTERS).chain(idle).collect()
    }

    /// The adapters, in the vault's order. Unknown if one of them is; implausible if one is listed twice.
    pub fn adapters(&self, answers: &Answers, vault: Address) -> Value<Vec<Address>> {
        let questions = places(vault, Function::Adapters, self.adapters?, MAX_ADAPTERS);
        let adapters: Vec<Address> = questions.map(|question| answers.contract(&question)).collect::<Value<_>>()?;
        let is_repeated = |(index, it): (usize, &Address)| adapters.iter().take(index).any(|earlier| earlier == it);
        if adapters.iter().enumerate().any(is_repeated) { Err(Unknown::Implausible) } else { Ok(adapters) }
    }
}

/// The question for what the vault itself holds of its asset.
pub fn idle_question(asset: Address, vault: Address) -> Question {
    Question::with(asset, Function::BalanceOf, &[Word::from_address(vault)])
}

/// The questions for the elements of a list, at most `max` of them.
fn places(contract: Address, function: Function, length: u64, max: u64) -> impl Iterator<Item = Question> {
    let question = move |index: u64| Question::with(contract, function, &[Word::from_u128(index.into())]);
    (0..length.min(max)).map(question)
}

/// The limits of one id: an adapter, a market, or what several of them share. Amounts are in the smallest unit of the asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// The most that may be allocated; nothing may be if it is 0.
    pub absolute: u128,
    /// The most that may be allocated, in parts per million of the vault's assets.
    pub relative_ppm: u32,
    /// What is allocated, as of the last allocation or deallocation.
    pub allocation: u128,
}

/// The questions about the limits of one id.
pub fn caps_step(vault: Address, id: Word) -> [Question; 3] {
    [Function::AbsoluteCap, Function::RelativeCap, Function::Allocation]
        .map(|function| Question::with(vault, function, &[id]))
}

impl Caps {
    /// The answers to [`caps_step`].
    pub fn from_answers(answers: &Answers, vault: Address, id: Word) -> Value<Self> {
        let [absolute, relative, allocation] = caps_step(vault, id);
        Ok(Self {
            absolute: answers.number(&absolute)?,
            relative_ppm: wad_to_ppm(answers.number(&relative)?, PPM)?,
            allocation: answers.number(&allocation)?,
        })
    }

    /// Whether nothing more can be allocated.
    pub fn is_full(&self) -> bool {
        self.allocation >= self.absolute || self.relative_ppm == 0
    }
}

#[cfg(test)]
mod tests;
