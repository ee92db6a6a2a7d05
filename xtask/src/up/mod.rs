//! `cargo xtask up`: runs the whole service on this machine until Ctrl-C.

pub mod chain;
pub mod data;
pub mod edge;
pub mod keys;
pub mod origin;
pub mod ports;
pub mod postgres;
pub mod probe;
pub mod roles;
pub mod shipped_edge;
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
    /// Trace every request and job, and send the traces to the OpenTelemetry collector at this address.
    #[arg(long, value_name = "URL")]
    pub traces: Option<String>,
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
            traces: None,
        }
    }
}

impl Options {
    /// Refuses what does not go together with `--chain`.
    pub fn check(&self) -> Result<()> {
        if !self.chain {
            return Ok(());
        }
        if let Some(Data::None | Data::Folder(_)) = self.data {
            bail!("--chain needs the demo market, to which its vaults belong; leave out --data, or use --data demo");
        }
        if self.test_clock {
            bail!("--chain and --test-clock exclude each other: blocks have the time of this machine");
        }
        if std::env::var_os(chain::PROVIDERS).is_some() {
            bail!("{} is set, but --chain writes a file of its own; unset one of them", chain::PROVIDERS);
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut Options)) -> String {
        let mut options = Options { chain: true, data: None, ..Options::in_folder(PathBuf::new()) };
        change(&mut options);
        options.check().err().map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn what_excludes_a_chain_is_named() {
        assert_eq!(refused(|_| {}), "");
        assert_eq!(refused(|options| options.data = Some(Data::Demo)), "");
        for data in [Data::None, Data::Folder(PathBuf::from("sets"))] {
            assert!(refused(|options| options.data = Some(data.clone())).contains("--data demo"), "{data:?}");
        }
        assert!(refused(|options| options.test_clock = true).contains("--test-clock"));
        let without_chain = |options: &mut Options| (options.chain, options.test_clock) = (false, true);
        assert_eq!(refused(without_chain), "");
    }
}
