//! The client libraries beside bare HTTP clients: CPU time of the caller for one page, asked for many times.
//!
//! Both sides keep one connection, ask one request after the other, and read the answer's JSON. The libraries are installed from their packed
//! files, as by a user.

mod rust;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::{Value, json};
use xtask::workspace;

use crate::constant_peer::Constant;
use crate::parts::Only;
use crate::report::Report;
use crate::versus::median;

pub use rust::{Kind, ask};

/// Most CPU time of a library, as a multiple of the bare client's.
const TARGET: f64 = 1.15;
/// Rows of the page.
const ROWS: usize = 20;

/// Number of requests and of rounds.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Requests of one process.
    #[arg(long, default_value_t = 1_000)]
    requests: u32,
    /// Number of processes per side.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    #[command(flatten)]
    only: Only,
}

impl Default for Options {
    fn default() -> Self {
        Options { requests: 1_000, rounds: 9, only: Only::default() }
    }
}

/// CPU time that a process reported, in microseconds: of its requests, and since its start.
#[derive(Clone, Copy)]
struct Spent {
    requests: f64,
    process: f64,
}

/// Measures every library, or those that were named.
pub fn run(options: &Options) -> Result<()> {
    println!("\nClients: {} requests of a process, {} rounds", options.requests, options.rounds);
    let languages = options.only.of("clients", ["typescript", "python", "rust"])?;
    let folder = Folder::new()?;
    let body = page()?;
    let constant = Constant::start("/v1/vaults?limit=20", &body)?;
    let address = constant.peer().address;
    let mut report = Report::default();
    for language in languages {
        let (program, bare) = program(language, &folder.0)?;
        let pairs = (0..options.rounds)
            .map(|_| {
                xtask::signals::check()?;
                Ok((one(&program, "library", address, options)?, one(&program, "bare", address, options)?))
            })
            .collect::<Result<Vec<_>>>()?;
        let side =
            |of: fn(&(Spent, Spent)) -> f64| median(pairs.iter().map(of).collect()) / f64::from(options.requests);
        let ratio = |of: fn(Spent) -> f64| median(pairs.iter().map(|(ours, theirs)| of(*ours) / of(*theirs)).collect());
        report.at_most(
            &format!("{language} library, beside {bare}: CPU time of a process with {} requests", options.requests),
            ratio(|spent| spent.process),
            TARGET,
            &format!(
                "ours {:.0} µs a request, theirs {:.0} µs; start included",
                side(|(ours, _)| ours.process),
                side(|(_, theirs)| theirs.process)
            ),
        );
        report.stated(
            &format!("{language} library, beside {bare}: CPU time of the requests alone"),
            ratio(|spent| spent.requests),
            &format!(
                "ours {:.0} µs a request, theirs {:.0} µs; start and first request left out",
                side(|(ours, _)| ours.requests),
                side(|(_, theirs)| theirs.requests)
            ),
        );
    }
    if options.only.is_all() {
        let method = format!(
            "A ratio is the median of {} pairs of processes. Each asks one server for a page of {ROWS} vaults ({} bytes) {} times, one request after \
             the other over one connection, and reads the JSON. The libraries check, type and keep each answer, as they do by default. \
             In Rust the bare client reads a tree of values, and the library reads rows, which costs less.",
            options.rounds,
            body.len(),
            options.requests
        );
        report.write("clients", &method)?;
    }
    Ok(())
}

/// A page of vaults, made from the recorded example of the document.
fn page() -> Result<Vec<u8>> {
    let file = workspace::root().join("openapi/examples/VaultList.json");
    let example: Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    let mut page = example.get("response").context("an example without response")?.clone();
    let rows = page.get("data").and_then(Value::as_array).context("an example without rows")?;
    let rows: Vec<Value> = rows.iter().cycle().take(ROWS).cloned().collect();
    *page.get_mut("data").context("no rows")? = json!(rows);
    Ok(serde_json::to_vec(&page)?)
}

/// A program without its arguments `bare|library ADDRESS REQUESTS`, and the name of the bare client. Installs the library.
fn program(language: &str, folder: &Path) -> Result<(Vec<PathBuf>, &'static str)> {
    let peers = workspace::root().join("bench/client-peers");
    Ok(match language {
        "typescript" => {
            let project = xtask::clients::typescript::install(folder)?;
            (vec!["node".into(), peers.join("javascript.mjs"), project], "fetch")
        }
        "python" => (vec![xtask::clients::python::install(folder)?, peers.join("python.py")], "httpx"),
        _ => (vec![std::env::current_exe()?, "client-requests".into()], "hyper"),
    })
}

/// Runs one process, on the client's core, and returns what it reports.
fn one(program: &[PathBuf], kind: &str, address: SocketAddr, options: &Options) -> Result<Spent> {
    let (name, rest) = program.split_first().context("no program")?;
    let mut command = Command::new(name);
    command.args(rest).args([kind, &address.to_string(), &options.requests.to_string()]);
    let said: Value = serde_json::from_str(&xtask::command::output(&mut command)?)?;
    let figure = |name: &str| said.get(name).and_then(Value::as_f64).with_context(|| format!("no {name} in {said}"));
    let rows = u64::from(options.requests) * ROWS as u64;
    ensure!(said.get("rows").and_then(Value::as_u64) == Some(rows), "{kind} did not read every row: {said}");
    Ok(Spent { requests: figure("requests")?, process: figure("process")? })
}

/// A temporary folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("rds-bench-clients-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
