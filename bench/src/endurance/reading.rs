//! One reading a minute: memory, descriptors, tables and latency.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use xtask::measure::{family, proportional_of_family};

use super::growth::{PREDICTED, Predicted};
use crate::growth::tables::Size;
use crate::push::ours::Ours;
use crate::push::subscribers::Latencies;

/// The measured processes, by the names of the stack's description.
pub const PROCESSES: [&str; 3] = ["origin", "edge", "postgres"];

/// Latencies of the probe's requests since the last reading.
#[derive(Default)]
pub struct Probe(Mutex<Latencies>);

impl Probe {
    /// Records a latency.
    pub fn note(&self, latency: Duration) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).note(latency);
    }

    /// The latencies since the last call.
    fn take(&self) -> Latencies {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The figures of one minute.
pub struct Reading {
    pub minute: f64,
    /// Resident bytes of each of [`PROCESSES`] with its children, shared ones counted once, and open descriptors.
    pub processes: [(u64, u64); 3],
    /// Sizes of the tables of [`PREDICTED`].
    pub tables: Vec<Size>,
    /// Milliseconds of a keyed list that was not asked before: p50 and p99.
    pub latency: [f64; 2],
}

pub const HEAD: &str = "| minute | resident MB of origin | edge | Postgres | descriptors of origin | edge | Postgres | tables, MB | latency p50, ms | p99, ms |\n\
                        |---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|";

impl Reading {
    /// Reads everything now.
    pub fn take(since: Duration, ours: &Ours, probe: &Probe) -> Result<Self> {
        let mut processes = [(0, 0); 3];
        for (of, name) in processes.iter_mut().zip(PROCESSES) {
            let pid = ours.market.pid(name)?;
            *of = (proportional_of_family(pid)?, descriptors_of_family(pid)?);
        }
        let mut tables = Vec::new();
        for Predicted { tables: together, .. } in PREDICTED {
            let (first, size) =
                (together.first().copied().unwrap_or_default(), |table| format!("pg_total_relation_size('{table}')"));
            let bytes = together.iter().map(size).collect::<Vec<_>>().join(" + ");
            let sql = format!("SELECT (SELECT count(*) FROM {first}) AS rows, {bytes} AS bytes");
            tables.push(ours.runtime.block_on(sqlx::query_as(&sql).fetch_one(&ours.db.pool))?);
        }
        let latencies = probe.take();
        let latency =
            if latencies.count() == 0 { [0.0; 2] } else { [50, 99].map(|percent| latencies.percentile(percent)) };
        Ok(Reading { minute: since.as_secs_f64() / 60.0, processes, tables, latency })
    }

    /// Resident memory of a process, in MB.
    pub fn resident_mb(&self, process: usize) -> f64 {
        self.processes.get(process).map_or(0.0, |(bytes, _)| *bytes as f64 / 1e6)
    }

    /// Number of descriptors of a process.
    pub fn descriptors(&self, process: usize) -> f64 {
        self.processes.get(process).map_or(0.0, |(_, open)| *open as f64)
    }

    /// Bytes of all tables, in MB.
    pub fn tables_mb(&self) -> f64 {
        self.tables.iter().map(|size| size.bytes as f64 / 1e6).sum()
    }

    /// The reading as a row below [`HEAD`].
    pub fn row(&self) -> String {
        let [origin, edge, postgres] = [0, 1, 2].map(|at| self.resident_mb(at));
        let [opened, edges, of_postgres] = [0, 1, 2].map(|at| self.descriptors(at));
        let [p50, p99] = self.latency;
        format!(
            "| {:.0} | {origin:.0} | {edge:.0} | {postgres:.0} | {opened:.0} | {edges:.0} | {of_postgres:.0} | {:.1} | {p50:.2} | {p99:.2} |",
            self.minute,
            self.tables_mb()
        )
    }
}

/// Open descriptors of a process and of its current children.
fn descriptors_of_family(pid: u32) -> Result<u64> {
    // A child may end between both looks; then it has no descriptors.
    let open = |pid: u32| std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, |listed| listed.count() as u64);
    Ok(family(pid)?.into_iter().map(open).sum())
}
