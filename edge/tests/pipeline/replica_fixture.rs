//! The documents that the tests on workerd serve (`edge/tests/replica.test.mjs`), made from the market of these tests.

use crate::market::Documents;
use crate::world::KEY;
use rds_shared::wire::{Timestamp, hex};
use serde_json::json;
use std::path::Path;

/// States in the file, one change apart.
const STATES: i64 = 24;

/// One line for each state, then one for each segment of the first and the last state.
fn lines() -> String {
    let now = Timestamp::from_seconds(1_795_219_200);
    let mut documents = Documents::new(KEY, now);
    while documents.version() < STATES {
        documents.publish(&[], now);
    }
    let mut lines = Vec::new();
    for version in 1..=STATES {
        let delta = (version > 1).then(|| hex(&documents.delta(version)));
        let manifest = [1, STATES].contains(&version).then(|| hex(&documents.manifest(version)));
        let (state, stamp) = (documents.state(version).to_string(), hex(&documents.stamp(version)));
        lines.push(json!({ "version": version, "state": state, "stamp": stamp, "delta": delta, "manifest": manifest }));
    }
    for (name, bytes) in documents.segments() {
        lines.push(json!({ "segment": name, "bytes": hex(bytes) }));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_file_has_these_documents() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/replica/states.jsonl");
    let (made, stored) = (lines(), std::fs::read_to_string(&path).unwrap_or_default());
    if made != stored {
        let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join("states.jsonl");
        std::fs::write(&new, made).unwrap();
        panic!(
            "documents of the replica have changed; if that is intended, copy {} to {}",
            new.display(),
            path.display()
        );
    }
}
