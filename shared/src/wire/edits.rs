//! Edits: how bytes became others, or how two rows differ.

use super::record::{self, Reader};
use alloc::vec::Vec;

/// Pieces in which a place is looked for from which both texts go on alike.
const LOOK_AHEAD: usize = 24;
/// A shorter piece is alike by chance too often.
const MIN_ALIKE: usize = 4;
/// About what an edit takes besides its bytes.
const EDIT_BYTES: usize = 4;

/// Bytes that replace others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Earlier bytes that stay, counted from the end of the edit before.
    pub keep: usize,
    /// Earlier bytes after these that are gone.
    pub drop: usize,
    /// What stands in their place.
    pub put: Vec<u8>,
}

/// The edits that make `new` of `old`, in their order; what follows the last one stays.
///
/// Both are split after every comma. Rows are JSON objects of fixed fields, so that a piece is a field, and most pieces stay. From a piece that
/// differs, the nearest place is looked for from which both go on alike, because a comma may also be part of a number in binary or of a text.
pub fn between(old: &[u8], new: &[u8]) -> Vec<Edit> {
    let (old, new): (Vec<&[u8]>, Vec<&[u8]>) = (pieces(old).collect(), pieces(new).collect());
    let (mut old, mut new) = (old.as_slice(), new.as_slice());
    let (mut edits, mut keep) = (Vec::new(), 0);
    loop {
        let same = old.iter().zip(new).take_while(|(before, after)| before == after).count();
        keep += len(old.get(..same).unwrap_or_default());
        old = old.get(same..).unwrap_or_default();
        new = new.get(same..).unwrap_or_default();
        if old.is_empty() && new.is_empty() {
            return edits;
        }
        let (gone, come) = alike(old, new);
        let ((before, rest_old), (after, rest_new)) = (old.split_at(gone), new.split_at(come));
        let (before, after) = (before.concat(), after.concat());
        let (start, end) = ends(&before, &after);
        edits.push(Edit {
            keep: keep + start,
            drop: before.len() - start - end,
            put: after.get(start..after.len() - end).unwrap_or_default().to_vec(),
        });
        (old, new, keep) = (rest_old, rest_new, end);
    }
}

/// Numbers of pieces after which both go on alike, as few as can be; all of them if there is no such place nearby.
fn alike(old: &[&[u8]], new: &[&[u8]]) -> (usize, usize) {
    let is_alike = |(gone, come): &(usize, usize)| match (old.get(*gone), new.get(*come)) {
        (None, None) => true,
        (Some(before), Some(after)) => before == after && before.len() >= MIN_ALIKE,
        _ => false,
    };
    (1..=LOOK_AHEAD)
        .flat_map(|both| (0..=both).map(move |gone| (gone, both - gone)))
        .filter(|(gone, come)| *gone <= old.len() && *come <= new.len())
        .find(is_alike)
        .unwrap_or((old.len(), new.len()))
}

/// How many bytes at the start and at the end are the same in both, without overlap.
fn ends(before: &[u8], after: &[u8]) -> (usize, usize) {
    let equal = |(a, b): &(&u8, &u8)| a == b;
    let start = before.iter().zip(after).take_while(equal).count();
    let most = before.len().min(after.len()) - start;
    let end = before.iter().rev().zip(after.iter().rev()).take(most).take_while(equal).count();
    (start, end)
}

/// The pieces of a content, each with the comma that ends it.
fn pieces(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split_inclusive(|byte| *byte == b',')
}

fn len(pieces: &[&[u8]]) -> usize {
    pieces.iter().map(|piece| piece.len()).sum()
}

/// What the edits make of `old`; `None` if it has fewer bytes than they speak of.
pub fn applied(edits: &[Edit], old: &[u8]) -> Option<Vec<u8>> {
    let (mut new, mut rest) = (Vec::with_capacity(old.len() + 64), old);
    for Edit { keep, drop, put } in edits {
        let (kept, others) = rest.split_at_checked(*keep)?;
        new.extend_from_slice(kept);
        new.extend_from_slice(put);
        rest = others.get(*drop..)?;
    }
    new.extend_from_slice(rest);
    Some(new)
}

/// Appends edits as a record.
pub fn put(edits: &[Edit], out: &mut Vec<u8>) {
    for Edit { keep, drop, put } in edits {
        record::put_variable(*keep as u64, out);
        record::put_variable(*drop as u64, out);
        record::put_bytes(put, out);
    }
}

/// Number of bytes that recorded edits make of `old` bytes; `None` if this is no such record, or if it speaks of more bytes.
pub fn made_len(edits: &[u8], old: usize) -> Option<usize> {
    let (mut rest, mut made) = (old, 0usize);
    each(edits, |keep, drop, put| {
        rest = rest.checked_sub(keep)?.checked_sub(drop)?;
        made += keep + put.len();
        Some(())
    })?;
    Some(made + rest)
}

/// What recorded edits make of `old`; `None` if this is no such record, or if it speaks of more bytes.
pub fn made(edits: &[u8], old: &[u8]) -> Option<Vec<u8>> {
    let (mut new, mut rest) = (Vec::with_capacity(made_len(edits, old.len())?), old);
    each(edits, |keep, drop, put| {
        let (kept, others) = rest.split_at_checked(keep)?;
        new.extend_from_slice(kept);
        new.extend_from_slice(put);
        rest = others.get(drop..)?;
        Some(())
    })?;
    new.extend_from_slice(rest);
    Some(new)
}

/// Calls `take` with the parts of each recorded edit.
fn each<'a>(edits: &'a [u8], mut take: impl FnMut(usize, usize, &'a [u8]) -> Option<()>) -> Option<()> {
    let mut reader = Reader::new(edits);
    while !reader.is_at_end() {
        let keep = usize::try_from(reader.variable()?).ok()?;
        let drop = usize::try_from(reader.variable()?).ok()?;
        take(keep, drop, reader.bytes()?)?;
    }
    Some(())
}

/// Bytes of the edits before compression, approximately.
pub fn stored_len(edits: &[Edit]) -> usize {
    edits.iter().map(|edit| edit.put.len() + EDIT_BYTES).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    fn edit(keep: usize, drop: usize, put: &[u8]) -> Edit {
        Edit { keep, drop, put: put.to_vec() }
    }

    #[test]
    fn only_the_digits_that_changed_are_sent() {
        let (old, new) = (br#"{"a":1,"tvl_usd":120.5,"b":2}"#, br#"{"a":1,"tvl_usd":1307.5,"b":2}"#);
        assert_eq!(between(old, new), [edit(18, 2, b"307")]);
        assert_eq!(between(old, old), []);
    }

    #[test]
    fn a_comma_in_a_number_or_a_text_makes_only_its_own_piece_longer() {
        let (old, new) = (br#"12,"k":1,"name":"a","b":2}"#, br#"1,,"k":1,"name":"a, b","b":2}"#);
        assert_eq!(between(old, new), [edit(1, 1, b","), edit(16, 0, b", b")]);
    }

    #[test]
    fn fields_that_come_and_go_leave_the_others_in_place() {
        let (old, new) = (br#"{"a":1,"b":2,"c":3,"d":4}"#, br#"{"a":1,"c":3,"d":4,"e":5}"#);
        assert_eq!(applied(&between(old, new), old).unwrap(), new);
        assert!(stored_len(&between(old, new)) < 20);
    }

    #[test]
    fn edits_beyond_the_end_are_refused() {
        assert_eq!(applied(&[edit(4, 0, b"")], b"abc"), None);
        assert_eq!(applied(&[edit(1, 3, b"")], b"abc"), None);
        assert_eq!(applied(&[edit(3, 0, b"d")], b"abc"), Some(b"abcd".to_vec()));
    }

    proptest! {
        #[test]
        fn no_record_breaks_the_making(edits: Vec<u8>, old in prop::collection::vec(any::<u8>(), 0..9)) {
            prop_assert_eq!(made(&edits, &old).map(|made| made.len()), made_len(&edits, old.len()));
        }

        #[test]
        fn edits_make_any_bytes_of_any_others(
            old in prop::collection::vec(prop_oneof![Just(b','), Just(b'a'), any::<u8>()], 0..80),
            new in prop::collection::vec(prop_oneof![Just(b','), Just(b'a'), any::<u8>()], 0..80),
        ) {
            let edits = between(&old, &new);
            prop_assert_eq!(applied(&edits, &old), Some(new.clone()));
            let mut recorded = Vec::new();
            put(&edits, &mut recorded);
            prop_assert_eq!((made(&recorded, &old), made_len(&recorded, old.len())), (Some(new.clone()), Some(new.len())));
            let sent: usize = edits.iter().map(|edit| edit.put.len()).sum();
            prop_assert!(sent <= new.len());
            prop_assert!(edits.iter().all(|edit| edit.drop > 0 || !edit.put.is_empty()));
            prop_assert_eq!(between(&new, &new), vec![]);
        }
    }
}
