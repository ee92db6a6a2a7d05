//! The programs that build the Worker bundle and the verifier, at the versions and hashes of `xtask/locks`, and the JavaScript that
//! one of them adds to the result.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::document::{Component, Kind, Scope};
use crate::provision::{locks, npm, tools};
use crate::workspace::hex;

/// Lock files of crates name no licences; these are those of the manifests.
const WASM_BINDGEN: (&str, &str) = ("wasm-bindgen-cli", "MIT OR Apache-2.0");
/// The crate of wasm-bindgen's program that writes the JavaScript around a module.
const BINDINGS: (&str, &str) = ("wasm-bindgen-cli-support", "MIT OR Apache-2.0");

/// What builds the verifier, beside rustc.
pub fn of_verifier() -> Result<Vec<Component>> {
    let mut all = vec![from_crate(WASM_BINDGEN.0, WASM_BINDGEN, Kind::Application)?];
    all.extend(from_npm("binaryen")?);
    Ok(all)
}

/// What builds the Worker bundle, beside that.
pub fn of_worker() -> Result<Vec<Component>> {
    from_npm("esbuild")
}

/// The JavaScript that wasm-bindgen writes around a module.
pub fn bindings() -> Result<Component> {
    let mut component = from_crate(WASM_BINDGEN.0, BINDINGS, Kind::Library)?;
    component.description = Some("The JavaScript around a wasm module: generated from templates of this crate.");
    Ok(component)
}

/// A package in the lock of a tool.
fn from_crate(tool: &str, (package, licence): (&str, &str), kind: Kind) -> Result<Component> {
    let lock = tools::lock(tool)?;
    let version = locks::version_of(&lock, package)?;
    let checksum = locks::checksum_of(&lock, package, version).with_context(|| format!("{package} has no hash"))?;
    Ok(Component::new(kind, package, version).licence(licence).published("cargo").hash("SHA-256", checksum.to_owned()))
}

/// Every package that the lock of an npm program pins, for each platform.
fn from_npm(program: &str) -> Result<Vec<Component>> {
    let lock: Value = serde_json::from_str(&npm::lock(program)?)?;
    let packages = lock["packages"].as_object().context("a lock without packages")?;
    let pinned = packages.iter().filter_map(|(path, package)| Some((path.rsplit_once("node_modules/")?.1, package)));
    pinned.map(|(name, package)| from_package(name, package).with_context(|| format!("{name} in its lock"))).collect()
}

fn from_package(name: &str, package: &Value) -> Result<Component> {
    let text = |field: &str| package[field].as_str().with_context(|| format!("no {field}"));
    let integrity = text("integrity")?.strip_prefix("sha512-").context("no SHA-512")?;
    let digest = STANDARD.decode(integrity).ok().context("a hash that is not Base64")?;
    let mut component = Component::new(Kind::Application, name, text("version")?).licence(text("license")?);
    if package["optional"] == true {
        component.scope = Scope::Optional;
    }
    Ok(component.published("npm").hash("SHA-512", hex(&digest)))
}
