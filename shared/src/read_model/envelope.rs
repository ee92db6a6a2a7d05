//! Bodies assembled from encoded rows: the rows' bytes are copied into one buffer of known size and are not serialised again.

use crate::wire::page::PageMeta;
use alloc::vec::Vec;

/// Maximum bytes of the envelope around the rows.
const ENVELOPE_BYTES: usize = 160;

/// `{"data":[…],"meta":{…}}` of rows that `write` appends, each of at most `len` bytes: a numbered page.
pub fn page<R>(rows: &[R], len: impl Fn(&R) -> usize, meta: PageMeta, write: impl FnMut(&R, &mut Vec<u8>)) -> Vec<u8> {
    let mut body = opened(rows, len, write);
    body.push(b',');
    meta.write_json(&mut body);
    body.push(b'}');
    body
}

/// `{"data":[…]}` of rows that `write` appends, each of at most `len` bytes.
pub fn list<R>(rows: &[R], len: impl Fn(&R) -> usize, write: impl FnMut(&R, &mut Vec<u8>)) -> Vec<u8> {
    let mut body = opened(rows, len, write);
    body.push(b'}');
    body
}

/// `{"data":{…}}` of a row of at most `len` bytes that `write` appends.
pub fn one(len: usize, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut body = Vec::with_capacity(ENVELOPE_BYTES + len);
    body.extend_from_slice(b"{\"data\":");
    write(&mut body);
    body.push(b'}');
    body
}

/// `{"data":[…]` without the closing brace.
fn opened<R>(rows: &[R], len: impl Fn(&R) -> usize, mut write: impl FnMut(&R, &mut Vec<u8>)) -> Vec<u8> {
    let mut body = Vec::with_capacity(ENVELOPE_BYTES + rows.iter().map(|row| len(row) + 1).sum::<usize>());
    body.extend_from_slice(b"{\"data\":[");
    for (place, row) in rows.iter().enumerate() {
        if place > 0 {
            body.push(b',');
        }
        write(row, &mut body);
    }
    body.push(b']');
    body
}
