//! An EVM program that makes many calls in one `eth_call`.
//!
//! The provider runs the program as the code of an address that has none (a *state override*), or as init code. The request names the
//! fields (calldata) once, then 20 bytes a contract. The program calls every field of every contract, each with at most a given amount of
//! gas, and answers with 33 bytes a call. Compared with Multicall3:
//!
//! - A contract that burns all its gas, or returns megabytes, costs its own calls only.
//! - The program stops before the remaining gas would not suffice for a whole call, so no call fails for want of gas. The answer is then
//!   short, and the rest is asked again.
//! - The answer begins with the block that the EVM ran at. A provider that ignored the requested block is detected.
//!
//! | file | content |
//! |---|---|
//! | `program.rs` | the program, opcode by opcode |
//! | `request.rs` | the request's format |
//! | `answer.rs` | the answer's format, and the check of the block |

mod answer;
mod program;
mod request;

pub use answer::{Answer, AnswerError, AskAgain, HeaderField, Outcome, RECORD_BYTES, Status};
pub use program::{HEADER_BYTES, PROGRAM};
pub use request::{
    CODE_DEPOSIT_GAS, Field, MAX_CALL_GAS, MAX_CODE_BYTES, MAX_FIELDS, NumberSource, RESERVED_GAS, Request,
    RequestError,
};
