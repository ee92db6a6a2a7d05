//! `bench/bare-js`: the least that a JavaScript Worker can do.

use anyhow::Result;
use xtask::provision::cache::Cache;
use xtask::workspace;

use super::js_worker::{JsWorker, Plan, folder, place};

/// One that answers with the same bytes, whoever asks for whatever.
pub fn constant(cache: &Cache, body: &[u8]) -> Result<JsWorker> {
    start(cache, "the bare Worker", "bare", &[("BODY", String::from_utf8(body.to_vec())?)], None)
}

/// The same behind one call of a Durable Object that does nothing: the least that counting in an object costs.
pub fn behind_an_object(cache: &Cache, body: &[u8]) -> Result<JsWorker> {
    let body = String::from_utf8(body.to_vec())?;
    start(cache, "the bare Worker with an object", "bare-object", &[("BODY", body)], Some(("OBJECTS", "Nothing")))
}

/// One that hands every request on.
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
