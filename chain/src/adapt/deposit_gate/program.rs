//! The gate's EVM program: balance → approve → deposit → redeem → balance. Each line shows the stack after its instructions, top at the
//! right.
//!
//! Its calldata is five words: vault, asset, amount, gas cap of each call, gas below which it does not begin. Its answer is the words
//! below, and the return data of the last call as far as [`MAX_REASON_BYTES`].

use crate::evm::assembler::{Asm, assemble, length, position};
use crate::evm::opcode::*;
use Asm::{Label, Push, Push4, PushLabel};

// Positions in the calldata.
const VAULT: u8 = 0x00;
const ASSET: u8 = 0x20;
const AMOUNT: u8 = 0x40;
const CALL_GAS: u8 = 0x60;
const NEEDED_GAS: u8 = 0x80;

// Positions in memory. The answer is the first seven words; the calldata of the calls shares its place with the last of them and the
// reason, which are written when there is no further call.
/// Number of the last call that was made; [`DONE`](super::DONE) if all went well.
const STEP: u8 = 0x00;
/// Whether that call succeeded.
const OK: u8 = 0x20;
/// The shares that the deposit returned.
const SHARES: u8 = 0x40;
/// The first word that the last call returned: at the end, the balance.
const RETURNED: u8 = 0x60;
/// Length of the last call's return data.
const SIZE: u8 = 0x80;
const SELECTOR: u8 = 0x80;
const INPUT: u8 = SELECTOR + 28;
const FIRST: u8 = 0xa0;
const SECOND: u8 = 0xc0;
const THIRD: u8 = 0xe0;
/// The block's timestamp.
const TIME: u8 = 0xa0;
/// The chain id.
const CHAIN: u8 = 0xc0;
/// Length of the answer without a reason.
pub(super) const HEAD_BYTES: u8 = 0xe0;
/// How much of the return data is kept.
pub(super) const MAX_REASON_BYTES: u8 = 224;

pub(super) const BALANCE_OF: [u8; 4] = [0x70, 0xa0, 0x82, 0x31];
pub(super) const APPROVE: [u8; 4] = [0x09, 0x5e, 0xa7, 0xb3];
pub(super) const DEPOSIT: [u8; 4] = [0x6e, 0x55, 0x3f, 0x65];
pub(super) const REDEEM: [u8; 4] = [0xba, 0x08, 0x76, 0x52];

// Labels.
const START: u8 = 1;
const MAKE_CALL: u8 = 2;
const END: u8 = 3;
const SHORT: u8 = 4;
const HAS_BALANCE: u8 = 5;
const APPROVED: u8 = 6;
const DEPOSITED: u8 = 7;
const REDEEMED: u8 = 8;
const HAS_RETURNED: u8 = 9;

#[rustfmt::skip]
const LISTING: &[Asm] = &[
    PushLabel(START), JUMP,

    // Make the next call and return to `back`. A call that fails, or returns no whole word, ends the program; approve need not return
    // anything, as some tokens do not.
    Label(MAKE_CALL),                                           // back size to
    Push(1), Push(STEP), MLOAD, ADD, Push(STEP), MSTORE,        // back size to
    Push(32), Push(RETURNED), DUP4, Push(INPUT), Push(0), DUP6, // … out-size out size in value to
    Push(CALL_GAS), CALLDATALOAD, CALL,                         // back size to ok
    DUP1, Push(OK), MSTORE,                                     // back size to ok
    Push(31), RETURNDATASIZE, GT,                               // … ok whole?
    Push(2), Push(STEP), MLOAD, EQ, OR, AND, ISZERO,            // back size to failed?
    PushLabel(END), JUMPI,                                      // back size to
    POP, POP, JUMP,

    Label(START),
    Push(NEEDED_GAS), CALLDATALOAD, GAS, LT, PushLabel(END), JUMPI,

    // 1: the asset counts the amount as ours.
    Push4(BALANCE_OF), Push(SELECTOR), MSTORE,
    ADDRESS, Push(FIRST), MSTORE,
    PushLabel(HAS_BALANCE), Push(36), Push(ASSET), CALLDATALOAD, PushLabel(MAKE_CALL), JUMP,
    Label(HAS_BALANCE),
    Push(RETURNED), MLOAD, Push(AMOUNT), CALLDATALOAD, EQ, ISZERO, PushLabel(END), JUMPI,

    // 2: approve(vault, amount).
    Push4(APPROVE), Push(SELECTOR), MSTORE,
    Push(VAULT), CALLDATALOAD, Push(FIRST), MSTORE,
    Push(AMOUNT), CALLDATALOAD, Push(SECOND), MSTORE,
    PushLabel(APPROVED), Push(68), Push(ASSET), CALLDATALOAD, PushLabel(MAKE_CALL), JUMP,
    Label(APPROVED),

    // 3: deposit(amount, this).
    Push4(DEPOSIT), Push(SELECTOR), MSTORE,
    Push(AMOUNT), CALLDATALOAD, Push(FIRST), MSTORE,
    ADDRESS, Push(SECOND), MSTORE,
    PushLabel(DEPOSITED), Push(68), Push(VAULT), CALLDATALOAD, PushLabel(MAKE_CALL), JUMP,
    Label(DEPOSITED),
    Push(RETURNED), MLOAD, DUP1, Push(SHARES), MSTORE,          // shares

    // 4: redeem(shares, this, this). The second argument is still there.
    Push(FIRST), MSTORE,
    Push4(REDEEM), Push(SELECTOR), MSTORE,
    ADDRESS, Push(THIRD), MSTORE,
    PushLabel(REDEEMED), Push(100), Push(VAULT), CALLDATALOAD, PushLabel(MAKE_CALL), JUMP,
    Label(REDEEMED),

    // 5: what is ours now. What the vault says that it paid does not count.
    Push4(BALANCE_OF), Push(SELECTOR), MSTORE,
    ADDRESS, Push(FIRST), MSTORE,
    PushLabel(HAS_RETURNED), Push(36), Push(ASSET), CALLDATALOAD, PushLabel(MAKE_CALL), JUMP,
    Label(HAS_RETURNED),
    Push(super::DONE), Push(STEP), MSTORE,

    // Answer with time and chain, and with what the last call returned, at most the maximum.
    Label(END),
    TIMESTAMP, Push(TIME), MSTORE,
    CHAINID, Push(CHAIN), MSTORE,
    RETURNDATASIZE, DUP1, Push(SIZE), MSTORE,                   // size
    Push(MAX_REASON_BYTES), DUP2, GT, ISZERO,                   // size short?
    PushLabel(SHORT), JUMPI,                                    // size
    POP, Push(MAX_REASON_BYTES),                                // size
    Label(SHORT),                                               // size
    DUP1, Push(0), Push(HEAD_BYTES), RETURNDATACOPY,            // size
    Push(HEAD_BYTES), ADD, Push(0), RETURN,
];

/// The gate program's bytes.
pub const PROGRAM: [u8; length(LISTING)] = assemble(LISTING);

// `PUSH1` reaches every label; `SHORT` is the last one.
const _: () = assert!(position(LISTING, SHORT) < u8::MAX);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selectors_are_the_hashes_of_their_signatures() {
        let selector = |signature: &str| crate::abi::keccak256(signature.as_bytes())[..4].to_vec();
        assert_eq!(BALANCE_OF.to_vec(), selector("balanceOf(address)"));
        assert_eq!(APPROVE.to_vec(), selector("approve(address,uint256)"));
        assert_eq!(DEPOSIT.to_vec(), selector("deposit(uint256,address)"));
        assert_eq!(REDEEM.to_vec(), selector("redeem(uint256,address,address)"));
    }

    #[test]
    fn the_program_is_the_one_with_which_the_golden_answers_were_recorded() {
        let recorded = include_str!("../../../fixtures/gate.hex").trim();
        assert_eq!(crate::hex::encode(&PROGRAM), recorded);
    }
}
