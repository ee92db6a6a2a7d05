//! How many contracts fit into one request.

use super::rung::Rung;
use crate::reader::{Answer, RESERVED_GAS};

/// What a provider allows, and how patient the plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Gas of one request. Providers allow between 10 million and several hundred million. Some apply the limit of a transaction since
    /// EIP-7825, 16,777,216 gas, which is the default.
    pub request_gas: u64,
    /// Gas cap of one call.
    pub call_gas: u32,
    /// Gas cap of a call that failed without data and is asked again; less if the provider does not allow it.
    pub retry_call_gas: u32,
    /// Maximum number of contracts in one request.
    pub max_contracts: usize,
    /// Maximum length of an answer in bytes, before it is written as hexadecimal.
    pub max_answer_bytes: usize,
    /// How often the provider may fail before calls are given up; at least 1.
    pub attempts: u8,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_gas: 1 << 24,
            call_gas: 1_000_000,
            retry_call_gas: 5_000_000,
            max_contracts: 500,
            max_answer_bytes: 256 << 10,
            attempts: 3,
        }
    }
}

impl Limits {
    /// Halves the gas of a request, unless it would no longer suffice for one call. Whether it was halved.
    pub(super) fn halve_request_gas(&mut self) -> bool {
        let half = self.request_gas.checked_div(2).unwrap_or(0);
        let is_enough = half >= u64::from(self.call_gas).saturating_mul(64).div_ceil(63).saturating_add(OVERHEAD_GAS);
        if is_enough {
            self.request_gas = half;
        }
        is_enough
    }
}

/// Gas that a request for one call needs in addition to the call's cap.
const OVERHEAD_GAS: u64 = 100_000;
/// Gas of a call before any was measured. Real vaults need about 150,000 gas for six fields.
const FIRST_GAS_PER_CALL: u64 = 25_000;

/// The number of contracts of the next batch, learnt from the answers so far.
#[derive(Debug, Clone)]
pub(super) struct BatchSize {
    gas_per_call: u64,
    /// Gas with which the reader starts: the provider's limit, which may be below the one that was asked for.
    gas_at_start: u64,
    max_contracts: usize,
}

impl BatchSize {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            gas_per_call: FIRST_GAS_PER_CALL,
            gas_at_start: limits.request_gas,
            max_contracts: limits.max_contracts.max(1),
        }
    }

    /// Number of contracts for a request with `fields` fields and at most `max_calls` calls of `call_gas` gas; at least 1.
    pub(super) fn contracts(
        &self,
        fields: usize,
        call_gas: u32,
        max_calls: usize,
        rung: Rung,
        limits: &Limits,
    ) -> usize {
        // The reader stops when the gas for one more call at its cap is missing, so that much is not available.
        let kept = u64::from(call_gas).saturating_mul(64).div_ceil(63).saturating_add(u64::from(RESERVED_GAS));
        let kept = kept.saturating_add(rung.answer_gas());
        let available = self.gas_at_start.min(limits.request_gas).saturating_sub(kept);
        let calls = usize::try_from(available.checked_div(self.gas_per_call).unwrap_or(0)).unwrap_or(usize::MAX);
        let contracts = calls.min(max_calls).checked_div(fields).unwrap_or(0);
        contracts.min(self.max_contracts).min(limits.max_contracts).max(1)
    }

    /// Gas cap of a call that is asked again: the limits' one, or as much as the provider allows, but no less than the first time.
    pub(super) fn retry_gas(&self, limits: &Limits) -> u32 {
        let available =
            self.gas_at_start.min(limits.request_gas).saturating_sub(u64::from(RESERVED_GAS).saturating_mul(2));
        let allowed = u32::try_from(available.saturating_sub(available.div_ceil(63))).unwrap_or(u32::MAX);
        limits.retry_call_gas.min(allowed).max(limits.call_gas)
    }

    /// Learns from an answer with `calls` calls. A higher need for gas counts at once, a lower one bit by bit.
    pub(super) fn measure(&mut self, calls: usize, answer: &Answer) {
        self.gas_at_start = answer.gas_at_start;
        let Some(measured) = u64::try_from(calls).ok().and_then(|calls| answer.gas_used().checked_div(calls)) else {
            return;
        };
        let smoothed = self.gas_per_call.saturating_mul(3).saturating_add(measured).div_ceil(4);
        self.gas_per_call = smoothed.max(measured).max(1);
    }

    /// A request for twice as many contracts as `contracts` was too large.
    pub(super) fn shrink(&mut self, contracts: usize) {
        self.max_contracts = self.max_contracts.min(contracts).max(1);
    }

    /// A request for `contracts` contracts was answered whole: twice as many may be tried.
    pub(super) fn grow(&mut self, contracts: usize) {
        self.max_contracts = self.max_contracts.max(contracts.saturating_mul(2));
    }
}
