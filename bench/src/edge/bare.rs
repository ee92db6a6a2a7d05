//! Starts the minimal JavaScript Workers of `bench/bare-js`.

use anyhow::Result;
use xtask::provision::cache::Cache;
use xtask::workspace;

use super::js_worker::{JsWorker, Plan, folder, place};

/// A Worker that answers every request with the same bytes.
pub fn constant(cache: &Cache, body: &[u8]) -> Result<JsWorker> {
    start(cache, "the bare Worker", "bare", &[("BODY", String::from_utf8(body.to_vec())?)], None)
}

/// Like [`constant`], after one call of an empty Durable Object: the minimum cost of counting in a Durable Object.
pub fn behind_an_object(cache: &Cache, body: &[u8]) -> Result<JsWorker> {
    let body = String::from_utf8(body.to_vec())?;
    start(cache, "the bare Worker with an object", "bare-object", &[("BODY", body)], Some(("OBJECTS", "Nothing")))
}

/// A Worker that forwards every request unchanged to `origin`.
pub fn forwarder(cache: &Cache, origin: String) -> Result<JsWorker> {
    start(cache, "the bare forwarder", "forwarder", &[("ORIGIN_URL", origin)], None)
}

fn start(
    cache: &Cache,
    name: &'static str,
    short: &str,
    variables: &[(&'static str, String)],
    object: Option<(&'static str, &'static str)>,
) -> Result<JsWorker> {
    let folder = folder(short)?;
    place(&workspace::root().join("bench/bare-js/worker.mjs"), &folder)?;
    JsWorker::start(cache, &Plan { name, folder, variables, object })
}
