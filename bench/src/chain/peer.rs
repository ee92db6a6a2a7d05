//! Peers that read the same fields: programs that read once for each line of their input.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rds_chain::Address;
use rustix::process::Signal;
use xtask::provision::cache::Cache;
use xtask::provision::{npm, peers};
use xtask::{command, measure, workspace};

use super::reading::Taken;

/// The running peer. It is stopped when dropped.
pub struct Peer {
    pub name: &'static str,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    folder: PathBuf,
}

/// One reading of every field of every vault.
pub struct Reading {
    pub wall: Duration,
    /// CPU time of the process, with a resolution of 10 ms.
    pub cpu: Duration,
    /// Sum of all values.
    pub sum: String,
}

impl Peer {
    /// `bench/viem-peer/reader.mjs`.
    pub fn viem(cache: &Cache, node: SocketAddr, vaults: &[Address]) -> Result<Self> {
        let folder = folder("viem")?;
        // Node looks for modules next to the file that imports them.
        std::os::unix::fs::symlink(npm::viem(cache)?, folder.join("node_modules"))?;
        std::fs::copy(workspace::root().join("bench/viem-peer/reader.mjs"), folder.join("reader.mjs"))?;
        let mut command = Command::new("node");
        command.arg(folder.join("reader.mjs")).env("NODE_ENV", "production");
        Self::start("viem", command, folder, node, vaults)
    }

    /// The program of `bench/alloy-peer`.
    pub fn alloy(node: SocketAddr, vaults: &[Address]) -> Result<Self> {
        Self::start("alloy", Command::new(peers::alloy()), folder("alloy")?, node, vaults)
    }

    fn start(
        name: &'static str,
        mut command: Command,
        folder: PathBuf,
        node: SocketAddr,
        vaults: &[Address],
    ) -> Result<Self> {
        let list = folder.join("vaults");
        std::fs::write(&list, vaults.iter().map(|vault| format!("{vault}\n")).collect::<String>())?;
        command.arg(format!("http://{node}")).arg(&list).stdin(Stdio::piped()).stdout(Stdio::piped());
        command::end_with_parent(&mut command, Signal::KILL);
        let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let input = child.stdin.take().context("no standard input")?;
        let output = BufReader::new(child.stdout.take().context("no standard output")?);
        Ok(Self { name, child, input, output, folder })
    }

    /// Reads the vaults at the newest block, with requests of this size.
    pub fn read(&mut self, size: &str) -> Result<Reading> {
        let before = measure::cpu_time(self.child.id())?;
        writeln!(self.input, "{size}")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let Some((micros, sum)) = line.trim().split_once(' ') else { bail!("{} failed, see above", self.name) };
        let cpu = measure::cpu_time(self.child.id())?.saturating_sub(before);
        Ok(Reading { wall: Duration::from_micros(micros.parse()?), cpu, sum: sum.to_owned() })
    }

    /// Like [`read`](Self::read), and keeps what it took. Fails if the values are not the expected ones.
    pub fn turn(&mut self, size: &str, expected: &str, taken: &mut Taken) -> Result<()> {
        let reading = self.read(size)?;
        ensure!(reading.sum == expected, "{} reads other values: {} instead of {expected}", self.name, reading.sum);
        taken.walls.push(reading.wall);
        taken.cpu += reading.cpu;
        Ok(())
    }

    /// The size of requests with which the peer reads fastest, of these; each is tried twice.
    pub fn best(&mut self, sizes: &[&'static str]) -> Result<&'static str> {
        let mut taken = Vec::new();
        for size in sizes {
            let first = self.read(size)?.wall;
            taken.push((first.min(self.read(size)?.wall), *size));
        }
        Ok(taken.into_iter().min().context("no size")?.1)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn folder(name: &str) -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("rds-bench-chain-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
