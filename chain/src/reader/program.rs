//! The reader program. Each line shows the stack after its instructions, top at the right.
//!
//! Memory: the first word receives the first word of each call's return data; [`ARGUMENTS`] holds the calldata of the calls to ArbSys;
//! two words hold addresses; the request begins at [`REQUEST`]; the answer follows the request.

use crate::evm::assembler::{Asm, assemble, length, position};
use crate::evm::opcode::*;
use Asm::{Label, Push, Push4, PushLabel, PushLength};

// Addresses in memory.
/// Calldata for ArbSys: the selector in the last four bytes of the first word, then the argument.
const ARGUMENTS: u8 = 0x20;
/// Address behind the last field, where the contracts begin.
const FIELDS_END: u8 = 0x60;
/// Address behind the request, where the answer begins.
const REQUEST_END: u8 = 0x80;
/// The request, as `request.rs` describes it.
const REQUEST: u8 = 0xa0;
const CALL_GAS: u8 = REQUEST + 1;
const NEEDED_GAS: u8 = REQUEST + 5;
const FIELDS: u8 = REQUEST + 10;

// Positions of the words in the answer's header.
const PARENT_HASH: u8 = 0x20;
const TIME: u8 = 0x40;
const CHAIN: u8 = 0x60;
const GAS_AT_START: u8 = 0x80;
const GAS_AT_END: u8 = 0xa0;
const HEADER: u8 = 0xc0;
/// Length of the answer's header: six words.
pub const HEADER_BYTES: usize = HEADER as usize;

const ARB_SYS: u8 = 0x64;
/// Selector of `arbBlockNumber()`.
const ARB_BLOCK_NUMBER: [u8; 4] = [0xa3, 0xb1, 0xb3, 0x1d];
/// Selector of `arbBlockHash(uint256)`.
const ARB_BLOCK_HASH: [u8; 4] = [0x2b, 0x40, 0x7a, 0x82];

// Labels.
const FROM_CALLDATA: u8 = 1;
const COPIED: u8 = 2;
const FROM_ARB_SYS: u8 = 3;
const NUMBERED: u8 = 4;
const NEXT_CONTRACT: u8 = 5;
const NEXT_FIELD: u8 = 6;
const DONE: u8 = 7;

#[rustfmt::skip]
const LISTING: &[Asm] = &[
    // Copy the request to memory: from the calldata, or, if there is none, from behind the program (init code).
    GAS,                                                        // gas
    CALLDATASIZE, PushLabel(FROM_CALLDATA), JUMPI,              // gas
    PushLength, CODESIZE, SUB,                                  // gas size
    DUP1, PushLength, Push(REQUEST), CODECOPY,                  // gas size
    PushLabel(COPIED), JUMP,
    Label(FROM_CALLDATA),                                       // gas
    CALLDATASIZE, DUP1, Push(0), Push(REQUEST), CALLDATACOPY,   // gas size
    Label(COPIED),                                              // gas size
    Push(REQUEST), ADD, DUP1, Push(REQUEST_END), MSTORE,        // gas out

    // Header: gas, time and chain.
    SWAP1, DUP2, Push(GAS_AT_START), ADD, MSTORE,               // out
    TIMESTAMP, DUP2, Push(TIME), ADD, MSTORE,                   // out
    CHAINID, DUP2, Push(CHAIN), ADD, MSTORE,                    // out

    // Header: number and parent hash. The request's first byte says where they come from.
    Push(REQUEST), MLOAD, Push(0), BYTE,                        // out source
    PushLabel(FROM_ARB_SYS), JUMPI,                             // out
    NUMBER, Push(1), NUMBER, SUB, BLOCKHASH,                    // out number parent
    Label(NUMBERED),                                            // out number parent
    DUP3, Push(PARENT_HASH), ADD, MSTORE,                       // out number
    DUP2, MSTORE,                                               // out

    // The contracts begin behind the fields, which take 37 bytes each.
    Push(37), Push(REQUEST + 9), MLOAD, Push(0), BYTE, MUL,     // out size
    Push(FIELDS), ADD, DUP1, Push(FIELDS_END), MSTORE,          // out contract
    SWAP1, Push(HEADER), ADD, SWAP1,                            // record contract

    Label(NEXT_CONTRACT),                                       // record contract
    Push(FIELDS),                                               // record contract field
    Push(REQUEST_END), MLOAD, DUP3, LT, ISZERO,                 // record contract field end?
    PushLabel(DONE), JUMPI,                                     // record contract field
    Label(NEXT_FIELD),                                          // record contract field
    Push(NEEDED_GAS), MLOAD, Push(224), SHR, GAS, LT,           // record contract field starved?
    PushLabel(DONE), JUMPI,                                     // record contract field

    // Call the contract. At most one word of the return data is copied, however long it is.
    Push(0), DUP1, MSTORE,                                      // record contract field
    Push(32), Push(0),                                          // … out-size out
    DUP3, MLOAD, Push(0), BYTE,                                 // … in-size
    Push(1), DUP5, ADD,                                         // … in
    DUP6, MLOAD, Push(96), SHR,                                 // … address
    Push(CALL_GAS), MLOAD, Push(224), SHR, STATICCALL,          // record contract field ok

    // Status. ok=1: 1, or 2 if fewer than 32 bytes came back. ok=0: 3, or 4 if nothing came back.
    // That is 3 - 2·ok, and 1 more if RETURNDATASIZE < 1 + 31·ok.
    DUP1, Push(31), MUL, Push(1), ADD, RETURNDATASIZE, LT,      // … ok less
    SWAP1, Push(1), SHL, Push(3), SUB, ADD,                     // record contract field status
    DUP4, MSTORE8,                                              // record contract field
    Push(0), MLOAD, DUP4, Push(1), ADD, MSTORE,                 // record contract field
    SWAP2, Push(33), ADD, SWAP2,                                // record' contract field
    Push(37), ADD,                                              // record contract field'
    Push(FIELDS_END), MLOAD, DUP2, LT, PushLabel(NEXT_FIELD), JUMPI,
    POP, Push(20), ADD, PushLabel(NEXT_CONTRACT), JUMP,         // record contract'

    Label(DONE),                                                // record contract field
    POP, POP, Push(REQUEST_END), MLOAD,                         // record out
    GAS, DUP2, Push(GAS_AT_END), ADD, MSTORE,                   // record out
    DUP1, SWAP2, SUB, SWAP1, RETURN,

    // Number and parent hash from ArbSys. A call that fails leaves a number or hash that is not the requested block's.
    Label(FROM_ARB_SYS),                                        // out
    Push4(ARB_BLOCK_NUMBER), Push(ARGUMENTS), MSTORE,           // out
    Push(32), Push(0), Push(4), Push(ARGUMENTS + 28), Push(ARB_SYS), GAS, STATICCALL, POP,
    Push(0), MLOAD,                                             // out number
    Push4(ARB_BLOCK_HASH), Push(ARGUMENTS), MSTORE,             // out number
    Push(1), DUP2, SUB, Push(ARGUMENTS + 32), MSTORE,           // out number
    Push(32), Push(0), Push(36), Push(ARGUMENTS + 28), Push(ARB_SYS), GAS, STATICCALL, POP,
    Push(0), MLOAD,                                             // out number parent
    PushLabel(NUMBERED), JUMP,
];

/// The reader program's bytes.
pub const PROGRAM: [u8; length(LISTING)] = assemble(LISTING);

// `PUSH1` reaches every label; `FROM_ARB_SYS` is the last one.
const _: () = assert!(position(LISTING, FROM_ARB_SYS) < u8::MAX);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Function;

    #[test]
    fn the_selectors_of_arb_sys_are_the_hashes_of_their_signatures() {
        assert_eq!(ARB_BLOCK_NUMBER, Function::ArbBlockNumber.selector());
        assert_eq!(ARB_BLOCK_HASH, Function::ArbBlockHash.selector());
    }

    #[test]
    fn the_program_is_the_one_with_which_the_golden_answers_were_recorded() {
        let recorded = include_str!("../../fixtures/reader.hex").trim();
        assert_eq!(crate::hex::encode(&PROGRAM), recorded);
    }
}
