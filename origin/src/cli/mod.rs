//! The operator's command line.
//!
//! Results go to standard output, as text or with `--json` as one JSON value; logs and progress go to standard error.

mod baskets;
mod chain;
mod credentials;
mod doctor;
mod drill;
mod edge;
mod events;
mod evidence;
mod facts;
mod fail_safe;
mod graph;
mod ingest;
mod journal;
mod program;
mod research;
mod security;
mod serve;
mod signers;
mod webhooks;

use crate::config::{self, DatabaseConfig};
use crate::crash_dump;
use crate::telemetry;
use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use rds_engine::clock::Clock;
use rds_simulate::Options;
use rds_store::push::journal::{self as numbers, Cause};
use rds_store::{self as store, Db};
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// The Risk Data Service's origin.
#[derive(Debug, Parser)]
#[command(name = "rds-origin", version, about, propagate_version = true)]
pub struct Cli {
    /// Print results as JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the service on its three listeners until a stop signal arrives.
    Serve,
    /// Apply the pending schema migrations to the database, and grant the roles of `deploy/postgres/roles.sql` their rights.
    Migrate(facts::Migrate),
    /// Check configuration, database, schema and credentials; print one line for each check.
    Doctor,
    /// Ask the service on this machine whether it is ready; fails if it is not.
    Ready,
    /// Restore the newest backup into a database of its own, verify it, and drop it.
    Drill(drill::Drill),
    /// Import the data sets in a folder.
    Import(Import),
    /// Ingest observations, one JSON object a line: all of them or none. Also checks them, and prints their schemas.
    Ingest(ingest::Ingest),
    /// Fill the devnet chain with an invented market and its history.
    Simulate(Simulate),
    /// Answers to the questionnaire: check and compare files, and list what is open.
    #[command(subcommand)]
    Evidence(evidence::Evidence),
    /// Chains that facts are read from.
    #[command(subcommand)]
    Chain(chain::Chain),
    /// Publish, retract, promote or draft events.
    #[command(subcommand)]
    Events(Events),
    /// Score the vaults.
    #[command(subcommand)]
    Score(Score),
    /// Set or show the fail-safe mode: scores are current, frozen, or not served.
    #[command(subcommand)]
    Failsafe(fail_safe::FailSafe),
    /// Backtests and predictions of the service's own scores.
    #[command(subcommand)]
    Research(research::Research),
    /// Snapshots of the exposure graph.
    #[command(subcommand)]
    Graph(Graph),
    /// Baskets and their versions.
    #[command(subcommand)]
    Baskets(baskets::Baskets),
    /// The security registry.
    #[command(subcommand)]
    Security(security::Security),
    /// Sequence numbers of the journal.
    #[command(subcommand)]
    Journal(journal::Journal),
    /// API keys.
    #[command(subcommand)]
    Keys(credentials::Keys),
    /// Tokens for the private index and rate routes.
    #[command(subcommand)]
    IndexTokens(credentials::IndexTokens),
    /// Keys that may sign decisions.
    #[command(subcommand)]
    Signers(signers::Signers),
    /// Signing secrets of webhooks.
    #[command(subcommand)]
    Webhooks(webhooks::Webhooks),
    /// Print the completions for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write the man pages.
    Man {
        /// Folder for a page of the program and one of each command.
        dir: PathBuf,
    },
}

#[derive(Debug, Args)]
struct Import {
    /// Folder with the data sets.
    dir: PathBuf,
    /// Import only this file of the folder.
    #[arg(long, value_name = "FILE")]
    only: Option<String>,
}

#[derive(Debug, Args)]
struct Simulate {
    /// Seed of the random generator; the same seed gives the same market.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of vaults.
    #[arg(long, default_value_t = 60)]
    vaults: u32,
    /// Hours of history, ending now.
    #[arg(long, default_value_t = 72)]
    hours: u32,
}

#[derive(Debug, Subcommand)]
enum Score {
    /// Score every vault now.
    Run,
}

#[derive(Debug, Subcommand)]
enum Graph {
    /// Build a snapshot from the present facts.
    Build,
}

#[derive(Debug, Subcommand)]
enum Events {
    /// Publish an event, for the first time or again.
    Publish {
        /// The event's id, or the key that its source gave it.
        id: String,
    },
    /// Withdraw a public event.
    Retract {
        /// The event's id, or the key that its source gave it.
        id: String,
        /// Reason, sent to subscribers.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Mark a public event as promoted into the feed.
    Promote {
        /// The event's id, or the key that its source gave it.
        id: String,
    },
    /// Ingest observations of kind `event` as drafts.
    Draft {
        /// Path of the file, or `-` for standard input.
        file: PathBuf,
    },
}

/// Runs one command; the exit code is 0 on success.
pub async fn run(cli: Cli) -> ExitCode {
    let out = Output { json: cli.json };
    if !matches!(cli.command, Command::Serve) {
        telemetry::init_command();
    }
    crash_dump::leave_memory_out();
    match dispatch(cli.command, out).await {
        Ok(code) => code,
        Err(error) => {
            out.failed(&error);
            ExitCode::FAILURE
        }
    }
}

async fn dispatch(command: Command, out: Output) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve => serve::serve().await?,
        Command::Doctor => return Ok(doctor::doctor(out).await),
        Command::Ready => program::ready(out).await?,
        Command::Completions { shell } => program::completions(shell)?,
        Command::Man { dir } => program::man(&dir)?,
        Command::Migrate(roles) => facts::migrate(&database().await?, &roles, out).await?,
        Command::Drill(command) => return Ok(drill::run(command, out).await),
        Command::Evidence(command) => return evidence::run(command, out).await,
        Command::Ingest(command) if command.is_offline() => return command.offline(out),
        Command::Chain(chain::Chain::Check(files)) => return chain::check(files, out).await,
        verb => return on_facts(verb, out).await,
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a command that needs the service's database and clock.
async fn on_facts(verb: Command, out: Output) -> anyhow::Result<ExitCode> {
    let (db, clock) = &opened().await?;
    if !matches!(verb, Command::Journal(_)) {
        step_over_lost_numbers(db, clock).await?;
    }
    match verb {
        // `dispatch` handles these.
        Command::Serve
        | Command::Doctor
        | Command::Migrate(_)
        | Command::Ready
        | Command::Drill(_)
        | Command::Evidence(_)
        | Command::Completions { .. }
        | Command::Man { .. } => {}
        Command::Import(Import { dir, only }) => facts::import(db, clock, &dir, only.as_deref(), out).await?,
        Command::Ingest(command) => return command.run(db, clock, out).await,
        Command::Simulate(Simulate { seed, vaults, hours }) => {
            facts::simulate(db, clock, Options { seed, vaults, hours }, out).await?;
        }
        Command::Events(command) => return events::events(db, clock, command, out).await,
        Command::Score(Score::Run) => return facts::score(db, clock, out).await,
        Command::Failsafe(command) => return fail_safe::run(db, clock, command, out).await,
        Command::Research(command) => return research::run(db, clock, command, out).await,
        Command::Graph(Graph::Build) => graph::build(db, clock, out).await?,
        Command::Baskets(command) => return baskets::run(db, clock, command, out).await,
        Command::Chain(command) => return chain::run(db, clock, command, out).await,
        Command::Security(command) => return security::run(db, clock, command, out).await,
        Command::Signers(command) => return signers::run(db, clock, command, out).await,
        Command::Webhooks(command) => webhooks::webhooks(db, clock, command, out).await?,
        Command::Journal(journal::Journal::Step { reason }) => journal::step(db, clock, &reason, out).await?,
        Command::Keys(command) => return credentials::keys(db, clock, command, out).await,
        Command::IndexTokens(command) => return credentials::index_tokens(db, clock, command, out).await,
    }
    Ok(ExitCode::SUCCESS)
}

/// The database that the environment names, and the clock of its service: the system clock, or the test clock with its shift.
async fn opened() -> anyhow::Result<(Db, Clock)> {
    let db = database().await?;
    let clock = store::service::test_clock::shift(&db).await?.map_or_else(Clock::system, Clock::shifted);
    Ok((db, clock))
}

/// Connects to the environment's database; fails if it does not answer.
async fn database() -> anyhow::Result<Db> {
    let config = DatabaseConfig::read(config::environment)?;
    Db::connect(config.url.expose(), config.connections).await.context("the database at DATABASE_URL does not answer")
}

/// Steps over the sequence numbers that may have been assigned since the backup, if the database was restored and no service has run on it
/// yet. Otherwise a command's writes could get numbers that clients have already seen.
async fn step_over_lost_numbers(db: &Db, clock: &Clock) -> anyhow::Result<()> {
    let mut connection = db.pool.acquire().await?;
    // The query fails if migrations are pending; the command itself then reports the failure.
    if matches!(numbers::must_step(&mut connection, Cause::Moved).await, Ok(true)) {
        numbers::step(&mut connection, Cause::Moved, clock.now(), crate::journal::draw(clock))
            .await
            .context("cannot step over the sequence numbers assigned before the restore")?;
        eprintln!(
            "this database was restored: stepped over the sequence numbers that may have been assigned since the backup"
        );
    }
    Ok(())
}

/// How results are printed.
#[derive(Debug, Clone, Copy)]
struct Output {
    json: bool,
}

impl Output {
    /// Prints a result: `value` with `--json`, else `text`.
    fn show(self, text: impl Display, value: &impl Serialize) -> anyhow::Result<()> {
        let mut out = io::stdout();
        let shown = match self.json {
            true => writeln!(out, "{}", serde_json::to_string(value)?),
            false => writeln!(out, "{text}"),
        };
        readable(shown)?;
        Ok(())
    }

    /// Prints why a command failed.
    fn failed(self, error: &anyhow::Error) {
        if self.json {
            // If standard output is closed, the exit code still reports the failure.
            let _ = writeln!(io::stdout(), "{}", serde_json::json!({ "error": format!("{error:#}") }));
        } else {
            eprintln!("error: {error:#}");
        }
    }

    /// Prints progress to standard error, so that a JSON result on standard output stays parseable.
    fn progress(self, text: &str) {
        eprintln!("{text}");
    }
}

/// Ignores a closed pipe: a reader such as `head` may stop early, and the command has succeeded all the same.
fn readable(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_closed_pipe_is_ignored_and_a_full_disk_is_an_error() {
        assert!(readable(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        assert!(readable(Err(io::ErrorKind::StorageFull.into())).is_err());
    }

    #[test]
    fn the_json_option_is_accepted_before_and_after_the_verb() {
        for line in [["rds-origin", "--json", "keys", "list"], ["rds-origin", "keys", "list", "--json"]] {
            assert!(Cli::try_parse_from(line).unwrap().json);
        }
    }
}
