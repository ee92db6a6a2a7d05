//! The stage `dist` of the tests: builds the artefacts quickly and tries each as far as this machine can.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::json;

use super::{Options, build};
use crate::provision::cache::Cache;
use crate::provision::{self, python, require_node};
use crate::scratch::Scratch;
use crate::tally::Tally;
use crate::test::{counted, install_clients, node_tests, temporary_postgres};
use crate::workspace;

const CHECKS: [&str; 4] =
    ["dist/tarballs.check.mjs", "dist/images.check.mjs", "dist/manifests.check.mjs", "dist/machine.check.mjs"];
/// The document whose commands are tried on an empty machine.
const DOCUMENT: &str = include_str!("../../../deploy/README.md");

/// Builds the artefacts as `up` builds programs, and runs the checks. `is_alone`: no other stage was chosen, so the empty machine may take its
/// minutes.
pub fn run(cache: &Cache, tally: &mut Tally, is_alone: bool) -> Result<()> {
    require_node()?;
    let suite = workspace::root().join("e2e");
    install_clients(&suite)?;
    let proxies = provision::proxies::find(cache)?;
    let programs = json!(proxies.programs.into_iter().collect::<BTreeMap<_, _>>()).to_string();
    let kubernetes = python::environment(cache, "kubernetes-validate", &suite.join("dist/requirements.txt"))?;
    let machines = match is_alone {
        true => provision::machine::find(cache, first_command()?)?,
        false => json!({ "missing": "it takes minutes, so only `cargo xtask test dist` alone runs it" }),
    };
    let folder = Scratch::new(cache, "dist")?;
    let artefacts = build(cache, &Options::quick_into(folder.path.join("dist")))?;
    let (_folder, _postgres, url) = temporary_postgres(cache)?;
    let mut node = node_tests(&suite);
    node.args(CHECKS).env("RDS_DIST", artefacts).env("RDS_DATABASE_URL", url);
    node.env("RDS_PROXIES", programs).env("RDS_KUBERNETES", kubernetes).env("RDS_MACHINES", machines.to_string());
    if let Some(libraries) = proxies.libraries {
        node.env("RDS_PROXY_LIBS", libraries);
    }
    counted(node, tally)
}

/// The document's first command, which installs the container engine.
fn first_command() -> Result<&'static str> {
    let section = DOCUMENT.split_once("\n## From an empty machine\n").map(|(_, section)| section);
    let commands = section.and_then(|section| section.split_once("\n```sh\n")).map(|(_, commands)| commands);
    commands
        .and_then(|commands| commands.lines().next())
        .context("deploy/README.md has no commands for an empty machine")
}
