//! The self-hosted edge as the product ships it (`deploy/workerd`): its configuration, its cache service and the folder of a release.

use std::path::Path;

use anyhow::Result;

use super::edge::place;
use crate::wasm::Bundle;

/// A service for workerd's cache protocol, because plain workerd has no cache.
pub const CACHE_STORE: &str = include_str!("../../../deploy/workerd/cache-store.mjs");
/// The configuration that the product ships, with which `up` starts the edge. It takes every variable from the environment.
pub const CONFIGURATION: &str = include_str!("../../../deploy/workerd/worker.capnp");

/// Writes the folder of a release: the bundle, the shipped configuration and the cache service.
pub fn lay_out(folder: &Path, bundle: &Bundle) -> Result<()> {
    place(folder, bundle)?;
    std::fs::write(folder.join("cache-store.mjs"), CACHE_STORE)?;
    std::fs::write(folder.join("worker.capnp"), CONFIGURATION)?;
    Ok(())
}

/// The variables that the shipped configuration takes from the environment.
pub fn variables() -> impl Iterator<Item = &'static str> {
    CONFIGURATION.lines().filter_map(|line| line.split_once("fromEnvironment = \"")?.1.split('"').next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::up::edge::{Binding, DURABLE_OBJECTS, Worker, compatibility_date, render};
    use crate::workspace;

    #[test]
    fn the_shipped_configuration_is_that_of_the_stacks_of_tests_with_every_variable_of_the_worker() {
        let date = compatibility_date().unwrap();
        let bindings: Vec<_> = variables().map(|name| Binding::secret(name, "")).collect();
        let worker = Worker {
            bindings: &bindings,
            durable_objects: DURABLE_OBJECTS,
            port: 8787,
            twin: None,
            compatibility_date: &date,
            folder: "",
        };
        let code = |text: &str| -> Vec<String> {
            let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim().to_owned());
            lines.filter(|line| !line.is_empty()).collect()
        };
        let rendered = render(&worker, &["entry.mjs", "build/index.js", "build/index_bg.wasm"]);
        assert_eq!(code(CONFIGURATION), code(&rendered));

        let table = std::fs::read_to_string(workspace::root().join("edge/src/config.rs")).unwrap();
        let known: Vec<_> = table.lines().filter_map(|line| line.strip_prefix("//! | `")?.split('`').next()).collect();
        let sorted = |mut names: Vec<String>| {
            names.sort();
            names
        };
        let names = sorted(variables().map(str::to_owned).collect());
        assert_eq!(names, sorted(known.into_iter().map(str::to_owned).collect()));
    }
}
