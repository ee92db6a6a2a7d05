//! `rds`: the Risk Data Service on the command line.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::indexing_slicing)
)]

mod check;
mod command;
mod connection;
mod failure;
mod json;
mod key;
mod listen;
mod output;
mod portfolio;
mod read;
mod signers;
mod verify;
mod watch;

use clap::ArgMatches;
use clap::error::ErrorKind;
use failure::Failure;
use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let matches = match command::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            _ = error.print();
            let is_help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // 2 is the code of a check's caution, so a wrong command line is 1 like every other error.
            return if is_help { ExitCode::SUCCESS } else { ExitCode::from(failure::ERROR) };
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = runtime.map_err(Failure::from).and_then(|runtime| runtime.block_on(run(&matches)));
    _ = std::io::stdout().flush();
    match outcome {
        Ok(code) => ExitCode::from(code),
        // The reader has what it wanted: `rds … | head`.
        Err(Failure::PipeClosed) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("rds: {failure}");
            ExitCode::from(failure::ERROR)
        }
    }
}

/// Does what the command line says, and returns the exit code.
async fn run(matches: &ArgMatches) -> Result<u8, Failure> {
    match matches.subcommand() {
        Some(("watch", given)) => watch::run(given).await,
        Some(("check", given)) => check::run(given).await,
        Some(("verify", given)) => verify::run(given).await,
        Some(("completions", given)) => command::completions(given),
        Some(("man", given)) => command::man(given),
        Some((resource, given)) => match given.subcommand() {
            Some(("listen", given)) if resource == "webhooks" => listen::run(given).await,
            Some((method, given)) => read::run(command::operation(resource, method)?, given).await,
            None => Err(Failure::Usage("no command".into())),
        },
        None => Err(Failure::Usage("no command".into())),
    }
}
