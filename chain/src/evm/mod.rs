//! EVM programs of our own: opcodes, and the assembler that turns them into bytes when this crate is compiled.

pub(crate) mod assembler;
pub(crate) mod opcode;
