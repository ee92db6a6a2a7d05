//! A key's object as a state machine: record, windows and usage over one disk, without a runtime.

use super::DiskFault;
use super::ledger::{Bucket, Entry, Ledger};
use super::message::{Reservation, ReserveAsk, Settled, Take, Tally};
use super::outstanding::{Out, Outstanding};
use super::record::{Known, Lease, Standing};
use super::subclient::Subclient;
use super::usage::{Batch, Fold, Usage};
use rds_shared::access::budget::{Verdict, WINDOW_SECONDS, window_of};
use rds_shared::access::link::{KeyFinding, UsageBatch, UsageRow};
use rds_shared::access::{KeyDigest, KeyRecord};
use rds_shared::route::Family;

/// How long a window's counts are left alone when it has closed, in seconds: its last reservations come back. What comes later than
/// that is in no usage.
pub const SETTLING_SECONDS: i64 = 2;

/// Where a key's object keeps what must survive it. Synchronous: a change is ordered before whatever is sent after it.
pub trait KeyDisk {
    /// Everything that the machine mirrors. Reads only: a key that nobody ever had leaves nothing behind.
    fn load(&self) -> Result<Stored, DiskFault>;
    /// Writes one change, whole or not at all.
    fn write(&self, change: &Change<'_>) -> Result<(), DiskFault>;
    /// The days, ascending, that have counted windows before `window`.
    fn closed_days(&self, window: i64) -> Result<Vec<i64>, DiskFault>;
    /// The rows of a batch.
    fn batch_rows(&self, sequence: u64) -> Result<Vec<UsageRow>, DiskFault>;
}

/// What a disk holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stored {
    /// The key and its record, once there was one.
    pub key: Option<StoredKey>,
    /// The admitted requests of the latest window.
    pub buckets: Vec<Bucket>,
    /// The reservations that are not settled.
    pub out: Vec<Out>,
    /// The batches, in order.
    pub batches: Vec<Batch>,
}

/// A key on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// Its name.
    pub digest: KeyDigest,
    /// Its record. None where newer code wrote one that this code cannot read: then the origin is asked, as for a key that is
    /// new here, and everything else stands.
    pub lease: Option<Lease>,
    /// The counting place's name, drawn when the key was first written.
    pub source: String,
    /// The highest batch that was acknowledged.
    pub acknowledged: u64,
    /// The first window that was never folded: no window before it is ever counted in again.
    pub floor: i64,
}

/// A change of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// The first thing known of a key.
    Create(&'a StoredKey),
    /// Another record, or another lease of the same.
    Lease(Lease),
    /// Requests counted: rows to add to.
    Count(&'a [Entry]),
    /// Requests counted before they come. They count for the window as others do, and for no usage.
    Reserve(Out),
    /// A reservation is over: it counts no more, and what was let through counts instead.
    Settle(Out, &'a [Entry]),
    /// Closed windows into a batch; no window before [`Fold::before`] is counted in any more.
    Fold(Fold),
    /// A batch takes nothing more.
    Seal(u64),
    /// A batch is at the origin.
    Forget(u64),
}

/// The machine. Thrown away and loaded again after any fault of the disk.
#[derive(Debug)]
pub struct KeyGuard {
    known: Known,
    key: Option<StoredKey>,
    ledger: Ledger,
    outstanding: Outstanding,
    usage: Usage,
}

impl KeyGuard {
    /// Reads the disk.
    pub fn load(disk: &impl KeyDisk) -> Result<Self, DiskFault> {
        let Stored { key, buckets, out, batches } = disk.load()?;
        let (acknowledged, floor) = key.as_ref().map_or((0, 0), |key| (key.acknowledged, key.floor));
        Ok(KeyGuard {
            known: Known::new(key.as_ref().and_then(|key| key.lease)),
            ledger: Ledger::new(buckets, floor),
            outstanding: Outstanding::new(out),
            key,
            usage: Usage { acknowledged, batches },
        })
    }

    /// How a request at `now` (milliseconds) stands.
    pub fn standing(&self, now: i64, with_text: bool) -> Standing {
        self.known.standing(now, with_text)
    }

    /// Whether the key is judged by its last record if the origin cannot be asked at `now` (milliseconds).
    pub fn is_kept(&self, now: i64) -> bool {
        self.known.kept(now).is_some()
    }

    /// Takes the origin's answer to a question sent at `asked_at`. `source` names the counting place if it is a new one.
    pub fn answered(
        &mut self,
        disk: &impl KeyDisk,
        digest: KeyDigest,
        finding: &KeyFinding,
        (asked_at, now): (i64, i64),
        source: String,
    ) -> Result<(), DiskFault> {
        let lease = self.known.answered(finding, asked_at, now);
        self.write_lease(disk, digest, lease, source)
    }

    /// Notes that the origin gave no answer.
    pub fn unanswered(&mut self, now: i64) {
        self.known.unanswered(now);
    }

    /// Takes a record that the origin sent by itself. It is on disk when this returns.
    pub fn told(
        &mut self,
        disk: &impl KeyDisk,
        digest: KeyDigest,
        record: KeyRecord,
        (now, source): (i64, String),
    ) -> Result<(), DiskFault> {
        let lease = self.known.told(record, now);
        self.write_lease(disk, digest, lease, source)
    }

    fn write_lease(
        &mut self,
        disk: &impl KeyDisk,
        digest: KeyDigest,
        lease: Option<Lease>,
        source: String,
    ) -> Result<(), DiskFault> {
        let Some(lease) = lease else { return Ok(()) };
        match &mut self.key {
            Some(key) => {
                disk.write(&Change::Lease(lease))?;
                key.lease = Some(lease);
            }
            None => {
                let key = StoredKey { digest, lease: Some(lease), source, acknowledged: 0, floor: 0 };
                disk.write(&Change::Create(&key))?;
                self.key = Some(key);
            }
        }
        Ok(())
    }

    /// Charges requests that came together, each if there is room, at `now` (Unix seconds). All that are admitted are on disk, by
    /// one change, when this says so.
    pub fn take(
        &mut self,
        disk: &impl KeyDisk,
        requests: &[(KeyRecord, &Take)],
        now: i64,
    ) -> Result<Vec<Option<Verdict>>, DiskFault> {
        let mut rows: Vec<Entry> = Vec::new();
        let mut verdicts = Vec::with_capacity(requests.len());
        for (record, take) in requests {
            let (verdict, entry) = self.ledger.take(record, take, now).unzip();
            if let Some(entry) = entry.flatten()
                && !rows.iter_mut().any(|row| row.absorb(&entry))
            {
                rows.push(entry);
            }
            verdicts.push(verdict);
        }
        if !rows.is_empty() {
            disk.write(&Change::Count(&rows))?;
        }
        Ok(verdicts)
    }

    /// Reserves requests for who asks, at `now` (milliseconds), if enough are left: under `id`, which no other of this key has. They
    /// are on disk when this returns.
    pub fn reserve(
        &mut self,
        disk: &impl KeyDisk,
        record: &KeyRecord,
        asked: &ReserveAsk,
        (now, id): (i64, i64),
    ) -> Result<Option<Reservation>, DiskFault> {
        let seconds = self.ledger.present(now.div_euclid(1_000));
        let window = window_of(seconds);
        // Later than now where the clock was set back.
        let present = now.max(seconds.saturating_mul(1_000));
        let left = window.saturating_add(1).saturating_mul(WINDOW_SECONDS * 1_000).saturating_sub(present);
        let end = now.saturating_add(left).min(self.known.holds_until(now));
        let Some(lasts) = self.outstanding.lasts(asked.lasts, now, end) else { return Ok(None) };
        let Some((size, allowance)) = self.ledger.reserve(record, asked.family, asked.want, seconds) else {
            return Ok(None);
        };
        let out = Out { id, window, family: asked.family, size };
        disk.write(&Change::Reserve(out))?;
        let reservation = Reservation { id, size, lasts, allowance };
        self.outstanding.made(out, &reservation, asked.lasts, now);
        Ok(Some(reservation))
    }

    /// Takes reservations back, at `now` (Unix seconds). One that is not out, because it came back before or its window's usage has
    /// gone, is no matter any more.
    pub fn settle(&mut self, disk: &impl KeyDisk, settled: &[Settled], now: i64) -> Result<(), DiskFault> {
        for Settled { id, spent } in settled {
            let Some(out) = self.outstanding.find(*id) else { continue };
            let row = |Tally { endpoint, served, .. }: &Tally| Entry {
                window: out.window,
                family: Some(out.family),
                client: Subclient::Pooled,
                endpoint: endpoint.clone(),
                served: *served,
                throttled: 0,
                last_seen: now,
            };
            disk.write(&Change::Settle(out, &spent.iter().map(row).collect::<Vec<_>>()))?;
            let spent = spent.iter().fold(0_u32, |sum, tally| sum.saturating_add(tally.served));
            self.ledger.release(out.window, out.family, out.size.saturating_sub(spent));
            self.outstanding.settled(*id);
        }
        Ok(())
    }

    /// Whether a refusal at `now` (milliseconds) has to wait for reservations that may come back: of one family, or of any.
    pub fn is_unsettled(&self, family: Option<Family>, now: i64) -> bool {
        let window = window_of(self.ledger.present(now.div_euclid(1_000)));
        self.outstanding.is_awaited(family, window, now)
    }

    /// Counts requests that the Worker answered by itself. Of a key that never was, nothing is counted.
    pub fn report(&mut self, disk: &impl KeyDisk, tally: &[Tally], now: i64) -> Result<bool, DiskFault> {
        if self.key.is_none() {
            return Ok(false);
        }
        let now = self.ledger.present(now);
        let row = |Tally { endpoint, served, throttled }: &Tally| Entry {
            window: window_of(now),
            family: None,
            client: Subclient::Pooled,
            endpoint: endpoint.clone(),
            served: *served,
            throttled: *throttled,
            last_seen: now,
        };
        if !tally.is_empty() {
            disk.write(&Change::Count(&tally.iter().map(row).collect::<Vec<_>>()))?;
        }
        Ok(!tally.is_empty())
    }

    /// Folds the windows that have closed by `now` (Unix seconds), and gives the batch that is to be sent next.
    pub fn next_batch(&mut self, disk: &impl KeyDisk, now: i64) -> Result<Option<UsageBatch>, DiskFault> {
        let present = window_of(self.ledger.present(now).saturating_sub(SETTLING_SECONDS));
        for fold in self.usage.folds(&disk.closed_days(present)?, present) {
            disk.write(&Change::Fold(fold))?;
            self.usage.folded(&fold);
        }
        // What was folded is never counted in again, also after a restart with the clock set back.
        self.ledger.enter(present);
        self.outstanding.enter(present);
        let (Some(key), Some(batch)) = (&self.key, self.usage.first()) else { return Ok(None) };
        if !batch.sealed {
            disk.write(&Change::Seal(batch.sequence))?;
            self.usage.sealed(batch.sequence);
        }
        Ok(Some(UsageBatch {
            digest: key.digest,
            source: key.source.clone(),
            sequence: batch.sequence,
            through: batch.through,
            rows: disk.batch_rows(batch.sequence)?,
        }))
    }

    /// Notes that the origin has a batch.
    pub fn acknowledged(&mut self, disk: &impl KeyDisk, sequence: u64) -> Result<(), DiskFault> {
        disk.write(&Change::Forget(sequence))?;
        self.usage.acknowledged(sequence);
        Ok(())
    }

    /// Whether there is anything that the origin has not got: counted since, or in a batch.
    pub fn owes(&self, disk: &impl KeyDisk) -> Result<bool, DiskFault> {
        Ok(self.usage.first().is_some() || !disk.closed_days(i64::MAX)?.is_empty())
    }
}
