//! `cargo xtask bench [NAME]`: builds everything that is measured and runs `rds-bench`.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;

use crate::console::{Step, heading};
use crate::provision::cache::Cache;
use crate::provision::{self, npm, peers, proxies, tools};
use crate::up::origin;
use crate::{command, wasm, workspace};

const TIMEOUT: Duration = Duration::from_secs(3600);

/// Which benchmark to run.
#[derive(Args, Debug)]
pub struct Options {
    /// A benchmark by name, such as `reads`, or `all` for every benchmark except `soak`.
    #[arg(default_value = "all")]
    name: String,
    /// Arguments passed to the benchmark unchanged.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Builds everything first, so that no benchmark waits for a compiler, then runs `rds-bench`.
pub fn run(options: &Options) -> Result<()> {
    heading("Provision and build");
    let cache = Cache::open()?;
    if options.name != "clients" {
        provision::postgres::find(&cache)?;
    }
    let wanted = |name: &str| options.name == "all" || options.name == name;
    // These measure the origin or the libraries alone.
    if !["chain", "clients", "push"].contains(&options.name.as_str()) {
        npm::workerd(&cache)?;
        wasm::build(&cache)?;
        wasm::build_unmetered(&cache)?;
    }
    if wanted("edge") {
        npm::hono(&cache)?;
        proxies::find(&cache)?;
    }
    if wanted("push") {
        peers::nchan(&cache)?;
        peers::durable_streams(&cache)?;
        tools::clear_build_folder(&cache)?;
    }
    if wanted("origin") {
        peers::fastify(&cache)?;
        peers::fastapi(&cache)?;
    }
    if wanted("chain") {
        npm::anvil(&cache)?;
        npm::viem(&cache)?;
        peers::build_alloy()?;
    }
    if options.name != "clients" {
        origin::build(origin::Profile::Release)?;
    }
    let mut step = Step::start("rds-bench");
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--locked", "--release", "--package", "rds-bench"]);
    command::run(&mut step, cargo, &workspace::log("bench"), TIMEOUT)?;
    step.done("built");

    heading("Measure");
    let mut bench = std::process::Command::new(workspace::target().join("release/rds-bench"));
    bench.current_dir(workspace::root()).arg(&options.name).args(&options.rest).stdin(Stdio::null());
    command::end_with_parent(&mut bench, rustix::process::Signal::TERM);
    let status = bench.status()?;
    if !status.success() {
        bail!("rds-bench ended with {status}");
    }
    Ok(())
}
