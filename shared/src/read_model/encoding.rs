//! How the rows of a read model are made and read: their keys, and readers of their content.

use crate::replica::Row;
use crate::wire::record::Reader;
use alloc::vec::Vec;
use core::fmt::Display;
use serde::ser::Error;

/// A reader of a row's content, whose parts are parts of the row's bytes. A packed row, which nobody should read, has no content.
pub(super) fn reader(row: &Row) -> Reader<'_> {
    match row.shared_bytes() {
        Some(bytes) => Reader::of_shared(bytes, row.content_start()),
        None => Reader::new(&[]),
    }
}

/// A row with this key and content. Fails only if the key is longer than a row's key may be.
pub(super) fn row(key: &[u8], content: &[u8]) -> Result<Row, serde_json::Error> {
    Row::new(key, content).ok_or_else(|| fault("the key of a row is too long"))
}

/// The error of a row that cannot be made.
pub(super) fn fault(reason: impl Display) -> serde_json::Error {
    serde_json::Error::custom(reason)
}

/// A key for rows with the largest number first, and equal ones by `id`. Numbers are in the order of [`f64::total_cmp`].
pub(super) fn largest_first(number: f64, id: &[u8]) -> Vec<u8> {
    // The bits of a positive number are in its order, and those of a negative one in the opposite order.
    let bits = number.to_bits();
    let descending = if number.is_sign_negative() { bits } else { !(bits | 1 << 63) };
    [descending.to_be_bytes().as_slice(), id].concat()
}

/// The id in a key that [`largest_first`] made.
pub(super) fn id_of(key: &[u8]) -> Option<&str> {
    core::str::from_utf8(key.get(size_of::<u64>()..)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_are_in_descending_order_of_the_numbers_and_then_by_id(
            a: f64, b: f64, id in "[a-c]{0,2}", other in "[a-c]{0,2}",
        ) {
            let key = |number, id: &str| largest_first(number, id.as_bytes());
            prop_assert_eq!(key(a, &id).cmp(&key(b, &other)), b.total_cmp(&a).then(id.cmp(&other)));
            prop_assert_eq!(key(a, &id).cmp(&key(a, &other)), id.cmp(&other));
            let key = key(a, &id);
            prop_assert_eq!(id_of(&key), Some(id.as_str()));
        }
    }
}
