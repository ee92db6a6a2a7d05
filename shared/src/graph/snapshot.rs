//! Snapshots: the frozen facts that checks use, identified by a content hash.
//!
//! The id covers the facts and their observation times, but not when or where the snapshot was built, so equal facts give the
//! same id on any machine.

use super::facts::Facts;
use crate::model::content_hash::{Absorb, ContentHash};
use crate::scoring::canonical::{Canonical, Canonicalize};
use crate::wire::time::Timestamp;
use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt::Write;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// One set of facts in a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Publication {
    /// Name of the set, for example `vaults`.
    pub name: &'static str,
    /// SHA-256 of the set's canonical JSON, 64 hex characters.
    pub content_hash: ContentHash,
    /// Number of rows in the set.
    pub rows: u64,
    /// Observation time of the newest fact; `None` for an empty set.
    #[serde(skip)]
    pub cursor: Option<Timestamp>,
}

impl Publication {
    /// Hashes rows in the given order. The order must depend only on the rows' content, so that equal facts give the same hash.
    ///
    /// The text is hashed row by row and never held in memory as a whole.
    pub fn of<'a, R: Canonicalize + 'a>(
        name: &'static str,
        rows: impl IntoIterator<Item = &'a R>,
        cursor: Option<Timestamp>,
    ) -> Self {
        let (mut hash, mut count) = (Sha256::new(), 0_u64);
        for row in rows {
            // Writing to a hash cannot fail.
            let _ = write!(Absorb(&mut hash), "{}{}", if count == 0 { '[' } else { ',' }, row.canonical());
            count += 1;
        }
        hash.update(if count == 0 { "[]" } else { "]" });
        Publication { name, content_hash: ContentHash::from_bytes(hash.finalize().into()), rows: count, cursor }
    }

    /// The set of the exposure graph's vaults.
    pub fn vaults(facts: &Facts, cursor: Option<Timestamp>) -> Self {
        Self::of("vaults", facts.vaults(), cursor)
    }
}

/// The contents of a snapshot: its sets of facts and their hashes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SnapshotManifest"))]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// The snapshot's id: the SHA-256 of the manifest's canonical JSON without `snapshotId` and `builtAt`.
    pub snapshot_id: ContentHash,
    /// Time the snapshot was built; not part of the id.
    pub built_at: Timestamp,
    /// Observation time of the newest fact in the snapshot; null when it has no facts.
    pub valid_time: Option<Timestamp>,
    /// The sets of facts, sorted by name.
    pub publications: Vec<Publication>,
    /// Observation time of the newest fact per set; null for an empty set.
    pub cursors: BTreeMap<&'static str, Option<Timestamp>>,
}

impl Manifest {
    /// Builds the manifest. Of publications with the same name the last is kept.
    pub fn freeze(publications: impl IntoIterator<Item = Publication>, built_at: Timestamp) -> Self {
        let named: BTreeMap<_, _> =
            publications.into_iter().map(|publication| (publication.name, publication)).collect();
        let publications: Vec<_> = named.into_values().collect();
        let cursors = publications.iter().map(|publication| (publication.name, publication.cursor));
        let mut manifest = Manifest {
            snapshot_id: ContentHash::from_bytes([0; 32]),
            built_at,
            valid_time: publications.iter().filter_map(|publication| publication.cursor).max(),
            cursors: cursors.collect(),
            publications,
        };
        manifest.snapshot_id = ContentHash::of(&manifest.canonical());
        manifest
    }
}

/// `{cursors, publications, v, validTime}`: the published members except `snapshotId` and `builtAt`.
impl Canonicalize for Manifest {
    fn canonical(&self) -> Canonical {
        let instant =
            |instant: &Option<Timestamp>| instant.map_or(Canonical::Null, |it| Canonical::Text(it.to_string()));
        let publication = |publication: &Publication| {
            Canonical::object([
                ("name", publication.name.into()),
                ("contentHash", publication.content_hash.into()),
                ("rows", publication.rows.into()),
            ])
        };
        Canonical::object([
            ("v", 1_i64.into()),
            ("validTime", instant(&self.valid_time)),
            ("publications", Canonical::list(self.publications.iter().map(publication))),
            ("cursors", Canonical::object(self.cursors.iter().map(|(name, cursor)| (*name, instant(cursor))))),
        ])
    }
}
