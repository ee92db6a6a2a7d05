//! Asynchronous vaults of ERC-7540, in which a deposit or a redemption is first requested and later claimed.
//!
//! A vault says by ERC-165 which of the two is asynchronous. The preview functions of an asynchronous operation must revert; a vault whose
//! functions contradict what it says is [`Unknown::Implausible`] for that operation. `maxDeposit` and `maxRedeem` of such a vault speak of
//! what can be claimed now, not of what can be requested: they are not the vault's capacity.

use super::question::{Answers, Question, nonzero};
use super::{Unknown, Value};
use crate::abi::{Function, Word};
use crate::block::Address;
use alloc::vec::Vec;

/// ERC-165 itself.
const ERC165: [u8; 4] = [0x01, 0xff, 0xc9, 0xa7];
/// The id that no contract may support.
const INVALID: [u8; 4] = [0xff; 4];
/// Asynchronous deposits.
const ASYNC_DEPOSIT: [u8; 4] = [0xce, 0x3b, 0xbe, 0x50];
/// Asynchronous redemptions.
const ASYNC_REDEEM: [u8; 4] = [0x62, 0x0e, 0xe8, 0xe4];

/// How an operation of a vault works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// At once, as ERC-4626 says.
    Immediate,
    /// By a request that somebody fulfils later.
    ByRequest,
}

/// What kind of vault a vault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// How deposits work.
    pub deposit: Value<Operation>,
    /// How redemptions work.
    pub redeem: Value<Operation>,
    /// The token that stands for a deposit: the vault itself if it has no function `share()`.
    pub share: Value<Address>,
}

/// The questions about a vault's kind.
pub fn first_step(vault: Address) -> Vec<Question> {
    let mut questions: Vec<_> =
        [ERC165, INVALID, ASYNC_DEPOSIT, ASYNC_REDEEM].map(|interface| supports(vault, interface)).into();
    questions.push(Question::new(vault, Function::Share));
    questions.extend([Function::PreviewDeposit, Function::PreviewRedeem].map(|function| preview(vault, function)));
    questions
}

fn supports(vault: Address, interface: [u8; 4]) -> Question {
    Question::with(vault, Function::SupportsInterface, &[Word::from_fixed(interface)])
}

/// The amount does not matter: the previews of an asynchronous operation revert for every amount.
fn preview(vault: Address, function: Function) -> Question {
    Question::with(vault, function, &[Word::from_u128(1)])
}

impl Kind {
    /// The answers to [`first_step`].
    pub fn from_answers(answers: &Answers, vault: Address) -> Self {
        Self {
            deposit: operation(answers, vault, ASYNC_DEPOSIT, Function::PreviewDeposit),
            redeem: operation(answers, vault, ASYNC_REDEEM, Function::PreviewRedeem),
            share: match answers.address(&Question::new(vault, Function::Share)) {
                Ok(share) => nonzero(share),
                Err(Unknown::NoAnswer) => Ok(vault),
                Err(unknown) => Err(unknown),
            },
        }
    }
}

fn operation(answers: &Answers, vault: Address, interface: [u8; 4], function: Function) -> Value<Operation> {
    let is_by_request = supports_interface(answers, vault, interface)?;
    if !is_by_request {
        return Ok(Operation::Immediate);
    }
    match answers.word(&preview(vault, function)) {
        Ok(_) | Err(Unknown::Implausible) => Err(Unknown::Implausible),
        Err(Unknown::Refused | Unknown::NoAnswer) => Ok(Operation::ByRequest),
        Err(Unknown::Unread) => Err(Unknown::Unread),
    }
}

/// Whether the vault supports an interface. A contract without ERC-165, or one that says yes to every id, supports none.
fn supports_interface(answers: &Answers, vault: Address, interface: [u8; 4]) -> Value<bool> {
    let claims = |interface| match answers.flag(&supports(vault, interface)) {
        Err(Unknown::Unread) => Err(Unknown::Unread),
        claim => Ok(claim.unwrap_or(false)),
    };
    Ok(claims(ERC165)? && !claims(INVALID)? && claims(interface)?)
}

/// The requests of one controller, those of request id 0: a vault that does not tell requests apart gives the sum of all under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requests {
    /// Assets that were given to the vault and earn nothing yet; they cannot be taken back by the standard's means.
    pub pending_deposit: Value<u128>,
    /// Assets whose shares can be claimed now.
    pub claimable_deposit: Value<u128>,
    /// Shares that were given back and for which nothing can be claimed yet.
    pub pending_redeem: Value<u128>,
    /// Shares whose assets can be claimed now.
    pub claimable_redeem: Value<u128>,
}

const REQUESTS: [Function; 4] = [
    Function::PendingDepositRequest,
    Function::ClaimableDepositRequest,
    Function::PendingRedeemRequest,
    Function::ClaimableRedeemRequest,
];

/// The questions about the requests of a controller.
pub fn request_step(vault: Address, controller: Address) -> Vec<Question> {
    REQUESTS.map(|function| request(vault, controller, function)).into()
}

fn request(vault: Address, controller: Address, function: Function) -> Question {
    Question::with(vault, function, &[Word::ZERO, Word::from_address(controller)])
}

impl Requests {
    /// The answers to [`request_step`].
    pub fn from_answers(answers: &Answers, vault: Address, controller: Address) -> Self {
        let [pending_deposit, claimable_deposit, pending_redeem, claimable_redeem] =
            REQUESTS.map(|function| answers.number(&request(vault, controller, function)));
        Self { pending_deposit, claimable_deposit, pending_redeem, claimable_redeem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;
    use crate::failure::Failure::Reverted;
    use alloy_sol_types::private::{Address as AlloyAddress, U256};
    use alloy_sol_types::{SolCall, SolValue};
    use std::vec;

    alloy_sol_types::sol! {
        function pendingDepositRequest(uint256 requestId, address controller) returns (uint256);
        function claimableRedeemRequest(uint256 requestId, address controller) returns (uint256);
        function share() returns (address);
        function previewRedeem(uint256) returns (uint256);
    }

    const VAULT: Address = Address([0xaa; 20]);

    /// A vault that answers these four times to `supportsInterface`, then the share, then the previews.
    fn kind(claims: [bool; 4], share: Result<Vec<u8>, Failure>, previews: [Result<Vec<u8>, Failure>; 2]) -> Kind {
        let mut answers = Answers::new();
        let results = claims.map(|claim| Ok(claim.abi_encode())).into_iter().chain([share]).chain(previews);
        for (question, result) in first_step(VAULT).into_iter().zip(results) {
            answers.insert(question, result);
        }
        Kind::from_answers(&answers, VAULT)
    }

    fn refused() -> Result<Vec<u8>, Failure> {
        Err(Reverted { data: vec![1] })
    }

    fn silent() -> Result<Vec<u8>, Failure> {
        Err(Reverted { data: vec![] })
    }

    fn one() -> Result<Vec<u8>, Failure> {
        Ok(U256::from(1).abi_encode())
    }

    #[test]
    fn a_vault_is_asynchronous_where_it_says_so_and_its_preview_reverts() {
        let share = AlloyAddress::from([7; 20]).abi_encode();
        let both = kind([true, false, true, true], Ok(share), [refused(), silent()]);
        assert_eq!((both.deposit, both.redeem), (Ok(Operation::ByRequest), Ok(Operation::ByRequest)));
        assert_eq!(both.share, Ok(Address([7; 20])));
        let redeem = kind([true, false, false, true], silent(), [one(), refused()]);
        assert_eq!((redeem.deposit, redeem.redeem), (Ok(Operation::Immediate), Ok(Operation::ByRequest)));
        assert_eq!(redeem.share, Ok(VAULT));
    }

    #[test]
    fn a_preview_that_contradicts_the_vaults_own_word_is_implausible() {
        let vault = kind([true, false, true, true], silent(), [one(), Err(Failure::Transport)]);
        assert_eq!((vault.deposit, vault.redeem), (Err(Unknown::Implausible), Err(Unknown::Unread)));
    }

    #[test]
    fn a_contract_that_supports_every_id_or_lacks_erc_165_supports_none() {
        for claims in [[true, true, true, true], [false, false, true, true]] {
            let vault = kind(claims, silent(), [refused(), refused()]);
            assert_eq!((vault.deposit, vault.redeem), (Ok(Operation::Immediate), Ok(Operation::Immediate)));
        }
        let unread = Kind::from_answers(&Answers::new(), VAULT);
        assert_eq!((unread.deposit, unread.share), (Err(Unknown::Unread), Err(Unknown::Unread)));
        let mut plain = Answers::new();
        first_step(VAULT).into_iter().for_each(|question| plain.insert(question, silent()));
        assert_eq!(Kind::from_answers(&plain, VAULT).deposit, Ok(Operation::Immediate));
    }

    #[test]
    fn requests_are_asked_for_with_the_calldata_of_alloy() {
        let controller = Address([5; 20]);
        let questions = request_step(VAULT, controller);
        let alloys = AlloyAddress::from(controller.0);
        let pending = pendingDepositRequestCall { requestId: U256::ZERO, controller: alloys };
        let claimable = claimableRedeemRequestCall { requestId: U256::ZERO, controller: alloys };
        assert_eq!(questions[0].calldata(), pending.abi_encode());
        assert_eq!(questions[3].calldata(), claimable.abi_encode());
        let mut answers = Answers::new();
        for (question, amount) in questions.into_iter().zip([1_u64, 2, 3]) {
            answers.insert(question, Ok(U256::from(amount).abi_encode()));
        }
        let requests = Requests::from_answers(&answers, VAULT, controller);
        assert_eq!((requests.pending_deposit, requests.claimable_deposit), (Ok(1), Ok(2)));
        assert_eq!((requests.pending_redeem, requests.claimable_redeem), (Ok(3), Err(Unknown::Unread)));
        assert_eq!(Function::Share.selector(), shareCall::SELECTOR);
        assert_eq!(Function::PreviewRedeem.selector(), previewRedeemCall::SELECTOR);
    }
}
