//! `cargo xtask up`: the whole service on this machine, by one command, until Ctrl-C.

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

/// Browser origins that may call this stack directly: the addresses a front end is developed on.
pub const FIRST_PARTY: &str = "http://localhost:3000,http://127.0.0.1:3000";

/// What to start, and how.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// What to load: `demo`, `none`, or a folder of data sets. Without it, an empty database gets
    /// the demo market and a filled one keeps what it has.
    #[arg(long, value_name = "demo|none|DIR", value_parser = data::parse)]
    pub data: Option<Data>,
    /// Where the stack keeps its data, logs and secrets.
    #[arg(long, value_name = "DIR", default_value = ".state")]
    pub state: PathBuf,
    /// The edge's port; the origin's doors take the next three.
    #[arg(long, value_name = "N", default_value_t = 8787)]
    pub port: u16,
    /// Delete the stack's data first.
    #[arg(long)]
    pub fresh: bool,
    /// Let the admin door set the service's clock.
    #[arg(long)]
    pub test_clock: bool,
    /// Accept webhook targets in this network, which is otherwise refused as non-public. Repeatable.
    #[arg(long, value_name = "CIDR")]
    pub webhook_allow: Vec<String>,
    /// A PEM file with an extra authority trusted for webhook targets.
    #[arg(long, value_name = "FILE")]
    pub webhook_ca: Option<PathBuf>,
    /// Run without a decision signing key.
    #[arg(long)]
    pub no_signing: bool,
    /// What answers on the edge's port.
    #[arg(long, value_enum, default_value_t = Edge::Workerd)]
    pub edge: Edge,
    /// Compile the origin as it is deployed, which takes minutes more.
    #[arg(long)]
    pub release: bool,
}

impl Options {
    /// A whole stack for a program to start, which chooses its ports: in `state`, without data.
    pub fn in_folder(state: PathBuf) -> Self {
        Options {
            release: false,
            data: Some(Data::None),
            state,
            port: 0,
            fresh: false,
            test_clock: false,
            webhook_allow: Vec::new(),
            webhook_ca: None,
            no_signing: false,
            edge: Edge::Workerd,
        }
    }
}

/// The host of the Worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Edge {
    /// The real runtime.
    Workerd,
    /// Nothing: only Postgres and the origin are started.
    None,
}

/// Starts everything, prints where it is, and watches it until a stop is asked for.
pub fn run(options: &Options) -> Result<()> {
    let mut stack = Stack::start(options, Ports::from(options.port)?)?;
    stack.describe();
    let outcome = stack.watch();
    stack.stop();
    outcome?;
    if !signals::interrupted() {
        bail!("the stack ended by itself");
    }
    Ok(())
}
