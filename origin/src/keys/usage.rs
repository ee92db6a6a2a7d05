//! Usage counted by the edge: every batch is applied once and completely, however often it is sent.

use rds_shared::access::link::{RESERVATION, UsageBatch, UsageRow};
use rds_shared::wire::Timestamp;
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::time::Day;
use rds_store::keys::index_tokens;
use rds_store::keys::usage as table;
use rds_store::keys::usage::{Counted, Source};
use rds_store::{Db, StoreError};

/// Maximum length of the name of a source or an endpoint, in bytes.
const NAME_BYTES: usize = 128;

/// The result of a batch. Each result acknowledges the batch: sending it again would change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// It was added.
    Added,
    /// It was added, but earlier batches are missing. A source sends a batch only after the one before was acknowledged, so this database
    /// has lost them, for example by a restore.
    AfterGap,
    /// It was added before.
    Repeated,
    /// It belongs to an index token, whose requests are not counted.
    OfToken,
    /// No key has this digest, so there is nothing to add it to.
    NoSuchKey,
}

/// A checked batch: its numbers fit the columns of the database.
#[derive(Debug, Clone)]
pub struct Batch {
    asked: UsageBatch,
    sequence: i64,
    rows: Vec<Counted>,
}

impl Batch {
    /// Checks a batch; every fault names its field.
    pub fn check(asked: UsageBatch) -> Result<Self, Vec<Detail>> {
        let mut faults = Vec::new();
        let mut fault = |name: String, reason: String| faults.push(Detail::new(In::Body, name, reason));
        if !is_name(&asked.source) {
            fault("source".to_owned(), format!("must be 1 to {NAME_BYTES} printable ASCII characters"));
        }
        let sequence = i64::try_from(asked.sequence).ok().filter(|number| *number > 0);
        if sequence.is_none() {
            fault("sequence".to_owned(), "must be at least 1".to_owned());
        }
        let mut rows = Vec::with_capacity(asked.rows.len());
        let is_use = |row: &UsageRow| !row.endpoint.starts_with(RESERVATION);
        for (place, row) in asked.rows.iter().enumerate().filter(|(_, row)| is_use(row)) {
            match counted(row) {
                Ok(row) => rows.push(row),
                Err((field, reason)) => fault(format!("rows[{place}].{field}"), reason),
            }
        }
        match sequence {
            Some(sequence) if faults.is_empty() => Ok(Batch { asked, sequence, rows }),
            _ => Err(faults),
        }
    }
}

fn counted(row: &UsageRow) -> Result<Counted, (&'static str, String)> {
    let count = |field, count| u32::try_from(count).map_err(|_| (field, format!("must be at most {}", u32::MAX)));
    let day = Day::from_number(row.day);
    if day.number() != row.day {
        return Err(("day", "must be a valid day number".to_owned()));
    }
    if !is_name(&row.endpoint) {
        return Err(("endpoint", format!("must be 1 to {NAME_BYTES} printable ASCII characters")));
    }
    Ok(Counted {
        day,
        endpoint: row.endpoint.clone(),
        served: count("served", row.served)?,
        throttled: count("throttled", row.throttled)?,
        last_seen: Timestamp::from_seconds(row.last_seen),
    })
}

fn is_name(text: &str) -> bool {
    (1..=NAME_BYTES).contains(&text.len()) && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// Adds a batch, unless it was added before.
pub async fn apply(db: &Db, batch: &Batch) -> Result<Applied, StoreError> {
    let applied = apply_to_key(db, batch).await?;
    let is_of_token = applied == Applied::NoSuchKey && index_tokens::find(db, &batch.asked.digest).await?.is_some();
    Ok(if is_of_token { Applied::OfToken } else { applied })
}

async fn apply_to_key(db: &Db, batch: &Batch) -> Result<Applied, StoreError> {
    db.run_tx("apply_usage", |tx| {
        let Batch { asked, sequence, rows } = batch.clone();
        Box::pin(async move {
            let through = Timestamp::from_seconds(asked.through);
            let held = table::lock_source(tx, &asked.digest, &asked.source, through).await?;
            let Some(Source { key, last_sequence }) = held else { return Ok(Applied::NoSuchKey) };
            if sequence <= last_sequence {
                return Ok(Applied::Repeated);
            }
            table::add(tx, key, &rows).await?;
            table::advance(tx, key, &asked.source, sequence, through).await?;
            Ok(if sequence == last_sequence + 1 { Applied::Added } else { Applied::AfterGap })
        })
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::access::KeyDigest;

    #[test]
    fn every_fault_of_a_batch_is_named() {
        let row = UsageRow { day: 20_000, endpoint: "GET /v1/vaults".into(), served: 1, throttled: 0, last_seen: 0 };
        let rows = vec![
            row.clone(),
            UsageRow { day: i64::MAX, ..row.clone() },
            UsageRow { endpoint: "a\nb".into(), ..row.clone() },
            UsageRow { throttled: u64::MAX, ..row },
        ];
        let batch = UsageBatch { digest: KeyDigest::of("x"), source: String::new(), sequence: 0, through: 0, rows };
        let names: Vec<_> = Batch::check(batch).unwrap_err().into_iter().map(|fault| fault.name).collect();
        assert_eq!(names, ["source", "sequence", "rows[1].day", "rows[2].endpoint", "rows[3].throttled"]);
    }

    #[test]
    fn reserved_requests_are_not_counted_as_usage() {
        let row =
            |endpoint: &str| UsageRow { day: 1, endpoint: endpoint.into(), served: 64, throttled: 0, last_seen: 0 };
        let rows = vec![row("reserved:17"), row("GET /v1/vaults")];
        let batch = UsageBatch { digest: KeyDigest::of("x"), source: "s".into(), sequence: 1, through: 60, rows };
        let batch = Batch::check(batch).unwrap();
        assert_eq!(batch.rows.iter().map(|row| &*row.endpoint).collect::<Vec<_>>(), ["GET /v1/vaults"]);
    }
}
