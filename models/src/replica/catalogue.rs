//! What the origin's processes say: the documents and segments of a few versions, made once.

use super::Mishap;
use rds_edge::guard::DiskFault;
use rds_edge::replica::pull::{PullFault, ReplicaOrigin};
use rds_shared::access::AssertionKey;
use rds_shared::access::link::{ReplicaAsk, put_part};
use rds_shared::pace::Pause;
use rds_shared::replica::{
    Delta, Family, Kind, Manifest, Row, Rows, Segment, SegmentName, Stamp, StateId, Step, Update, cut, seal,
};
use rds_shared::route::TagVersions;
use rds_shared::wire::Timestamp;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

/// The documents of one version.
#[derive(Debug)]
pub struct Version {
    pub rows: Rows,
    pub state: StateId,
    pub tags: TagVersions,
    stamp: Vec<u8>,
    manifest: Vec<u8>,
    /// From the version before; empty for the first.
    delta: Vec<u8>,
}

/// Versions in order. The last but one has the rows of the first again.
#[derive(Debug)]
pub struct Catalogue {
    pub versions: Vec<Version>,
    segments: BTreeMap<SegmentName, Vec<u8>>,
}

/// The key of the documents' seals.
pub fn key() -> Vec<AssertionKey> {
    AssertionKey::parse_list(&format!("models:{}", "ab".repeat(32))).unwrap_or_default()
}

impl Default for Catalogue {
    fn default() -> Self {
        Self::new()
    }
}

impl Catalogue {
    pub fn new() -> Self {
        let contents: [&[(&str, &str)]; 5] = [
            &[("a", "1"), ("b", "1")],
            &[("a", "2"), ("b", "1")],
            &[("b", "1"), ("c", "1")],
            &[("a", "1"), ("b", "1")],
            &[("a", "1"), ("c", "2")],
        ];
        let mut catalogue = Catalogue { versions: Vec::new(), segments: BTreeMap::new() };
        for content in contents {
            catalogue.add(content);
        }
        catalogue
    }

    pub fn len(&self) -> usize {
        self.versions.len()
    }

    pub fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    fn add(&mut self, content: &[(&str, &str)]) {
        let keys = key();
        let Some(key) = keys.first() else { return };
        let mut rows = Rows::default();
        let list = content.iter().filter_map(|(key, value)| Row::new(key.as_bytes(), value.as_bytes())).collect();
        let _ = rows.set(Family::Vaults, Arc::new(list));
        let state = StateId::of(&rows);
        let number = i64::try_from(self.versions.len()).unwrap_or(0) + 1;
        let tags = TagVersions::parse(&format!("vaults={number}"));
        let made_at = Timestamp::from_seconds(1_795_219_200 + number);
        let stamp = Stamp { state, version: number, tags, withheld: Vec::new(), made_at };
        let families = Family::ALL.map(|family| {
            let segments = cut(rows.of(family)).map(Segment::encode);
            segments
                .map(|Segment { name, bytes }| {
                    self.segments.insert(name, bytes.to_vec());
                    name
                })
                .collect::<Vec<_>>()
        });
        let delta = self.versions.last().map_or(Vec::new(), |last| {
            seal(Kind::Delta, &Delta::between((&last.rows, last.state), (&rows, state)).encode(), key)
        });
        let stamp = seal(Kind::Stamp, &stamp.encode(), key);
        let manifest = seal(Kind::Manifest, &Manifest::new(state, &rows, families).encode(), key);
        self.versions.push(Version { rows, state, tags, stamp, manifest, delta });
    }

    /// The sealed deltas after version `from` up to version `to`.
    fn deltas(&self, from: usize, to: usize) -> Vec<Vec<u8>> {
        self.versions.iter().take(to + 1).skip(from + 1).map(|version| version.delta.clone()).collect()
    }

    /// The answer of a process at `version`.
    fn answer(&self, version: usize, is_old: bool, is_other: bool, ask: &ReplicaAsk) -> Update {
        let stamp = self.versions[version].stamp.clone();
        let known = ask.have.filter(|_| !ask.whole);
        let place =
            known.and_then(|have| self.versions.iter().take(version + 1).rposition(|known| known.state == have));
        let step = match place {
            Some(place) if is_other && version > 0 => Step::Deltas(self.deltas((place + 1) % version, version)),
            Some(place) if place == version => Step::Current,
            Some(place) => Step::Deltas(self.deltas(place, version)),
            None => {
                let from = version - usize::from(is_old);
                Step::Whole { manifest: self.versions[from].manifest.clone(), deltas: self.deltas(from, version) }
            }
        };
        Update { stamp, step }
    }
}

/// A process of the origin during one pull.
pub struct Process<'a> {
    pub catalogue: &'a Catalogue,
    pub version: usize,
    pub is_old: bool,
    pub mishap: Mishap,
    pub calls: Cell<u8>,
}

impl Process<'_> {
    fn call(&self) -> Result<(), PullFault> {
        let number = self.calls.replace(self.calls.get().saturating_add(1));
        match self.mishap {
            Mishap::Unanswered(at) if at == number => Err(PullFault::Unreachable("lost".to_owned())),
            _ => Ok(()),
        }
    }
}

impl Pause for Process<'_> {
    fn pause(&self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(std::future::ready(()))
    }
}

impl ReplicaOrigin for Process<'_> {
    fn now(&self) -> i64 {
        1_795_219_200_000
    }

    async fn replica(&self, ask: &ReplicaAsk) -> Result<Vec<u8>, PullFault> {
        self.call()?;
        let is_other = self.mishap == Mishap::OtherDeltas;
        Ok(self.catalogue.answer(self.version, self.is_old, is_other, ask).encode())
    }

    async fn segments(&self, names: &[SegmentName]) -> Result<Vec<u8>, PullFault> {
        self.call()?;
        let mut out = Vec::new();
        for (place, name) in names.iter().enumerate() {
            let mut bytes = self.catalogue.segments.get(name).cloned().unwrap_or_default();
            match self.mishap {
                Mishap::Missing if place == 0 => bytes.clear(),
                Mishap::Damaged => bytes.push(0),
                _ => {}
            }
            put_part(&bytes, &mut out);
        }
        Ok(out)
    }

    fn log(&self, _: &str) {}
}

/// The error of a write that fails.
pub fn full() -> DiskFault {
    DiskFault("full".to_owned())
}
