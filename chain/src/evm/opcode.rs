//! The opcodes that the programs of this crate use, named as in the Ethereum yellow paper. All of them exist since the Istanbul hard fork
//! (2019).

use super::assembler::Asm::{self, Op};

pub(crate) const ADD: Asm = Op(0x01);
pub(crate) const MUL: Asm = Op(0x02);
pub(crate) const SUB: Asm = Op(0x03);
pub(crate) const LT: Asm = Op(0x10);
pub(crate) const GT: Asm = Op(0x11);
pub(crate) const EQ: Asm = Op(0x14);
pub(crate) const ISZERO: Asm = Op(0x15);
pub(crate) const AND: Asm = Op(0x16);
pub(crate) const OR: Asm = Op(0x17);
pub(crate) const BYTE: Asm = Op(0x1a);
pub(crate) const SHL: Asm = Op(0x1b);
pub(crate) const SHR: Asm = Op(0x1c);
pub(crate) const ADDRESS: Asm = Op(0x30);
pub(crate) const CALLDATALOAD: Asm = Op(0x35);
pub(crate) const CALLDATASIZE: Asm = Op(0x36);
pub(crate) const CALLDATACOPY: Asm = Op(0x37);
pub(crate) const CODESIZE: Asm = Op(0x38);
pub(crate) const CODECOPY: Asm = Op(0x39);
pub(crate) const RETURNDATASIZE: Asm = Op(0x3d);
pub(crate) const RETURNDATACOPY: Asm = Op(0x3e);
pub(crate) const BLOCKHASH: Asm = Op(0x40);
pub(crate) const TIMESTAMP: Asm = Op(0x42);
pub(crate) const NUMBER: Asm = Op(0x43);
pub(crate) const CHAINID: Asm = Op(0x46);
pub(crate) const POP: Asm = Op(0x50);
pub(crate) const MLOAD: Asm = Op(0x51);
pub(crate) const MSTORE: Asm = Op(0x52);
pub(crate) const MSTORE8: Asm = Op(0x53);
pub(crate) const JUMP: Asm = Op(0x56);
pub(crate) const JUMPI: Asm = Op(0x57);
pub(crate) const GAS: Asm = Op(0x5a);
pub(crate) const DUP1: Asm = Op(0x80);
pub(crate) const DUP2: Asm = Op(0x81);
pub(crate) const DUP3: Asm = Op(0x82);
pub(crate) const DUP4: Asm = Op(0x83);
pub(crate) const DUP5: Asm = Op(0x84);
pub(crate) const DUP6: Asm = Op(0x85);
pub(crate) const SWAP1: Asm = Op(0x90);
pub(crate) const SWAP2: Asm = Op(0x91);
pub(crate) const CALL: Asm = Op(0xf1);
pub(crate) const RETURN: Asm = Op(0xf3);
pub(crate) const STATICCALL: Asm = Op(0xfa);
