//! The cache of tools: one folder an entry, complete or absent, shared by every clone of one user.

use std::fs::{File, TryLockError};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::user;
use crate::command::POLL;
use crate::console::Step;
use crate::signals;

/// Written last into an entry, so that half an installation is never taken for a whole one.
const COMPLETE: &str = ".complete";

/// The cache folder.
///
/// `RDS_CACHE` names it; otherwise it is `/var/cache/rds` for root, whose home others cannot enter
/// while Postgres must run as someone else, and `rds` under the user's cache folder for everyone else.
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// Finds the folder and creates it.
    pub fn open() -> Result<Self> {
        let root = match std::env::var_os("RDS_CACHE") {
            Some(folder) => std::path::absolute(PathBuf::from(folder))?,
            None if user::is_root() => PathBuf::from("/var/cache/rds"),
            None => match std::env::var_os("XDG_CACHE_HOME") {
                Some(folder) if Path::new(&folder).is_absolute() => Path::new(&folder).join("rds"),
                _ => {
                    let home =
                        std::env::var_os("HOME").context("neither HOME nor RDS_CACHE says where the cache may be")?;
                    Path::new(&home).join(".cache/rds")
                }
            },
        };
        std::fs::create_dir_all(&root).with_context(|| {
            format!("cannot create the cache {}; RDS_CACHE can name another folder", root.display())
        })?;
        if user::is_root() {
            std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o755))?;
        }
        Ok(Self { root })
    }

    /// A folder of the cache that is no entry, such as a build folder.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The folder of an entry, if it is complete.
    pub fn find(&self, entry: &str) -> Option<PathBuf> {
        let folder = self.root.join(entry);
        folder.join(COMPLETE).is_file().then_some(folder)
    }

    /// The folder of `entry`, made by `make` in a temporary place if it is not there yet.
    ///
    /// Two runs never make the same entry at once, and an interrupted run leaves nothing behind
    /// that a later one would trust. `entry` carries the version: a new version is a new entry.
    pub fn install(
        &self,
        name: &str,
        entry: &str,
        make: impl FnOnce(&mut Step, &Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let mut step = Step::start(name);
        if let Some(folder) = self.find(entry) {
            step.done("cached");
            return Ok(folder);
        }
        let flat = entry.replace('/', "_");
        let _lock = self.lock(&mut step, &flat)?;
        if let Some(folder) = self.find(entry) {
            step.done("installed by another run");
            return Ok(folder);
        }
        let making = self.root.join("making").join(&flat);
        remove(&making)?;
        std::fs::create_dir_all(&making)?;
        make(&mut step, &making)?;
        File::create(making.join(COMPLETE))?;
        let folder = self.root.join(entry);
        remove(&folder)?;
        if let Some(parent) = folder.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::rename(&making, &folder).with_context(|| format!("cannot move {entry} into the cache"))?;
        step.done("installed");
        Ok(folder)
    }

    /// Waits for what only one run at a time may do, and holds it until the file is dropped.
    pub fn lock(&self, step: &mut Step, name: &str) -> Result<File> {
        let folder = self.root.join("locks");
        std::fs::create_dir_all(&folder)?;
        let file = File::create(folder.join(name))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => {
                    signals::check()?;
                    step.tick("waiting for another run");
                    std::thread::sleep(POLL);
                }
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
        }
    }
}

/// Removes a folder that may not be there.
pub fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}
