//! Snapshots: the frozen facts that checks are made against, named by their content.
//!
//! The id covers what the facts say and from when they are, never when or where the snapshot was built: the same facts
//! give the same id on any machine.
//!
//! Source: interface, "Graph structures" (snapshot manifest).

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

/// One body of facts inside a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Publication {
    /// Its name, for example `vaults`.
    pub name: &'static str,
    /// The hash of its canonical form.
    pub content_hash: ContentHash,
    /// How many rows it has.
    pub rows: u64,
    /// The newest instant that one of its facts was observed; null when it has none.
    #[serde(skip)]
    pub cursor: Option<Timestamp>,
}

impl Publication {
    /// A body of rows in the order given, which must be one that the rows themselves determine.
    ///
    /// Streams: the text is hashed without being held.
    pub fn of<'a, R: Canonicalize + 'a>(
        name: &'static str,
        rows: impl IntoIterator<Item = &'a R>,
        cursor: Option<Timestamp>,
    ) -> Self {
        let (mut hash, mut count) = (Sha256::new(), 0_u64);
        for row in rows {
            // Writing into a hash cannot fail.
            let _ = write!(Absorb(&mut hash), "{}{}", if count == 0 { '[' } else { ',' }, row.canonical());
            count += 1;
        }
        hash.update(if count == 0 { "[]" } else { "]" });
        Publication { name, content_hash: ContentHash::from_bytes(hash.finalize().into()), rows: count, cursor }
    }

    /// The vaults of the exposure graph.
    pub fn vaults(facts: &Facts, cursor: Option<Timestamp>) -> Self {
        Self::of("vaults", facts.vaults(), cursor)
    }
}

/// What a snapshot is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "SnapshotManifest"))]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// The snapshot's id.
    pub snapshot_id: ContentHash,
    /// When it was built; not part of the id.
    pub built_at: Timestamp,
    /// From when the newest of its facts is; null when it has none.
    pub valid_time: Option<Timestamp>,
    /// Its bodies of facts, sorted by name.
    pub publications: Vec<Publication>,
    /// For each body, from when its newest fact is.
    pub cursors: BTreeMap<&'static str, Option<Timestamp>>,
}

impl Manifest {
    /// Freezes publications; of two with one name the last stays.
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

/// `{cursors, publications, v, validTime}`: every member that the manifest publishes, but its id and when it was built.
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
