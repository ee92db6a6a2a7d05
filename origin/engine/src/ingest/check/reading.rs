//! Checks of what was read on chains.

use super::fields::Check;
use super::rule::{BLOCK_HASH, CALL_BYTES, EVM_CONTRACT, Rule, Unit, is_hex};
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

/// What only a call may have.
const ONLY_CALLS: &str = "must be absent unless the method is eth_call";

impl Check {
    pub(super) fn chain_reading(&mut self, reading: &mut ChainReading) {
        self.header(reading.observed_at, &reading.source);
        self.vault_id("vault_id", &mut reading.vault_id);
        let chain = VaultId::parse(&reading.vault_id).and_then(|id| id.place());
        let is_its_chain = chain.is_none_or(|(chain, _)| i64::try_from(chain.0).ok() == Some(reading.chain_id));
        self.must("chain_id", is_its_chain, "must be the chain of the vault");
        self.block("", reading.block_number, &reading.block_hash);
        self.calls("", &reading.calls, reading.agreed, reading.asked);
        self.rule("value", || Rule::Must("must have the type and the bounds of the field".to_owned()));
        // These rules are those of one field only.
        let rules = self.rules.take();
        self.read_value(reading.field, &reading.value);
        self.rules = rules;
        // The evidence of a deployment names the block whose time it is.
        if reading.field == ReadField::DeployedAt
            && At::deserialize(&reading.value).is_ok_and(|at| at != reading.observed_at)
        {
            self.wrong("value", "must be the time of the block, as observed_at");
        }
    }

    pub(super) fn chain_sync(&mut self, sync: &mut ChainSync) {
        self.header(sync.observed_at, &sync.source);
        self.block("", sync.block_number, &sync.block_hash);
        for (at, factory) in sync.factories.iter_mut().enumerate() {
            self.address(&format!("factories[{at}]"), factory);
        }
        self.optional_text("halted", sync.halted.as_ref());
    }

    pub(super) fn chain_retraction(&mut self, retraction: &ChainRetraction) {
        self.header(retraction.observed_at, &retraction.source);
        self.count("from_block", Some(retraction.from_block));
        self.form("block_hash", &BLOCK_HASH, &retraction.block_hash);
        self.text("reason", &retraction.reason);
    }

    pub(super) fn chain_candidate(&mut self, candidate: &mut ChainCandidate) {
        self.header(candidate.observed_at, &candidate.source);
        self.address("address", &mut candidate.address);
        self.address("asset_address", &mut candidate.asset_address);
        self.optional_text("name", candidate.name.as_ref());
        self.optional_text("symbol", candidate.symbol.as_ref());
        self.optional_text("asset_symbol", candidate.asset_symbol.as_ref());
        self.whole("asset_decimals", Some(candidate.asset_decimals), 0..=255, Unit::One);
        self.count("block_number", Some(candidate.block_number));
    }

    pub(super) fn evidence_of_chain(&mut self, evidence: &ChainEvidence) {
        self.block("evidence.", evidence.block_number, &evidence.block_hash);
        self.calls("evidence.", &evidence.calls, evidence.agreed, evidence.asked);
    }

    /// `at` is the path of the object with the fields, with a dot at its end.
    fn block(&mut self, at: &str, number: impl Into<i128>, hash: &str) {
        self.count(&format!("{at}block_number"), Some(number));
        self.form(&format!("{at}block_hash"), &BLOCK_HASH, hash);
    }

    fn calls(&mut self, at: &str, calls: &[ChainCall], agreed: u32, asked: u32) {
        self.entries(&format!("{at}calls"), calls.len(), 1..=MAX_CALLS);
        for (place, call) in calls.iter().enumerate() {
            self.call(&format!("{at}calls[{place}]"), call);
        }
        self.must(&format!("{at}agreed"), (1..=asked).contains(&agreed), "must be at least 1 and at most asked");
    }

    fn call(&mut self, field: &str, call: &ChainCall) {
        self.form(&format!("{field}.contract"), &EVM_CONTRACT, &call.contract);
        self.optional_form(&format!("{field}.data"), &CALL_BYTES, call.data.as_ref());
        self.optional_form(&format!("{field}.answer"), &CALL_BYTES, call.answer.as_ref());
        let is_code = call.method == CallMethod::Code;
        let has_data = call.data.is_some() != is_code;
        self.must(&format!("{field}.data"), has_data, "must be null for eth_getCode, and only then");
        let (gas, overrides) = (format!("{field}.gas"), format!("{field}.overrides"));
        self.whole(&gas, call.gas, 1..=MAX_CALL_GAS.into(), Unit::One);
        let is_call = call.method == CallMethod::Call;
        self.must(&gas, is_call || call.gas.is_none(), ONLY_CALLS);
        self.must(&overrides, is_call || call.overrides.is_empty(), ONLY_CALLS);
        if !self.entries(&overrides, call.overrides.len(), 0..=MAX_OVERRIDDEN_ACCOUNTS) {
            return;
        }
        // The rules of an account are those of every call, also of one that overrides nothing.
        if call.overrides.is_empty() && self.rules.is_some() {
            self.account_override(&format!("{overrides}.*"), &AccountOverride::default());
        }
        for (address, account) in &call.overrides {
            let is_address = EVM_CONTRACT.holds(address);
            self.must(&overrides, is_address, "must be by address: 0x and 40 lower-case hex digits");
            if !is_address {
                continue;
            }
            self.account_override(&format!("{field}.overrides.{address}"), account);
        }
    }

    fn account_override(&mut self, field: &str, account: &AccountOverride) {
        let is_code =
            |code: &String| is_hex(code) && code.len().is_multiple_of(2) && code.len() <= 2 + 2 * MAX_OVERRIDING_CODE;
        self.must(
            &format!("{field}.code"),
            account.code.as_ref().is_none_or(is_code),
            "must be 0x and whole bytes in lower-case hex digits, at most 24 KiB",
        );
        let (field, words) = (format!("{field}.stateDiff"), &account.state_diff);
        if self.entries(&field, words.len(), 0..=MAX_OVERRIDDEN_WORDS) {
            let are_words = words.iter().flat_map(|(slot, word)| [slot, word]).all(|word| BLOCK_HASH.holds(word));
            self.must(&field, are_words, "must have slots and words of 0x and 64 lower-case hex digits");
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
                self.whole("value", seconds, 0..=i64::MAX.into(), Unit::Seconds);
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
                self.number("value", amount, 0.0..=f64::MAX, Unit::Units);
            }
            F::BaseApr => {
                let rate = self.typed(value, "a number");
                self.rate("value", rate);
            }
            F::Utilization | F::BorrowApr => {
                let fraction = self.typed(value, "a number");
                self.number("value", fraction, 0.0..=1e6, Unit::Fraction);
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
