//! Servers of others that the service is measured beside, in the cache like every tool.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::cache::Cache;
use super::{apt, npm, python, tools};
use crate::workspace;

/// Debian's nginx and its pub/sub module: whatever release of it the system's apt offers.
const NCHAN: [&str; 2] = ["nginx", "libnginx-mod-nchan"];
/// Changes when the recipe below changes.
const NCHAN_ENTRY: &str = "debian-nchan/2";
const MODULE: &str = "usr/lib/nginx/modules/ngx_nchan_module.so";
/// Where Debian has nginx's temporary folders, and the beginning of as many bytes that puts them into the server's own.
const FOLDERS: [&[u8]; 2] = [b"/var/lib/nginx/", b"default_folder_"];
/// nginx with nchan.
pub struct Nchan {
    /// The server.
    pub nginx: PathBuf,
    /// The module that its configuration loads.
    pub module: PathBuf,
    /// Where libraries are that the system lacks.
    pub libraries: Option<PathBuf>,
}

/// The modules of `bench/fastify-peer`.
pub fn fastify(cache: &Cache) -> Result<PathBuf> {
    npm::locked(cache, "fastify-peer", &workspace::root().join("bench/fastify-peer"))
}

/// The interpreter that has what `bench/fastapi-peer` imports.
pub fn fastapi(cache: &Cache) -> Result<PathBuf> {
    python::environment(cache, "fastapi-peer", &workspace::root().join("bench/fastapi-peer/requirements.txt"))
}

/// nginx with nchan, unpacked from Debian's packages.
///
/// # Errors
/// On a system that is not Debian's kind, or whose apt does not know the packages.
pub fn nchan(cache: &Cache) -> Result<Nchan> {
    let root = cache.install("nginx with nchan", NCHAN_ENTRY, |step, making| {
        apt::unpack(step, making, &NCHAN)?;
        keep_at_home(&making.join(MODULE))
    })?;
    Ok(Nchan { nginx: root.join("usr/sbin/nginx"), module: root.join(MODULE), libraries: apt::libraries(&root).ok() })
}

/// The module makes a folder of its own choice, whatever the configuration says, and only root may make it where Debian has it. In
/// the unpacked copy its name is relative.
fn keep_at_home(module: &Path) -> Result<()> {
    let mut bytes = std::fs::read(module)?;
    let [there, here] = FOLDERS;
    let found: Vec<usize> =
        bytes.windows(there.len()).enumerate().filter(|(_, window)| *window == there).map(|(at, _)| at).collect();
    for at in found {
        bytes.splice(at..at + there.len(), here.iter().copied());
    }
    Ok(std::fs::write(module, bytes)?)
}

/// The `durable-streams-server` program, an append log over HTTP that streams its tail, built as its authors build it.
pub fn durable_streams(cache: &Cache) -> Result<PathBuf> {
    tools::measured(cache, "durable-streams", "durable-streams-server")
}
