//! The Rust library: packed by cargo, unpacked beside an empty project that depends on it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::TIMEOUT;
use crate::console::Step;
use crate::provision::require_node;
use crate::{command, workspace};

/// The manifest of the project. Its profile is the workspace's, so that crates compiled there are used again.
const MANIFEST: &str = r#"[package]
name = "installed"
version = "0.0.0"
edition = "2024"
publish = false

[workspace]

[dependencies]
risk-data-client = { path = "../LIBRARY" }
tokio = { version = "1", default-features = false, features = ["macros", "rt-multi-thread", "sync", "time"] }

[dev-dependencies]
base64 = { version = "0.22", default-features = false, features = ["alloc"] }
hmac = { version = "0.13", default-features = false }
serde = { version = "1", default-features = false, features = ["std"] }
serde_json = { version = "1", default-features = false, features = ["std"] }
sha2 = { version = "0.11", default-features = false }

[[test]]
name = "behaviours"
path = "SUITE"
harness = false

[profile.dev]
debug = "line-tables-only"
"#;

/// Packs the crate, unpacks it, builds the README's first example against it, and plays the behaviours with it.
pub fn suite(folder: &Path) -> Result<Command> {
    require_node()?;
    let root = workspace::root();
    let mut pack = workspace::cargo();
    // What is packed is built below, in a project; and a clone with changes can be tested, too.
    pack.args(["package", "--locked", "--no-verify", "--allow-dirty", "--package", "risk-data-client"]);
    pack.arg("--target-dir").arg(folder.join("packed"));
    step("pack the Rust library", pack, "cargo")?;
    let library = format!("risk-data-client-{}", env!("CARGO_PKG_VERSION"));
    let packed = folder.join("packed/package").join(format!("{library}.crate"));
    let mut unpack = Command::new("tar");
    unpack.arg("-xzf").arg(&packed).arg("-C").arg(folder);
    step("unpack the packed file", unpack, "tar")?;
    let project = folder.join("project");
    let sources = project.join("src");
    std::fs::create_dir_all(&sources).with_context(|| format!("cannot create {}", sources.display()))?;
    let suite = root.join("clients/rust/tests/behaviours/main.rs");
    let manifest = MANIFEST.replace("LIBRARY", &library).replace("SUITE", &suite.display().to_string());
    std::fs::write(project.join("Cargo.toml"), manifest)?;
    // The versions that the workspace uses.
    std::fs::copy(root.join("Cargo.lock"), project.join("Cargo.lock"))?;
    std::fs::write(sources.join("main.rs"), example(&folder.join(&library).join("README.md"))?)?;
    let mut cargo = workspace::cargo();
    cargo.current_dir(&project).args(["test", "--bins", "--test", "behaviours"]);
    cargo.env("CARGO_TARGET_DIR", target(&root)).env("RDS_REPOSITORY", &root);
    Ok(cargo)
}

/// The first example of the README, as a program.
fn example(readme: &Path) -> Result<String> {
    let text = std::fs::read_to_string(readme).with_context(|| format!("cannot read {}", readme.display()))?;
    let code = text.split("```rust,no_run\n").nth(1).and_then(|it| it.split("```").next());
    code.map(|it| format!("//! The README's first example.\n{it}")).context("the README has no example")
}

/// The workspace's target folder, with the crates that it compiled.
fn target(root: &Path) -> std::path::PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into)
}

fn step(name: &str, program: Command, log: &str) -> Result<()> {
    let mut step = Step::start(name);
    command::run(&mut step, program, &workspace::log(log), TIMEOUT)?;
    step.done("");
    Ok(())
}
