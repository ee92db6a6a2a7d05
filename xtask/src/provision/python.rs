//! Python programs: each in a virtual environment of its own, at the versions and hashes that its `requirements.txt` pins.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::cache::Cache;
use crate::{command, workspace};

const PATIENCE: Duration = Duration::from_secs(600);

/// The interpreter of an environment that holds what `requirements` lists, and nothing else. Programs are started as its modules:
/// scripts of an environment name the folder that it was made in, its interpreter finds its own.
///
/// # Errors
/// Where there is no `python3` with `venv`, or a package is not to be had for it.
pub fn environment(cache: &Cache, name: &str, requirements: &Path) -> Result<PathBuf> {
    let digest = workspace::fingerprint(&[requirements.to_owned()], &version()?)?;
    let entry = format!("python/{name}-{}", digest.get(..12).unwrap_or(&digest));
    let folder = cache.install(&format!("{name}'s packages"), &entry, |step, making| {
        let log = workspace::log("python");
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv"]).arg(making);
        command::run(step, venv, &log, PATIENCE)?;
        let mut pip = Command::new(making.join("bin/python"));
        pip.args([
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--require-hashes",
        ]);
        pip.arg("--requirement").arg(requirements);
        command::run(step, pip, &log, PATIENCE)
    })?;
    Ok(folder.join("bin/python"))
}

/// Which Python it is: packages that hold compiled code are of one version.
fn version() -> Result<String> {
    command::output(Command::new("python3").args(["-c", "import venv, ensurepip, sys; print(sys.version)"])).context(
        "python3 with its module venv is needed for a peer that is written in Python; install it and try again",
    )
}
