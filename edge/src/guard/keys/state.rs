//! A key's rate limits, record and usage as a state machine, on one Durable Object's storage and without a runtime.

use crate::guard::DiskFault;
use crate::guard::keys::ledger::{Bucket, Entry, Ledger};
use crate::guard::keys::object_reservations::{Outstanding, OutstandingReservation};
use crate::guard::keys::record::{KeyStatus, Known, Lease};
use crate::guard::keys::subclient::Subclient;
use crate::guard::keys::usage_batches::{Batch, Fold, Usage};
use crate::guard::objects::message::{Reservation, ReserveAsk, Settled, Take, Tally};
use rds_shared::access::budget::{Verdict, WINDOW_SECONDS, window_of};
use rds_shared::access::link::{KeyLookupResponse, UsageBatch, UsageRow};
use rds_shared::access::{KeyDigest, KeyRecord};
use rds_shared::route::RateLimitClass;

/// How long a closed window is kept open for late settlements of reservations, in seconds. Requests settled later are not in
/// the usage.
pub const SETTLING_SECONDS: i64 = 2;

/// Durable storage of a key. Calls are synchronous, so a change is written before any message that the Durable Object sends afterwards.
pub trait KeyDisk {
    /// Loads the whole state. Read-only, so that a key that never existed leaves nothing in storage.
    fn load(&self) -> Result<Stored, DiskFault>;
    /// Writes one change atomically.
    fn write(&self, change: &Change<'_>) -> Result<(), DiskFault>;
    /// The days that have counts in windows before `window`, ascending.
    fn closed_days(&self, window: i64) -> Result<Vec<i64>, DiskFault>;
    fn batch_rows(&self, sequence: u64) -> Result<Vec<UsageRow>, DiskFault>;
}

/// The stored state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stored {
    /// The key and its record, if one was ever stored.
    pub key: Option<StoredKey>,
    /// Admitted requests of the latest window.
    pub buckets: Vec<Bucket>,
    /// Outstanding reservations.
    pub out: Vec<OutstandingReservation>,
    /// Usage batches in order.
    pub batches: Vec<Batch>,
}

/// A stored key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StoredKey {
    pub digest: KeyDigest,
    /// The record. `None` if a newer release wrote a record that this release cannot read: then the key is looked up like a new one,
    /// and all other state is kept.
    pub lease: Option<Lease>,
    /// Random id of this counter, drawn when the key was first stored.
    pub source: String,
    /// The highest acknowledged sequence number of a batch.
    pub acknowledged: u64,
    /// The first window that was never folded; earlier windows are never counted in again.
    pub floor: i64,
}

/// A change of the stored state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// Stores the key for the first time.
    Create(&'a StoredKey),
    /// Replaces the record, or the lease of the same record.
    Lease(Lease),
    /// Adds counted requests to rows.
    Count(&'a [Entry]),
    /// Counts reserved requests in advance. They count towards the limit but not towards the usage.
    Reserve(OutstandingReservation),
    /// Ends a reservation: its count is replaced by the requests that were admitted.
    Settle(OutstandingReservation, &'a [Entry]),
    /// Folds closed windows into a batch; windows before [`Fold::before`] are never counted in again.
    Fold(Fold),
    /// Seals a batch: nothing more is added to it.
    Seal(u64),
    /// Deletes a batch that the origin has acknowledged.
    Forget(u64),
}

/// The state machine. Discarded and loaded again after any storage fault.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyGuard {
    known: Known,
    key: Option<StoredKey>,
    ledger: Ledger,
    outstanding: Outstanding,
    usage: Usage,
}

impl KeyGuard {
    /// Loads the state from storage.
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

    /// The status of the key for a request at `now` (milliseconds); see [`Known::status`].
    pub fn status(&self, now: i64, with_text: bool) -> KeyStatus {
        self.known.status(now, with_text)
    }

    /// Whether the last confirmed record may be used at `now` (milliseconds) while look-ups fail.
    pub fn is_kept(&self, now: i64) -> bool {
        self.known.kept(now).is_some()
    }

    /// Records the origin's answer to a request sent at `asked_at`. `source` becomes the counter's id if the key is new.
    pub fn answered(
        &mut self,
        disk: &impl KeyDisk,
        digest: KeyDigest,
        finding: &KeyLookupResponse,
        (asked_at, now): (i64, i64),
        source: String,
    ) -> Result<(), DiskFault> {
        let lease = self.known.answered(finding, asked_at, now);
        self.write_lease(disk, digest, lease, source)
    }

    /// Records that the origin did not answer.
    pub fn unanswered(&mut self, now: i64) {
        self.known.unanswered(now);
    }

    /// Records an update pushed by the origin. It is in storage when this returns.
    pub fn record_update(
        &mut self,
        disk: &impl KeyDisk,
        digest: KeyDigest,
        record: KeyRecord,
        (now, source): (i64, String),
    ) -> Result<(), DiskFault> {
        let lease = self.known.record_update(record, now);
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

    /// Charges a group of requests at `now` (Unix seconds), each if the limit allows. All admitted requests are in storage, written in one
    /// change, when this returns.
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

    /// Reserves requests at `now` (milliseconds) if enough are left, under the unique `id`. They are in storage
    /// when this returns.
    pub fn reserve(
        &mut self,
        disk: &impl KeyDisk,
        record: &KeyRecord,
        asked: &ReserveAsk,
        (now, id): (i64, i64),
    ) -> Result<Option<Reservation>, DiskFault> {
        let seconds = self.ledger.present(now.div_euclid(1_000));
        let window = window_of(seconds);
        // Later than `now` if the clock was set back.
        let present = now.max(seconds.saturating_mul(1_000));
        let left = window.saturating_add(1).saturating_mul(WINDOW_SECONDS * 1_000).saturating_sub(present);
        let end = now.saturating_add(left).min(self.known.valid_until(now));
        let Some(lasts) = self.outstanding.lasts(asked.lasts, now, end) else { return Ok(None) };
        let Some((size, allowance)) = self.ledger.reserve(record, asked.class, asked.want, seconds) else {
            return Ok(None);
        };
        let out = OutstandingReservation { id, window, class: asked.class, size };
        disk.write(&Change::Reserve(out))?;
        let reservation = Reservation { id, size, lasts, allowance };
        self.outstanding.made(out, &reservation, asked.lasts, now);
        Ok(Some(reservation))
    }

    /// Settles reservations at `now` (Unix seconds). Ignores a reservation that was settled before, or whose window has been folded.
    pub fn settle(&mut self, disk: &impl KeyDisk, settled: &[Settled], now: i64) -> Result<(), DiskFault> {
        for Settled { id, spent } in settled {
            let Some(out) = self.outstanding.find(*id) else { continue };
            let row = |Tally { endpoint, served, .. }: &Tally| Entry {
                window: out.window,
                class: Some(out.class),
                client: Subclient::Pooled,
                endpoint: endpoint.clone(),
                served: *served,
                throttled: 0,
                last_seen: now,
            };
            disk.write(&Change::Settle(out, &spent.iter().map(row).collect::<Vec<_>>()))?;
            let spent = spent.iter().fold(0_u32, |sum, tally| sum.saturating_add(tally.served));
            self.ledger.release(out.window, out.class, out.size.saturating_sub(spent));
            self.outstanding.settled(*id);
        }
        Ok(())
    }

    /// Whether a refusal at `now` (milliseconds) must wait for outstanding reservations, of one rate-limit class or of any.
    pub fn is_unsettled(&self, class: Option<RateLimitClass>, now: i64) -> bool {
        let window = window_of(self.ledger.present(now.div_euclid(1_000)));
        self.outstanding.is_awaited(class, window, now)
    }

    /// Counts requests that the Worker answered without charging the key. Nothing is counted for a key that is not stored.
    pub fn report(&mut self, disk: &impl KeyDisk, tally: &[Tally], now: i64) -> Result<bool, DiskFault> {
        if self.key.is_none() {
            return Ok(false);
        }
        let now = self.ledger.present(now);
        let row = |Tally { endpoint, served, throttled }: &Tally| Entry {
            window: window_of(now),
            class: None,
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

    /// Folds the windows closed by `now` (Unix seconds) and returns the next batch to send.
    pub fn next_batch(&mut self, disk: &impl KeyDisk, now: i64) -> Result<Option<UsageBatch>, DiskFault> {
        let present = window_of(self.ledger.present(now).saturating_sub(SETTLING_SECONDS));
        for fold in self.usage.folds(&disk.closed_days(present)?, present) {
            disk.write(&Change::Fold(fold))?;
            self.usage.folded(&fold);
        }
        // Folded windows are never counted in again, even after a restart with the clock set back.
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

    /// Records that the origin has acknowledged a batch.
    pub fn acknowledged(&mut self, disk: &impl KeyDisk, sequence: u64) -> Result<(), DiskFault> {
        disk.write(&Change::Forget(sequence))?;
        self.usage.acknowledged(sequence);
        Ok(())
    }

    /// Whether counts or batches exist that the origin does not have.
    pub fn owes(&self, disk: &impl KeyDisk) -> Result<bool, DiskFault> {
        Ok(self.usage.first().is_some() || !disk.closed_days(i64::MAX)?.is_empty())
    }
}
