//! Python programs, each in its own virtual environment with the versions and hashes pinned in its `requirements.txt`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::cache::Cache;
use crate::console::Step;
use crate::{command, workspace};

const TIMEOUT: Duration = Duration::from_secs(600);

/// The interpreter of an environment with exactly the packages in `requirements`. Start programs as modules of the interpreter: the
/// environment's scripts contain the temporary folder in which it was created.
///
/// # Errors
/// If there is no `python3` with `venv`, or a package is unavailable for it.
pub fn environment(cache: &Cache, name: &str, requirements: &Path) -> Result<PathBuf> {
    let digest = workspace::fingerprint(&[requirements.to_owned()], &version()?)?;
    let entry = format!("python/{name}-{}", digest.get(..12).unwrap_or(&digest));
    let folder =
        cache.install(&format!("{name}'s packages"), &entry, |step, making| create(step, making, requirements))?;
    Ok(interpreter(&folder))
}

/// Creates an environment with exactly the packages in `requirements`.
///
/// # Errors
/// As [`environment`].
pub fn create(step: &mut Step, folder: &Path, requirements: &Path) -> Result<()> {
    version()?;
    let log = workspace::log("python");
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(folder);
    command::run(step, venv, &log, TIMEOUT)?;
    let mut pip = Command::new(interpreter(folder));
    pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]);
    pip.arg("--require-hashes").arg("--requirement").arg(requirements);
    command::run(step, pip, &log, TIMEOUT)
}

/// The interpreter of an environment.
pub fn interpreter(environment: &Path) -> PathBuf {
    environment.join("bin/python")
}

/// The version of Python; packages with compiled code depend on it.
fn version() -> Result<String> {
    command::output(Command::new("python3").args(["-c", "import venv, ensurepip, sys; print(sys.version)"]))
        .context("python3 with its module venv is required; install it and try again")
}
