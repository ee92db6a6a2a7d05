//! `cargo xtask world`: runs worlds one after the other, prints their figures, and fails if a bound does not hold.

use anyhow::bail;
use clap::Parser;
use rds_world::report::Report;
use rds_world::scenario::Scenario;
use rds_world::world::World;
use std::time::Instant;

#[derive(Parser)]
#[command(name = "cargo xtask world")]
struct Options {
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of seeds, one world each.
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Requests with a key in each world.
    #[arg(long, default_value_t = 20_000_000)]
    requests: u64,
    #[arg(long, default_value_t = 300)]
    edges: usize,
    /// Prints the whole log; for small worlds.
    #[arg(long)]
    log: bool,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let (mut requests, mut broken, begun) = (0, 0, Instant::now());
    for seed in options.seed..options.seed + options.seeds {
        let scenario = Scenario { is_logged: options.log, ..Scenario::large(seed, options.edges, options.requests) };
        let world = World::new(scenario)?;
        world.run();
        let report = Report::of(&world);
        if options.log {
            print!("{}", world.ether.journal.text());
        }
        println!("seed {seed}\n{}", report.text);
        for bound in &report.broken {
            println!("  BROKEN {bound}");
        }
        requests += report.requests;
        broken += report.broken.len();
    }
    let seconds = begun.elapsed().as_secs_f64();
    let pace = requests as f64 / seconds.max(0.001);
    println!("{requests} requests in {seconds:.0} s: {pace:.0} a second; 10^9 take {:.0} minutes", 1e9 / pace / 60.0);
    if broken > 0 {
        bail!("{broken} bounds do not hold");
    }
    Ok(())
}
