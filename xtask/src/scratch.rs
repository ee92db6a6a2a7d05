//! Folders of one run, removed at its end: in the cache, or in memory for what creates many files.

use std::fs::{DirBuilder, Metadata};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::process::{Pid, geteuid, test_kill_process};

use crate::provision::cache::{Cache, remove};

/// The file system in memory that Linux distributions mount.
const MEMORY: &str = "/dev/shm";
/// Free space that a folder in memory needs.
const MEMORY_BYTES: u64 = 6 << 30;

/// A state folder that is removed when dropped. The user that runs Postgres can enter it.
pub struct Scratch {
    pub(crate) path: PathBuf,
}

impl Scratch {
    /// Creates an empty folder in the cache, and removes the folders of runs that were killed.
    pub(crate) fn new(cache: &Cache, name: &str) -> Result<Self> {
        Self::inside(&cache.folder("scratch"), name)
    }

    /// Creates an empty folder in memory if enough of it is free, else in the cache. A database for each test means a million new files, which takes
    /// a disk's file system several times as long.
    pub(crate) fn in_memory(cache: &Cache, name: &str) -> Result<Self> {
        match in_memory(Path::new(MEMORY)) {
            Some(all) => Self::inside(&all, name),
            None => Self::new(cache, name),
        }
    }

    fn inside(all: &Path, name: &str) -> Result<Self> {
        remove_abandoned(all)?;
        let path = all.join(format!("{name}-{}", std::process::id()));
        remove(&path)?;
        std::fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = remove(&self.path);
    }
}

/// This user's folder for scratch folders in the file system `memory`; `None` if that has too little space, or if the folder is somebody else's.
fn in_memory(memory: &Path) -> Option<PathBuf> {
    if !has_space(memory) {
        return None;
    }
    let user = geteuid().as_raw();
    let all = memory.join(format!("rds-scratch-{user}"));
    // Everybody may enter, so that the user that runs Postgres can, and only the owner may write.
    match DirBuilder::new().mode(0o711).create(&all) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return None,
        _ => {}
    }
    let is_ours = |of: Metadata| of.is_dir() && of.uid() == user && of.mode() & 0o022 == 0;
    std::fs::symlink_metadata(&all).is_ok_and(is_ours).then_some(all)
}

fn has_space(folder: &Path) -> bool {
    rustix::fs::statvfs(folder).is_ok_and(|space| space.f_bavail.saturating_mul(space.f_frsize) >= MEMORY_BYTES)
}

/// Removes the folders, named `<name>-<pid>`, of runs that were killed before they could clean up.
fn remove_abandoned(all: &Path) -> Result<()> {
    for entry in std::fs::read_dir(all).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.rsplit_once('-')?.1.parse().ok()).and_then(Pid::from_raw);
        if owner.is_none_or(|owner| test_kill_process(owner).is_err()) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;
    use std::os::unix::fs::PermissionsExt;

    /// A new folder, removed when dropped.
    struct Temporary(PathBuf);

    impl Temporary {
        fn new() -> Self {
            let path = std::env::temp_dir().join(format!("rds-scratch-{}", workspace::random_hex(4).unwrap()));
            std::fs::create_dir(&path).unwrap();
            Temporary(path)
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = remove(&self.0);
        }
    }

    #[test]
    fn a_folder_in_memory_that_others_may_write_to_is_not_used() {
        let memory = Temporary::new();
        let Some(all) = in_memory(&memory.0) else { return assert!(!has_space(&memory.0), "a new folder is ours") };
        assert_eq!(in_memory(&memory.0), Some(all.clone()));
        std::fs::set_permissions(&all, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(in_memory(&memory.0), None);
        std::fs::remove_dir(&all).unwrap();
        std::os::unix::fs::symlink(&memory.0, &all).unwrap();
        assert_eq!(in_memory(&memory.0), None);
    }

    #[test]
    fn folders_of_runs_that_ended_are_removed() {
        let all = Temporary::new();
        let (ended, ours) = (all.0.join("tests-2147483647"), all.0.join(format!("other-{}", std::process::id())));
        std::fs::create_dir(&ended).unwrap();
        std::fs::create_dir(&ours).unwrap();
        let scratch = Scratch::inside(&all.0, "tests").unwrap();
        assert!(scratch.path.is_dir() && ours.is_dir() && !ended.exists());
        let path = scratch.path.clone();
        drop(scratch);
        assert!(!path.exists());
    }
}
