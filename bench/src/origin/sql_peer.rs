//! Peers that query Postgres for every list: `bench/fastify-peer` on Node, `bench/fastapi-peer` on uvicorn.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::process::Signal;
use xtask::console::Step;
use xtask::measure;
use xtask::provision::cache::Cache;
use xtask::provision::peers;
use xtask::service::{Service, StopRule};
use xtask::up::ports::{Ports, local};
use xtask::up::probe;
use xtask::workspace;

use super::same;
use crate::market::{LIST, Market};
use crate::versus::Peer;
use crate::{Plan, cores, http, load};

const STOP: StopRule = StopRule { signal: Signal::TERM, grace: Duration::from_secs(10) };
const TIMEOUT: Duration = Duration::from_secs(60);
/// Lists that each peer must answer as the origin does before it is timed.
const CHECKED: [&str; 10] = [
    LIST,
    "/v1/vaults",
    "/v1/vaults?chain=devnet&page=3&limit=100",
    "/v1/vaults?minTvl=5000000&sortBy=apr_net",
    "/v1/vaults?sortBy=name&sortOrder=asc&page=2&limit=7",
    "/v1/vaults?sortBy=borrow_apr_net&sortOrder=asc&limit=100",
    "/v1/vaults?sortBy=borrow_reward_apr&limit=100",
    "/v1/vaults?riskTier=prime&minRiskScore=8.2&sortBy=total_score&sortOrder=asc",
    "/v1/vaults?chain=nowhere",
    "/v1/vaults?page=100000",
];

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Fastify with pg.
    Fastify,
    /// FastAPI with asyncpg.
    FastApi,
}

impl Kind {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Fastify => "Fastify + pg",
            Kind::FastApi => "FastAPI + asyncpg",
        }
    }

    fn command(self, cache: &Cache, folder: &Path, port: u16) -> Result<Command> {
        let source = workspace::root().join("bench");
        match self {
            Kind::Fastify => {
                // Node looks for modules next to the file that imports them.
                std::os::unix::fs::symlink(peers::fastify(cache)?, folder.join("node_modules"))?;
                std::fs::copy(source.join("fastify-peer/server.mjs"), folder.join("server.mjs"))?;
                let mut node = Command::new("node");
                node.arg(folder.join("server.mjs")).env("NODE_ENV", "production").env("PORT", port.to_string());
                Ok(node)
            }
            Kind::FastApi => {
                let mut python = Command::new(peers::fastapi(cache)?);
                python.args([
                    "-m",
                    "uvicorn",
                    "server:app",
                    "--loop",
                    "uvloop",
                    "--http",
                    "httptools",
                    "--no-access-log",
                ]);
                python.args(["--host", "127.0.0.1", "--port", &port.to_string(), "--app-dir"]);
                python.arg(source.join("fastapi-peer")).env("PYTHONDONTWRITEBYTECODE", "1");
                Ok(python)
            }
        }
    }
}

/// The running peer. It is stopped when dropped.
pub struct SqlPeer {
    address: SocketAddr,
    service: Service,
    folder: PathBuf,
}

impl SqlPeer {
    /// Starts the peer on the servers' core, with the market's database.
    pub fn start(cache: &Cache, kind: Kind, market: &Market) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("rds-bench-sql-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let port = Ports::free()?.edge;
        let mut command = kind.command(cache, &folder, port)?;
        command.env("DATABASE_URL", market.text("database_url")?);
        let mut step = Step::start(kind.name());
        let service = cores::on_server(|| Service::start(kind.name(), command, folder.join("log"), STOP))?;
        let mut peer = Self { address: local(port).into(), service, folder };
        peer.service.wait_until(&mut step, TIMEOUT, || probe::is_ok(port, "/v1/vaults?limit=1"))?;
        step.done(&format!("port {port}"));
        Ok(peer)
    }

    /// Fails unless the peer answers every list as the origin does.
    pub fn check(&self, market: &Market) -> Result<()> {
        for target in CHECKED {
            let answer = http::ask(self.address, &plain(target))?;
            ensure!(answer.status == 200, "{target}: {}", String::from_utf8_lossy(&answer.body));
            same::check(target, &market.ask(target)?, &answer.body)?;
        }
        Ok(())
    }

    /// The process as a [`Peer`] that answers the public list.
    pub fn peer(&self) -> Peer {
        let request = plain(LIST);
        let write = Box::new(move |out: &mut Vec<u8>| out.extend_from_slice(&request));
        Peer { address: self.address, pid: self.service.pid(), write }
    }

    /// CPU time of Postgres per list, in microseconds.
    pub fn store_cpu(&self, plan: &Plan, market: &Market) -> Result<f64> {
        let postgres = market.pid("postgres")?;
        let before = measure::cpu_time_of_family_ever(postgres)?;
        let request = plain(LIST);
        let write = |out: &mut Vec<u8>| out.extend_from_slice(&request);
        let load = load::run(self.address, plan.connections, plan.duration(), write)?;
        let spent = measure::cpu_time_of_family_ever(postgres)?.saturating_sub(before);
        Ok(spent.as_secs_f64() * 1e6 / load.requests as f64)
    }
}

impl Drop for SqlPeer {
    fn drop(&mut self) {
        self.service.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn plain(target: &str) -> Vec<u8> {
    http::get(target, "accept: application/json\r\n")
}
