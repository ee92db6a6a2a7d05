//! Replays every property over its corpus.

use rds_fuzz::PROPERTIES;
use std::path::{Path, PathBuf};

fn inputs(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn every_property_is_satisfied_by_its_corpus() {
    for (name, holds) in PROPERTIES {
        let inputs = inputs(name);
        assert!(!inputs.is_empty(), "{name} has no corpus");
        for input in inputs {
            let data = std::fs::read(&input).unwrap();
            let held = std::panic::catch_unwind(|| holds(&data));
            assert!(held.is_ok(), "{name} is violated by {}", input.display());
        }
    }
}

#[test]
fn every_target_has_its_property_and_corpora_stay_small() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, _) in PROPERTIES {
        let target = std::fs::read_to_string(root.join("fuzz_targets").join(format!("{name}.rs"))).unwrap();
        assert!(target.contains(&format!("rds_fuzz::{name}::holds")), "{name}");
        let bytes: u64 = inputs(name).iter().map(|input| input.metadata().unwrap().len()).sum();
        assert!(bytes <= 256 << 10, "the corpus of {name} is {bytes} bytes");
    }
    assert_eq!(std::fs::read_dir(root.join("fuzz_targets")).unwrap().count(), PROPERTIES.len());
}
