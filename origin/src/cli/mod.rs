//! The operator's command line. Source: contracts, "Operator command line".
//!
//! Results go to standard output, as text or with `--json` as one JSON value; logs and progress go to standard error.

mod baskets;
mod credentials;
mod doctor;
mod edge;
mod events;
mod facts;
mod fail_safe;
mod graph;
mod journal;
mod research;
mod security;
mod serve;
mod signers;
mod webhooks;

use crate::clock::Clock;
use crate::config::{self, DatabaseConfig};
use crate::crash_dump;
use crate::simulate::Options;
use crate::store::journal::{self as numbers, Cause};
use crate::store::{self, Db};
use crate::telemetry;
use anyhow::Context;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use rds_shared::access::Plan;
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
    /// Open the three doors and answer until told to stop.
    Serve,
    /// Bring the database's schema up to date.
    Migrate,
    /// Check configuration, database, schema and credentials, one line each.
    Doctor,
    /// Take in the data sets of a folder.
    Import(Import),
    /// Take in observations: one JSON object a line.
    Ingest {
        /// A file, or - for standard input.
        file: PathBuf,
    },
    /// Fill the devnet chain with an invented market and its history.
    Simulate(Simulate),
    /// Publish, retract, promote and draft events.
    #[command(subcommand)]
    Events(Events),
    /// Score runs.
    #[command(subcommand)]
    Score(Score),
    /// Whether scores are served as they are, as the last good ones, or not at all.
    #[command(subcommand)]
    Failsafe(fail_safe::FailSafe),
    /// What the service finds about its own scores.
    #[command(subcommand)]
    Research(research::Research),
    /// The exposure graph.
    #[command(subcommand)]
    Graph(Graph),
    /// Baskets and their versions.
    #[command(subcommand)]
    Baskets(baskets::Baskets),
    /// The security registry.
    #[command(subcommand)]
    Security(security::Security),
    /// The numbers of the event stream.
    #[command(subcommand)]
    Journal(Journal),
    /// API keys.
    #[command(subcommand)]
    Keys(Keys),
    /// Tokens for the private index and rate routes.
    #[command(subcommand)]
    IndexTokens(IndexTokens),
    /// Who may sign decisions.
    #[command(subcommand)]
    Signers(signers::Signers),
    /// Webhooks.
    #[command(subcommand)]
    Webhooks(Webhooks),
}

#[derive(Debug, Args)]
struct Import {
    /// The folder.
    dir: PathBuf,
    /// Only this file of it.
    #[arg(long, value_name = "FILE")]
    only: Option<String>,
}

#[derive(Debug, Args)]
struct Simulate {
    /// The same seed gives the same market.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many vaults.
    #[arg(long, default_value_t = 60)]
    vaults: u32,
    /// How many hours of history, up to now.
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
    /// Freeze a snapshot of the facts now.
    Build,
}

#[derive(Debug, Subcommand)]
enum Journal {
    /// Step over every number that may have been given before the database was set back to an earlier copy of its disk.
    Step {
        /// Why; it is kept with the step.
        #[arg(long)]
        reason: String,
    },
}

#[derive(Debug, Subcommand)]
enum Events {
    /// Make an event public, for the first time or again.
    Publish {
        /// Its id, or the key that its source gave it.
        id: String,
    },
    /// Withdraw a public event.
    Retract {
        /// Its id, or the key that its source gave it.
        id: String,
        /// Why, in words that subscribers are sent.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Mark a public event as promoted into the feed.
    Promote {
        /// Its id, or the key that its source gave it.
        id: String,
    },
    /// Take in observations of kind event as drafts.
    Draft {
        /// A file, or - for standard input.
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
enum Keys {
    /// Make a key; it is shown once.
    Mint {
        /// The organisation that holds it.
        #[arg(long)]
        org: String,
        /// Its plan.
        #[arg(long, value_parser = plan())]
        plan: Plan,
        /// Requests per minute by contract, for this key alone; the plan's default otherwise.
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        rpm: Option<u32>,
        /// Its holder serves several clients with it.
        #[arg(long)]
        shared: bool,
    },
    /// Revoke a key for good; answers once no edge honours it any more.
    Revoke {
        /// Its number, as `list` shows it.
        id: i64,
    },
    /// Put an organisation and its live keys on a plan; contracted rates stay.
    Align {
        /// The organisation.
        #[arg(long)]
        org: String,
        /// The plan.
        #[arg(long, value_parser = plan())]
        plan: Plan,
    },
    /// Show every key, revoked ones too.
    List,
}

/// The words of the plans.
fn plan() -> impl TypedValueParser<Value = Plan> {
    let words = PossibleValuesParser::new(Plan::ALL.map(Plan::as_str));
    words.try_map(|word| Plan::parse(&word).ok_or("not a plan"))
}

#[derive(Debug, Subcommand)]
enum IndexTokens {
    /// Make a token; it is shown once.
    Mint {
        /// The organisation that holds it.
        #[arg(long)]
        org: String,
    },
    /// Revoke a token for good.
    Revoke {
        /// Its number, as `list` shows it.
        id: i64,
    },
    /// Show every token, revoked ones too.
    List,
}

#[derive(Debug, Subcommand)]
enum Webhooks {
    /// Give a webhook another signing secret; it is shown once.
    Rotate {
        /// Its number.
        id: i64,
        /// Hours for which the present secret signs too.
        #[arg(long, value_name = "HOURS", value_parser = clap::value_parser!(u32).range(0..=720))]
        overlap: u32,
    },
    /// Encrypt every signing secret anew under the first key of RDS_MASTER_KEY.
    Reseal,
}

/// Runs one command. The exit code is 0 when it did what it says.
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
        Command::Migrate => facts::migrate(&database().await?, out).await?,
        verb => return on_facts(verb, out).await,
    }
    Ok(ExitCode::SUCCESS)
}

/// The verbs that go by the service's database and clock.
async fn on_facts(verb: Command, out: Output) -> anyhow::Result<ExitCode> {
    let (db, clock) = &opened().await?;
    if !matches!(verb, Command::Journal(_)) {
        step_over_lost_numbers(db, clock).await?;
    }
    match verb {
        // These are not among them.
        Command::Serve | Command::Doctor | Command::Migrate => {}
        Command::Import(Import { dir, only }) => facts::import(db, clock, &dir, only.as_deref(), out).await?,
        Command::Ingest { file } => return facts::ingest(db, clock, &file, out).await,
        Command::Simulate(Simulate { seed, vaults, hours }) => {
            facts::simulate(db, clock, Options { seed, vaults, hours }, out).await?;
        }
        Command::Events(command) => return events::events(db, clock, command, out).await,
        Command::Score(Score::Run) => return facts::score(db, clock, out).await,
        Command::Failsafe(command) => return fail_safe::run(db, clock, command, out).await,
        Command::Research(command) => return research::run(db, clock, command, out).await,
        Command::Graph(Graph::Build) => graph::build(db, clock, out).await?,
        Command::Baskets(command) => return baskets::run(db, clock, command, out).await,
        Command::Security(command) => return security::run(db, clock, command, out).await,
        Command::Signers(command) => return signers::run(db, clock, command, out).await,
        Command::Webhooks(command) => webhooks::webhooks(db, clock, command, out).await?,
        Command::Journal(Journal::Step { reason }) => journal::step(db, clock, &reason, out).await?,
        Command::Keys(command) => return credentials::keys(db, clock, command, out).await,
        Command::IndexTokens(command) => return credentials::index_tokens(db, clock, command, out).await,
    }
    Ok(ExitCode::SUCCESS)
}

/// The database of the environment, and the clock that a service on it goes by.
async fn opened() -> anyhow::Result<(Db, Clock)> {
    let db = database().await?;
    let clock = store::test_clock::shift(&db).await?.map_or_else(Clock::system, Clock::shifted);
    Ok((db, clock))
}

/// The database of the environment, answering.
async fn database() -> anyhow::Result<Db> {
    let config = DatabaseConfig::read(config::environment)?;
    Db::connect(config.url.expose(), config.connections).await.context("DATABASE_URL leads to no database that answers")
}

/// Steps over the numbers that may have been given since a backup, where the database was restored and no service has run over it yet:
/// what a verb writes would bear ids that others were given.
async fn step_over_lost_numbers(db: &Db, clock: &Clock) -> anyhow::Result<()> {
    let mut connection = db.pool.acquire().await?;
    // A schema that is not migrated yet has nothing to ask; the command says so.
    if matches!(numbers::must_step(&mut connection, Cause::Moved).await, Ok(true)) {
        numbers::step(&mut connection, Cause::Moved, clock.now(), crate::journal::draw(clock))
            .await
            .context("its numbers cannot be stepped over")?;
        eprintln!("this database was restored: numbers that may have been given since were stepped over");
    }
    Ok(())
}

/// How results are shown.
#[derive(Debug, Clone, Copy)]
struct Output {
    json: bool,
}

impl Output {
    /// Shows a result: `value` with `--json`, else `text`.
    fn show(self, text: impl Display, value: &impl Serialize) -> anyhow::Result<()> {
        let mut out = io::stdout();
        let shown = match self.json {
            true => writeln!(out, "{}", serde_json::to_string(value)?),
            false => writeln!(out, "{text}"),
        };
        readable(shown)?;
        Ok(())
    }

    /// Shows why a command failed.
    fn failed(self, error: &anyhow::Error) {
        if self.json {
            // Where nobody reads it, the exit code still tells.
            let _ = writeln!(io::stdout(), "{}", serde_json::json!({ "error": format!("{error:#}") }));
        } else {
            eprintln!("error: {error:#}");
        }
    }

    /// Shows how far a long command is; never between lines of a JSON result.
    fn progress(self, text: &str) {
        eprintln!("{text}");
    }
}

/// Whoever reads our output may stop when it has seen enough, as `head` does: what was asked for is done all the same.
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
    fn a_reader_that_has_seen_enough_is_no_fault_and_a_full_disk_is() {
        assert!(readable(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        assert!(readable(Err(io::ErrorKind::StorageFull.into())).is_err());
    }

    #[test]
    fn json_may_stand_before_or_behind_the_verb() {
        for line in [["rds-origin", "--json", "keys", "list"], ["rds-origin", "keys", "list", "--json"]] {
            assert!(Cli::try_parse_from(line).unwrap().json);
        }
    }
}
