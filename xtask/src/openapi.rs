//! `cargo xtask openapi`: the OpenAPI document, made from the route table and the types, or checked.
//!
//! What makes it is the crate `rds-openapi`, so that nobody who only starts the stack has to build it.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;

use crate::{command, workspace};

const PATIENCE: Duration = Duration::from_secs(1800);

/// Whether to write, and what to compare with.
#[derive(Args, Clone, Debug, Default)]
pub struct Options {
    /// Write nothing; fail when the committed document is not what the code makes.
    #[arg(long)]
    pub check: bool,
    /// Make this document the one that later ones are compared with: `openapi/released.json`.
    #[arg(long, conflicts_with = "check")]
    pub release: bool,
    /// Refuse what would break a client of this document, instead of the last release's.
    #[arg(long, value_name = "FILE", conflicts_with = "release")]
    pub against: Option<PathBuf>,
}

/// Writes or checks the document, and says what is wrong.
pub fn run(options: &Options) -> Result<()> {
    let status = command::stream(maker(options), PATIENCE, |line| println!("{line}"))?;
    if !status.success() {
        bail!("the OpenAPI document is not in order");
    }
    Ok(())
}

/// The program that makes the document.
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
        // Cargo runs it in the workspace's folder, and the caller may stand elsewhere.
        cargo.arg("--against").arg(std::path::absolute(file).unwrap_or_else(|_| file.clone()));
    }
    cargo
}
