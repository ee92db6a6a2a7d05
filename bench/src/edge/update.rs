//! The part `update`: bytes that the origin sends to a holder of the replica's rows.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rds_shared::access::AssertionKey;
use rds_shared::access::link::{REPLICA, ReplicaAsk, SEGMENTS, SegmentsAsk};
use rds_shared::replica::{Change, Delta, FORMAT, Kind, Manifest, SegmentName, Stamp, StateId, Step, Update, open};
use rds_shared::route::TagVersions;
use rds_shared::wire::edits;
use serde_json::Value;

use crate::filling::Filling;
use crate::http;
use crate::market::Market;
use crate::report::Report;

/// Rows of a page of the list.
const PAGE: usize = 100;
/// Segments of one message.
const SEGMENTS_AT_ONCE: usize = 64;
/// Time for the origin to have a state that includes a change.
const PATIENCE: Duration = Duration::from_secs(60);
/// A state counts as the last one once it has not changed for this long.
const SETTLED: Duration = Duration::from_secs(3);

/// An update as the origin sends it.
struct Sent {
    bytes: usize,
    stamp: Stamp,
    update: Update,
}

/// Measures all rows, one changed row, and a batch that changes and scores all vaults.
pub fn measure(market: &Market, report: &mut Report) -> Result<()> {
    let rows = listed(market)?;
    let vaults = rows.len();
    let whole = settled(market, true)?;
    let before = manifest(market, &whole)?;
    let segments = bytes_of_segments(market, before.names().copied().collect())?;
    report.stated(
        &format!("replica: all rows of a market of {vaults} vaults, as a holder without rows gets them, kB"),
        (whole.bytes + segments) as f64 / 1e3,
        &format!("{} B of manifest and stamp, {} segments", whole.bytes, before.names().count()),
    );
    let same = ask(market, Some(whole.stamp.state), false)?;
    ensure!(same.update.step == Step::Current, "the origin sends rows to a holder that has them");
    report.stated("replica: the answer to a holder that has the current rows, B", same.bytes as f64, "");

    let row = rows.get(vaults / 2).context("no vault")?;
    market.post_observations(&[Filling::new()?.again(row, 1.0)?])?;
    let one = after(market, whole.stamp.state)?;
    report.stated(
        &format!("replica: an update for one changed vault out of {vaults}, B"),
        one.bytes as f64,
        &described(market, &one, 0)?,
    );

    let have = settled(market, true)?;
    let known: BTreeSet<SegmentName> = manifest(market, &have)?.names().copied().collect();
    let filling = Filling::new()?;
    let lines = rows.iter().map(|row| filling.again(row, 2.0)).collect::<Result<Vec<Value>>>()?;
    market.ingest(&lines, "/v1/vaults?limit=1", vaults as u64)?;
    settled(market, false)?;
    let all = ask(market, Some(have.stamp.state), false)?;
    ensure!(all.stamp.state != have.stamp.state, "the batch changed no row");
    let more = match &all.update.step {
        Step::Whole { .. } => {
            let lacking = manifest(market, &all)?.names().filter(|name| !known.contains(*name)).copied().collect();
            bytes_of_segments(market, lacking)?
        }
        Step::Current | Step::Deltas(_) => 0,
    };
    report.stated(
        &format!("replica: an update after a batch that changed and scored all {vaults} vaults, kB"),
        (all.bytes + more) as f64 / 1e3,
        &described(market, &all, more)?,
    );
    Ok(())
}

/// The form of an update.
fn described(market: &Market, sent: &Sent, segments: usize) -> Result<String> {
    Ok(match &sent.update.step {
        Step::Current => "no rows".to_owned(),
        Step::Deltas(deltas) => {
            let said = deltas.iter().map(|delta| changes(market, delta)).collect::<Result<Vec<_>>>()?;
            format!("{} deltas: {}", deltas.len(), said.join("; "))
        }
        Step::Whole { deltas, .. } => format!("a manifest, {} deltas and {segments} B of new segments", deltas.len()),
    })
}

/// The changes of a sealed delta by family of rows, with the bytes that they have before compression.
fn changes(market: &Market, sealed: &[u8]) -> Result<String> {
    let delta = Delta::decode(opened(market, Kind::Delta, sealed)?.as_slice()).context("no delta")?;
    let mut families: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for change in &delta.changes {
        let (family, bytes) = match change {
            Change::Put(family, row) => (family, row.bytes().len()),
            Change::Patch(family, patch) => (family, patch.key.len() + edits::stored_len(&patch.edits)),
            Change::Remove(family, key) => (family, key.len()),
        };
        let (count, sum) = families.entry(family.name()).or_default();
        *count += 1;
        *sum += bytes;
    }
    let said: Vec<String> =
        families.into_iter().map(|(family, (count, bytes))| format!("{family} {count} ({bytes} B)")).collect();
    Ok(said.join(", "))
}

/// What the origin sends to a holder of `have`.
fn ask(market: &Market, have: Option<StateId>, whole: bool) -> Result<Sent> {
    let ask = ReplicaAsk { format: FORMAT, have, covering: TagVersions::default(), whole, holders: None };
    let request = market.message(REPLICA, &serde_json::to_vec(&ask)?)?;
    let answer = http::ask(market.address("origin_edge")?, &request)?;
    ensure!(answer.status == 200, "no update: {}", answer.head);
    let update = Update::decode(&answer.body).context("the answer is no update")?;
    let stamp = Stamp::decode(opened(market, Kind::Stamp, &update.stamp)?.as_slice()).context("no stamp")?;
    Ok(Sent { bytes: answer.body.len(), stamp, update })
}

/// The first update after `state`.
fn after(market: &Market, state: StateId) -> Result<Sent> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        xtask::signals::check()?;
        let sent = ask(market, Some(state), false)?;
        if sent.stamp.state != state {
            return Ok(sent);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    bail!("the origin's state did not change")
}

/// The origin's state once it no longer changes.
fn settled(market: &Market, whole: bool) -> Result<Sent> {
    let (begun, mut since) = (Instant::now(), Instant::now());
    let mut last = ask(market, None, whole)?;
    while since.elapsed() < SETTLED {
        xtask::signals::check()?;
        ensure!(begun.elapsed() < PATIENCE, "the origin's state changes all the time");
        std::thread::sleep(Duration::from_millis(100));
        let next = ask(market, None, whole)?;
        if next.stamp.state != last.stamp.state {
            (last, since) = (next, Instant::now());
        }
    }
    Ok(last)
}

fn manifest(market: &Market, sent: &Sent) -> Result<Manifest> {
    let Step::Whole { manifest, .. } = &sent.update.step else { bail!("the origin sent no manifest") };
    Manifest::decode(opened(market, Kind::Manifest, manifest)?.as_slice()).context("no manifest")
}

fn opened(market: &Market, kind: Kind, sealed: &[u8]) -> Result<Vec<u8>> {
    let keys = AssertionKey::parse_list(&market.assertion_keys()?).context("no assertion key")?;
    Ok(open(kind, sealed, &keys).map_err(|fault| anyhow::anyhow!("a sealed document: {fault}"))?.to_vec())
}

fn bytes_of_segments(market: &Market, names: Vec<SegmentName>) -> Result<usize> {
    let mut bytes = 0;
    for names in names.chunks(SEGMENTS_AT_ONCE) {
        let ask = SegmentsAsk { format: FORMAT, names: names.to_vec() };
        let request = market.message(SEGMENTS, &serde_json::to_vec(&ask)?)?;
        let answer = http::ask(market.address("origin_edge")?, &request)?;
        ensure!(answer.status == 200, "no segments: {}", answer.head);
        bytes += answer.body.len();
    }
    Ok(bytes)
}

/// The rows of all vaults.
fn listed(market: &Market) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    for page in 1.. {
        let mut body: Value = serde_json::from_slice(&market.ask(&format!("/v1/vaults?limit={PAGE}&page={page}"))?)?;
        match body.get_mut("data").map(Value::take) {
            Some(Value::Array(more)) if !more.is_empty() => rows.extend(more),
            _ => break,
        }
    }
    Ok(rows)
}
