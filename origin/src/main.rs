//! The `rds-origin` program. All its behaviour is in the library.

use clap::Parser;
use rds_origin::cli::{self, Cli};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: the async runtime could not be started: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(cli::run(cli));
    // This call does not wait for requests that are still running after the drain, or for reads of standard input.
    runtime.shutdown_background();
    code
}
