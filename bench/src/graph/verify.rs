//! Verification of a decision in the Worker, against `viem` in a JavaScript Worker.

use anyhow::{Context, Result, ensure};
use rds_shared::access::AssertionKey;
use serde_json::{Value, json};
use xtask::provision::cache::Cache;
use xtask::provision::npm;
use xtask::up::edge::{Binding, DURABLE_OBJECTS, start_with};
use xtask::up::ports::{Ports, local};
use xtask::up::state::State;
use xtask::wasm;

use super::{evidence_origin, viem_peer};
use crate::report::Report;
use crate::summary::{Comparison, Target};
use crate::versus::{self, Peer, cpu_micros};
use crate::{Plan, cores, http};

const TARGET: f64 = 2.0;
/// Any key, because the origin is a stub.
const ASSERTION_KEY: &str = "k1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const VECTORS: &str = include_str!("../../../fixtures/decisions/verifications.jsonl");

/// Measures the edge and the peer with the same evidence.
pub fn measure(cache: &Cache, plan: &Plan, report: &mut Report) -> Result<()> {
    let workerd = npm::workerd(cache)?;
    let unmetered = wasm::build_unmetered(cache)?;
    let vector: Value = serde_json::from_str(VECTORS.lines().next().context("no vector")?)?;
    let text = |name: &str| vector.pointer(&format!("/in/{name}")).and_then(Value::as_str).context("no vector");
    let (id, envelope, signature) = (text("id")?, text("envelope")?, text("signature")?);
    let record = json!({"envelope": envelope, "signature": signature});
    let evidence = json!({"record": record, "signers": vector.pointer("/in/registry")}).to_string();
    let target = format!("/v1/graph/decision/{id}/verify");
    let request = http::get(&target, "accept: application/json\r\n");

    let key = AssertionKey::parse(ASSERTION_KEY).context("no assertion key")?;
    let origin = evidence_origin::start(&evidence, key)?;
    let folder = std::env::temp_dir().join(format!("rds-bench-verify-{}", std::process::id()));
    let state = State::open(&folder)?;
    let port = Ports::free()?.edge;
    let bindings = [
        Binding::variable("ORIGIN_URL", format!("http://{origin}")),
        Binding::variable("GRAPH", "1"),
        Binding::secret("ASSERTION_KEY", ASSERTION_KEY),
    ];
    let service = cores::on_server(|| start_with(&workerd, &unmetered, &state, &bindings, DURABLE_OBJECTS, port))?;
    let edge = local(port).into();
    http::ask(edge, &request)?;
    let ours = http::ask(edge, &request)?;
    ensure!(ours.status == 200 && ours.head.contains("x-cache: hit"), "no hit: {}", ours.head);
    let said: Value = serde_json::from_slice(&ours.body)?;
    ensure!(said.pointer("/data/signatureValid") == Some(&json!(true)), "not verified: {said}");

    let peer = viem_peer::start(cache, &evidence, &ours)?;
    let theirs = http::ask(peer.address, &request)?;
    ensure!(theirs.status == 200 && theirs.body == ours.body, "viem: {}", String::from_utf8_lossy(&theirs.body));

    let write = |request: Vec<u8>| move |out: &mut Vec<u8>| out.extend_from_slice(&request);
    let javascript = Peer { address: peer.address, pid: peer.pid(), write: Box::new(write(request.clone())) };
    let worker = Peer { address: edge, pid: service.pid(), write: Box::new(write(request)) };
    let versus = versus::measure_with_halves(plan, worker, javascript)?;
    let (ours, theirs) = versus.medians();
    report.compare(
        &Comparison {
            part: "a decision verified at the edge",
            peer: "viem in a JavaScript Worker",
            of: "CPU, theirs over ours",
            ratio: versus.ratio(|sample| 1.0 / cpu_micros(sample)),
            target: Target::AtLeast(TARGET),
            ours,
            theirs,
        },
        "",
    );
    drop((service, peer));
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
