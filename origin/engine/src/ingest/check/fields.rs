//! Checks of single fields: slugs, texts, links, numbers, addresses.

use super::observed_at;
use crate::ingest::observation::Complaint;
use crate::publication::TYPED_SOURCES;
use rds_shared::model::ids::{Address, VaultId};
use rds_store::At;
use std::collections::BTreeMap;

/// Maximum characters of a slug.
const MAX_SLUG: usize = 96;
/// Maximum bytes of a text.
const MAX_TEXT: usize = 4_000;

/// Collects the faults of one observation.
#[derive(Default)]
pub(super) struct Check {
    /// The faults, each with its field.
    pub(super) complaints: Vec<Complaint>,
    /// The observation's `observed_at`, set by `header`; the caller compares it with the clock.
    pub(super) observed_at: Option<At>,
}

impl Check {
    pub(super) fn wrong(&mut self, field: impl Into<String>, reason: impl Into<String>) {
        self.complaints.push((Some(field.into()), reason.into()));
    }

    pub(super) fn header(&mut self, observed_at: At, source: &str) {
        self.text("source", source);
        if let Some((own, _)) = TYPED_SOURCES.iter().find(|(own, _)| source.eq_ignore_ascii_case(own)) {
            self.wrong("source", format!("must not be {own:?}, a source of the service's own events"));
        }
        self.observed_at = Some(observed_at);
        if let Some(reason) = observed_at::too_early(observed_at) {
            self.wrong("observed_at", reason);
        }
    }

    pub(super) fn slug(&mut self, field: &str, slug: &str) {
        let letters = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let allowed = |byte: u8| letters(byte) || matches!(byte, b'-' | b'_' | b'.');
        let well_formed = slug.bytes().next().is_some_and(letters) && slug.bytes().all(allowed);
        if !well_formed || slug.len() > MAX_SLUG {
            self.wrong(field, format!("must be a slug: a-z, 0-9, '-', '_', '.', beginning with a letter or digit, at most {MAX_SLUG} characters"));
        }
    }

    pub(super) fn text(&mut self, field: &str, text: &str) {
        if text.trim().is_empty() || text.len() > MAX_TEXT {
            self.wrong(field, format!("must be a text of 1 to {MAX_TEXT} bytes"));
        }
        self.no_nul(field, text);
    }

    /// Postgres cannot store NUL characters.
    pub(super) fn no_nul(&mut self, field: &str, text: &str) {
        if text.contains('\0') {
            self.wrong(field, "must not contain a NUL character");
        }
    }

    pub(super) fn optional_text(&mut self, field: &str, text: Option<&String>) {
        if let Some(text) = text {
            self.text(field, text);
        }
    }

    pub(super) fn texts<'a>(&mut self, field: &str, texts: impl IntoIterator<Item = &'a String>) {
        texts.into_iter().for_each(|text| self.text(field, text));
    }

    pub(super) fn at_most(&mut self, field: &str, count: usize, max: usize) {
        if count > max {
            self.wrong(field, format!("must have at most {max} entries"));
        }
    }

    pub(super) fn url(&mut self, field: &str, url: Option<&String>) {
        if let Some(url) = url {
            let http = url.starts_with("https://") || url.starts_with("http://");
            if !http || url.len() > MAX_TEXT || url.chars().any(|c| c.is_whitespace() || c.is_control()) {
                self.wrong(field, "must be an http or https URL");
            }
        }
    }

    pub(super) fn number(&mut self, field: &str, value: Option<f64>, low: f64, high: f64) {
        if value.is_some_and(|value| !(low..=high).contains(&value)) {
            let bound = if high == f64::MAX { format!("at least {low}") } else { format!("between {low} and {high}") };
            self.wrong(field, format!("must be {bound}"));
        }
    }

    pub(super) fn amount(&mut self, field: &str, value: Option<f64>) {
        self.number(field, value, 0.0, 1e12);
    }

    pub(super) fn rate(&mut self, field: &str, value: Option<f64>) {
        self.number(field, value, -1e6, 1e6);
    }

    pub(super) fn address(&mut self, field: &str, address: &mut String) {
        match Address::parse_any(address) {
            Some((_, canonical)) => *address = canonical.into_string(),
            None => self.wrong(field, "must be an address: 0x and 40 hex digits, or base58 of 32 bytes"),
        }
    }

    pub(super) fn evidence(&mut self, evidence: &BTreeMap<String, String>, fields: &[&str]) {
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

    pub(super) fn vault_id(&mut self, field: &str, vault_id: &mut String) {
        match VaultId::parse(vault_id) {
            Some(id) => *vault_id = id.as_str().to_owned(),
            None => self.wrong(field, "must be a vault id: <protocol_id>-<chain_id>-<address>"),
        }
    }
}
