//! Reverse proxies for tests of streams: installed ones, or Debian's packages unpacked into the cache.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::json;

use super::apt;
use super::cache::Cache;
use crate::console::Step;

/// Debian package and path of each program.
const PROXIES: [(&str, &str); 3] =
    [("nginx", "usr/sbin/nginx"), ("haproxy", "usr/sbin/haproxy"), ("caddy", "usr/bin/caddy")];
const ENTRY: &str = "proxies/1";

/// Proxies that can be started.
pub struct Proxies {
    /// Name and path of each program.
    pub programs: Vec<(&'static str, PathBuf)>,
    /// Folder for `LD_LIBRARY_PATH`; `None` when the system has the proxies' libraries.
    pub libraries: Option<OsString>,
}

impl Proxies {
    /// The environment variables by which tests find the proxies.
    pub fn environment(self) -> impl Iterator<Item = (&'static str, OsString)> {
        let programs = json!(self.programs.into_iter().collect::<BTreeMap<_, _>>()).to_string();
        let libraries = self.libraries.map(|folders| ("RDS_PROXY_LIBS", folders));
        [("RDS_PROXIES", programs.into())].into_iter().chain(libraries)
    }
}

/// The proxies on the `PATH` if all are installed, else the unpacked packages.
pub fn find(cache: &Cache) -> Result<Proxies> {
    if let Some(programs) = installed() {
        Step::start("nginx, haproxy, caddy").done("installed");
        return Ok(Proxies { programs, libraries: None });
    }
    let root = cache
        .install("nginx, haproxy, caddy", ENTRY, |step, making| {
            apt::unpack(step, making, &PROXIES.map(|(name, _)| name))
        })
        .context("no proxies for the tests of streams: install nginx, haproxy and caddy")?;
    let programs = PROXIES.iter().map(|(name, program)| (*name, root.join(program))).collect();
    Ok(Proxies { programs, libraries: apt::libraries(&root).ok().map(OsString::from) })
}

fn installed() -> Option<Vec<(&'static str, PathBuf)>> {
    let path = std::env::var_os("PATH")?;
    let find = |name: &str| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    PROXIES.iter().map(|(name, _)| Some((*name, find(name)?))).collect()
}
