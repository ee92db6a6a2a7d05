//! Installed Debian systems as folders, for the test that follows `deploy/README.md` from an empty machine: one on which the document's command installed the
//! container engine, and one with the programs of the images that the engine would fetch.
//!
//! debootstrap installs them from the mirror that apt uses on this machine. They need root, and network access only while they are made.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::apt;
use super::cache::{Cache, remove};
use super::user;
use crate::command;
use crate::console::Step;
use crate::workspace;

/// The release of Debian that the document names.
const RELEASE: &str = "trixie";
/// Cache entries. Increase the number whenever the code below changes.
const ENTRY: &str = "machines/1";
const TIMEOUT: Duration = Duration::from_secs(1800);
/// Folders without which the programs of the images run as well.
const LEFT_OUT: [&str; 6] = [
    "usr/share/doc",
    "usr/share/i18n",
    "usr/share/javascript",
    "usr/share/locale",
    "usr/share/man",
    "var/lib/apt/lists",
];
/// Postgres as its image has it: without the cluster that Debian creates by default.
const INSTALL_PROGRAMS: &str = "mkdir -p /etc/postgresql-common && echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf \
     && apt-get update && apt-get install --yes --no-install-recommends caddy postgresql-17 prometheus && rm /usr/bin/promtool";
/// Runs the second argument in the system in the folder of the first one. Its daemons are not started.
const INSIDE: &str = r#"set -e
root=$1
printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
touch "$root/etc/resolv.conf"
mount --bind /etc/resolv.conf "$root/etc/resolv.conf"
exec chroot "$root" env DEBIAN_FRONTEND=noninteractive sh -c "$2 && apt-get clean"
"#;

/// The description for the test: `{system, standIns, install}`, or `{missing}` with the reason if this is no machine for it.
///
/// # Errors
/// If this is one, but a system cannot be made.
pub fn find(cache: &Cache, install: &str) -> Result<Value> {
    if let Some(reason) = unsuitable() {
        return Ok(json!({"missing": reason}));
    }
    let digest = workspace::fingerprint(&[], install)?;
    let entry = format!("{ENTRY}/engine-{}", digest.get(..12).unwrap_or(&digest));
    let (system, programs) = match (cache.find(&entry), cache.find(&format!("{ENTRY}/programs"))) {
        (Some(system), Some(programs)) => {
            Step::start("Debian with a container engine").done("cached");
            (system, programs)
        }
        _ => make(cache, install, &entry)?,
    };
    Ok(json!({"system": system, "standIns": programs, "install": install}))
}

/// Makes both systems at the same time from one base.
fn make(cache: &Cache, install: &str, entry: &str) -> Result<(PathBuf, PathBuf)> {
    let base = cache.install("Debian", &format!("{ENTRY}/base"), bootstrap)?;
    let system = |name: &str, entry: &str, install: &str, left_out: &[&str]| {
        cache.install(name, entry, |step, making| {
            let mut copy = Command::new("cp");
            copy.args(["--archive", "--no-target-directory"]).arg(&base).arg(making);
            command::run(step, copy, &log(), TIMEOUT)?;
            // Copied with the base: this system is not complete.
            std::fs::remove_file(making.join(super::cache::COMPLETE))?;
            let mut shell = in_namespace();
            shell.args(["sh", "-c", INSIDE, "sh"]).arg(making).arg(install);
            command::run(step, shell, &log(), TIMEOUT)?;
            left_out.iter().try_for_each(|folder| remove(&making.join(folder)))
        })
    };
    std::thread::scope(|scope| {
        let programs =
            scope.spawn(|| system("programs of images", &format!("{ENTRY}/programs"), INSTALL_PROGRAMS, &LEFT_OUT));
        let engine = system("Debian with a container engine", entry, install, &[]);
        let programs = programs.join().map_err(|_| anyhow::anyhow!("the thread that installs programs panicked"))?;
        Ok((engine?, programs?))
    })
}

/// Why this machine cannot make or run the systems.
fn unsuitable() -> Option<String> {
    if !user::is_root() {
        return Some("only root can start a container engine".to_owned());
    }
    if mirror().is_none() {
        return Some("apt knows no mirror of Debian here".to_owned());
    }
    let allowed = command::output(Command::new("unshare").args(["--mount", "--net", "--pid", "--fork", "true"]));
    allowed.err().map(|error| format!("this machine gives no namespaces: {error:#}"))
}

/// The mirror of Debian that apt uses.
fn mirror() -> Option<String> {
    let targets = ["indextargets", "--format", "$(REPO_URI)", "Identifier: Packages", "Component: main"];
    let listed = command::output(Command::new("apt-get").args(targets)).ok()?;
    // Beside it are the mirrors of security updates and of other publishers.
    listed.lines().find(|address| address.trim_end_matches('/').ends_with("/debian")).map(str::to_owned)
}

/// Installs a minimal Debian.
fn bootstrap(step: &mut Step, making: &Path) -> Result<()> {
    let tool = making.with_extension("tool");
    remove(&tool)?;
    std::fs::create_dir_all(&tool)?;
    apt::unpack(step, &tool, &["debootstrap"])?;
    let mut debootstrap = in_namespace();
    debootstrap.arg(tool.join("usr/sbin/debootstrap")).args(["--variant=minbase", RELEASE]);
    debootstrap.arg(making).arg(mirror().context("apt knows no mirror of Debian")?);
    debootstrap.env("DEBOOTSTRAP_DIR", tool.join("usr/share/debootstrap"));
    command::run(step, debootstrap, &log(), TIMEOUT)?;
    remove(&tool)
}

/// A command whose mounts end with it.
fn in_namespace() -> Command {
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    unshare
}

fn log() -> PathBuf {
    workspace::log("machines")
}
