//! Debian packages without root: downloaded with apt and unpacked into a folder, not installed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::cache::remove;
use super::user;
use crate::command;
use crate::console::Step;
use crate::workspace;

const TIMEOUT: Duration = Duration::from_secs(1800);

/// The folder of shared libraries in an unpacked root: `usr/lib/` and the platform, such as `x86_64-linux-gnu`.
pub fn libraries(root: &Path) -> Result<PathBuf> {
    std::fs::read_dir(root.join("usr/lib"))?
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().contains("-linux-"))
        .map(|entry| entry.path())
        .with_context(|| format!("no libraries under {}", root.display()))
}

/// Downloads and unpacks the packages and those dependencies that the system lacks.
///
/// # Errors
/// If the system is not Debian or a derivative, or apt does not know the packages.
pub fn unpack(step: &mut Step, making: &Path, packages: &[&str]) -> Result<()> {
    if !command::on_path("apt-get") || !command::on_path("dpkg-deb") {
        bail!("this system is not Debian or a derivative");
    }
    let log = workspace::log("apt");
    let apt = Apt::new(making.join("apt"))?;
    // An unreachable source is not fatal as long as the packages are found.
    let _ = command::run(step, apt.get(&["update"]), &log, TIMEOUT);
    crate::signals::check()?;
    let mut planned = vec!["install", "--print-uris", "--yes", "--no-install-recommends"];
    planned.extend(packages);
    let plan = command::output(&mut apt.get(&planned))
        .with_context(|| format!("apt does not know {}", packages.join(", ")))?;
    let mut names: BTreeSet<&str> = packages.iter().copied().collect();
    names.extend(plan.lines().filter_map(package_of));
    let mut download = vec!["download"];
    download.extend(names);
    let mut download = apt.get(&download);
    let archives = making.join("packages");
    std::fs::create_dir_all(&archives)?;
    download.current_dir(&archives);
    command::run(step, download, &log, TIMEOUT)?;
    for archive in std::fs::read_dir(&archives)? {
        let mut unpack = Command::new("dpkg-deb");
        unpack.arg("-x").arg(archive?.path()).arg(making);
        command::run(step, unpack, &log, TIMEOUT)?;
    }
    remove(&archives)?;
    remove(&making.join("apt"))
}

/// The package in a line of `--print-uris`: `'<address>' name_version_arch.deb size hash`.
fn package_of(line: &str) -> Option<&str> {
    let file = line.strip_prefix('\'')?.split_once("' ")?.1;
    file.split_once('_').map(|(name, _)| name)
}

/// apt with its own lists and caches, because an ordinary user cannot write the system's.
struct Apt {
    settings: Vec<String>,
}

impl Apt {
    fn new(folder: PathBuf) -> Result<Self> {
        for part in ["lists/partial", "cache/archives/partial"] {
            std::fs::create_dir_all(folder.join(part))?;
        }
        let folder = folder.display();
        let mut settings = vec![
            format!("Dir::State::Lists={folder}/lists"),
            format!("Dir::Cache={folder}/cache"),
            "Debug::NoLocking=1".to_owned(),
            "Acquire::Languages=none".to_owned(),
            "Acquire::Retries=2".to_owned(),
        ];
        if user::is_root() {
            // apt's sandbox user cannot enter a new folder owned by root.
            settings.push("APT::Sandbox::User=root".to_owned());
        }
        Ok(Self { settings })
    }

    fn get(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("apt-get");
        for setting in &self.settings {
            command.arg("-o").arg(setting);
        }
        command.args(arguments);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::package_of;

    #[test]
    fn package_names_are_read_from_a_download_plan() {
        let line =
            "'http://mirror/pool/r/rustc-web_1.96.0%2bdfsg1_amd64.deb' rustc-web_1.96.0+dfsg1_amd64.deb 4450500 ";
        assert_eq!(package_of(line), Some("rustc-web"));
        assert_eq!(package_of("Reading package lists..."), None);
    }
}
