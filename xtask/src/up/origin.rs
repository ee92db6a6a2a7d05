//! The origin of a stack: build, migrations, data and the running service.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Signal;
use serde_json::Value;

use super::Options;
use super::chain;
use super::ports::{Ports, local};
use super::postgres::Urls;
use super::probe;
use super::state::{Secrets, State, write_private};
use crate::command;
use crate::console::Step;
use crate::service::{Service, StopRule};
use crate::workspace;

/// Id of the assertion key; a rotation would add a second key.
const ASSERTION_KEY_ID: &str = "k1";
/// The variable with the key that signs decisions.
const SIGNING_KEY: &str = "RDS_SIGNING_KEY";
/// Size of the demo market: large enough to fill pages and show every state, small enough to load in seconds.
const DEMO: [&str; 6] = ["--seed", "7", "--vaults", "60", "--hours", "72"];
/// SIGTERM makes the origin drain: it accepts no new requests and finishes the running ones.
const STOP: StopRule = StopRule { signal: Signal::TERM, grace: Duration::from_secs(30) };
const BUILD_TIMEOUT: Duration = Duration::from_secs(3600);
const VERB_TIMEOUT: Duration = Duration::from_secs(900);

/// The built program and its environment.
pub struct Origin {
    program: PathBuf,
    /// The database's address for migrations.
    migrate_url: String,
    environment: Vec<(&'static str, String)>,
    log: PathBuf,
}

/// A build profile in `Cargo.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Compiles quickly, for development and tests.
    Up,
    /// As deployed and benchmarked.
    Release,
}

impl Profile {
    /// The command that builds the program, and the program's path.
    fn program(self) -> (Command, PathBuf) {
        let profile = match self {
            Profile::Up if workspace::has_one_build() => return workspace::program("rds-origin"),
            Profile::Up => "up",
            Profile::Release => "release",
        };
        let mut cargo = workspace::cargo();
        cargo.args(["build", "--locked", "--profile", profile, "--package", "rds-origin"]);
        (cargo, workspace::target().join(profile).join("rds-origin"))
    }
}

/// Builds the program and returns its path.
pub fn build(profile: Profile) -> Result<PathBuf> {
    let mut step = Step::start("rds-origin");
    let (cargo, program) = profile.program();
    command::run(&mut step, cargo, &workspace::log("origin"), BUILD_TIMEOUT)?;
    step.done("built");
    Ok(program)
}

/// Compiles the crates of the program that do not need the verifier, before the verifier exists.
pub fn build_ahead(profile: Profile) {
    let mut step = Step::start("the libraries of rds-origin");
    let (mut cargo, _) = profile.program();
    cargo.arg("--keep-going");
    // The result is ignored: the build fails at `rds-docs`, which embeds the verifier, and `build` reports all other errors again.
    let _ = command::run(&mut step, cargo, &workspace::log("origin"), BUILD_TIMEOUT);
    step.done("built");
}

impl Origin {
    /// Composes the environment, and generates missing secrets.
    pub fn new(
        program: PathBuf,
        state: &State,
        secrets: &mut Secrets,
        options: &Options,
        ports: &Ports,
        urls: &Urls,
    ) -> Result<Self> {
        let assertion = secrets.or_random("assertion_key", 32)?;
        let mut environment = vec![
            ("DATABASE_URL", urls.serve.clone()),
            ("RDS_EDGE_ADDR", local(ports.origin_edge).to_string()),
            ("RDS_RELAY_ADDR", local(ports.relay).to_string()),
            ("RDS_ADMIN_ADDR", local(ports.admin).to_string()),
            ("RDS_EDGE_URL", format!("http://{}", local(ports.edge))),
            ("RDS_ADMIN_TOKEN", secrets.or_random("admin_token", 32)?),
            ("RDS_EDGE_ASSERTION_KEYS", format!("{ASSERTION_KEY_ID}:{assertion}")),
            ("RDS_MASTER_KEY", secrets.or_random("master_key", 32)?),
            ("RDS_GRAPH", "1".to_owned()),
            // There is no load balancer that must notice the shutdown first.
            ("RDS_LAME_DUCK_SECONDS", "0".to_owned()),
            ("RDS_FIRST_PARTY_ORIGINS", super::FIRST_PARTY.to_owned()),
        ];
        if options.chain {
            environment.push((chain::PROVIDERS, chain::providers_file(state).display().to_string()));
        }
        if options.test_clock {
            environment.push(("RDS_TEST_CLOCK", "1".to_owned()));
        }
        if !options.no_signing {
            environment.push((SIGNING_KEY, secrets.or_random("signing_key", 32)?));
        }
        if let Some(collector) = &options.traces {
            environment.push(("RDS_OTLP_ENDPOINT", collector.clone()));
            environment.push(("RDS_TRACE_RATIO", "1".to_owned()));
        }
        if !options.webhook_allow.is_empty() {
            environment.push(("RDS_WEBHOOK_ALLOW", options.webhook_allow.join(",")));
        }
        if let Some(authority) = &options.webhook_ca {
            let path = std::path::absolute(authority)?;
            environment.push(("RDS_WEBHOOK_CA", path.display().to_string()));
        }
        Ok(Self { program, migrate_url: urls.migrate.clone(), environment, log: state.log("origin") })
    }

    /// The assertion key in the Worker's form: `<kid>:<64 hex>`.
    pub fn assertion_key(&self) -> &str {
        self.variable("RDS_EDGE_ASSERTION_KEYS")
    }

    /// The bearer token of the admin listener.
    pub fn admin_token(&self) -> &str {
        self.variable("RDS_ADMIN_TOKEN")
    }

    fn variable(&self, name: &str) -> &str {
        let found = self.environment.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, value)| value)
    }

    /// Writes the environment as `NAME=value` lines, so that the origin can be restarted by hand: `env $(cat <file>) rds-origin serve`.
    pub fn write_environment(&self, file: &Path) -> Result<()> {
        let lines: String = self.environment.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        write_private(file, lines.as_bytes())
    }

    /// The command that runs a verb of the origin's command line.
    fn verb(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(workspace::root())
            .args(words)
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn verbs_log(&self) -> PathBuf {
        self.log.with_file_name("origin-verbs.log")
    }

    /// Runs a verb of the origin's command line and shows it as a step.
    fn step(&self, name: &str, words: &[&str], done: &str) -> Result<()> {
        let mut step = Step::start(name);
        command::run(&mut step, self.verb(words), &self.verbs_log(), VERB_TIMEOUT)?;
        step.done(done);
        Ok(())
    }

    /// Runs a verb and parses its JSON output.
    pub fn verb_json(&self, words: &[&str]) -> Result<Value> {
        let said = command::output(&mut self.verb(words))?;
        serde_json::from_str(&said).with_context(|| format!("`rds-origin {}` did not print JSON", words.join(" ")))
    }

    /// The JSON output of a verb whose exit code is part of its answer.
    pub fn verdict_json(&self, words: &[&str]) -> Result<Value> {
        let said = self.verb(words).output().with_context(|| format!("cannot run `rds-origin {}`", words.join(" ")))?;
        serde_json::from_slice(&said.stdout).with_context(|| {
            let error = String::from_utf8_lossy(&said.stderr);
            format!("`rds-origin {}` did not print JSON: {}", words.join(" "), error.trim())
        })
    }

    /// Runs a verb that changes facts, while the edge is not running yet and cannot be waited for.
    pub fn quiet(&self, words: &[&str]) -> Result<()> {
        command::output(self.verb(words).env_remove("RDS_EDGE_URL")).map(drop)
    }

    /// Applies the migrations, as the role that owns the tables.
    pub fn migrate(&self) -> Result<()> {
        let mut step = Step::start("migrations");
        let mut verb = self.verb(&["migrate"]);
        verb.env("DATABASE_URL", &self.migrate_url);
        command::run(&mut step, verb, &self.verbs_log(), VERB_TIMEOUT)?;
        step.done("applied");
        Ok(())
    }

    /// Builds the exposure graph snapshot from the loaded data, so that it is available from the first request.
    pub fn build_graph(&self) -> Result<()> {
        self.step("the exposure graph", &["graph", "build"], "built")
    }

    /// Activates the stack's signing key, if it has one. The activation date is far in the past, so that signing still works after a test
    /// sets the clock back.
    pub fn activate_signer(&self) -> Result<()> {
        if self.variable(SIGNING_KEY).is_empty() {
            return Ok(());
        }
        let mut step = Step::start("the signing key");
        let mut verb = self.verb(&["signers", "activate", "--at", "2020-01-01T00:00:00Z"]);
        // The edge is not running yet, so the verb must not wait for it.
        verb.env_remove("RDS_EDGE_URL");
        command::run(&mut step, verb, &self.verbs_log(), VERB_TIMEOUT)?;
        step.done("active");
        Ok(())
    }

    /// Loads the demo market.
    pub fn simulate(&self) -> Result<()> {
        let mut words = vec!["simulate"];
        words.extend(DEMO);
        self.step("the demo market", &words, "loaded")
    }

    /// Loads a folder of data sets.
    pub fn import(&self, folder: &Path) -> Result<()> {
        let name = format!("the data sets of {}", folder.display());
        let folder = folder.display().to_string();
        self.step(&name, &["import", &folder], "imported")?;
        // The registry covers many years; without `--all`, its rows would be published over many polls.
        self.step("its security registry", &["security", "autopublish", "--all"], "published")
    }

    /// Starts the service and waits until it is ready.
    pub fn serve(&self, ports: &Ports) -> Result<Service> {
        let mut step = Step::start("the origin");
        let mut service = Service::start("the origin", self.verb(&["serve"]), self.log.clone(), STOP)?;
        service.wait_until(&mut step, VERB_TIMEOUT, || probe::is_ok(ports.relay, "/ready"))?;
        step.done(&format!("ports {} to {}", ports.origin_edge, ports.admin));
        Ok(service)
    }
}
