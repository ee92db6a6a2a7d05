//! `cargo xtask openapi`: writes the OpenAPI document from the route table and the types, and the schemas of ingest lines from the facts, or
//! checks the committed ones.
//!
//! The generator is a separate crate, `rds-openapi`, so that starting the stack does not require building it.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;

use crate::{clients, command, workspace};

const TIMEOUT: Duration = Duration::from_secs(1800);

/// Whether to write the document, and what to compare it with.
#[derive(Args, Clone, Debug, Default)]
pub struct Options {
    /// Write nothing; fail if the committed document differs from the generated one.
    #[arg(long)]
    pub check: bool,
    /// Also write the document to `openapi/released.json`, and what the client libraries offer to `clients/released.json`: later versions are
    /// compared with these.
    #[arg(long, conflicts_with = "check")]
    pub release: bool,
    /// Check compatibility with this document instead of `openapi/released.json`.
    #[arg(long, value_name = "FILE", conflicts_with = "release")]
    pub against: Option<PathBuf>,
}

/// Writes or checks the document.
pub fn run(options: &Options) -> Result<()> {
    for command in maker(options) {
        let status = command::stream(command, TIMEOUT, |line| println!("{line}"))?;
        if !status.success() {
            bail!("the OpenAPI document is outdated, invalid or incompatible; see above");
        }
    }
    if options.release { clients::record_release() } else { Ok(()) }
}

/// The commands that build the generator and run it.
pub fn maker(options: &Options) -> [Command; 2] {
    let (mut cargo, program) = workspace::program("rds-openapi");
    cargo.arg("--quiet");
    let mut maker = Command::new(program);
    maker.current_dir(workspace::root());
    if options.check {
        maker.arg("--check");
    }
    if options.release {
        maker.arg("--release");
    }
    if let Some(file) = &options.against {
        // The generator runs in the workspace's root folder, so a path relative to the caller's folder is made absolute.
        maker.arg("--against").arg(std::path::absolute(file).unwrap_or_else(|_| file.clone()));
    }
    [cargo, maker]
}
