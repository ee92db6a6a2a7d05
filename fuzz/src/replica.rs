//! Property of the documents that a replica is made from.

use rds_shared::access::AssertionKey;
use rds_shared::replica::{
    Delta, Family, Kind, Manifest, Row, Rows, Segment, SegmentName, Stamp, StateId, Update, open,
};
use std::sync::Arc;

/// A document that can be read is written again as the same document; a delta leads to the state that it names or nowhere; a segment has
/// its name.
pub fn holds(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    match kind % 6 {
        0 => {
            if let Some(update) = Update::decode(rest) {
                assert_eq!(Update::decode(&update.encode()), Some(update));
            }
        }
        1 => {
            if let Some(stamp) = Stamp::decode(rest) {
                assert_eq!(Stamp::decode(&stamp.encode()), Some(stamp));
            }
        }
        2 => {
            if let Some(manifest) = Manifest::decode(rest) {
                assert_eq!(manifest.encode(), rest);
                assert!(manifest.names().next().is_none() || manifest.assemble(|_| None).is_none());
            }
        }
        3 => delta(rest),
        4 => {
            let name = SegmentName::of(rest);
            if let Ok(rows) = Segment::decode(&name, rest) {
                let again = Segment::encode(&rows);
                assert_eq!(Segment::decode(&again.name, &again.bytes), Ok(rows));
            }
        }
        _ => {
            let key = AssertionKey::parse(&format!("k:{}", "5a".repeat(32)));
            let keys: Vec<AssertionKey> = key.into_iter().collect();
            assert!(open(Kind::Delta, rest, &keys).is_err(), "nobody sealed this");
        }
    }
}

/// Applies a delta to three vaults. Its first state is replaced by theirs in most inputs, so that its changes are reached.
fn delta(bytes: &[u8]) {
    let content = br#"{"id":"a","tvl_usd":1,"apr":null}"#;
    let row = |key: &u8| Row::new(&[*key], content);
    let mut rows = Rows::default();
    let list: Vec<Row> = b"abc".iter().filter_map(row).collect();
    rows.set(Family::Vaults, Arc::new(list));
    let at = StateId::of(&rows);
    let Some(mut delta) = Delta::decode(bytes) else { return };
    assert_eq!(Delta::decode(&delta.encode()).as_ref(), Some(&delta));
    if delta.from.bytes()[0] % 4 != 0 {
        delta.from = at;
    }
    if let Ok(after) = delta.apply(&rows, at) {
        assert_eq!((delta.from, delta.to), (at, StateId::of(&after)));
    }
}
