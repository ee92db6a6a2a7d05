//! The TypeScript library: packed by npm, installed from the packed file.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::TIMEOUT;
use super::packing::only_file;
use crate::console::Step;
use crate::provision::cache::Cache;
use crate::provision::{self, require_node};
use crate::{command, workspace};

/// Packs the package, installs the packed file into an empty project, and tests it there.
pub fn suite(folder: &Path) -> Result<Command> {
    let project = install(folder)?;
    let source = workspace::root().join("clients/typescript");
    let mut node = Command::new("node");
    node.current_dir(source.join("test")).args(["--test", "--test-reporter=spec"]);
    node.args(["behaviours.test.mjs", "examples.test.mjs", "headers.test.mjs", "runtimes.test.mjs"]);
    node.env("RDS_CLIENT_PROJECT", &project);
    let cache = Cache::open()?;
    let browser = provision::browser::find(&cache)?;
    node.env("RDS_WORKERD", provision::npm::workerd(&cache)?).env("RDS_CHROMIUM", browser.program);
    node.envs(browser.libraries.map(|libraries| ("RDS_CHROMIUM_LIBS", libraries)));
    node.envs(browser.fonts.map(|fonts| ("FONTCONFIG_PATH", fonts)));
    Ok(node)
}

/// Packs the package and installs the packed file into an empty project below `folder`, whose path it returns.
///
/// # Errors
/// If npm fails.
pub fn install(folder: &Path) -> Result<PathBuf> {
    require_node()?;
    let source = workspace::root().join("clients/typescript");
    npm(&source, "npm packages of the TypeScript library", |npm| npm.args(["ci", "--ignore-scripts"]))?;
    npm(&source, "pack the TypeScript library", |npm| npm.args(["pack", "--pack-destination"]).arg(folder))?;
    let packed = only_file(folder, "tgz")?;
    let project = folder.join("project");
    std::fs::create_dir(&project).with_context(|| format!("cannot create {}", project.display()))?;
    std::fs::write(project.join("package.json"), "{\"private\": true, \"type\": \"module\"}\n")?;
    npm(&project, "install the packed file", |npm| npm.args(["install", "--ignore-scripts"]).arg(&packed))?;
    Ok(project)
}

fn npm(folder: &Path, name: &str, with: impl FnOnce(&mut Command) -> &mut Command) -> Result<()> {
    let mut step = Step::start(name);
    let mut npm = Command::new("npm");
    with(npm.current_dir(folder)).args(["--no-audit", "--no-fund", "--loglevel=error"]);
    command::run(&mut step, npm, &workspace::log("npm"), TIMEOUT)?;
    step.done("");
    Ok(())
}
