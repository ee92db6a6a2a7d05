//! The cache of tools: one folder per entry, complete or absent, shared by all clones of a user.

use std::fs::{File, TryLockError};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::user;
use crate::command::POLL;
use crate::console::Step;
use crate::signals;

/// File that is written last into an entry and marks it as complete.
pub const COMPLETE: &str = ".complete";

/// The cache folder.
///
/// `RDS_CACHE` sets it. The default is `rds` in the user's cache folder, or `/var/cache/rds` for root, because Postgres must run as
/// another user, who cannot enter root's home.
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// Finds the folder and creates it if needed.
    pub fn open() -> Result<Self> {
        let root = match std::env::var_os("RDS_CACHE") {
            Some(folder) => std::path::absolute(PathBuf::from(folder))?,
            None if user::is_root() => PathBuf::from("/var/cache/rds"),
            None => match std::env::var_os("XDG_CACHE_HOME") {
                Some(folder) if Path::new(&folder).is_absolute() => Path::new(&folder).join("rds"),
                _ => {
                    let home =
                        std::env::var_os("HOME").context("set RDS_CACHE to a folder, because HOME is not set")?;
                    Path::new(&home).join(".cache/rds")
                }
            },
        };
        std::fs::create_dir_all(&root)
            .with_context(|| format!("cannot create the cache {}; set RDS_CACHE to another folder", root.display()))?;
        if user::is_root() {
            std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o755))?;
        }
        Ok(Self { root })
    }

    /// A folder of the cache that is not an entry, such as a build folder.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The folder of an entry, if it is complete.
    pub fn find(&self, entry: &str) -> Option<PathBuf> {
        let folder = self.root.join(entry);
        folder.join(COMPLETE).is_file().then_some(folder)
    }

    /// The folder of `entry`. If it is missing, `make` creates it in a temporary folder.
    ///
    /// Concurrent runs do not create the same entry twice, and an interrupted run leaves no entry behind. `entry` contains the version,
    /// so a new version is a new entry.
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

    /// Waits for a lock that excludes other runs, and holds it until the returned file is dropped.
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

/// Removes a folder if it exists.
pub fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}
