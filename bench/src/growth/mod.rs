//! `growth`: how fast each table grows, for `docs/handbook/growth.md` and `docs/handbook/sizing.md`.

pub mod decisions;
mod histories;
pub mod tables;

use anyhow::Result;
use clap::Args;
use xtask::console::heading;

use crate::parts::Only;
use crate::report::Report;

const PARTS: [&str; 2] = ["histories", "decisions"];
const METHOD: &str = "The simulated market is ingested hour by hour, each hour as one batch followed by its score run, into four databases: two numbers of vaults, \
    each for two numbers of days. The difference of two durations is what the days in between added, and the difference of that between the two numbers of vaults tells what a \
    vault adds from what a batch adds. Sizes are of tables with their indexes and large values after `VACUUM`, and are extrapolated to 10,000 vaults and 365 days. \
    Tables that grow by less than a megabyte or a thousand rows a year are not listed; of one that grew by a few pages the figure is uncertain. `decisions` sends checks of 20 positions to a running origin and has each one signed.";

/// Options of `growth`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Number of vaults of the smaller market; the larger one has twice as many.
    #[arg(long, default_value_t = 150)]
    vaults: u32,
    /// Days of the shorter history; the longer one has twice as many.
    #[arg(long, default_value_t = 10)]
    days: u32,
    #[command(flatten)]
    only: Only,
}

impl Default for Options {
    fn default() -> Self {
        Options { vaults: 150, days: 10, only: Only::default() }
    }
}

/// Measures the parts, prints the table, and writes it to the results.
pub fn run(options: &Options) -> Result<()> {
    let mut report = Report::default();
    for part in options.only.of("growth", PARTS)? {
        heading(&format!("\ngrowth: {part}"));
        match part {
            "histories" => histories::measure(options, &mut report)?,
            _ => decisions::measure(&mut report)?,
        }
    }
    println!("\n{}", report.table());
    if options.only.is_all() {
        report.write("growth", METHOD)?;
    }
    Ok(())
}
