//! `/v1/graph/look-through`, `breach`, `incident-exposure` and its summary, and `snapshot/{id}`.

pub mod decisions;

use crate::catalog::LiveCatalog;
use crate::graph::Graph;
use crate::graph::Snapshot;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::{Call, RouteCall};
use rds_shared::model::content_hash::ContentHash;
use rds_shared::model::graph::{ByKey, Incidents, LookedThrough};
use rds_shared::model::ids::VaultKey;
use rds_shared::route::{params, routes};
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, Data, ErrorCode};
use rds_store::Db;
use rds_store::graph::snapshots;
use std::collections::BTreeSet;

/// Maximum keys of one request. Incident exposure costs as much as a look-through, so both have the same limit.
const MAX_KEYS: usize = 50;

/// The look-through of vaults down to their assets.
pub fn look_through(
    live: &LiveCatalog,
    graph: &Graph,
    call: RouteCall<'_, routes::LookThrough>,
) -> Result<Answer, Failure> {
    let keys = keys(live, call.get(params::VaultKeys))?;
    let snapshot = graph.get()?;
    let Snapshot { manifest, graph, .. } = &*snapshot;
    let results = keys.into_iter().map(|key| (key.to_string(), graph.look_through(&key))).collect();
    let (snapshot_id, built_at, valid_time) = (manifest.snapshot_id, manifest.built_at, manifest.valid_time);
    Answer::value(&Data { data: &LookedThrough { snapshot_id, built_at, valid_time, results } })
}

/// The breach preview of the snapshot.
pub fn breach(graph: &Graph) -> Result<Answer, Failure> {
    Ok(Answer::json(graph.get()?.breach.clone()))
}

/// The share of each requested vault that is exposed to incidents.
pub fn incident_exposure(
    live: &LiveCatalog,
    graph: &Graph,
    call: RouteCall<'_, routes::IncidentExposure>,
) -> Result<Answer, Failure> {
    let keys = keys(live, call.get(params::VaultKeys))?;
    let snapshot = graph.get()?;
    let facts = snapshot.graph.facts();
    let exposure = |key: VaultKey| (key.to_string(), snapshot.incidents.exposure(facts, &key));
    let answer = ByKey { results: keys.into_iter().map(exposure).collect() };
    Answer::value(&Data { data: &Incidents::of(&snapshot.manifest, answer) })
}

/// The exposure of all vaults to incidents, by issuer of the affected assets.
pub fn incident_summary(graph: &Graph) -> Result<Answer, Failure> {
    Ok(Answer::json(graph.get()?.incident_summary.clone()))
}

/// The manifest of a snapshot, as it was frozen. While no snapshot is loaded, an unknown id is 503, because its snapshot may still
/// be built.
pub async fn snapshot(live: &LiveCatalog, db: &Db, graph: &Graph, call: &Call) -> Result<Answer, Failure> {
    let bad = || ApiError::parameter(Detail::new(In::Path, "id", "must be 64 hex characters"));
    let id = ContentHash::parse(call.found.param(0)).ok_or_else(bad)?.to_hex();
    let Some(manifest) = snapshots::manifest(db, &id).await? else {
        graph.get()?;
        return Err(ApiError::not_found("snapshot").into());
    };
    let mut etag = call.etag();
    etag.add(manifest.as_bytes());
    Ok(call.answer(etag, live.get()?.version, || format!("{{\"data\":{manifest}}}").into_bytes()))
}

/// The distinct keys of the parameter `vaults`.
fn keys(live: &LiveCatalog, text: &str) -> Result<BTreeSet<VaultKey>, ApiError> {
    let fault = |reason: String| Detail::new(In::Query, "vaults", reason);
    let texts: Vec<&str> = text.split(',').map(str::trim).collect();
    if texts.len() > MAX_KEYS {
        let reason = format!("must have at most {MAX_KEYS} keys");
        return Err(ApiError::invalid(ErrorCode::TooManyItems, vec![fault(reason)]));
    }
    let namespace = live.namespaces();
    let key = |text| VaultKey::parse_on(text, &namespace).ok_or(text);
    texts.into_iter().map(key).collect::<Result<_, _>>().map_err(|bad| {
        let shown: String = bad.chars().take(80).collect();
        ApiError::parameter(fault(format!(
            "contains {shown:?}, which is not <chain id>:<address> with the address in that chain's format"
        )))
    })
}
