//! The edge: a cached response in the isolate's memory, against a bare Rust Worker that returns the same bytes.
//!
//! The feature `unmetered` disables rate limits. Their cost is measured in `access`, against a peer that also has limits.

use anyhow::{Result, ensure};
use xtask::provision::cache::Cache;
use xtask::provision::npm;
use xtask::up::Edge;
use xtask::up::edge::{Binding, DURABLE_OBJECTS, start_with};
use xtask::up::ports::{Ports, local};
use xtask::up::state::State;
use xtask::wasm;

use super::market::{LIST, Market};
use crate::report::Report;
use crate::versus::{self, Peer, cpu_micros, rate};
use crate::{Plan, cores, http};

const BARE: wasm::Crate = wasm::Crate { folder: "bench/bare-worker", package: "rds-bare-worker" };
const VAULTS: u32 = 1_000;
const TARGET: f64 = 2.0;
const MAX_KB: f64 = 1_000.0;

/// Measures a cached response, and the size of the bundle.
pub fn measure(cache: &Cache, plan: &Plan, report: &mut Report) -> Result<()> {
    let workerd = npm::workerd(cache)?;
    let bare_bundle = wasm::build_crate(cache, BARE, "the bare Worker")?;
    let bundle = wasm::build(cache)?;
    let unmetered = wasm::build_unmetered(cache)?;
    let market = Market::start(VAULTS, Edge::None)?;
    let ours_folder = std::env::temp_dir().join(format!("rds-bench-edge-{}", std::process::id()));
    let ours_state = State::open(&ours_folder)?;
    let edge_port = Ports::free()?.edge;
    let bindings = [
        Binding::variable("ORIGIN_URL", format!("http://{}", market.address("origin_edge")?)),
        Binding::secret("ASSERTION_KEY", market.assertion_keys()?),
    ];
    let service =
        cores::on_server(|| start_with(&workerd, &unmetered, &ours_state, &bindings, DURABLE_OBJECTS, edge_port))?;
    let edge = local(edge_port).into();
    let request = http::get(LIST, "accept: application/json\r\n");

    http::ask(edge, &request)?;
    let hit = http::ask(edge, &request)?;
    ensure!(hit.status == 200 && hit.head.contains("x-cache: hit"), "no hit: {}", hit.head);
    let folder = std::env::temp_dir().join(format!("rds-bench-bare-{}", std::process::id()));
    let state = State::open(&folder)?;
    let port = Ports::free()?.edge;
    let body = Binding::variable("BODY", String::from_utf8(hit.body.clone())?);
    let bare = cores::on_server(|| start_with(&workerd, &bare_bundle, &state, &[body], &[], port))?;
    let same = http::ask(local(port).into(), &request)?;
    ensure!(same.status == 200 && same.body == hit.body, "the bare Worker's answer differs");

    let write = |request: Vec<u8>| move |out: &mut Vec<u8>| out.extend_from_slice(&request);
    let ours = Peer { address: edge, pid: service.pid(), write: Box::new(write(request.clone())) };
    let theirs = Peer { address: local(port).into(), pid: bare.pid(), write: Box::new(write(request)) };
    let versus = versus::measure(plan, ours, theirs)?;
    let (cpu, bare_cpu) = versus.sides(cpu_micros);
    let (per_second, bare_per_second) = versus.sides(rate);
    report.at_most(
        &format!("edge: CPU per hit in the isolate, over a bare Rust Worker ({} bytes)", hit.body.len()),
        versus.ratio(cpu_micros),
        TARGET,
        &format!("{cpu:.1} µs, {per_second:.0}/s; bare {bare_cpu:.1} µs, {bare_per_second:.0}/s"),
    );
    drop((bare, service));
    std::fs::remove_dir_all(folder)?;
    std::fs::remove_dir_all(ours_folder)?;

    let mut kilobytes = 0.0;
    for (_, file) in bundle.files() {
        kilobytes += wasm::gzipped(file)? as f64 / 1e3;
    }
    report.at_most("edge: the bundle gzipped, kB", kilobytes, MAX_KB, "scripts and module");
    Ok(())
}
