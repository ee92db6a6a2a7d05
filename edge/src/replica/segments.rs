//! Segments that an isolate has fetched.

use super::choice::PEAK_BYTES;
use super::documents::{Fault, PER_ROW};
use rds_shared::pace::Pace;
use rds_shared::replica::{Dictionary, Families, Family, Manifest, Row, Segment, SegmentName, Size};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Segments of a family from which its dictionary is made, and what packed rows take is estimated.
const PROBES: usize = 4;
/// The families whose rows are packed if all rows take more memory than [`MAX_PLAIN_BYTES`]: a packed row must be unpacked whenever it is served, and
/// packing all of them delays the first answer of an isolate.
const PACKED: Families = Families::of(&[Family::Vaults]);
/// Segments of a family whose rows are packed: fewer than that take less memory than what packing needs.
const MIN_PACKED: usize = 16;
/// Most bytes of all rows, with their part of the model, that are held as they travel: twice as many fit while new rows replace all of them.
const MAX_PLAIN_BYTES: usize = PEAK_BYTES / 2;
/// About what it takes to pack a row.
const PACK_NANOS: usize = 25_000;

/// The rows of segments, by the segments' names.
#[derive(Debug, Default)]
pub struct Segments {
    rows: BTreeMap<SegmentName, Arc<Vec<Row>>>,
    /// Bytes of the rows.
    bytes: usize,
    /// The segments whose rows are packed, and with what; `None` before it is made.
    packed: BTreeSet<SegmentName>,
    dictionary: Option<Arc<Dictionary>>,
    /// Bytes of the rows that the dictionary was made from, before and after they were packed.
    sample: (usize, usize),
}

/// A segment that was unpacked.
#[derive(Debug)]
pub struct Unpacked {
    name: SegmentName,
    rows: Vec<Row>,
}

impl Unpacked {
    /// Unpacks a segment; an error if the bytes are not what the name says. Its rows are packed with `dictionary`.
    pub async fn of(
        name: SegmentName,
        bytes: &[u8],
        dictionary: Option<&Arc<Dictionary>>,
        pace: &Pace<'_>,
    ) -> Result<Self, Fault> {
        let mut rows = Segment::read(&name, bytes, pace).await.map_err(Fault::Segment)?;
        if let Some(dictionary) = dictionary {
            pack(&mut rows, dictionary, pace).await;
        }
        Ok(Unpacked { name, rows })
    }
}

async fn pack(rows: &mut [Row], dictionary: &Arc<Dictionary>, pace: &Pace<'_>) {
    for row in rows {
        pace.step(PACK_NANOS).await;
        *row = row.packed(dictionary);
    }
}

fn stored(rows: &[Row]) -> usize {
    rows.iter().map(Row::stored_len).fold(0, usize::saturating_add)
}

impl Segments {
    /// Prepares for segments of `manifest`. Those of other manifests stay, because segments of equal content have the same name.
    pub fn expect(&mut self, manifest: &Manifest) {
        let many = PACKED.iter().map(|family| manifest.of(family)).filter(|names| names.len() >= MIN_PACKED);
        self.packed.extend(many.flatten());
    }

    /// What the rows of a segment are to be packed with.
    pub fn dictionary_of(&self, name: &SegmentName) -> Option<Arc<Dictionary>> {
        self.dictionary.as_ref().filter(|_| self.packed.contains(name)).map(Arc::clone)
    }

    pub fn take(&mut self, Unpacked { name, rows }: Unpacked) {
        let bytes = stored(&rows);
        if self.rows.insert(name, Arc::new(rows)).is_none() {
            self.bytes = self.bytes.saturating_add(bytes);
        }
    }

    /// Makes the dictionary from the segments that are here, and packs them, if the rows of `manifest` would take too much memory as they are.
    pub async fn pack(&mut self, manifest: &Manifest, pace: &Pace<'_>) {
        self.pack_above(MAX_PLAIN_BYTES, manifest, pace).await;
    }

    /// Whether the rows of `manifest` would take too much memory as they travel, and no dictionary exists yet.
    pub fn needs_dictionary(&self, manifest: &Manifest) -> bool {
        self.would_exceed(MAX_PLAIN_BYTES, manifest)
    }

    fn would_exceed(&self, max_plain: usize, manifest: &Manifest) -> bool {
        let plain = Family::ALL.into_iter().map(|family| self.estimate(manifest, family));
        self.dictionary.is_none() && plain.fold(0, usize::saturating_add) > max_plain
    }

    async fn pack_above(&mut self, max_plain: usize, manifest: &Manifest, pace: &Pace<'_>) {
        if !self.would_exceed(max_plain, manifest) {
            return;
        }
        let names: Vec<SegmentName> = self.packed.iter().filter(|name| self.rows.contains_key(name)).copied().collect();
        let rows = names.iter().filter_map(|name| self.rows.get(name)).flat_map(|rows| rows.iter());
        let sample: Vec<Cow<'_, [u8]>> = rows.map(Row::content).collect();
        if sample.is_empty() {
            return;
        }
        let dictionary = Arc::new(Dictionary::of(&sample, pace).await);
        for name in names {
            let Some(rows) = self.rows.get_mut(&name) else { continue };
            let mut packed = rows.to_vec();
            pack(&mut packed, &dictionary, pace).await;
            let (before, after) = self.sample;
            self.sample = (before.saturating_add(stored(rows)), after.saturating_add(stored(&packed)));
            self.bytes = self.bytes.saturating_sub(stored(rows)).saturating_add(stored(&packed));
            *rows = Arc::new(packed);
        }
        self.dictionary = Some(dictionary);
    }

    /// Those of `names` that are not here, each once.
    pub fn lacking<'a>(&self, names: impl Iterator<Item = &'a SegmentName>) -> Vec<SegmentName> {
        let mut lacking: Vec<SegmentName> = names.filter(|name| !self.rows.contains_key(name)).copied().collect();
        lacking.sort_unstable();
        lacking.dedup();
        lacking
    }

    /// The rows of a segment.
    pub fn rows(&self, name: &SegmentName) -> Option<&Arc<Vec<Row>>> {
        self.rows.get(name)
    }

    /// Bytes of the rows.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes in memory of a family of `manifest`. Those of rows that are to be packed are extrapolated from the ones that were packed.
    pub fn estimate(&self, manifest: &Manifest, family: Family) -> usize {
        let Size { rows, bytes } = manifest.size(family);
        let is_packed = self.dictionary.is_some() && PACKED.has(family) && manifest.of(family).len() >= MIN_PACKED;
        // The product exceeds the 32 bits that a number has in a Worker.
        let [all, before, after] = [bytes, self.sample.0, self.sample.1].map(|bytes| bytes as u64);
        let stored = match all.saturating_mul(after).checked_div(before) {
            Some(stored) if is_packed => usize::try_from(stored).unwrap_or(usize::MAX),
            _ => bytes,
        };
        stored.saturating_add(rows.saturating_mul(PER_ROW))
    }
}

/// The segments of these families that are fetched first, to make a dictionary: some of each whose rows are packed, spread evenly.
pub fn probes(manifest: &Manifest, families: Families) -> impl Iterator<Item = &SegmentName> + Clone {
    let families: Vec<Family> = families.shared_with(PACKED).iter().collect();
    families.into_iter().flat_map(|family| {
        let names = manifest.of(family);
        names.iter().step_by(names.len().div_ceil(PROBES).max(1))
    })
}

#[cfg(test)]
mod tests {
    use super::super::documents::weight;
    use super::*;
    use rds_shared::pace::at_once;
    use rds_shared::replica::{FAMILIES, Rows, StateId};

    /// A manifest of the rows of many vaults, with its segments.
    fn vaults(count: usize) -> (Manifest, Segments) {
        let content = |n: usize| {
            format!("{{\"id\":{n},\"name\":\"Vault {n}\",\"asset_symbol\":\"USDC\",\"deposit_status\":\"open\"}}")
        };
        let rows: Vec<Row> =
            (0..count).map(|n| Row::new(format!("{n:08}").as_bytes(), content(n).as_bytes()).unwrap()).collect();
        let (mut segments, mut names) = (Segments::default(), Vec::new());
        for rows in rows.chunks(20) {
            let Segment { name, bytes } = Segment::encode(rows);
            segments.take(at_once(Unpacked::of(name, &bytes, None, &Pace::unbroken())).unwrap());
            names.push(name);
        }
        let mut families: [Vec<SegmentName>; FAMILIES] = std::array::from_fn(|_| Vec::new());
        families[Family::Vaults as usize] = names;
        let mut all = Rows::default();
        all.set(Family::Vaults, Arc::new(rows)).unwrap();
        let manifest = Manifest::new(StateId::default(), &all, families);
        segments.expect(&manifest);
        (manifest, segments)
    }

    fn rows(manifest: &Manifest, segments: &Segments) -> Vec<Row> {
        manifest.of(Family::Vaults).iter().flat_map(|name| segments.rows(name).unwrap().to_vec()).collect()
    }

    #[test]
    fn rows_are_packed_only_if_they_would_take_too_much_memory() {
        let (manifest, mut segments) = vaults(400);
        let (plain, before, bytes) =
            (segments.estimate(&manifest, Family::Vaults), rows(&manifest, &segments), segments.bytes());
        at_once(segments.pack_above(plain, &manifest, &Pace::unbroken()));
        assert!(rows(&manifest, &segments).iter().all(|row| row.dictionary().is_none()), "they fit");
        at_once(segments.pack_above(plain - 1, &manifest, &Pace::unbroken()));
        let packed = rows(&manifest, &segments);
        assert!(packed.iter().all(|row| row.dictionary().is_some()));
        assert!(
            packed == before && segments.bytes() < bytes,
            "the same rows in {} bytes, not in {bytes}",
            segments.bytes()
        );
        assert_eq!(segments.estimate(&manifest, Family::Vaults), weight(&packed), "all of them were packed");
    }

    #[test]
    fn few_segments_are_never_packed() {
        let (manifest, mut segments) = vaults(20 * (MIN_PACKED - 1));
        at_once(segments.pack_above(0, &manifest, &Pace::unbroken()));
        assert!(rows(&manifest, &segments).iter().all(|row| row.dictionary().is_none()));
    }
}
