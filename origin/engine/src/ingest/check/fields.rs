//! Checks of single fields: texts and their forms, numbers, lists, addresses. Each check names its rule, so that the description of a kind
//! states what is checked.

use super::observed_at;
use super::rule::{ADDRESS, CONTRACT, Form, MAX_TEXT, Rule, SLUG, URL, Unit, VAULT_ID, contract_parts};
use crate::ingest::observation::Complaint;
use crate::publication::TYPED_SOURCES;
use rds_facts::contract;
use rds_shared::model::ids::{Address, VaultId};
use rds_store::At;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Largest amount in US dollars.
const MAX_USD: f64 = 1e12;
/// Largest rate in either direction.
const MAX_RATE: f64 = 1e6;

/// Collects the faults of one observation.
#[derive(Default)]
pub(super) struct Check {
    /// The faults, each with its field.
    pub(super) complaints: Vec<Complaint>,
    /// The observation's `observed_at`, set by `header`; the caller compares it with the clock.
    pub(super) observed_at: Option<At>,
    /// The rules that fields were held to. Only a check for a description collects them.
    pub(super) rules: Option<Vec<(String, Rule)>>,
}

impl Check {
    /// A check that also collects the rules.
    pub(super) fn describing() -> Self {
        Check { rules: Some(Vec::new()), ..Check::default() }
    }

    pub(super) fn wrong(&mut self, field: impl Into<String>, reason: impl Into<String>) {
        self.complaints.push((Some(field.into()), reason.into()));
    }

    /// Names a rule of a field, which the caller checks.
    pub(super) fn rule(&mut self, field: &str, rule: impl FnOnce() -> Rule) {
        if let Some(rules) = &mut self.rules {
            rules.push((field.to_owned(), rule()));
        }
    }

    /// A rule in words: the predicate of a sentence whose subject is the field.
    pub(super) fn must(&mut self, field: &str, holds: bool, rule: impl Display) {
        self.rule(field, || Rule::Must(rule.to_string()));
        if !holds {
            self.wrong(field, rule.to_string());
        }
    }

    /// The rules of `observed_at` that need a clock are in [`observed_at`].
    pub(super) fn not_early(&mut self, at: At) {
        self.rule("observed_at", || Rule::Must(observed_at::too_far_ahead_rule()));
        self.must("observed_at", observed_at::is_late_enough(at), observed_at::TOO_EARLY);
    }

    pub(super) fn header(&mut self, observed_at: At, source: &str) {
        self.text("source", source);
        for (own, _) in TYPED_SOURCES {
            let is_own = source.eq_ignore_ascii_case(own);
            self.must("source", !is_own, format_args!("must not be {own:?}, a source of the service's own events"));
        }
        self.observed_at = Some(observed_at);
        self.not_early(observed_at);
    }

    pub(super) fn form(&mut self, field: &str, form: &'static Form, text: &str) {
        self.rule(field, || Rule::Form(form));
        if !form.holds(text) {
            self.wrong(field, form.must);
        }
    }

    pub(super) fn optional_form(&mut self, field: &str, form: &'static Form, text: Option<&String>) {
        self.rule(field, || Rule::Form(form));
        if let Some(text) = text {
            self.form(field, form, text);
        }
    }

    pub(super) fn slug(&mut self, field: &str, slug: &str) {
        self.form(field, &SLUG, slug);
    }

    pub(super) fn optional_slug(&mut self, field: &str, slug: Option<&String>) {
        self.optional_form(field, &SLUG, slug);
    }

    pub(super) fn text(&mut self, field: &str, text: &str) {
        self.rule(field, || Rule::Text);
        self.is_text(field, text);
    }

    fn is_text(&mut self, field: &str, text: &str) {
        if text.trim().is_empty() || text.len() > MAX_TEXT {
            self.wrong(field, format!("must be a text of 1 to {MAX_TEXT} bytes"));
        }
        // Postgres cannot store NUL characters.
        if text.contains('\0') {
            self.wrong(field, "must not contain a NUL character");
        }
    }

    pub(super) fn optional_text(&mut self, field: &str, text: Option<&String>) {
        self.rule(field, || Rule::Text);
        if let Some(text) = text {
            self.text(field, text);
        }
    }

    /// Checks the texts of a list; a fault names the list.
    pub(super) fn texts<'a>(&mut self, field: &str, texts: impl IntoIterator<Item = &'a String>) {
        self.rule(&format!("{field}[]"), || Rule::Text);
        texts.into_iter().for_each(|text| self.is_text(field, text));
    }

    pub(super) fn max_bytes(&mut self, field: &str, text: &str, max: usize) {
        self.rule(field, || Rule::MaxBytes(max));
        if text.len() > max {
            self.wrong(field, format!("must have at most {max} bytes"));
        }
    }

    pub(super) fn max_chars(&mut self, field: &str, text: &str, max: usize) {
        self.rule(field, || Rule::MaxChars(max));
        if text.chars().count() > max {
            self.wrong(field, format!("must have at most {max} characters"));
        }
    }

    /// Checks the number of entries of a list; returns whether it is allowed.
    pub(super) fn entries(&mut self, field: &str, count: usize, allowed: RangeInclusive<usize>) -> bool {
        let (low, high) = (*allowed.start(), *allowed.end());
        self.rule(field, || Rule::Entries { low, high });
        let is_allowed = allowed.contains(&count);
        if !is_allowed {
            let bounds = if low == 0 { format!("at most {high}") } else { format!("{low} to {high}") };
            self.wrong(field, format!("must have {bounds} entries"));
        }
        is_allowed
    }

    pub(super) fn url(&mut self, field: &str, url: Option<&String>) {
        self.optional_form(field, &URL, url);
    }

    pub(super) fn number(&mut self, field: &str, value: Option<f64>, bounds: RangeInclusive<f64>, unit: Unit) {
        let (low, high) = (*bounds.start(), *bounds.end());
        self.rule(field, || Rule::Number { low, high, unit });
        if value.is_some_and(|value| !bounds.contains(&value)) {
            let bound = if high == f64::MAX { format!("at least {low}") } else { format!("between {low} and {high}") };
            self.wrong(field, format!("must be {bound}"));
        }
    }

    pub(super) fn whole(
        &mut self,
        field: &str,
        value: Option<impl Into<i128>>,
        bounds: RangeInclusive<i128>,
        unit: Unit,
    ) {
        let (low, high) = (*bounds.start(), *bounds.end());
        self.rule(field, || Rule::Whole { low, high, unit });
        if value.is_some_and(|value| !bounds.contains(&value.into())) {
            self.wrong(field, format!("must be between {low} and {high}"));
        }
    }

    /// A number in the database's largest integer type, at least 0.
    pub(super) fn count(&mut self, field: &str, value: Option<impl Into<i128>>) {
        self.whole(field, value, 0..=i64::MAX.into(), Unit::One);
    }

    pub(super) fn amount(&mut self, field: &str, value: Option<f64>) {
        self.number(field, value, 0.0..=MAX_USD, Unit::Usd);
    }

    /// A yearly rate that may be negative.
    pub(super) fn rate(&mut self, field: &str, value: Option<f64>) {
        self.number(field, value, -MAX_RATE..=MAX_RATE, Unit::FractionAYear);
    }

    /// A yearly rate that somebody pays.
    pub(super) fn paid_rate(&mut self, field: &str, value: Option<f64>) {
        self.number(field, value, 0.0..=MAX_RATE, Unit::FractionAYear);
    }

    pub(super) fn fraction(&mut self, field: &str, value: Option<f64>) {
        self.number(field, value, 0.0..=1.0, Unit::Fraction);
    }

    /// An instant that must not be after another field's.
    pub(super) fn not_later(&mut self, field: &str, at: impl Into<Option<At>>, observed_at: At) {
        let holds = at.into().is_none_or(|at| at <= observed_at);
        self.must(field, holds, "must not be after observed_at");
    }

    /// Checks an address and converts it to its canonical spelling.
    pub(super) fn address(&mut self, field: &str, address: &mut String) {
        self.form(field, &ADDRESS, address);
        if let Some((_, canonical)) = Address::parse_any(address) {
            *address = canonical.into_string();
        }
    }

    pub(super) fn optional_address(&mut self, field: &str, address: Option<&mut String>) {
        self.rule(field, || Rule::Form(&ADDRESS));
        if let Some(address) = address {
            self.address(field, address);
        }
    }

    /// Checks the basis of derived values, by field name.
    pub(super) fn evidence(&mut self, evidence: &BTreeMap<String, String>, fields: &[&'static str]) {
        self.rule("evidence", || Rule::Names(fields.to_vec()));
        self.rule("evidence.*", || Rule::Text);
        for (field, text) in evidence {
            self.text(&format!("evidence.{field}"), text);
            if !fields.contains(&field.as_str()) {
                self.wrong(
                    format!("evidence.{field}"),
                    "is not a field of this observation that evidence can be given for",
                );
            }
        }
    }

    /// Checks a vault's id and converts it to its canonical spelling.
    pub(super) fn vault_id(&mut self, field: &str, vault_id: &mut String) {
        self.form(field, &VAULT_ID, vault_id);
        if let Some(id) = VaultId::parse(vault_id) {
            *vault_id = id.as_str().to_owned();
        }
    }

    /// Checks a contract's id and converts it to its canonical spelling.
    pub(super) fn contract_id(&mut self, field: &str, id: &mut String) {
        self.form(field, &CONTRACT, id);
        if let Some((chain, address)) = contract_parts(id) {
            *id = contract(chain, address.as_str());
        }
    }
}
