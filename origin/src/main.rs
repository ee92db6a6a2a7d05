//! `rds-origin`: the program. Everything it does is in the library.

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
            eprintln!("error: no runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(cli::run(cli));
    // Requests that outlived the drain, and reads of standard input, are not waited for.
    runtime.shutdown_background();
    code
}
