//! SQLite storage of a key's Durable Object: its tables, and each change as statements. The tables are created with the first record, so a
//! key that never existed leaves nothing behind.

use crate::guard::DiskFault;
use crate::guard::keys::ledger::{Bucket, Entry};
use crate::guard::keys::object_reservations::OutstandingReservation;
use crate::guard::keys::record::Lease;
use crate::guard::keys::state::{Change, KeyDisk, Stored, StoredKey};
use crate::guard::keys::subclient::Subclient;
use crate::guard::keys::usage_batches::{Batch, Fold, WINDOWS_PER_DAY};
use crate::guard::objects::sql::{Database, Row, counted, number};
use rds_shared::access::KeyDigest;
use rds_shared::access::link::{RESERVATION, UsageRow};
use rds_shared::route::RateLimitClass;
use wasm_bindgen::JsValue;

/// `minute` is a window's number. An empty `family` marks requests that were not charged to the key; the endpoint `reserved:7`
/// ([`RESERVATION`]) marks the requests of reservation 7, which may never be made and are left out of the usage.
const TABLES: &str = "
    CREATE TABLE key (
        one INTEGER PRIMARY KEY CHECK (one = 1), digest TEXT NOT NULL, record TEXT NOT NULL, asked_at INTEGER NOT NULL,
        source TEXT NOT NULL, acknowledged INTEGER NOT NULL, floor INTEGER NOT NULL);
    CREATE TABLE counts (
        minute INTEGER NOT NULL, family TEXT NOT NULL, client TEXT NOT NULL, endpoint TEXT NOT NULL,
        served INTEGER NOT NULL, throttled INTEGER NOT NULL, last_seen INTEGER NOT NULL,
        PRIMARY KEY (minute, family, client, endpoint)) WITHOUT ROWID;
    CREATE TABLE batch (
        sequence INTEGER PRIMARY KEY, day INTEGER NOT NULL, through INTEGER NOT NULL, sealed INTEGER NOT NULL);
    CREATE TABLE usage (
        batch INTEGER NOT NULL, endpoint TEXT NOT NULL, served INTEGER NOT NULL, throttled INTEGER NOT NULL,
        last_seen INTEGER NOT NULL, PRIMARY KEY (batch, endpoint)) WITHOUT ROWID";

/// Adds any number of requests to one row. The limit and the usage are both computed from such rows.
const COUNT: &str = "
    INSERT INTO counts VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
        served = served + excluded.served, throttled = throttled + excluded.throttled,
        last_seen = max(last_seen, excluded.last_seen)";

const FOLD_USAGE: &str = "
    INSERT INTO usage SELECT ?, endpoint, sum(served), sum(throttled), max(last_seen) FROM counts
    WHERE minute < ? AND endpoint NOT LIKE 'reserved:%' GROUP BY endpoint ON CONFLICT DO UPDATE SET
        served = served + excluded.served, throttled = throttled + excluded.throttled,
        last_seen = max(last_seen, excluded.last_seen)";

const UNRESERVE: &str = "DELETE FROM counts WHERE minute = ? AND family = ? AND client = '' AND endpoint = ?";

impl KeyDisk for Database {
    fn load(&self) -> Result<Stored, DiskFault> {
        if !self.has("key")? {
            return Ok(Stored::default());
        }
        let key = self.rows("SELECT digest, record, asked_at, source, acknowledged, floor FROM key", &[])?;
        let buckets = self.rows(
            "SELECT minute, family, client, sum(served) FROM counts
             WHERE minute = (SELECT max(minute) FROM counts WHERE family <> '') AND served > 0 AND family <> ''
             GROUP BY family, client",
            &[],
        )?;
        let out = "SELECT substr(endpoint, 10), minute, family, served FROM counts WHERE endpoint LIKE 'reserved:%'";
        let out = self.rows(out, &[])?;
        let batches = self.rows("SELECT sequence, day, through, sealed FROM batch ORDER BY sequence", &[])?;
        Ok(Stored {
            key: key.into_iter().next().map(read_key).transpose()?,
            buckets: buckets.into_iter().filter_map(|row| read_bucket(row).transpose()).collect::<Result<_, _>>()?,
            out: out.into_iter().filter_map(|row| read_out(row).transpose()).collect::<Result<_, _>>()?,
            batches: batches.into_iter().map(read_batch).collect::<Result<_, _>>()?,
        })
    }

    fn write(&self, change: &Change<'_>) -> Result<(), DiskFault> {
        match change {
            Change::Create(key) => self.together(vec![
                (TABLES, Vec::new()),
                (
                    "INSERT INTO key VALUES (1, ?, ?, ?, ?, ?, ?)",
                    vec![
                        key.digest.to_hex().into(),
                        record_text(key.lease.as_ref())?,
                        number(key.lease.map_or(0, |lease| lease.asked_at)),
                        key.source.as_str().into(),
                        counted(key.acknowledged),
                        number(key.floor),
                    ],
                ),
            ]),
            Change::Lease(lease) => self
                .run("UPDATE key SET record = ?, asked_at = ?", &[record_text(Some(lease))?, number(lease.asked_at)]),
            Change::Count([entry]) => self.run(COUNT, &count_values(entry)),
            Change::Count(entries) => {
                self.together(entries.iter().map(|entry| (COUNT, count_values(entry).to_vec())).collect())
            }
            Change::Reserve(out) => self.run(COUNT, &reserved_values(out)),
            Change::Settle(out, spent) => {
                let [minute, class, _, endpoint, ..] = reserved_values(out);
                let over = (UNRESERVE, vec![minute, class, endpoint]);
                let spent = spent.iter().map(|entry| (COUNT, count_values(entry).to_vec()));
                self.together(std::iter::once(over).chain(spent).collect())
            }
            Change::Fold(Fold { into: Batch { sequence, day, through, .. }, before }) => self.together(vec![
                (
                    "INSERT INTO batch VALUES (?, ?, ?, 0) ON CONFLICT DO UPDATE SET through = excluded.through",
                    vec![counted(*sequence), number(*day), number(*through)],
                ),
                (FOLD_USAGE, vec![counted(*sequence), number(*before)]),
                ("DELETE FROM counts WHERE minute < ?", vec![number(*before)]),
                ("UPDATE key SET floor = max(floor, ?)", vec![number(*before)]),
            ]),
            Change::Seal(sequence) => self.run("UPDATE batch SET sealed = 1 WHERE sequence = ?", &[counted(*sequence)]),
            Change::Forget(sequence) => self.together(vec![
                ("DELETE FROM usage WHERE batch <= ?", vec![counted(*sequence)]),
                ("DELETE FROM batch WHERE sequence <= ?", vec![counted(*sequence)]),
                ("UPDATE key SET acknowledged = max(acknowledged, ?)", vec![counted(*sequence)]),
            ]),
        }
    }

    fn closed_days(&self, window: i64) -> Result<Vec<i64>, DiskFault> {
        if !self.has("key")? {
            return Ok(Vec::new());
        }
        let days = format!(
            "SELECT DISTINCT minute / {WINDOWS_PER_DAY} FROM counts
             WHERE minute < ? AND endpoint NOT LIKE 'reserved:%' ORDER BY 1"
        );
        self.rows(&days, &[number(window)])?.into_iter().map(|mut row| row.integer()).collect()
    }

    fn batch_rows(&self, sequence: u64) -> Result<Vec<UsageRow>, DiskFault> {
        let rows = "SELECT day, endpoint, served, throttled, last_seen FROM usage JOIN batch ON sequence = batch
                    WHERE batch = ? ORDER BY endpoint";
        self.rows(rows, &[counted(sequence)])?
            .into_iter()
            .map(|mut row| {
                Ok(UsageRow {
                    day: row.integer()?,
                    endpoint: row.text()?,
                    served: row.count()?,
                    throttled: row.count()?,
                    last_seen: row.integer()?,
                })
            })
            .collect()
    }
}

fn read_key(mut row: Row) -> Result<StoredKey, DiskFault> {
    let damaged = || DiskFault("the key's row cannot be read".to_owned());
    Ok(StoredKey {
        digest: KeyDigest::parse(&row.text()?).ok_or_else(damaged)?,
        lease: Lease::read(&row.text()?, row.integer()?),
        source: row.text()?,
        acknowledged: row.count()?,
        floor: row.integer()?,
    })
}

/// `None` if the row's rate-limit class is unknown to this release. The row stays stored and is folded into the usage like others.
fn read_bucket(mut row: Row) -> Result<Option<Bucket>, DiskFault> {
    let (window, class) = (row.integer()?, RateLimitClass::parse(&row.text()?));
    let (client, used) = (Subclient::parse(&row.text()?), row.small()?);
    Ok(class.map(|class| Bucket { window, class, client, used }))
}

/// `None` if the row's rate-limit class is unknown to this release.
fn read_out(mut row: Row) -> Result<Option<OutstandingReservation>, DiskFault> {
    let damaged = || DiskFault("a reservation's row cannot be read".to_owned());
    let id = row.text()?.parse().map_err(|_| damaged())?;
    let (window, class, size) = (row.integer()?, RateLimitClass::parse(&row.text()?), row.small()?);
    Ok(class.map(|class| OutstandingReservation { id, window, class, size }))
}

fn read_batch(mut row: Row) -> Result<Batch, DiskFault> {
    Ok(Batch { sequence: row.count()?, day: row.integer()?, through: row.integer()?, sealed: row.integer()? != 0 })
}

fn record_text(lease: Option<&Lease>) -> Result<JsValue, DiskFault> {
    let text = lease.map_or_else(|| Ok("null".to_owned()), Lease::record_text);
    text.map(JsValue::from).map_err(|error| DiskFault(error.to_string()))
}

fn reserved_values(out: &OutstandingReservation) -> [JsValue; 7] {
    count_values(&Entry {
        window: out.window,
        class: Some(out.class),
        client: Subclient::Pooled,
        endpoint: format!("{RESERVATION}{}", out.id),
        served: out.size,
        throttled: 0,
        last_seen: 0,
    })
}

fn count_values(entry: &Entry) -> [JsValue; 7] {
    [
        number(entry.window),
        entry.class.map_or("", RateLimitClass::as_str).into(),
        entry.client.as_str().into(),
        entry.endpoint.as_str().into(),
        number(entry.served.into()),
        number(entry.throttled.into()),
        number(entry.last_seen),
    ]
}
