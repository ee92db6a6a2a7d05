//! What packing leaves behind.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The only file of this kind in a folder.
pub fn only_file(folder: &Path, extension: &str) -> Result<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
    match found.as_slice() {
        [only] => Ok(only.clone()),
        other => bail!("{} files .{extension} in {}, not one", other.len(), folder.display()),
    }
}
