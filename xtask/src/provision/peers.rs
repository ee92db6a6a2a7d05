//! Third-party servers that the service is benchmarked against, installed into the cache.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use super::cache::Cache;
use super::{apt, npm, python, tools};
use crate::console::Step;
use crate::{command, workspace};

const TIMEOUT: Duration = Duration::from_secs(3600);
/// Debian's nginx and its pub/sub module, in the release that apt offers.
const NCHAN: [&str; 2] = ["nginx", "libnginx-mod-nchan"];
/// Cache entry. Increase its number whenever the code below changes, so that an old installation is not reused.
const NCHAN_ENTRY: &str = "debian-nchan/2";
const MODULE: &str = "usr/lib/nginx/modules/ngx_nchan_module.so";
/// Debian's prefix of nginx's temporary folders, and a relative replacement of the same length.
const FOLDERS: [&[u8]; 2] = [b"/var/lib/nginx/", b"default_folder_"];
/// nginx with nchan.
pub struct Nchan {
    pub nginx: PathBuf,
    /// The nchan module.
    pub module: PathBuf,
    /// Folder of libraries that the system lacks.
    pub libraries: Option<PathBuf>,
}

/// The `node_modules` folder of `bench/fastify-peer`.
pub fn fastify(cache: &Cache) -> Result<PathBuf> {
    npm::locked(cache, "fastify-peer", &workspace::root().join("bench/fastify-peer"))
}

/// The Python interpreter with the packages of `bench/fastapi-peer`.
pub fn fastapi(cache: &Cache) -> Result<PathBuf> {
    python::environment(cache, "fastapi-peer", &workspace::root().join("bench/fastapi-peer/requirements.txt"))
}

/// The manifest of `bench/alloy-peer`, a workspace of its own.
pub const ALLOY: &str = "bench/alloy-peer/Cargo.toml";

/// The built program of `bench/alloy-peer`.
pub fn alloy() -> PathBuf {
    alloy_target().join("release/rds-alloy-peer")
}

/// Builds `bench/alloy-peer` as its lock file says.
pub fn build_alloy() -> Result<()> {
    let mut step = Step::start("alloy");
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--locked", "--release", "--manifest-path", ALLOY, "--target-dir"]).arg(alloy_target());
    command::run(&mut step, cargo, &workspace::log("alloy"), TIMEOUT)?;
    step.done("built");
    Ok(())
}

fn alloy_target() -> PathBuf {
    workspace::target().join("alloy-peer")
}

/// nginx with nchan, unpacked from Debian's packages.
///
/// # Errors
/// If the system is not Debian or a derivative, or apt does not know the packages.
pub fn nchan(cache: &Cache) -> Result<Nchan> {
    let root = cache.install("nginx with nchan", NCHAN_ENTRY, |step, making| {
        apt::unpack(step, making, &NCHAN)?;
        make_folder_relative(&making.join(MODULE))
    })?;
    Ok(Nchan { nginx: root.join("usr/sbin/nginx"), module: root.join(MODULE), libraries: apt::libraries(&root).ok() })
}

/// Makes the path of the module's temporary folder relative. Regardless of its configuration, the module creates a fixed absolute folder,
/// which only root may create.
fn make_folder_relative(module: &Path) -> Result<()> {
    let mut bytes = std::fs::read(module)?;
    let [there, here] = FOLDERS;
    let found: Vec<usize> =
        bytes.windows(there.len()).enumerate().filter(|(_, window)| *window == there).map(|(at, _)| at).collect();
    for at in found {
        bytes.splice(at..at + there.len(), here.iter().copied());
    }
    Ok(std::fs::write(module, bytes)?)
}

/// The `durable-streams-server` program, an append-only log over HTTP that streams its tail, built with its own release profile.
pub fn durable_streams(cache: &Cache) -> Result<PathBuf> {
    tools::measured(cache, "durable-streams", "durable-streams-server")
}
