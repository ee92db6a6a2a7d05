//! Bundles and starts `bench/hono-peer`, a JavaScript Worker that does the edge's job with Hono.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use rds_shared::access::KeyDigest;
use serde_json::json;
use xtask::command;
use xtask::console::Step;
use xtask::provision::cache::Cache;
use xtask::provision::npm;
use xtask::workspace;

use super::js_worker::{JsWorker, Plan, folder};
use crate::http;
use crate::market::Market;

const TIMEOUT: Duration = Duration::from_secs(30);
/// Token of the Worker's only admin route. A constant suffices, because the Worker listens on loopback and only during a run.
const ADMIN_TOKEN: &str = "bench";

/// What the Worker makes its answers from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Cached responses of the origin.
    Responses,
    /// The rows of the vault list, which it loads from the origin at the first request.
    Rows,
}

/// Starts the Worker on the servers' core, in front of the market's origin.
pub fn start(cache: &Cache, market: &Market, source: Source) -> Result<JsWorker> {
    let (name, short, rows) = match source {
        Source::Responses => ("Hono", "hono", ""),
        Source::Rows => ("Hono with rows", "hono-rows", "memory"),
    };
    let folder = folder(short)?;
    bundle(cache, &folder)?;
    let variables = [
        ("ROWS", rows.to_owned()),
        ("ORIGIN_URL", market.text("origin_edge")?.to_owned()),
        ("ASSERTION_KEY", market.assertion_keys()?),
        ("ADMIN_TOKEN", ADMIN_TOKEN.to_owned()),
        ("FIRST_PARTY_ORIGINS", xtask::up::FIRST_PARTY.to_owned()),
    ];
    let object = Some(("KEYS", "KeyGuard"));
    JsWorker::start(cache, &Plan { name, folder, variables: &variables, object, traces_collections: false })
}

/// Registers a key with a limit of `rpm` requests per minute.
pub fn provision(worker: &JsWorker, key: &str, rpm: u32) -> Result<()> {
    let principal = json!({ "kind": "key", "id": 1, "org_id": 1, "plan": "data" });
    let record = json!({ "principal": principal, "rpm": rpm }).to_string();
    let target = format!("/keys/{}", KeyDigest::of(key).to_hex());
    let lines = format!("authorization: Bearer {ADMIN_TOKEN}\r\n");
    let answer = http::ask(worker.address, &http::request("PUT", &target, &lines, record.as_bytes()))?;
    ensure!(answer.status == 204, "the key was not accepted: {}", answer.head);
    Ok(())
}

/// Bundles the peer and the used parts of Hono into one minified module.
fn bundle(cache: &Cache, folder: &Path) -> Result<()> {
    let modules = npm::hono(cache)?;
    let mut step = Step::start("the bundle with Hono");
    let mut esbuild = Command::new(npm::esbuild(cache)?);
    esbuild
        .arg(workspace::root().join("bench/hono-peer/worker.mjs"))
        .args([
            "--bundle",
            "--minify",
            "--format=esm",
            "--platform=browser",
            "--target=es2022",
            "--external:cloudflare:*",
        ])
        .arg(format!("--outfile={}", folder.join("worker.mjs").display()))
        .env("NODE_PATH", modules);
    command::run(&mut step, esbuild, &workspace::log("hono"), TIMEOUT)?;
    step.done("built");
    Ok(())
}
