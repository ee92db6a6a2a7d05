//! `cargo xtask world`: simulated worlds over the edge's own code. The crate `world` says what happens in them.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;

use crate::{command, workspace};

/// The longest run: a night.
const TIMEOUT: Duration = Duration::from_secs(43_200);

/// Which worlds to run.
#[derive(Args, Debug)]
pub struct Options {
    /// The first seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Number of seeds, one world each.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: u64,
    /// Requests with a key in each world.
    #[arg(long, value_name = "N", default_value_t = 20_000_000)]
    requests: u64,
    #[arg(long, value_name = "N", default_value_t = 300)]
    edges: usize,
}

/// Runs the worlds and prints their figures. Fails if a bound does not hold.
pub fn run(options: &Options) -> Result<()> {
    let mut cargo = workspace::cargo();
    cargo.args(["run", "--locked", "--quiet", "--profile", "world", "--package", "rds-world", "--"]);
    for (name, value) in [("seed", options.seed), ("seeds", options.seeds), ("requests", options.requests)] {
        cargo.arg(format!("--{name}={value}"));
    }
    cargo.arg(format!("--edges={}", options.edges));
    let status = command::stream(cargo, TIMEOUT, |line| println!("{line}"))?;
    if !status.success() {
        bail!("a bound does not hold");
    }
    Ok(())
}
