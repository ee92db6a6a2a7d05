//! Copies of the clone in which mutants are built, so that the clone itself is never changed.
//!
//! Each job has its own copy and its own target folder, which stay for the next run: cargo compiles only what a mutant changes.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::kept;
use crate::command;
use crate::workspace;

/// A job's copy of the clone.
pub struct Tree {
    pub sources: PathBuf,
    pub target: PathBuf,
    /// Where cargo-mutants writes its logs.
    pub output: PathBuf,
}

impl Tree {
    /// Brings a job's copy up to date. A file that is already the same is left alone, so that cargo does not compile it again.
    pub fn synced(job: usize) -> Result<Self> {
        let folder = kept::folder().join(format!("job-{job}"));
        let tree =
            Self { sources: folder.join("sources"), target: folder.join("target"), output: folder.join("output") };
        for path in [&tree.sources, &tree.output] {
            std::fs::create_dir_all(path).with_context(|| format!("cannot create {}", path.display()))?;
        }
        let files = tracked()?;
        for file in &files {
            mirror(&workspace::root().join(file), &tree.sources.join(file))?;
        }
        remove_others(&tree.sources, &tree.sources, &files.into_iter().collect())?;
        Ok(tree)
    }
}

/// The files of the clone that git knows or would add.
fn tracked() -> Result<Vec<PathBuf>> {
    let mut git = Command::new("git");
    git.current_dir(workspace::root()).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let said = command::output(&mut git).context("mutants are built in a copy of the files that git knows")?;
    let files = said.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
    Ok(files.filter(|file| workspace::root().join(file).is_file()).collect())
}

fn mirror(from: &Path, to: &Path) -> Result<()> {
    let bytes = std::fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    if std::fs::read(to).is_ok_and(|present| present == bytes) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(to, bytes).with_context(|| format!("cannot write {}", to.display()))
}

/// Removes files that are not among `files`.
fn remove_others(root: &Path, folder: &Path, files: &HashSet<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            remove_others(root, &path, files)?;
        } else if path.strip_prefix(root).is_ok_and(|own| !files.contains(own)) {
            std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_file_that_is_the_same_keeps_its_time() {
        let folder = std::env::temp_dir().join(format!("rds-mutants-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("a")).unwrap();
        let (from, to) = (folder.join("from.rs"), folder.join("a/to.rs"));
        std::fs::write(&from, "1").unwrap();
        mirror(&from, &to).unwrap();
        let time = || std::fs::metadata(&to).unwrap().modified().unwrap();
        let before = time();
        mirror(&from, &to).unwrap();
        assert_eq!(time(), before);
        std::fs::write(&from, "2").unwrap();
        mirror(&from, &to).unwrap();
        assert_eq!(std::fs::read_to_string(&to).unwrap(), "2");
        remove_others(&folder.join("a"), &folder.join("a"), &HashSet::new()).unwrap();
        assert!(!to.exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
