//! `cargo xtask lint`: formatting, clippy on the host and for wasm, dependencies, JavaScript, the explorer's types, the OpenAPI document,
//! the rules for source files, and the locks of migrations.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::command;
use crate::console::Step;
use crate::provision::cache::Cache;
use crate::provision::wasm_toolchain::{self, Target};
use crate::provision::{npm, peers, tools};
use crate::{clients, explorer, migrations, openapi, tidy, workspace};

const TIMEOUT: Duration = Duration::from_secs(3600);

/// Runs every check, even after a failure, and fails if any check failed.
pub fn run() -> Result<()> {
    let cache = Cache::open()?;
    let toolchain = wasm_toolchain::find(&cache, Target::Wasm)?;
    let (cargo_deny, cargo_machete) = (tools::cargo_deny(&cache)?, tools::cargo_machete(&cache)?);
    tools::clear_build_folder(&cache)?;

    let mut format = workspace::cargo();
    format.args(["fmt", "--all", "--check", "--", "--color=never"]);
    let bindgen = tools::bindgen_manifest();
    let mut format_bindgen = workspace::cargo();
    format_bindgen.args(["fmt", "--check", "--manifest-path"]).arg(&bindgen).args(["--", "--color=never"]);
    let mut format_alloy = workspace::cargo();
    format_alloy.args(["fmt", "--check", "--manifest-path", peers::ALLOY, "--", "--color=never"]);
    let mut clippy_bindgen = workspace::cargo();
    clippy_bindgen.args(["clippy", "--locked", "--manifest-path"]).arg(&bindgen);
    clippy_bindgen.env("CARGO_TARGET_DIR", workspace::target().join("bindgen"));
    deny_warnings(&mut clippy_bindgen);
    let mut host = workspace::tests_cargo();
    if workspace::has_one_build() {
        // Clippy is the compiler here. It warns, and `without_warnings` refuses that.
        host.args(["build", "--locked", "--workspace", "--all-targets"]);
    } else {
        host.args(["clippy", "--locked", "--workspace", "--all-targets"]);
        deny_warnings(&mut host);
    }
    let mut wasm = toolchain.cargo();
    wasm.args(["clippy", "--locked", "--package", "rds-edge", "--package", "rds-verifier", "--target"]);
    wasm.arg(Target::Wasm.triple());
    deny_warnings(&mut wasm);
    let mut deny_bindgen = Command::new(&cargo_deny);
    deny_bindgen.current_dir(workspace::root()).args(["--locked", "--color=never", "--config", "deny.toml"]);
    deny_bindgen.arg("--manifest-path").arg(&bindgen).args(["check", "bans", "licenses", "sources"]);
    // Rules that exist for crates of the main workspace only.
    for unused in ["license-not-encountered", "license-exception-not-encountered", "unused-wrapper"] {
        deny_bindgen.args(["--allow", unused]);
    }
    let mut deny = Command::new(cargo_deny);
    // Advisories are not checked here, because they need the network: see `deny.toml`.
    deny.current_dir(workspace::root()).args(["--locked", "--color=never", "check", "bans", "licenses", "sources"]);
    let mut machete = Command::new(cargo_machete);
    machete.current_dir(workspace::root());
    let mut javascript = Command::new("node");
    javascript.arg(npm::oxlint(&cache)?).args(["--format=unix", "--deny-warnings"]).current_dir(workspace::root());
    let types = explorer::types(&cache)?;
    let document = openapi::maker(&openapi::Options { check: true, ..openapi::Options::default() });

    // One lane needs the target folder of the host, which one cargo at a time may use; the other does not. Clippy's last crates are checked
    // one after the other, so a second core would be idle.
    let host = vec![
        ("clippy, host", vec![host]),
        ("the OpenAPI document", document.into()),
        ("the client libraries", clients::generator(true).into()),
    ];
    let others = [
        ("rustfmt", format),
        ("rustfmt, rds-bindgen", format_bindgen),
        ("rustfmt, rds-alloy-peer", format_alloy),
        ("licences, bans, sources", deny),
        ("licences, bans, sources of rds-bindgen", deny_bindgen),
        ("unused dependencies", machete),
        ("JavaScript", javascript),
        ("types of the explorer", types),
        ("clippy, wasm", wasm),
        ("clippy, rds-bindgen", clippy_bindgen),
    ]
    .map(|(name, command)| (name, vec![command]));
    // Adds the rules for source files and for migrations, which are checked below without a command.
    let all = host.len() + others.len() + 2;
    let mut failures = std::thread::scope(|scope| {
        let beside = scope.spawn(|| check(others.into()));
        Ok::<_, anyhow::Error>(
            check(host)? + beside.join().unwrap_or_else(|_| bail!("a thread of the checks panicked"))?,
        )
    })?;
    for (name, violations) in
        [("rules for source files", tidy::check()?), ("locks of migrations", migrations::check()?)]
    {
        let step = Step::start(name);
        if violations.is_empty() {
            step.done("");
            continue;
        }
        step.failed(&format!("{} violations", violations.len()));
        for breach in &violations {
            eprintln!("    {breach}");
        }
        failures += 1;
    }
    if failures > 0 {
        bail!("{failures} of {all} checks failed");
    }
    Ok(())
}

/// Runs the checks one after the other, even after a failure, and returns how many failed. A check is one or more commands.
fn check(checks: Vec<(&str, Vec<Command>)>) -> Result<usize> {
    let mut failures = 0;
    for (name, commands) in checks {
        let mut step = Step::start(name);
        match commands.into_iter().try_for_each(|command| without_warnings(&mut step, command)) {
            Ok(()) => step.done(""),
            Err(error) => {
                crate::signals::check()?;
                step.failed("");
                eprintln!("{error:#}");
                failures += 1;
            }
        }
    }
    Ok(failures)
}

/// Runs a command. A warning of the compiler is an error, whether the command denies it or not.
fn without_warnings(step: &mut Step, command: Command) -> Result<()> {
    let mut warnings = 0;
    command::run_and_read(step, command, &workspace::log("lint"), TIMEOUT, |line| {
        warnings += usize::from(line.starts_with("warning: "));
        false
    })?;
    if warnings > 0 {
        bail!("{warnings} warnings (full output: {})", workspace::log("lint").display());
    }
    Ok(())
}

fn deny_warnings(command: &mut Command) {
    command.args(["--", "--deny", "warnings"]);
}
