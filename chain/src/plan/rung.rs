//! The ways to make calls, from the best to the one that every provider serves.

use crate::reader::{CODE_DEPOSIT_GAS, HEADER_BYTES, MAX_CODE_BYTES, RECORD_BYTES};

/// A way to make calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rung {
    /// The reader program as the code of an address, by state override. Not every node supports overrides.
    Override,
    /// The reader program as init code, in an `eth_call` without target. The answer has at most 24,576 bytes.
    InitCode,
    /// `aggregate3` of the contract Multicall3. A single contract can use up the gas of a whole batch, so batches are small.
    Multicall3,
    /// One `eth_call` a call. A call that uses up its gas stays unread, because providers report their own gas limit in the same way.
    Single,
}

/// What a caller wants of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// The first word of each answer.
    FirstWord,
    /// Whole answers: strings, lists, several words.
    WholeAnswer,
    /// Calldata of more than a selector and one word.
    LongCalldata,
    /// The block that the EVM ran at, as evidence that the provider read at the requested one.
    BlockEvidence,
    /// A gas limit for each call, so that one contract cannot fail another one's calls.
    GasCap,
}

impl Rung {
    /// All rungs, the preferred one first.
    pub const ALL: [Rung; 4] = [Rung::Override, Rung::InitCode, Rung::Multicall3, Rung::Single];

    /// The rung to use if the provider does not serve this one.
    pub const fn next(self) -> Option<Rung> {
        match self {
            Rung::Override => Some(Rung::InitCode),
            Rung::InitCode => Some(Rung::Multicall3),
            Rung::Multicall3 => Some(Rung::Single),
            Rung::Single => None,
        }
    }

    /// Name for operators.
    pub const fn as_str(self) -> &'static str {
        match self {
            Rung::Override => "override",
            Rung::InitCode => "init code",
            Rung::Multicall3 => "multicall3",
            Rung::Single => "single calls",
        }
    }

    /// Whether this rung serves `need`.
    pub const fn serves(self, need: Need) -> bool {
        match (self, need) {
            (_, Need::FirstWord) => true,
            (Rung::Override | Rung::InitCode, Need::BlockEvidence | Need::GasCap) => true,
            (Rung::Override | Rung::InitCode, Need::WholeAnswer | Need::LongCalldata) => false,
            (Rung::Multicall3 | Rung::Single, Need::WholeAnswer | Need::LongCalldata) => true,
            (Rung::Multicall3, Need::BlockEvidence | Need::GasCap) => false,
            // The request's own gas limit caps its only call.
            (Rung::Single, Need::GasCap) => true,
            (Rung::Single, Need::BlockEvidence) => false,
        }
    }

    /// Maximum number of calls in one request whose answer has at most `max_answer_bytes` bytes; at least 1.
    pub fn max_calls(self, max_answer_bytes: usize) -> usize {
        let by_reader = |bytes: usize| bytes.saturating_sub(HEADER_BYTES).checked_div(RECORD_BYTES).unwrap_or(0).max(1);
        match self {
            Rung::Override => by_reader(max_answer_bytes),
            Rung::InitCode => by_reader(max_answer_bytes.min(MAX_CODE_BYTES)),
            Rung::Multicall3 => MULTICALL3_CALLS,
            Rung::Single => 1,
        }
    }

    /// Gas that the answer itself costs at most.
    pub(super) fn answer_gas(self) -> u64 {
        match self {
            Rung::InitCode => {
                u64::from(CODE_DEPOSIT_GAS).saturating_mul(u64::try_from(MAX_CODE_BYTES).unwrap_or(u64::MAX))
            }
            Rung::Override | Rung::Multicall3 | Rung::Single => 0,
        }
    }

    /// Whether the reader program makes the calls.
    pub const fn is_reader(self) -> bool {
        matches!(self, Rung::Override | Rung::InitCode)
    }
}

/// Calls in one `aggregate3`: few, because each failing batch is bisected.
const MULTICALL3_CALLS: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rung_serves_first_words_and_the_last_one_everything_but_block_evidence() {
        for rung in Rung::ALL {
            assert!(rung.serves(Need::FirstWord), "{rung:?}");
        }
        for need in [Need::WholeAnswer, Need::LongCalldata, Need::GasCap] {
            assert!(Rung::Single.serves(need), "{need:?}");
        }
        assert!(!Rung::Multicall3.serves(Need::BlockEvidence));
        assert!(Rung::InitCode.serves(Need::BlockEvidence));
    }

    #[test]
    fn the_rungs_form_one_sequence() {
        let mut rungs = std::vec![Rung::Override];
        while let Some(next) = rungs.last().and_then(|rung| rung.next()) {
            rungs.push(next);
        }
        assert_eq!(rungs, Rung::ALL);
    }

    #[test]
    fn init_code_answers_fit_into_a_contracts_code() {
        assert_eq!(Rung::InitCode.max_calls(1 << 20), 738);
        assert_eq!(Rung::Override.max_calls(0), 1);
    }
}
