//! The reader's request: which fields to read of which contracts.
//!
//! | bytes | content |
//! |---|---|
//! | 1 | where block number and parent hash come from: 0 or 1, see [`NumberSource`] |
//! | 4 | gas cap of each call |
//! | 4 | gas below which the program makes no further call: enough for the cap, and [`RESERVED_GAS`] for the program |
//! | 1 | number of fields |
//! | 37 a field | length of the calldata, then the calldata, filled up with zeros to 36 bytes |
//! | 20 a contract | address |

use super::answer::RECORD_BYTES;
use super::program::{HEADER_BYTES, PROGRAM};
use crate::abi::{Call, Function, Selector, Word};
use crate::block::Address;
use alloc::vec::Vec;
use core::fmt;

/// Maximum number of fields in one request.
pub const MAX_FIELDS: usize = 255;
const ARGUMENT_BYTES: usize = 36;

/// Maximum gas cap of a call: more than any chain's block limit today, and the numbers derived from it fit into 32 bits.
pub const MAX_CALL_GAS: u32 = 2_000_000_000;

/// Gas that the program keeps for itself in addition to a call's cap.
///
/// Before a call it pays for the account (2,600, twice for an account that delegates its code, EIP-7702); after it for one record, whose
/// memory costs up to 140 gas a word in an answer of one megabyte. The rest is a margin for chains with other prices.
pub const RESERVED_GAS: u32 = 20_000;

/// EIP-170: maximum length of a contract's code, which a node takes the answer of init code for.
pub const MAX_CODE_BYTES: usize = 24_576;
/// Gas that a node charges for a byte of a new contract's code.
pub const CODE_DEPOSIT_GAS: u32 = 200;

/// What is read of a contract: a function without argument, or with one argument of one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Field {
    selector: Selector,
    argument: Option<Word>,
}

impl Field {
    /// A call without argument.
    pub fn new(function: Function) -> Self {
        Self { selector: function.selector(), argument: None }
    }

    /// A call with one argument.
    pub fn with(function: Function, argument: Word) -> Self {
        Self { selector: function.selector(), argument: Some(argument) }
    }

    /// A call of a function that is not in the table of [`Function`].
    pub const fn raw(selector: Selector, argument: Option<Word>) -> Self {
        Self { selector, argument }
    }

    /// The calldata: 4 or 36 bytes.
    pub fn calldata(&self) -> Vec<u8> {
        let call = Call::new(self.selector);
        self.argument.map_or(call.clone(), |argument| call.word(argument)).encode()
    }
}

/// Where the reader takes the block's number and its parent's hash from.
///
/// On Arbitrum the opcode `NUMBER` gives the number of a recent L1 block, and `BLOCKHASH` no hash of the chain. There the system contract
/// ArbSys (address 0x64) knows both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NumberSource {
    /// The opcodes `NUMBER` and `BLOCKHASH`.
    Opcodes,
    /// `arbBlockNumber()` and `arbBlockHash(number − 1)` of ArbSys.
    ArbSys,
}

/// One request: every field is read of every contract. The answer's order is contract by contract, field by field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    number_source: NumberSource,
    call_gas: u32,
    fields: Vec<Field>,
    contracts: Vec<Address>,
}

/// Why a request cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestError {
    /// There are contracts but no field.
    NoField,
    /// There are more than [`MAX_FIELDS`] fields.
    TooManyFields,
    /// The gas cap of a call is 0 or more than [`MAX_CALL_GAS`].
    CallGas,
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RequestError::NoField => "there is no field to read",
            RequestError::TooManyFields => "there are more than 255 fields",
            RequestError::CallGas => "the gas cap of a call is 0 or too high",
        })
    }
}

impl core::error::Error for RequestError {}

impl Request {
    /// A request for `fields` of `contracts`, each call with at most `call_gas` gas.
    pub fn new(
        number_source: NumberSource,
        call_gas: u32,
        fields: Vec<Field>,
        contracts: Vec<Address>,
    ) -> Result<Self, RequestError> {
        if fields.is_empty() {
            return Err(RequestError::NoField);
        }
        if fields.len() > MAX_FIELDS {
            return Err(RequestError::TooManyFields);
        }
        if call_gas == 0 || call_gas > MAX_CALL_GAS {
            return Err(RequestError::CallGas);
        }
        Ok(Self { number_source, call_gas, fields, contracts })
    }

    /// A request without calls. Its answer shows whether a provider runs the reader at the requested block.
    pub fn header_only(number_source: NumberSource) -> Self {
        Self { number_source, call_gas: 0, fields: Vec::new(), contracts: Vec::new() }
    }

    /// The fields, in the answer's order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The contracts, in the answer's order.
    pub fn contracts(&self) -> &[Address] {
        &self.contracts
    }

    /// Where number and parent hash come from.
    pub fn number_source(&self) -> NumberSource {
        self.number_source
    }

    /// Gas cap of each call.
    pub fn call_gas(&self) -> u32 {
        self.call_gas
    }

    /// Gas below which the program makes no further call. A caller keeps 1/64 of its gas (EIP-150), so a call needs 64/63 of its cap.
    pub fn needed_gas(&self) -> u32 {
        let kept = self.call_gas.div_ceil(63);
        self.call_gas.saturating_add(kept).saturating_add(RESERVED_GAS)
    }

    /// As [`needed_gas`](Self::needed_gas), for init code: the node also charges for storing the answer, whose length is at most that of all
    /// records.
    pub fn needed_gas_of_init_code(&self) -> u32 {
        let answer = self.calls().saturating_mul(RECORD_BYTES).saturating_add(HEADER_BYTES).min(MAX_CODE_BYTES);
        let storing = u32::try_from(answer).unwrap_or(u32::MAX).saturating_mul(CODE_DEPOSIT_GAS);
        self.needed_gas().saturating_add(storing)
    }

    /// Number of calls: fields times contracts.
    pub fn calls(&self) -> usize {
        self.fields.len().saturating_mul(self.contracts.len())
    }

    /// The calldata of the `eth_call` whose state override sets [`PROGRAM`] as the code of its target.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_with(self.needed_gas())
    }

    fn encode_with(&self, needed_gas: u32) -> Vec<u8> {
        let source = match self.number_source {
            NumberSource::Opcodes => 0,
            NumberSource::ArbSys => 1,
        };
        let mut data = Vec::with_capacity(
            self.fields
                .len()
                .saturating_mul(37)
                .saturating_add(self.contracts.len().saturating_mul(20))
                .saturating_add(10),
        );
        data.push(source);
        data.extend_from_slice(&self.call_gas.to_be_bytes());
        data.extend_from_slice(&needed_gas.to_be_bytes());
        // The constructor keeps the number below 256.
        data.push(u8::try_from(self.fields.len()).unwrap_or(u8::MAX));
        for field in &self.fields {
            let calldata = field.calldata();
            let padding = ARGUMENT_BYTES.saturating_sub(calldata.len());
            data.push(if field.argument.is_some() { 36 } else { 4 });
            data.extend_from_slice(&calldata);
            data.extend(core::iter::repeat_n(0, padding));
        }
        data.extend(self.contracts.iter().flat_map(|contract| contract.0));
        data
    }

    /// The data of an `eth_call` without target, which runs the program as init code: [`PROGRAM`] and the request.
    ///
    /// Nodes limit init code to 49,152 bytes (EIP-3860) and its answer to [`MAX_CODE_BYTES`].
    pub fn encode_init_code(&self) -> Vec<u8> {
        let mut code = PROGRAM.to_vec();
        code.extend(self.encode_with(self.needed_gas_of_init_code()));
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_request_names_each_field_once_and_takes_20_bytes_a_contract() {
        let fields = vec![Field::new(Function::Asset), Field::with(Function::MaxDeposit, Word::from_u128(5))];
        let contracts = vec![Address([7; 20]), Address([8; 20]), Address([9; 20])];
        let data = Request::new(NumberSource::ArbSys, 300_000, fields, contracts).unwrap().encode();
        assert_eq!(data.len(), 10 + 2 * 37 + 3 * 20);
        assert_eq!(data[..5], [1, 0, 4, 0x93, 0xe0]);
        assert_eq!(data[5..9], (300_000_u32 + 4_762 + 20_000).to_be_bytes());
        assert_eq!((data[9], data[10], &data[11..15]), (2, 4, &[0x38, 0xd5, 0x2e, 0x0f][..]));
        assert!(data[15..47].iter().all(|byte| *byte == 0));
        assert_eq!((data[47], data[83]), (36, 5));
        assert_eq!(data[84..104], [7; 20]);
    }

    #[test]
    fn a_request_that_the_reader_could_not_run_is_refused() {
        let field = Field::new(Function::Asset);
        let new = |gas, fields| {
            Request::new(NumberSource::Opcodes, gas, fields, vec![Address::ZERO]).map(|request| request.calls())
        };
        assert_eq!(new(1, vec![]), Err(RequestError::NoField));
        assert_eq!(new(1, vec![field; 256]), Err(RequestError::TooManyFields));
        assert_eq!(new(0, vec![field]), Err(RequestError::CallGas));
        assert_eq!(new(1, vec![field; 255]), Ok(255));
    }
}
