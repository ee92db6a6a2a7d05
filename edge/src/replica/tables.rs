//! The storage of the replica's Durable Object, in SQLite. A value has at most 2 MB there, so that long documents are stored in pieces.

use super::store::{Change, ReplicaDisk, Stored};
use crate::guard::DiskFault;
use crate::guard::objects::sql::{Table, number};
use rds_shared::replica::SegmentName;
use std::collections::BTreeMap;
use wasm_bindgen::JsValue;
use worker::State;
use worker::js_sys::Uint8Array;

/// Numbers of the two documents that are not deltas; deltas are numbered from 1.
const MANIFEST: i64 = 0;
const STAMP: i64 = -1;
/// Bytes of a piece of a document.
const PIECE_BYTES: usize = 1 << 20;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS confirmed (one INTEGER PRIMARY KEY CHECK (one = 1), at INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS documents (
        number INTEGER NOT NULL, piece INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (number, piece)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS segments (name TEXT PRIMARY KEY, bytes BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS named (name TEXT PRIMARY KEY) WITHOUT ROWID";

/// The tables of the documents and segments.
#[derive(Debug)]
pub struct Tables(Table);

impl Tables {
    pub fn of(state: &State) -> Self {
        Tables(Table::of(state, TABLES))
    }
}

type Statement = (&'static str, Vec<JsValue>);

fn blob(bytes: &[u8]) -> JsValue {
    Uint8Array::from(bytes).into()
}

/// The statements that replace a document.
fn put(document: i64, bytes: &[u8], out: &mut Vec<Statement>) {
    out.push(("DELETE FROM documents WHERE number = ?", vec![number(document)]));
    for (piece, bytes) in (0..).zip(bytes.chunks(PIECE_BYTES)) {
        out.push(("INSERT INTO documents VALUES (?, ?, ?)", vec![number(document), number(piece), blob(bytes)]));
    }
}

impl ReplicaDisk for Tables {
    fn read(&self) -> Result<Option<Stored>, DiskFault> {
        let database = self.0.there()?;
        let Some(mut row) = database.rows("SELECT at FROM confirmed", &[])?.into_iter().next() else { return Ok(None) };
        let confirmed_at = row.integer()?;
        let mut documents: BTreeMap<i64, Vec<u8>> = BTreeMap::new();
        for mut row in database.rows("SELECT number, bytes FROM documents ORDER BY number, piece", &[])? {
            documents.entry(row.integer()?).or_default().append(&mut row.blob()?);
        }
        let (Some(stamp), Some(manifest)) = (documents.remove(&STAMP), documents.remove(&MANIFEST)) else {
            return Ok(None);
        };
        Ok(Some(Stored { stamp, confirmed_at, manifest, deltas: documents.into_iter().collect() }))
    }

    fn write(&self, change: &Change<'_>) -> Result<(), DiskFault> {
        let mut all: Vec<Statement> =
            vec![("INSERT OR REPLACE INTO confirmed VALUES (1, ?)", vec![number(change.confirmed_at)])];
        put(STAMP, change.stamp, &mut all);
        if let Some((manifest, names)) = &change.manifest {
            put(MANIFEST, manifest, &mut all);
            all.push(("DELETE FROM named", Vec::new()));
            for name in names {
                all.push(("INSERT OR IGNORE INTO named VALUES (?)", vec![name.to_string().into()]));
            }
            all.push(("DELETE FROM segments WHERE name NOT IN (SELECT name FROM named)", Vec::new()));
        }
        for (document, bytes) in &change.added {
            put(*document, bytes, &mut all);
        }
        for document in &change.dropped {
            all.push(("DELETE FROM documents WHERE number = ?", vec![number(*document)]));
        }
        self.0.there()?.together(all)
    }

    fn lacking(&self, names: &[SegmentName]) -> Result<Vec<SegmentName>, DiskFault> {
        // One statement for all names, which are hexadecimal: a statement for each takes the longest part of a Durable Object's start.
        let asked: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        let sql = "SELECT DISTINCT value FROM json_each(?) WHERE value NOT IN (SELECT name FROM segments)";
        let rows = self.0.there()?.rows(sql, &[format!("[{}]", asked.join(",")).into()])?;
        rows.into_iter()
            .map(|mut row| row.text()?.parse().map_err(|_| DiskFault("a name is no name".to_owned())))
            .collect()
    }

    fn segment(&self, name: &SegmentName) -> Result<Option<Vec<u8>>, DiskFault> {
        let rows = self.0.there()?.rows("SELECT bytes FROM segments WHERE name = ?", &[name.to_string().into()])?;
        rows.into_iter().next().map(|mut row| row.blob()).transpose()
    }

    fn delete_segment(&self, name: &SegmentName) -> Result<(), DiskFault> {
        self.0.there()?.run("DELETE FROM segments WHERE name = ?", &[name.to_string().into()])
    }

    fn put_segments(&self, segments: &[(SegmentName, &[u8])]) -> Result<(), DiskFault> {
        let put = |(name, bytes): &(SegmentName, &[u8])| {
            ("INSERT OR REPLACE INTO segments VALUES (?, ?)", vec![name.to_string().into(), blob(bytes)])
        };
        self.0.there()?.together(segments.iter().map(put).collect())
    }
}
