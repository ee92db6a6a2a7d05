//! The faults that an error lists: few and short, whatever the caller sent.

use super::error::Detail;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

/// The most faults that an error lists.
pub const MAX_DETAILS: usize = 20;
/// The longest name of a fault, in bytes, before the mark that something was cut off.
const NAME_BYTES: usize = 128;
/// The longest reason of a fault, likewise.
const REASON_BYTES: usize = 400;
/// The longest message, likewise. That of [`MAX_DETAILS`] faults is shorter.
pub(super) const MESSAGE_BYTES: usize = 8_192;

/// The beginning of `text` with a mark, where it is longer than `bytes`.
pub(super) fn cut(text: &str, bytes: usize) -> Option<String> {
    if text.len() <= bytes {
        return None;
    }
    let end = (0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let mut kept = String::from(text.get(..end).unwrap_or_default());
    kept.push('…');
    Some(kept)
}

/// `text` as an error may repeat it, where that is another one: short, and without control characters, of which JSON makes six each.
fn repeatable(text: &str, bytes: usize) -> Option<String> {
    let short = cut(text, bytes);
    let kept = short.as_deref().unwrap_or(text);
    match kept.contains(char::is_control) {
        true => Some(kept.replace(char::is_control, "?")),
        false => short,
    }
}

/// The faults of a request: the first [`MAX_DETAILS`] of them, cut to a sane length, and how many there are. However many a caller
/// makes, the error stays small.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Details {
    listed: Vec<Detail>,
    total: usize,
}

impl Details {
    /// How many faults there are, listed or not.
    pub const fn total(&self) -> usize {
        self.total
    }
}

impl From<Vec<Detail>> for Details {
    fn from(all: Vec<Detail>) -> Self {
        Details { total: all.len(), listed: all.into_iter().take(MAX_DETAILS).map(shortened).collect() }
    }
}

/// The same with its texts cut: they may repeat what a caller wrote.
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
