//! Segments of the rows, compressed once for each content.

use super::state::State;
use rds_engine::clock::Stopwatch;
use rds_shared::replica::{Family, Manifest, Segment, SegmentName, StateId, cut};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// How long a segment that the newest manifest does not name is kept, for holders that still fetch the segments of an older one.
const KEPT: Duration = Duration::from_secs(120);
/// Most bytes of segments that the newest manifest does not name.
const MAX_OLDER_BYTES: usize = 64 << 20;

/// The segments of the newest manifest, and those of older ones for a while.
#[derive(Debug, Default)]
pub(super) struct Segments {
    /// Names by the SHA-256 of the digests of the rows.
    by_rows: HashMap<[u8; 32], SegmentName>,
    by_name: HashMap<SegmentName, Kept>,
    /// The newest manifest, encoded, and its state.
    manifest: Option<(StateId, Arc<[u8]>)>,
}

#[derive(Debug)]
struct Kept {
    bytes: Arc<[u8]>,
    /// When a manifest last named the segment.
    named_at: Stopwatch,
}

impl Segments {
    /// The encoded manifest of `state`, and the number of segments that were compressed for it.
    pub(super) fn manifest(&mut self, state: &State) -> (Arc<[u8]>, usize) {
        if let Some((of, manifest)) = &self.manifest
            && *of == state.id
        {
            return (Arc::clone(manifest), 0);
        }
        let mut made = 0;
        let families = Family::ALL.map(|family| {
            let mut digests = state.digests(family);
            let parts = cut(state.rows.of(family)).map(|part| {
                let (of_part, others) = digests.split_at(part.len());
                digests = others;
                self.name_of(of_part, || {
                    made += 1;
                    Segment::encode(part)
                })
            });
            parts.collect::<Vec<_>>()
        });
        let manifest = Manifest::new(state.id, &state.rows, families);
        self.forget(&manifest);
        let encoded: Arc<[u8]> = manifest.encode().into();
        self.manifest = Some((state.id, Arc::clone(&encoded)));
        (encoded, made)
    }

    /// The name of the segment of the rows with these digests, which `make` compresses if it is not known.
    fn name_of(&mut self, digests: &[[u8; 32]], make: impl FnOnce() -> Segment) -> SegmentName {
        let rows: [u8; 32] = Sha256::digest(digests.as_flattened()).into();
        let named_at = Stopwatch::start();
        if let Some(name) = self.by_rows.get(&rows)
            && let Some(kept) = self.by_name.get_mut(name)
        {
            kept.named_at = named_at;
            return *name;
        }
        let Segment { name, bytes } = make();
        self.by_rows.insert(rows, name);
        self.by_name.insert(name, Kept { bytes, named_at });
        name
    }

    /// Forgets the segments that only older manifests name, if they are old or too many.
    fn forget(&mut self, newest: &Manifest) {
        let named: HashSet<&SegmentName> = newest.names().collect();
        self.by_name.retain(|name, kept| named.contains(name) || kept.named_at.elapsed() < KEPT);
        let older = self.by_name.iter().filter(|(name, _)| !named.contains(name));
        if older.map(|(_, kept)| kept.bytes.len()).sum::<usize>() > MAX_OLDER_BYTES {
            self.by_name.retain(|name, _| named.contains(name));
        }
        self.by_rows.retain(|_, name| self.by_name.contains_key(name));
    }

    /// The bytes of a segment.
    pub(super) fn get(&self, name: &SegmentName) -> Option<&Arc<[u8]>> {
        self.by_name.get(name).map(|kept| &kept.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::Advanced;
    use super::*;
    use rds_shared::replica::{Row, Rows};

    /// A state with vaults of these contents.
    fn state(before: &State, contents: &[u64]) -> State {
        let row = |(number, content): (usize, &u64)| {
            Row::new(format!("vault-{number:05}").as_bytes(), content.to_string().as_bytes()).unwrap()
        };
        let mut rows = Rows::default();
        rows.set(Family::Vaults, Arc::new(contents.iter().enumerate().map(row).collect())).unwrap();
        let Advanced { state, .. } = before.advance(&rows).unwrap();
        state
    }

    fn assembled(segments: &Segments, manifest: &[u8]) -> Option<Rows> {
        Manifest::decode(manifest)
            .unwrap()
            .assemble(|name| Some(Arc::new(Segment::decode(name, segments.get(name)?).unwrap())))
    }

    #[test]
    fn a_changed_row_is_compressed_with_its_segment_only_and_the_older_manifest_can_still_be_fetched() {
        let mut segments = Segments::default();
        let mut contents: Vec<u64> = (0..3_000).collect();
        let before = state(&State::default(), &contents);
        let (older, made) = segments.manifest(&before);
        assert!(made > 20, "{made}");
        assert_eq!(segments.manifest(&before).1, 0);
        contents[1_500] = 7;
        let after = state(&before, &contents);
        let (newer, made) = segments.manifest(&after);
        assert_eq!(made, 1);
        assert_eq!(assembled(&segments, &older), Some(before.rows));
        assert_eq!(assembled(&segments, &newer), Some(after.rows));
    }

    #[test]
    fn states_with_equal_rows_have_equal_manifests_in_every_process() {
        let contents: Vec<u64> = (0..500).collect();
        let (mut one, mut other) = (Segments::default(), Segments::default());
        let detour = state(&state(&State::default(), &[1, 2, 3]), &contents);
        one.manifest(&state(&State::default(), &[1, 2, 3]));
        assert_eq!(one.manifest(&detour).0, other.manifest(&state(&State::default(), &contents)).0);
    }
}
