//! The details of an error, limited in number and length, because they repeat parts of the caller's request.

use super::error::Detail;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

/// Greatest number of details that an error lists.
pub const MAX_DETAILS: usize = 20;
/// Greatest length of a detail's name, in bytes, without the `…` that marks a cut.
const NAME_BYTES: usize = 128;
/// Greatest length of a detail's reason, in bytes, without the `…`.
const REASON_BYTES: usize = 400;
/// Greatest length of a message, in bytes, without the `…`. A message composed of [`MAX_DETAILS`] details can exceed it and is then cut.
pub(super) const MESSAGE_BYTES: usize = 8_192;

/// The first `bytes` bytes of `text`, or fewer to end at a character, and a `…`. `None` if `text` has at most `bytes` bytes.
pub(super) fn cut(text: &str, bytes: usize) -> Option<String> {
    if text.len() <= bytes {
        return None;
    }
    let end = (0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let mut kept = String::from(text.get(..end).unwrap_or_default());
    kept.push('…');
    Some(kept)
}

/// `text` shortened to `bytes` bytes, with `?` in place of control characters, which JSON would escape as six bytes each. `None` if
/// nothing changes.
fn repeatable(text: &str, bytes: usize) -> Option<String> {
    let short = cut(text, bytes);
    let kept = short.as_deref().unwrap_or(text);
    match kept.contains(char::is_control) {
        true => Some(kept.replace(char::is_control, "?")),
        false => short,
    }
}

/// The errors found in a request: the first [`MAX_DETAILS`], with shortened texts, and the total number.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Details {
    listed: Vec<Detail>,
    total: usize,
}

impl Details {
    /// The number of all details, including those not listed.
    pub const fn total(&self) -> usize {
        self.total
    }
}

impl From<Vec<Detail>> for Details {
    fn from(all: Vec<Detail>) -> Self {
        Details { total: all.len(), listed: all.into_iter().take(MAX_DETAILS).map(shortened).collect() }
    }
}

/// Shortens the texts of a detail, because they may repeat what the caller sent.
fn shortened(detail: Detail) -> Detail {
    let name = repeatable(&detail.name, NAME_BYTES).map_or(detail.name, Cow::Owned);
    Detail { name, reason: repeatable(&detail.reason, REASON_BYTES).unwrap_or(detail.reason), ..detail }
}

impl core::ops::Deref for Details {
    type Target = [Detail];

    fn deref(&self) -> &[Detail] {
        &self.listed
    }
}

impl IntoIterator for Details {
    type Item = Detail;
    type IntoIter = alloc::vec::IntoIter<Detail>;

    fn into_iter(self) -> Self::IntoIter {
        self.listed.into_iter()
    }
}
