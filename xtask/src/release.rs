//! Another release of this project: its origin and its Worker, built from a commit in a folder of their own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::command;
use crate::console::Step;
use crate::workspace;

/// Time limit of a build from nothing.
const TIMEOUT: Duration = Duration::from_secs(5_400);

/// The programs of a release.
pub struct Release {
    /// The origin's program.
    pub origin: PathBuf,
    /// Folder with `entry.mjs` and `build/` of the Worker.
    pub edge: PathBuf,
}

impl Release {
    /// Builds the release at a commit or tag; by default at the newest tag of a version. What was built before is kept.
    ///
    /// # Errors
    /// If there is no such commit or tag, or if its code cannot be built.
    pub fn built(revision: Option<&str>) -> Result<Self> {
        let commit = match revision {
            Some(name) => commit_of(name)?,
            None => commit_of(&newest_tag()?)?,
        };
        let folder = workspace::target().join("releases").join(&commit);
        let source = folder.join("source");
        let target = workspace::target().join("releases/target");
        if !source.is_dir() {
            unpack(&commit, &folder, &source)?;
        }
        let mut step = Step::start("the other release");
        let short = commit.get(..12).unwrap_or(&commit);
        // Its own xtask, because the release says itself how its Worker is built.
        for words in [
            ["run", "--quiet", "--locked", "--package", "xtask", "--", "wasm"].as_slice(),
            &["build", "--locked", "--package", "rds-origin", "--bin", "rds-origin"],
        ] {
            let mut cargo = Command::new("cargo");
            cargo.current_dir(&source).args(words).env("CARGO_TARGET_DIR", &target);
            command::run(&mut step, cargo, &workspace::log("release"), TIMEOUT)?;
        }
        let origin = folder.join("rds-origin");
        std::fs::copy(target.join("debug/rds-origin"), &origin).context("the other release has no rds-origin")?;
        step.done(short);
        Ok(Release { origin, edge: source.join("edge") })
    }
}

/// Unpacks the files of a commit.
fn unpack(commit: &str, folder: &Path, source: &Path) -> Result<()> {
    let making = folder.join("making");
    std::fs::create_dir_all(&making)?;
    let archive = folder.join("source.tar");
    git(&["archive", "--format=tar", "--output", &archive.display().to_string(), commit])?;
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(&archive).arg("-C").arg(&making);
    command::output(&mut tar)?;
    std::fs::remove_file(&archive)?;
    Ok(std::fs::rename(making, source)?)
}

fn commit_of(revision: &str) -> Result<String> {
    if revision.starts_with('-') {
        bail!("{revision} is not a commit or tag");
    }
    git(&["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")])
        .with_context(|| format!("this clone has no commit or tag {revision}"))
}

/// The newest tag of a version that this commit contains.
fn newest_tag() -> Result<String> {
    git(&["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"])
        .context("this clone has no tag of a release; name a commit with --from")
}

fn git(words: &[&str]) -> Result<String> {
    let mut git = Command::new("git");
    git.current_dir(workspace::root()).args(words);
    Ok(command::output(&mut git)?.trim().to_owned())
}
