//! `aggregate3((address,bool,bytes)[])` of Multicall3: many calls in one, each of which may fail.
//!
//! Source: github.com/mds1/multicall3. A call of an address without code succeeds with no data, which is
//! [`Status::ReturnedShort`](crate::reader::Status::ReturnedShort) as with the reader.

use crate::abi::{AbiError, Call, Data, Function, Word};
use crate::block::Address;
use crate::reader::Outcome;
use alloc::vec::Vec;

/// Address of Multicall3 on most networks.
pub const MULTICALL3: Address = Address([
    0xca, 0x11, 0xbd, 0xe0, 0x59, 0x77, 0xb3, 0x63, 0x11, 0x67, 0x02, 0x88, 0x62, 0xbe, 0x2a, 0x17, 0x39, 0x76, 0xca,
    0x11,
]);

/// The calldata of `aggregate3` for these calls.
pub fn encode(calls: &[(Address, Vec<u8>)]) -> Vec<u8> {
    let allow_failure = Word::from_bool(true);
    let call = |(to, data): &(Address, Vec<u8>)| {
        Call::tuple().word(Word::from_address(*to)).word(allow_failure).bytes(data).encode()
    };
    let tuples: Vec<_> = calls.iter().map(call).collect();
    Call::new(Function::Aggregate3.selector()).dynamic_tuples(&tuples).encode()
}

/// The outcomes in an answer to `calls` calls. Error: the answer is damaged, or has another number of outcomes ([`AbiError::Truncated`]).
pub fn decode(answer: &[u8], calls: usize) -> Result<Vec<Outcome>, AbiError> {
    let results = Data::new(answer).dynamic_tuples(0, calls)?;
    if results.len() != calls {
        return Err(AbiError::Truncated);
    }
    let outcome = |result: Data<'_>| {
        let data = result.bytes(1, usize::MAX)?;
        Ok(if result.word(0)?.to_bool()? { Outcome::succeeded(data) } else { Outcome::failed(data) })
    };
    results.into_iter().map(outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::Status;

    fn answer(results: &[(bool, &[u8])]) -> Vec<u8> {
        let tuple = |(ok, data): &(bool, &[u8])| Call::tuple().word(Word::from_bool(*ok)).bytes(data).encode();
        Call::tuple().dynamic_tuples(&results.iter().map(tuple).collect::<Vec<_>>()).encode()
    }

    #[test]
    fn each_kind_of_result_has_the_same_status_as_with_the_reader() {
        let answer = answer(&[(true, &[7; 64]), (true, &[]), (false, &[1, 2, 3, 4]), (false, &[])]);
        let statuses: Vec<_> = decode(&answer, 4).unwrap().iter().map(|outcome| outcome.status).collect();
        assert_eq!(statuses, [Status::Returned, Status::ReturnedShort, Status::Reverted, Status::FailedEmpty]);
    }

    #[test]
    fn an_answer_with_another_number_of_results_is_refused() {
        let answer = answer(&[(true, &[7; 32])]);
        assert_eq!(decode(&answer, 2), Err(AbiError::Truncated));
        assert_eq!(decode(&answer, 0), Err(AbiError::TooLong));
        assert_eq!(decode(&answer[..answer.len() - 1], 1), Err(AbiError::Truncated));
    }
}
