//! The programs that build the Worker bundle and the verifier, with versions and hashes from `xtask/locks`, and the JavaScript that
//! wasm-bindgen adds to the result.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::document::{Component, Kind, Scope};
use crate::provision::{locks, npm, tools};
use crate::workspace::hex;

/// Licence of [`tools::BINDINGS`]. Cargo's lock files contain no licences, so it is copied from the manifest.
const BINDINGS_LICENCE: &str = "MIT OR Apache-2.0";

/// Tools that build the verifier, in addition to rustc.
pub fn of_verifier() -> Result<Vec<Component>> {
    // The crate of wasm-bindgen that it calls is a component of the result, see `bindings`.
    let mut all = vec![Component::new(Kind::Application, "rds-bindgen", None).licence("Apache-2.0")];
    all.extend(from_npm("binaryen")?);
    Ok(all)
}

/// Tools that build the Worker bundle, in addition to those of the verifier.
pub fn of_worker() -> Result<Vec<Component>> {
    from_npm("esbuild")
}

/// The JavaScript that wasm-bindgen generates for a module: the crate that generates it, as locked for `xtask/bindgen`.
pub fn bindings() -> Result<Component> {
    let (lock, package) = (tools::bindgen_lock()?, tools::BINDINGS);
    let version = locks::version_of(&lock, package)?;
    let checksum = locks::checksum_of(&lock, package, version).with_context(|| format!("{package} has no hash"))?;
    let mut component = Component::new(Kind::Library, package, version).licence(BINDINGS_LICENCE).published("cargo");
    component.description = Some("The JavaScript around a wasm module: generated from templates of this crate.");
    Ok(component.hash("SHA-256", checksum.to_owned()))
}

/// Every package that an npm program's lock file pins, for all platforms.
fn from_npm(program: &str) -> Result<Vec<Component>> {
    let lock: Value = serde_json::from_str(&npm::lock(program)?)?;
    let packages = lock["packages"].as_object().context("the lock file has no `packages`")?;
    let pinned = packages.iter().filter_map(|(path, package)| Some((path.rsplit_once("node_modules/")?.1, package)));
    pinned.map(|(name, package)| from_package(name, package).with_context(|| format!("lock entry of {name}"))).collect()
}

fn from_package(name: &str, package: &Value) -> Result<Component> {
    let text = |field: &str| package[field].as_str().with_context(|| format!("no {field}"));
    let integrity = text("integrity")?.strip_prefix("sha512-").context("`integrity` is not a SHA-512 hash")?;
    let digest = STANDARD.decode(integrity).ok().context("`integrity` is not Base64")?;
    let mut component = Component::new(Kind::Application, name, text("version")?).licence(text("license")?);
    if package["optional"] == true {
        component.scope = Scope::Optional;
    }
    Ok(component.published("npm").hash("SHA-512", hex(&digest)))
}
