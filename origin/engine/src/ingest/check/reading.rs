//! Checks of what was read on chains.

use super::fields::Check;
use rds_facts::{At, ChainCandidate, ChainReading, ChainRetraction, ChainSync, ReadField, Signing};
use rds_shared::model::ids::VaultId;
use rds_shared::model::status::{BorrowStatus, DepositStatus, WithdrawStatus};
use rds_shared::scoring::provenance::{
    AccountOverride, CallMethod, ChainCall, ChainEvidence, MAX_CALL_GAS, MAX_OVERRIDDEN_ACCOUNTS, MAX_OVERRIDDEN_WORDS,
    MAX_OVERRIDING_CODE,
};
use rds_shared::scoring::vault::Exit;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Maximum calls of one reading.
const MAX_CALLS: usize = 512;
/// Maximum characters of a call's data or answer.
const MAX_CALL_HEX: usize = 32_770;

impl Check {
    pub(super) fn chain_reading(&mut self, reading: &mut ChainReading) {
        self.header(reading.observed_at, &reading.source);
        self.vault_id("vault_id", &mut reading.vault_id);
        if let Some((chain, _)) = VaultId::parse(&reading.vault_id).and_then(|id| id.place())
            && i64::try_from(chain.0).ok() != Some(reading.chain_id)
        {
            self.wrong("chain_id", "must be the chain of the vault");
        }
        self.block(reading.block_number, &reading.block_hash);
        self.calls(&reading.calls, reading.agreed, reading.asked);
        self.read_value(reading.field, &reading.value);
        // The evidence of a deployment names the block whose time it is.
        if reading.field == ReadField::DeployedAt
            && At::deserialize(&reading.value).is_ok_and(|at| at != reading.observed_at)
        {
            self.wrong("value", "must be the time of the block, as observed_at");
        }
    }

    pub(super) fn chain_sync(&mut self, sync: &mut ChainSync) {
        self.header(sync.observed_at, &sync.source);
        self.block(sync.block_number, &sync.block_hash);
        for (at, factory) in sync.factories.iter_mut().enumerate() {
            self.address(&format!("factories[{at}]"), factory);
        }
        self.optional_text("halted", sync.halted.as_ref());
    }

    pub(super) fn chain_retraction(&mut self, retraction: &ChainRetraction) {
        self.header(retraction.observed_at, &retraction.source);
        if retraction.from_block < 0 {
            self.wrong("from_block", "must be at least 0");
        }
        self.block(0, &retraction.block_hash);
        self.text("reason", &retraction.reason);
    }

    pub(super) fn chain_candidate(&mut self, candidate: &mut ChainCandidate) {
        self.header(candidate.observed_at, &candidate.source);
        self.address("address", &mut candidate.address);
        self.address("asset_address", &mut candidate.asset_address);
        self.optional_text("name", candidate.name.as_ref());
        self.optional_text("symbol", candidate.symbol.as_ref());
        self.optional_text("asset_symbol", candidate.asset_symbol.as_ref());
        if candidate.asset_decimals > 255 {
            self.wrong("asset_decimals", "must be at most 255");
        }
        if candidate.block_number < 0 {
            self.wrong("block_number", "must be at least 0");
        }
    }

    pub(super) fn evidence_of_chain(&mut self, evidence: &ChainEvidence) {
        let number = i64::try_from(evidence.block_number).unwrap_or(-1);
        self.block(number, &evidence.block_hash);
        self.calls(&evidence.calls, evidence.agreed, evidence.asked);
    }

    fn block(&mut self, number: i64, hash: &str) {
        if number < 0 {
            self.wrong("block_number", "must be at least 0");
        }
        if !is_hex(hash) || hash.len() != 66 {
            self.wrong("block_hash", "must be 0x and 64 lower-case hex digits");
        }
    }

    fn calls(&mut self, calls: &[ChainCall], agreed: u32, asked: u32) {
        if calls.is_empty() || calls.len() > MAX_CALLS {
            self.wrong("calls", format!("must have 1 to {MAX_CALLS} entries"));
        }
        for (place, call) in calls.iter().enumerate() {
            self.call(&format!("calls[{place}]"), call);
        }
        if agreed == 0 || agreed > asked {
            self.wrong("agreed", "must be at least 1 and at most asked");
        }
    }

    fn call(&mut self, field: &str, call: &ChainCall) {
        if !is_hex(&call.contract) || call.contract.len() != 42 {
            self.wrong(format!("{field}.contract"), "must be 0x and 40 lower-case hex digits");
        }
        let texts = [("data", call.data.as_deref()), ("answer", call.answer.as_deref())];
        for (name, text) in texts.into_iter().filter_map(|(name, text)| Some((name, text?))) {
            if !is_hex(text) || text.len() > MAX_CALL_HEX {
                self.wrong(format!("{field}.{name}"), "must be 0x and lower-case hex digits, at most 16 KiB");
            }
        }
        if call.data.is_some() == (call.method == CallMethod::Code) {
            self.wrong(format!("{field}.data"), "must be null for eth_getCode, and only then");
        }
        if call.gas.is_some_and(|gas| !(1..=MAX_CALL_GAS).contains(&gas)) {
            self.wrong(format!("{field}.gas"), format!("must be from 1 to {MAX_CALL_GAS}"));
        }
        let is_call = call.method == CallMethod::Call;
        if !is_call && call.gas.is_some() {
            self.wrong(format!("{field}.gas"), "must be absent unless the method is eth_call");
        }
        if !is_call && !call.overrides.is_empty() {
            self.wrong(format!("{field}.overrides"), "must be absent unless the method is eth_call");
        }
        if call.overrides.len() > MAX_OVERRIDDEN_ACCOUNTS {
            let most = format!("must have at most {MAX_OVERRIDDEN_ACCOUNTS} accounts");
            return self.wrong(format!("{field}.overrides"), most);
        }
        for (address, account) in &call.overrides {
            if !is_hex(address) || address.len() != 42 {
                self.wrong(format!("{field}.overrides"), "must be by address: 0x and 40 lower-case hex digits");
                continue;
            }
            self.account_override(&format!("{field}.overrides.{address}"), account);
        }
    }

    fn account_override(&mut self, field: &str, account: &AccountOverride) {
        if let Some(code) = &account.code
            && (!is_hex(code) || code.len() % 2 != 0 || code.len() > 2 + 2 * MAX_OVERRIDING_CODE)
        {
            self.wrong(format!("{field}.code"), "must be 0x and whole bytes in lower-case hex digits, at most 24 KiB");
        }
        let words = &account.state_diff;
        if words.len() > MAX_OVERRIDDEN_WORDS {
            self.wrong(format!("{field}.stateDiff"), format!("must have at most {MAX_OVERRIDDEN_WORDS} slots"));
        } else if words.iter().flat_map(|(slot, word)| [slot, word]).any(|word| !is_hex(word) || word.len() != 66) {
            let rule = "must have slots and words of 0x and 64 lower-case hex digits";
            self.wrong(format!("{field}.stateDiff"), rule);
        }
    }

    /// The value must be one that the field's column can hold, within the bounds of stated values.
    fn read_value(&mut self, field: ReadField, value: &Value) {
        use ReadField as F;
        if value.is_null() {
            if !field.is_nullable() {
                self.wrong("value", "must not be null for this field");
            }
            return;
        }
        match field {
            F::DeployedAt => drop(self.typed::<At>(value, "a time")),
            F::IsImmutable | F::IsShutdown | F::NeedsRiskReview => drop(self.typed::<bool>(value, "a boolean")),
            F::TimelockSeconds => {
                let seconds = self.typed::<u64>(value, "a number of seconds");
                if seconds.is_some_and(|seconds| i64::try_from(seconds).is_err()) {
                    self.wrong("value", "must be at most 2^63 - 1");
                }
            }
            F::Signers => {
                let signers = self.typed::<Signing>(value, "immutable, dao, eoa or a threshold with owners");
                self.signing("value", signers);
            }
            F::DepositStatus => drop(self.typed::<DepositStatus>(value, "a deposit status")),
            F::WithdrawStatus => drop(self.typed::<WithdrawStatus>(value, "a withdrawal status")),
            F::BorrowStatus => drop(self.typed::<BorrowStatus>(value, "a borrow status")),
            F::Exit => drop(self.typed::<Exit>(value, "a way to exit")),
            F::TvlUsd | F::DepositCapacityUsd | F::ActiveLoansUsd | F::BadDebtUsd => {
                let amount = self.typed(value, "a number");
                self.amount("value", amount);
            }
            F::TvlNative | F::PricePerShare => {
                let amount = self.typed(value, "a number");
                self.number("value", amount, 0.0, f64::MAX);
            }
            F::BaseApr => {
                let rate = self.typed(value, "a number");
                self.rate("value", rate);
            }
            F::Utilization | F::BorrowApr => {
                let fraction = self.typed(value, "a number");
                self.number("value", fraction, 0.0, 1e6);
            }
        }
    }

    fn typed<T: DeserializeOwned>(&mut self, value: &Value, what: &str) -> Option<T> {
        let typed = T::deserialize(value).ok();
        if typed.is_none() {
            self.wrong("value", format!("must be {what} for this field"));
        }
        typed
    }
}

fn is_hex(text: &str) -> bool {
    let digits = text.strip_prefix("0x");
    digits.is_some_and(|digits| digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
}
