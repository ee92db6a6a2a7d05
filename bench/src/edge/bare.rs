//! Starts the minimal JavaScript Workers of `bench/bare-js`.

use anyhow::Result;
use xtask::provision::cache::Cache;
use xtask::workspace;

use super::js_worker::{JsWorker, Plan, folder, place};

/// A Worker that answers every request with the same bytes.
pub fn constant(cache: &Cache, body: &[u8]) -> Result<JsWorker> {
    let variables = [("BODY", String::from_utf8(body.to_vec())?)];
    JsWorker::start(cache, &plan("the bare Worker", "bare", &variables, None)?)
}

/// An empty Worker: like [`constant`] with two bytes. It writes V8's garbage collections to its log.
pub fn empty(cache: &Cache) -> Result<JsWorker> {
    let variables = [("BODY", "{}".to_owned())];
    let plan = plan("the empty Worker", "empty", &variables, None)?;
    JsWorker::start(cache, &Plan { traces_collections: true, ..plan })
}

/// Like [`constant`], after one call of an empty Durable Object: the minimum cost of counting in a Durable Object.
pub fn behind_an_object(cache: &Cache, body: &[u8]) -> Result<JsWorker> {
    let variables = [("BODY", String::from_utf8(body.to_vec())?)];
    let object = Some(("OBJECTS", "Nothing"));
    JsWorker::start(cache, &plan("the bare Worker with an object", "bare-object", &variables, object)?)
}

/// A Worker that forwards every request unchanged to `origin`.
pub fn forwarder(cache: &Cache, origin: String) -> Result<JsWorker> {
    let variables = [("ORIGIN_URL", origin)];
    JsWorker::start(cache, &plan("the bare forwarder", "forwarder", &variables, None)?)
}

fn plan<'a>(
    name: &'static str,
    short: &str,
    variables: &'a [(&'static str, String)],
    object: Option<(&'static str, &'static str)>,
) -> Result<Plan<'a>> {
    let folder = folder(short)?;
    place(&workspace::root().join("bench/bare-js/worker.mjs"), &folder)?;
    Ok(Plan { name, folder, variables, object, traces_collections: false })
}
