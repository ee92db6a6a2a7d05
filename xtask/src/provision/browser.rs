//! Chromium for the browser tests: an installed browser, or Debian's package unpacked into the cache.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::apt;
use super::cache::Cache;
use crate::console::Step;

/// The browser and a font, which it needs to lay out a page.
const PACKAGES: [&str; 2] = ["chromium", "fonts-dejavu-core"];
const ENTRY: &str = "chromium/1";

/// A browser that can be started.
pub struct Browser {
    pub program: PathBuf,
    /// Folders for `LD_LIBRARY_PATH`; `None` when the system has its libraries.
    pub libraries: Option<OsString>,
    /// Folder for `FONTCONFIG_PATH`; `None` when the system has its font settings.
    pub fonts: Option<PathBuf>,
}

/// Finds a browser: the program in `RDS_CHROMIUM`, else a browser on the `PATH`, else Debian's package unpacked into the cache.
pub fn find(cache: &Cache) -> Result<Browser> {
    if let Some(program) = installed() {
        Step::start("Chromium").done("installed");
        return Ok(Browser { program, libraries: None, fonts: None });
    }
    let root = cache
        .install("Chromium", ENTRY, |step, making| apt::unpack(step, making, &PACKAGES))
        .context("no browser found: install Chromium, or set RDS_CHROMIUM to its program")?;
    unpacked(&root)
}

fn installed() -> Option<PathBuf> {
    if let Some(program) = std::env::var_os("RDS_CHROMIUM") {
        return Some(PathBuf::from(program));
    }
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|program| program.is_file())
}

fn unpacked(root: &Path) -> Result<Browser> {
    let program = root.join("usr/lib/chromium/chromium");
    // The folder is missing if every library was already installed.
    let libraries = match apt::libraries(root) {
        Ok(folder) => Some(std::env::join_paths([folder.join("pulseaudio"), folder])?),
        Err(_) => None,
    };
    let fonts = Some(root.join("etc/fonts")).filter(|folder| folder.is_dir());
    Ok(Browser { program, libraries, fonts })
}
