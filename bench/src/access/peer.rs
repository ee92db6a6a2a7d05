//! The JavaScript peer `bench/js-peer` on the same workerd as the edge.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rds_shared::access::KeyDigest;
use rustix::process::Signal;
use serde_json::{Map, Value};
use xtask::console::Step;
use xtask::provision::cache::Cache;
use xtask::provision::npm;
use xtask::service::{Service, StopRule};
use xtask::up::ports::{Ports, local};
use xtask::up::probe;
use xtask::workspace;

use crate::http::Answer;
use crate::market::LIST;
use crate::{cores, http};

const STOP: StopRule = StopRule { signal: Signal::TERM, grace: Duration::from_secs(10) };
const TIMEOUT: Duration = Duration::from_secs(30);
/// The key that the peer hashes in its answer to `/ready`, so that its SHA-256 can be checked.
const SAMPLE: &str = "pk_live_0123456789abcdef0123456789abcdef";
/// Response headers that are not part of the cached response: set by the runtime, or different for every request.
const PER_REQUEST_HEADERS: [&str; 9] = [
    "content-length",
    "date",
    "connection",
    "age",
    "x-request-id",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-window",
];

/// The running peer. It is stopped when dropped.
pub struct JsPeer {
    pub address: SocketAddr,
    service: Service,
    folder: PathBuf,
}

impl JsPeer {
    pub fn pid(&self) -> u32 {
        self.service.pid()
    }
}

impl Drop for JsPeer {
    fn drop(&mut self) {
        self.service.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Starts the peer on the servers' core. It answers with the body and headers of `hit`, the edge's own cached response.
pub fn start(cache: &Cache, hit: &Answer) -> Result<JsPeer> {
    let mut step = Step::start("the JavaScript peer");
    let folder = std::env::temp_dir().join(format!("rds-bench-js-{}", std::process::id()));
    let objects = folder.join("objects");
    std::fs::create_dir_all(&objects)?;
    let port = Ports::free()?.edge;
    let headers: Map<String, Value> = hit
        .headers()
        .filter(|(name, _)| !PER_REQUEST_HEADERS.contains(name))
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect();
    let mut command = Command::new(npm::workerd(cache)?);
    command
        .arg("serve")
        .arg(workspace::root().join("bench/js-peer/worker.capnp"))
        .arg(format!("--socket-addr=http={}", local(port)))
        .arg(format!("--directory-path=objects={}", objects.display()))
        .env("TARGET", LIST)
        .env("BODY", std::str::from_utf8(&hit.body)?)
        .env("HEADERS", serde_json::to_string(&headers)?);
    let log = folder.join("log");
    let mut service = cores::on_server(|| Service::start("the JavaScript peer", command, log, STOP))?;
    service.wait_until(&mut step, TIMEOUT, || probe::is_ok(port, "/ready"))?;
    let address = local(port).into();
    let peer = JsPeer { address, service, folder };
    let digest = http::ask(address, &http::get("/ready", "")).context("the peer's digest")?;
    ensure!(digest.body == KeyDigest::of(SAMPLE).to_hex().as_bytes(), "the peer's SHA-256 is wrong");
    step.done(&format!("port {port}"));
    Ok(peer)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_peer_has_the_compatibility_date_of_the_service() {
        let date = |text: &str, name: &str| {
            text.lines()
                .find_map(|line| line.trim().strip_prefix(name)?.split('"').nth(1).map(str::to_owned))
                .expect(name)
        };
        let service = date(include_str!("../../../wrangler.toml"), "compatibility_date");
        assert_eq!(date(include_str!("../../js-peer/worker.capnp"), "compatibilityDate"), service);
    }
}
