//! How the changes of a delta travel: each part of them in a stream of its own, because values of one kind compress best side by side.
//!
//! The streams follow each other, each preceded by its length. Lengths and numbers are [variable](crate::wire::record::put_variable).
//!
//! | stream | content |
//! |---|---|
//! | heads | of each change: what it is (0 put, 1 patch, 2 remove), and the number of its family |
//! | keys | of each change: bytes that its key shares with the key before it, and the number of those that follow |
//! | names | these following bytes |
//! | lengths | of each put: the length of the row's content |
//! | rows | the contents |
//! | counts | of each patch: the number of its edits |
//! | keeps, drops, puts | of each edit: bytes that stay, bytes that are gone, and the number of bytes in their place |
//! | bytes | the bytes in their place |
//!
//! The last four have the first edit of every patch, then the second one of every patch that has two, and so on: rows mostly change in the same
//! fields, so that values of one field are side by side.

use super::delta::{Change, Patch};
use super::family::Family;
use super::row::Row;
use crate::pace::Pace;
use crate::wire::edits::Edit;
use crate::wire::record::{self, Reader};
use alloc::vec::Vec;

/// About what it takes to read a change or an edit.
const READ_NANOS: usize = 700;

const PUT: u8 = 0;
const PATCH: u8 = 1;
const REMOVE: u8 = 2;

/// The streams in their order, as what is written to or read from.
struct Streams<T> {
    heads: T,
    keys: T,
    names: T,
    lengths: T,
    rows: T,
    counts: T,
    keeps: T,
    drops: T,
    puts: T,
    bytes: T,
}

/// The changes before compression.
pub(super) fn encode(changes: &[Change]) -> Vec<u8> {
    let new = Vec::new;
    let mut to = Streams {
        heads: new(),
        keys: new(),
        names: new(),
        lengths: new(),
        rows: new(),
        counts: new(),
        keeps: new(),
        drops: new(),
        puts: new(),
        bytes: new(),
    };
    let mut before: &[u8] = &[];
    for change in changes {
        let (what, family, key) = match change {
            Change::Put(family, row) => (PUT, family, row.key()),
            Change::Patch(family, patch) => (PATCH, family, patch.key.as_slice()),
            Change::Remove(family, key) => (REMOVE, family, key.as_slice()),
        };
        to.heads.extend_from_slice(&[what, family.code()]);
        let shared = before.iter().zip(key).take_while(|(a, b)| a == b).count();
        let name = key.get(shared..).unwrap_or_default();
        put(shared, &mut to.keys);
        put(name.len(), &mut to.keys);
        to.names.extend_from_slice(name);
        before = key;
        match change {
            Change::Put(_, row) => {
                let content = row.content();
                put(content.len(), &mut to.lengths);
                to.rows.extend_from_slice(&content);
            }
            Change::Patch(_, patch) => put(patch.edits.len(), &mut to.counts),
            Change::Remove(..) => {}
        }
    }
    let mut patches: Vec<&[Edit]> = changes.iter().filter_map(edits).collect();
    while !patches.is_empty() {
        patches.retain_mut(|edits| {
            let Some((Edit { keep, drop, put: bytes }, others)) = edits.split_first() else { return false };
            put(*keep, &mut to.keeps);
            put(*drop, &mut to.drops);
            put(bytes.len(), &mut to.puts);
            to.bytes.extend_from_slice(bytes);
            *edits = others;
            true
        });
    }
    let mut out = Vec::new();
    let Streams { heads, keys, names, lengths, rows, counts, keeps, drops, puts, bytes } = to;
    for stream in [heads, keys, names, lengths, rows, counts, keeps, drops, puts, bytes] {
        record::put_bytes(&stream, &mut out);
    }
    out
}

fn put(number: usize, to: &mut Vec<u8>) {
    record::put_variable(number as u64, to);
}

fn edits(change: &Change) -> Option<&[Edit]> {
    match change {
        Change::Patch(_, patch) => Some(&patch.edits),
        Change::Put(..) | Change::Remove(..) => None,
    }
}

/// Reads what [`encode`] wrote. `None` if the streams are not these, or have more than was read.
pub(super) async fn read(raw: &[u8], pace: &Pace<'_>) -> Option<Vec<Change>> {
    let mut raw = Reader::new(raw);
    let mut next = || raw.bytes().map(Reader::new);
    let mut from = Streams {
        heads: next()?,
        keys: next()?,
        names: next()?,
        lengths: next()?,
        rows: next()?,
        counts: next()?,
        keeps: next()?,
        drops: next()?,
        puts: next()?,
        bytes: next()?,
    };
    let (mut changes, mut patches, mut key) = (Vec::new(), Vec::new(), Vec::new());
    // Every edit has at least one byte in each of its streams.
    let mut most = from.keeps.rest().len();
    while !from.heads.is_at_end() {
        pace.step(READ_NANOS).await;
        let (what, family) = (from.heads.byte()?, Family::of_code(from.heads.byte()?)?);
        let (shared, more) = (number(&mut from.keys)?, number(&mut from.keys)?);
        if shared > key.len() {
            return None;
        }
        key.truncate(shared);
        key.extend_from_slice(from.names.take(more)?);
        changes.push(match what {
            PUT => {
                let length = number(&mut from.lengths)?;
                Change::Put(family, Row::new(&key, from.rows.take(length)?)?)
            }
            PATCH => {
                let count = number(&mut from.counts)?;
                most = most.checked_sub(count)?;
                patches.push((changes.len(), count));
                Change::Patch(family, Patch { key: key.clone(), edits: Vec::with_capacity(count) })
            }
            REMOVE => Change::Remove(family, key.clone()),
            _ => return None,
        });
    }
    for ordinal in 0.. {
        patches.retain(|(_, count)| *count > ordinal);
        if patches.is_empty() {
            break;
        }
        for (place, _) in &patches {
            pace.step(READ_NANOS).await;
            let (keep, drop) = (number(&mut from.keeps)?, number(&mut from.drops)?);
            let length = number(&mut from.puts)?;
            let edit = Edit { keep, drop, put: from.bytes.take(length)?.to_vec() };
            if let Some(Change::Patch(_, patch)) = changes.get_mut(*place) {
                patch.edits.push(edit);
            }
        }
    }
    let Streams { keys, names, lengths, rows, counts, keeps, drops, puts, bytes, .. } = from;
    let rest = [raw, keys, names, lengths, rows, counts, keeps, drops, puts, bytes];
    rest.iter().all(Reader::is_at_end).then_some(changes)
}

fn number(reader: &mut Reader<'_>) -> Option<usize> {
    usize::try_from(reader.variable()?).ok()
}
