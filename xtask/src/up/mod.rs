//! `cargo xtask up`: runs the whole service on this machine until Ctrl-C.

pub mod chain;
pub mod data;
pub mod edge;
pub mod keys;
pub mod origin;
pub mod ports;
pub mod postgres;
pub mod probe;
pub mod stack;
pub mod state;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use crate::signals;
use data::Data;
use ports::Ports;
use stack::Stack;

/// Browser origins that may call this stack directly: usual addresses of a front end in development.
pub const FIRST_PARTY: &str = "http://localhost:3000,http://127.0.0.1:3000";

/// What to start, and how.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Data to load: `demo`, `none`, or a folder of data sets. By default an empty database gets the
    /// demo market and a filled one is kept.
    #[arg(long, value_name = "demo|none|DIR", value_parser = data::parse)]
    pub data: Option<Data>,
    /// Folder for the stack's data, logs and secrets.
    #[arg(long, value_name = "DIR", default_value = ".state")]
    pub state: PathBuf,
    /// Port of the edge; the origin's listeners use the next three.
    #[arg(long, value_name = "N", default_value_t = 8787)]
    pub port: u16,
    /// Also start a local chain with vaults that change every ten seconds, and read them from it. Needs the demo market.
    #[arg(long)]
    pub chain: bool,
    /// Delete the stack's data first.
    #[arg(long)]
    pub fresh: bool,
    /// Allow setting the service's clock through the admin listener.
    #[arg(long)]
    pub test_clock: bool,
    /// Allow webhook targets in this non-public network. Repeatable.
    #[arg(long, value_name = "CIDR")]
    pub webhook_allow: Vec<String>,
    /// PEM file with an additional certificate authority that is trusted for webhook targets.
    #[arg(long, value_name = "FILE")]
    pub webhook_ca: Option<PathBuf>,
    /// Run without a decision signing key.
    #[arg(long)]
    pub no_signing: bool,
    /// Runtime of the edge.
    #[arg(long, value_enum, default_value_t = Edge::Workerd)]
    pub edge: Edge,
    /// Compile origin and Worker as they are deployed, which takes minutes longer.
    #[arg(long)]
    pub release: bool,
}

impl Options {
    /// Options of a stack in the folder `state`, without data. The program that starts the stack chooses the ports, so `port` is unused.
    pub fn in_folder(state: PathBuf) -> Self {
        Options {
            release: false,
            data: Some(Data::None),
            state,
            port: 0,
            chain: false,
            fresh: false,
            test_clock: false,
            webhook_allow: Vec::new(),
            webhook_ca: None,
            no_signing: false,
            edge: Edge::Workerd,
        }
    }
}

/// Runtime of the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Edge {
    /// The Worker, on workerd.
    Workerd,
    /// No edge: only Postgres and the origin are started.
    None,
}

/// Starts the stack, prints its addresses, and watches it until a stop is requested.
pub fn run(options: &Options) -> Result<()> {
    let mut stack = Stack::start(options, Ports::from(options.port)?)?;
    stack.describe();
    let outcome = stack.watch();
    stack.stop();
    outcome?;
    if !signals::interrupted() {
        bail!("the stack stopped although no stop was requested");
    }
    Ok(())
}
