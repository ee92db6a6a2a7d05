//! The command line: `cargo xtask <verb>`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::{
    bench, clients, dist, fuzz, histories, lint, models, mutants, openapi, sbom, signals, test, up, wasm, world,
};

/// Runs, tests and measures the Risk Data Service.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Start Postgres, the origin and the edge, with data, until Ctrl-C.
    Up(up::Options),
    /// Run every test, or some stages. The exit code is 0 only if all pass.
    Test(test::Options),
    /// Check formatting, clippy (host and wasm), dependencies, the OpenAPI document and the rules for source files.
    Lint,
    /// Write the OpenAPI document from the route table and the types, or check the committed document.
    Openapi(openapi::Options),
    /// Generate the client libraries' methods and types, check that they are current, or test the packed libraries.
    Clients(clients::Options),
    /// Build the Worker bundle and print its sizes.
    Wasm,
    /// Write the bills of materials of the origin, the Worker bundle and the pages (CycloneDX).
    Sbom(sbom::Options),
    /// Build the artefacts of a release: tarballs, container images, bills of materials, provenance, checksums.
    Dist(dist::Options),
    /// Fuzz every parser of untrusted input, ten minutes each by default.
    Fuzz(fuzz::Options),
    /// Change the code in small ways and count the changes that no test notices; with --changed, only in changed lines.
    Mutants(mutants::Options),
    /// Explore the models of what must never happen, or check that planted faults are found.
    Models(models::Options),
    /// Simulate 300 edges over the edge's own code, and check limits, revocations and staleness.
    World(world::Options),
    /// Judge the histories that a fault campaign wrote down with a linearizability checker.
    #[command(hide = true)]
    Histories(histories::Options),
    /// Run every benchmark except `soak`, or only the one with this name. Some also measure other servers for comparison.
    Bench(bench::Options),
}

fn main() -> ExitCode {
    if let Err(error) = signals::install() {
        eprintln!("cannot install the signal handlers: {error:#}");
        return ExitCode::FAILURE;
    }
    let outcome = match Cli::parse().verb {
        Verb::Up(options) => up::run(&options),
        Verb::Test(options) => test::run(&options),
        Verb::Lint => lint::run(),
        Verb::Openapi(options) => openapi::run(&options),
        Verb::Clients(options) => clients::run(&options),
        Verb::Wasm => wasm::run(),
        Verb::Sbom(options) => sbom::run(&options),
        Verb::Dist(options) => dist::run(&options),
        Verb::Fuzz(options) => fuzz::run(&options),
        Verb::Mutants(options) => mutants::run(&options),
        Verb::Models(options) => models::run(&options),
        Verb::World(options) => world::run(&options),
        Verb::Histories(options) => histories::run(&options),
        Verb::Bench(options) => bench::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) if signals::interrupted() => {
            eprintln!("interrupted");
            ExitCode::from(130)
        }
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}
