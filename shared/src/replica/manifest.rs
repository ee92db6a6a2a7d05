//! The manifest: which segments make up a state, and how much is in them.

use super::families::Families;
use super::family::{FAMILIES, Family};
use super::row::{Row, Rows};
use super::segment::SegmentName;
use super::state::StateId;
use crate::pace::{Pace, at_once};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A state and the segments of each of its families, in order.
///
/// Its bytes are the state's name, then for each family, in the order of [`Family::ALL`], the numbers of its segments, of its rows and of the bytes
/// of these rows (four bytes each, little-endian), and the names of the segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    pub state: StateId,
    families: [Part; FAMILIES],
}

/// A family in a manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Part {
    size: Size,
    names: Vec<SegmentName>,
}

/// How much a family has, before compression.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    pub rows: usize,
    /// Bytes of the rows as they travel.
    pub bytes: usize,
}

impl Size {
    fn of(rows: &[Row]) -> Self {
        Size { rows: rows.len(), bytes: rows.iter().map(|row| row.bytes().len()).sum() }
    }
}

const NAME_BYTES: usize = 32;
/// About what it takes to put a row in its place.
const ROW_NANOS: usize = 40;

impl Manifest {
    /// The manifest of `rows`, which have the name `state` and are cut into the segments `names`.
    pub fn new(state: StateId, rows: &Rows, names: [Vec<SegmentName>; FAMILIES]) -> Self {
        let mut names = names.into_iter();
        let part = |family| Part { size: Size::of(rows.of(family)), names: names.next().unwrap_or_default() };
        Manifest { state, families: Family::ALL.map(part) }
    }

    /// The segments of a family.
    pub fn of(&self, family: Family) -> &[SegmentName] {
        self.families.get(family as usize).map_or(&[], |part| part.names.as_slice())
    }

    /// How much a family has.
    pub fn size(&self, family: Family) -> Size {
        self.families.get(family as usize).map_or_else(Size::default, |part| part.size)
    }

    /// The segments of all families.
    pub fn names(&self) -> impl Iterator<Item = &SegmentName> {
        self.families.iter().flat_map(|part| &part.names)
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity((self.names().count() + 1) * NAME_BYTES + FAMILIES * 12);
        out.extend_from_slice(self.state.bytes());
        for Part { size, names } in &self.families {
            for number in [names.len(), size.rows, size.bytes] {
                out.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
            }
            names.iter().for_each(|name| out.extend_from_slice(name.bytes()));
        }
        out
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (state, mut rest) = bytes.split_first_chunk::<NAME_BYTES>()?;
        let mut families: [Part; FAMILIES] = core::array::from_fn(|_| Part::default());
        for Part { size, names } in &mut families {
            let count = number(&mut rest)?;
            *size = Size { rows: number(&mut rest)?, bytes: number(&mut rest)? };
            let (listed, others) = rest.split_at_checked(count.checked_mul(NAME_BYTES)?)?;
            names.extend(listed.as_chunks::<NAME_BYTES>().0.iter().map(|name| SegmentName::from_bytes(*name)));
            rest = others;
        }
        rest.is_empty().then_some(Manifest { state: StateId::from_bytes(*state), families })
    }

    /// The rows of the state, given those of each segment. `None` if a segment is missing or rows are out of order.
    ///
    /// The state's name is not computed: the manifest's seal and the names of its segments already determine every row.
    pub fn assemble(&self, find: impl FnMut(&SegmentName) -> Option<Arc<Vec<Row>>>) -> Option<Rows> {
        at_once(self.assemble_only(Families::ALL, find, &Pace::unbroken()))
    }

    /// Like [`assemble`](Self::assemble), for some families and with pauses.
    pub async fn assemble_only(
        &self,
        families: Families,
        mut find: impl FnMut(&SegmentName) -> Option<Arc<Vec<Row>>>,
        pace: &Pace<'_>,
    ) -> Option<Rows> {
        let mut rows = Rows::default();
        for family in families.iter() {
            let parts: Vec<Arc<Vec<Row>>> = self.of(family).iter().map(&mut find).collect::<Option<_>>()?;
            let mut all: Vec<Row> = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
            for part in parts {
                pace.step(part.len() * ROW_NANOS).await;
                for row in part.iter() {
                    if all.last().is_some_and(|last| last.key() >= row.key()) {
                        return None;
                    }
                    all.push(row.clone());
                }
            }
            rows.put_sorted(family, all);
        }
        Some(rows)
    }
}

fn number(rest: &mut &[u8]) -> Option<usize> {
    let (number, others) = rest.split_first_chunk::<4>()?;
    *rest = others;
    usize::try_from(u32::from_le_bytes(*number)).ok()
}

#[cfg(test)]
mod tests {
    use super::super::segment::{Segment, cut};
    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::format;

    #[test]
    fn the_rows_of_a_state_are_assembled_from_its_segments() {
        let mut rows = Rows::default();
        let list = |count: usize| -> Vec<Row> {
            (0..count).map(|number| Row::new(format!("{number:05}").as_bytes(), b"content").unwrap()).collect()
        };
        rows.set(Family::Vaults, Arc::new(list(500))).unwrap();
        rows.set(Family::Singles, Arc::new(list(4))).unwrap();
        let mut segments = BTreeMap::new();
        let families = Family::ALL.map(|family| {
            let parts = cut(rows.of(family)).map(|part| {
                let Segment { name, bytes } = Segment::encode(part);
                segments.insert(name, Arc::new(Segment::decode(&name, &bytes).unwrap()));
                name
            });
            parts.collect::<Vec<_>>()
        });
        let manifest = Manifest::new(StateId::of(&rows), &rows, families);
        let read = Manifest::decode(&manifest.encode()).unwrap();
        assert_eq!(read, manifest);
        // Two bytes of the key's length, five of the key, seven of the content.
        assert_eq!(read.size(Family::Vaults), Size { rows: 500, bytes: 500 * 14 });
        assert_eq!(read.size(Family::Feeds), Size::default());
        let assembled = read.assemble(|name| segments.get(name).cloned()).unwrap();
        assert_eq!((StateId::of(&assembled), &assembled), (manifest.state, &rows));
        let singles = Families::of(&[Family::Singles]);
        let find = |name: &SegmentName| read.of(Family::Singles).contains(name).then(|| Arc::clone(&segments[name]));
        let some = at_once(read.assemble_only(singles, find, &Pace::unbroken()));
        assert_eq!(some, Some(rows.only(singles)));
        let first = *manifest.names().next().unwrap();
        assert!(read.assemble(|name| segments.get(name).filter(|_| *name != first).cloned()).is_none());
        let bytes = manifest.encode();
        assert!((0..bytes.len()).all(|end| Manifest::decode(&bytes[..end]).is_none()));
    }
}
