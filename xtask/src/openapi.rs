//! `cargo xtask openapi`: writes the OpenAPI document from the route table and the types, or checks the committed document.
//!
//! The generator is a separate crate, `rds-openapi`, so that starting the stack does not require building it.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;

use crate::{command, workspace};

const TIMEOUT: Duration = Duration::from_secs(1800);

/// Whether to write the document, and what to compare it with.
#[derive(Args, Clone, Debug, Default)]
pub struct Options {
    /// Write nothing; fail if the committed document differs from the generated one.
    #[arg(long)]
    pub check: bool,
    /// Also write the document to `openapi/released.json`, with which later versions are compared.
    #[arg(long, conflicts_with = "check")]
    pub release: bool,
    /// Check compatibility with this document instead of `openapi/released.json`.
    #[arg(long, value_name = "FILE", conflicts_with = "release")]
    pub against: Option<PathBuf>,
}

/// Writes or checks the document.
pub fn run(options: &Options) -> Result<()> {
    let status = command::stream(maker(options), TIMEOUT, |line| println!("{line}"))?;
    if !status.success() {
        bail!("the OpenAPI document is outdated, invalid or incompatible; see above");
    }
    Ok(())
}

/// The command that runs the generator.
pub fn maker(options: &Options) -> Command {
    let mut cargo = workspace::cargo();
    cargo.args(["run", "--locked", "--quiet", "--package", "rds-openapi", "--"]);
    if options.check {
        cargo.arg("--check");
    }
    if options.release {
        cargo.arg("--release");
    }
    if let Some(file) = &options.against {
        // Cargo runs the generator in the workspace's root folder, so a path relative to the caller's folder is made absolute.
        cargo.arg("--against").arg(std::path::absolute(file).unwrap_or_else(|_| file.clone()));
    }
    cargo
}
