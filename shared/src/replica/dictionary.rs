//! Rows packed one by one, for a holder with little memory.
//!
//! Rows of a family repeat names of fields, and many values. A [`Dictionary`] made from some of them has what they repeat, and a packed row
//! refers to it. The form is that of LZ4: sequences of literal bytes and of a match, which is a distance back and a length; distances reach beyond
//! the beginning of the row into the dictionary. Nothing is entropy-coded, so that a row is unpacked in about a microsecond.

use crate::pace::Pace;
use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;

/// Most bytes of a dictionary.
const MAX_BYTES: usize = 32 << 10;
/// Rows that are in a dictionary as a whole; the others give the pieces that they repeat.
const WHOLE_ROWS: usize = 8;
/// How often a piece must occur.
const MIN_OCCURRENCES: usize = 3;
/// Shortest match.
const MIN_MATCH: usize = 4;
/// The number that says that more bytes of a length follow.
const MORE: usize = 15;
/// Bits of a hash of [`MIN_MATCH`] bytes of the dictionary, and of a row.
const HASH_BITS: u32 = 13;
const ROW_HASH_BITS: u32 = 11;
/// Places in the dictionary that are tried for a match.
const MAX_TRIES: usize = 8;
/// A match of this length is taken without trying others.
const GOOD_MATCH: usize = 24;
/// About what it takes to look through a row of the sample, and to make the tables.
const SAMPLE_NANOS: usize = 60_000;
const TABLES_NANOS: usize = 1_500_000;
/// No place.
const NOWHERE: u16 = u16::MAX;

/// Bytes that rows of a family repeat.
#[derive(Clone)]
pub struct Dictionary {
    bytes: Vec<u8>,
    /// The last place with a hash, and for each place the one before with the same hash.
    last: Vec<u16>,
    before: Vec<u16>,
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary({} bytes)", self.bytes.len())
    }
}

impl Dictionary {
    /// The dictionary of these rows' contents, some hundreds at most, for rows like them.
    pub async fn of(rows: &[Cow<'_, [u8]>], pace: &Pace<'_>) -> Self {
        let (mut bytes, mut known) = (Vec::new(), BTreeSet::new());
        for row in rows.iter().step_by(rows.len().div_ceil(WHOLE_ROWS).max(1)) {
            pace.step(SAMPLE_NANOS).await;
            bytes.extend_from_slice(row);
            known.extend(pieces(row));
        }
        let mut repeated: BTreeMap<&[u8], usize> = BTreeMap::new();
        for row in rows {
            pace.step(SAMPLE_NANOS).await;
            for piece in pieces(row).filter(|piece| piece.len() > MIN_MATCH) {
                *repeated.entry(piece).or_default() += 1;
            }
        }
        pace.step(TABLES_NANOS).await;
        let is_new = |(piece, times): &(&[u8], usize)| *times >= MIN_OCCURRENCES && !known.contains(piece);
        let mut repeated: Vec<(&[u8], usize)> = repeated.into_iter().filter(is_new).collect();
        let saves = |(piece, times): &(&[u8], usize)| piece.len() * times;
        repeated.sort_unstable_by(|a, b| (saves(b), a.0).cmp(&(saves(a), b.0)));
        for (piece, _) in repeated {
            if bytes.len() + piece.len() > MAX_BYTES {
                break;
            }
            bytes.extend_from_slice(piece);
        }
        bytes.truncate(MAX_BYTES);
        Self::with(bytes)
    }

    fn with(bytes: Vec<u8>) -> Self {
        let (mut last, mut before) = (alloc::vec![NOWHERE; 1 << HASH_BITS], alloc::vec![NOWHERE; bytes.len()]);
        for (place, four) in (0u16..).zip(bytes.windows(MIN_MATCH)) {
            if let (Some(last), Some(before)) =
                (last.get_mut(hash(four, HASH_BITS)), before.get_mut(usize::from(place)))
            {
                *before = core::mem::replace(last, place);
            }
        }
        Dictionary { bytes, last, before }
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + (self.last.capacity() + self.before.capacity()) * size_of::<u16>()
    }

    /// Packs bytes. `None` if they are too long.
    pub(super) fn pack(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let length = u16::try_from(bytes.len()).ok()?;
        u16::try_from(self.bytes.len() + bytes.len()).ok()?;
        let mut out = Vec::with_capacity(bytes.len() / 4 + 8);
        out.extend_from_slice(&length.to_le_bytes());
        let mut recent = Recent::default();
        let (mut at, mut literals, mut expected) = (0, 0, None);
        while at + MIN_MATCH <= bytes.len() {
            let found = self.longest(bytes, at, expected.map(|expected: usize| expected + (at - literals)), &recent);
            recent.note(bytes, at);
            let Some(Match { place, length }) = found else {
                at += 1;
                continue;
            };
            put_sequence(bytes.get(literals..at)?, Some((self.bytes.len() + at - place, length)), &mut out);
            (at + 1..at + length).for_each(|at| recent.note(bytes, at));
            at += length;
            literals = at;
            expected = (place < self.bytes.len()).then_some(place + length);
        }
        if literals < bytes.len() {
            put_sequence(bytes.get(literals..)?, None, &mut out);
        }
        Some(out)
    }

    /// The longest match of `bytes` from `at` on, at `expected` place of the dictionary, in the bytes before, or elsewhere in the dictionary.
    fn longest(&self, bytes: &[u8], at: usize, expected: Option<usize>, recent: &Recent) -> Option<Match> {
        let wanted = bytes.get(at..)?;
        let in_dictionary =
            |place: usize| Match { place, length: common(self.bytes.get(place..).unwrap_or_default(), wanted) };
        let mut best = expected.map_or(Match { place: 0, length: 0 }, in_dictionary);
        if let Some(place) = recent.find(bytes, at) {
            let length = common(bytes.get(place..).unwrap_or_default(), wanted);
            if length > best.length {
                best = Match { place: self.bytes.len() + place, length };
            }
        }
        let mut place = self.last.get(hash(wanted, HASH_BITS)).copied().unwrap_or(NOWHERE);
        for _ in 0..MAX_TRIES {
            if place == NOWHERE || best.length >= GOOD_MATCH {
                break;
            }
            let other = in_dictionary(usize::from(place));
            if other.length > best.length {
                best = other;
            }
            place = self.before.get(usize::from(place)).copied().unwrap_or(NOWHERE);
        }
        (best.length >= MIN_MATCH).then_some(best)
    }

    /// Appends what [`pack`](Self::pack) packed; `None` if it is no such thing.
    pub(super) fn unpack(&self, packed: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let (length, mut rest) = packed.split_first_chunk::<2>()?;
        let start = out.len();
        out.reserve_exact(usize::from(u16::from_le_bytes(*length)));
        while let Some((token, others)) = rest.split_first() {
            rest = others;
            let literals = read_length(usize::from(token >> 4), &mut rest)?;
            let (literal, others) = rest.split_at_checked(literals)?;
            out.extend_from_slice(literal);
            let Some((distance, others)) = others.split_first_chunk::<2>() else {
                rest = others;
                break;
            };
            rest = others;
            let length = read_length(usize::from(token & 15), &mut rest)? + MIN_MATCH;
            let (distance, written) = (usize::from(u16::from_le_bytes(*distance)), out.len() - start);
            match distance.checked_sub(written) {
                // Behind the beginning: in the dictionary.
                Some(beyond) if beyond > 0 => {
                    let from = self.bytes.len().checked_sub(beyond)?;
                    out.extend_from_slice(self.bytes.get(from..from + length)?);
                }
                _ => {
                    let from = out.len().checked_sub(distance).filter(|_| distance > 0)?;
                    let mut left = length;
                    // A match may overlap what it appends.
                    while left > 0 {
                        let part = left.min(out.len() - from);
                        out.extend_from_within(from..from + part);
                        left -= part;
                    }
                }
            }
        }
        (rest.is_empty() && out.len() - start == usize::from(u16::from_le_bytes(*length))).then_some(())
    }
}

/// A match of a row: its place in the dictionary, or behind it in the row.
struct Match {
    place: usize,
    length: usize,
}

/// The last place in a row with each hash.
struct Recent([u16; 1 << ROW_HASH_BITS]);

impl Default for Recent {
    fn default() -> Self {
        Recent([NOWHERE; 1 << ROW_HASH_BITS])
    }
}

impl Recent {
    fn note(&mut self, bytes: &[u8], at: usize) {
        if let Some(four) = bytes.get(at..at + MIN_MATCH)
            && let Some(place) = self.0.get_mut(hash(four, ROW_HASH_BITS))
        {
            // A row has fewer bytes than that.
            *place = at as u16;
        }
    }

    fn find(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let place = self.0.get(hash(bytes.get(at..)?, ROW_HASH_BITS)).copied()?;
        (place != NOWHERE).then_some(usize::from(place))
    }
}

/// The hash of the first four bytes.
fn hash(bytes: &[u8], bits: u32) -> usize {
    let four = bytes.first_chunk::<4>().map_or(0, |four| u32::from_le_bytes(*four));
    (four.wrapping_mul(0x9e37_79b1) >> (u32::BITS - bits)) as usize
}

/// Number of equal bytes at the beginning.
fn common(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0).take_while(|(a, b)| a == b).count();
    let done = words * 8;
    let rest = a.iter().skip(done).zip(b.iter().skip(done)).take_while(|(a, b)| a == b);
    done + rest.count()
}

/// The parts of a content that rows repeat: up to a comma, which ends a field of JSON.
fn pieces(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split_inclusive(|byte| *byte == b',')
}

/// Appends literal bytes and a match, whose distance and length are given.
fn put_sequence(literals: &[u8], found: Option<(usize, usize)>, out: &mut Vec<u8>) {
    let extra = found.map_or(0, |(_, length)| length - MIN_MATCH);
    out.push((literals.len().min(MORE) << 4 | extra.min(MORE)) as u8);
    put_length(literals.len(), out);
    out.extend_from_slice(literals);
    if let Some((distance, _)) = found {
        // Dictionary and row have fewer bytes than that.
        out.extend_from_slice(&(distance as u16).to_le_bytes());
        put_length(extra, out);
    }
}

/// Appends what of a length is not in the token.
fn put_length(length: usize, out: &mut Vec<u8>) {
    if let Some(mut left) = length.checked_sub(MORE) {
        while left >= usize::from(u8::MAX) {
            out.push(u8::MAX);
            left -= usize::from(u8::MAX);
        }
        out.push(left as u8);
    }
}

/// The length that begins in the token and may go on in `rest`.
fn read_length(in_token: usize, rest: &mut &[u8]) -> Option<usize> {
    let mut length = in_token;
    if in_token == MORE {
        loop {
            let (more, others) = rest.split_first()?;
            *rest = others;
            length += usize::from(*more);
            if *more < u8::MAX {
                break;
            }
        }
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::at_once;
    use alloc::format;
    use alloc::string::String;
    use proptest::prelude::*;

    fn dictionary(rows: &[&[u8]]) -> Dictionary {
        let rows: Vec<Cow<'_, [u8]>> = rows.iter().map(|row| Cow::Borrowed(*row)).collect();
        at_once(Dictionary::of(&rows, &Pace::unbroken()))
    }

    fn unpacked(dictionary: &Dictionary, packed: &[u8]) -> Option<Vec<u8>> {
        let mut out = b"before".to_vec();
        dictionary.unpack(packed, &mut out).map(|()| out.split_off(6))
    }

    fn vault(number: u32) -> String {
        let scattered = number.wrapping_mul(0x9e37_79b1);
        format!(
            "{{\"id\":\"aave-1-0x{scattered:040x}\",\"name\":\"Vault {number}\",\"address\":\"0x{scattered:040x}\",\"protocol_name\":\"{}\",\
             \"tvl_usd\":{}.5,\"apr_net\":null,\"deposit_status\":\"{}\",\"withdraw_status\":\"open\",\"last_synced_at\":\"2026-11-27T12:00:00.000Z\"}}",
            ["Aave", "Morpho", "Yearn"][number as usize % 3],
            scattered % 1_000_000,
            if number.is_multiple_of(5) { "closed" } else { "open" },
        )
    }

    #[test]
    fn rows_of_one_kind_shrink_to_what_they_do_not_share() {
        let rows: Vec<String> = (0..400).map(vault).collect();
        let sample: Vec<&[u8]> = rows.iter().take(100).map(String::as_bytes).collect();
        let dictionary = dictionary(&sample);
        let packed: Vec<Vec<u8>> = rows.iter().map(|row| dictionary.pack(row.as_bytes()).unwrap()).collect();
        for (row, packed) in rows.iter().zip(&packed) {
            assert_eq!(unpacked(&dictionary, packed).unwrap(), row.as_bytes());
        }
        let (before, after) = (rows.iter().map(String::len).sum::<usize>(), packed.iter().map(Vec::len).sum::<usize>());
        assert!(after * 4 < before, "{after} of {before} bytes");
    }

    #[test]
    fn rows_that_are_too_long_are_not_packed() {
        let dictionary = dictionary(&[b"abcdefgh"]);
        assert!(dictionary.pack(&[7; 65_535]).is_none());
        let long = dictionary.pack(&[7; 60_000]).unwrap();
        assert!(long.len() < 300 && unpacked(&dictionary, &long).unwrap() == [7; 60_000]);
    }

    proptest! {
        #[test]
        fn anything_is_unpacked_as_it_was_packed(
            sample in prop::collection::vec("[ab,]{0,30}", 0..12), row in "[abc,]{0,80}", long in prop::collection::vec(any::<u8>(), 0..700),
        ) {
            let sample: Vec<&[u8]> = sample.iter().map(String::as_bytes).collect();
            let dictionary = dictionary(&sample);
            for bytes in [row.as_bytes(), &long, &[row.as_bytes(), &long, row.as_bytes(), &long].concat()] {
                prop_assert_eq!(unpacked(&dictionary, &dictionary.pack(bytes).unwrap()).unwrap(), bytes);
            }
        }

        #[test]
        fn no_bytes_break_the_unpacking(packed in prop::collection::vec(any::<u8>(), 0..60), cut in any::<prop::sample::Index>()) {
            let dictionary = dictionary(&[b"abcdefgh,abcd"]);
            unpacked(&dictionary, &packed);
            let whole = dictionary.pack(b"abcdefgh,xyz,abcdefgh").unwrap();
            let cut = &whole[..cut.index(whole.len())];
            prop_assert_eq!(unpacked(&dictionary, cut), None);
        }
    }
}
