//! The stage `dist` of the tests: builds the artefacts quickly and tries each as far as this machine can.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::json;

use super::{Options, build};
use crate::provision::cache::Cache;
use crate::provision::{self, python, require_node};
use crate::scratch::Scratch;
use crate::tally::Tally;
use crate::test::{counted, install_clients, node_tests, temporary_postgres};
use crate::workspace;

const CHECKS: [&str; 3] = ["dist/tarballs.check.mjs", "dist/images.check.mjs", "dist/manifests.check.mjs"];

/// Builds the artefacts as `up` builds programs, and runs the checks.
pub fn run(cache: &Cache, tally: &mut Tally) -> Result<()> {
    require_node()?;
    let suite = workspace::root().join("e2e");
    install_clients(&suite)?;
    let proxies = provision::proxies::find(cache)?;
    let programs = json!(proxies.programs.into_iter().collect::<BTreeMap<_, _>>()).to_string();
    let kubernetes = python::environment(cache, "kubernetes-validate", &suite.join("dist/requirements.txt"))?;
    let folder = Scratch::new(cache, "dist")?;
    let artefacts = build(cache, &Options::quick_into(folder.path.join("dist")))?;
    let (_folder, _postgres, url) = temporary_postgres(cache)?;
    let mut node = node_tests(&suite);
    node.args(CHECKS).env("RDS_DIST", artefacts).env("RDS_DATABASE_URL", url);
    node.env("RDS_PROXIES", programs).env("RDS_KUBERNETES", kubernetes);
    if let Some(libraries) = proxies.libraries {
        node.env("RDS_PROXY_LIBS", libraries);
    }
    counted(node, tally)
}
