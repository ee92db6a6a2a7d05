//! The Worker's assets: files that build scripts of the workspace write to the folder `assets` of their output. Their names are hashes of their
//! content, so files of several crates share one folder.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::provision::cache::remove;

/// The folders of one build, from cargo's messages.
#[derive(Default)]
pub struct Sources(Vec<PathBuf>);

/// The fields of cargo's message `build-script-executed` that are used here; other messages lack the last two.
#[derive(Deserialize)]
struct Message {
    #[serde(rename = "reason")]
    _reason: String,
    package_id: Option<String>,
    out_dir: Option<PathBuf>,
}

impl Sources {
    /// Reads a line of cargo's output, and returns whether it is a message.
    pub fn read(&mut self, line: &str) -> bool {
        let Ok(Message { package_id, out_dir, .. }) = serde_json::from_str(line) else { return false };
        if package_id.is_some_and(|id| id.starts_with("path+")) {
            self.0.extend(out_dir.map(|folder| folder.join("assets")).filter(|folder| folder.is_dir()));
        }
        true
    }

    /// Adds a folder of files whose names are hashes of their content.
    pub fn add(&mut self, folder: PathBuf) {
        self.0.push(folder);
    }

    /// Makes `folder` contain exactly these files, and returns their number. `making` is a free path beside it.
    pub fn replace(&self, folder: &Path, making: &Path) -> Result<usize> {
        std::fs::create_dir_all(making).with_context(|| format!("cannot create {}", making.display()))?;
        for source in &self.0 {
            copy(source, making)?;
        }
        remove(folder)?;
        std::fs::rename(making, folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(files(folder)?.len())
    }
}

/// Copies the files of a folder, without its subfolders.
pub fn copy(from: &Path, into: &Path) -> Result<()> {
    for file in files(from)? {
        let name = file.file_name().with_context(|| format!("{} has no name", file.display()))?;
        std::fs::copy(&file, into.join(name)).with_context(|| format!("cannot copy {}", file.display()))?;
    }
    Ok(())
}

/// The files of a folder.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let paths = list.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    Ok(paths.into_iter().filter(|path| path.is_file()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_gets_the_files_of_the_workspaces_crates_and_loses_all_others() {
        let all = std::env::temp_dir().join(format!("rds-assets-{}", std::process::id()));
        let [docs, other, without, into] = ["docs", "other", "without", "into"].map(|name| all.join(name));
        for (out, name) in [(&docs, "a1"), (&other, "b2")] {
            std::fs::create_dir_all(out.join("assets")).unwrap();
            std::fs::write(out.join("assets").join(name), name).unwrap();
        }
        std::fs::create_dir_all(&without).unwrap();
        std::fs::create_dir_all(&into).unwrap();
        std::fs::write(into.join("stale"), "").unwrap();

        let message = |id: &str, out: &Path| {
            let (reason, out) = ("build-script-executed", out.to_str());
            serde_json::json!({"reason": reason, "package_id": id, "env": [], "out_dir": out}).to_string()
        };
        let mut sources = Sources::default();
        assert!(sources.read(&message("path+file:///clone/docs#rds-docs@1.0.0", &docs)));
        assert!(sources.read(&message("registry+https://example/index#other@1.0.0", &other)));
        assert!(sources.read(&message("path+file:///clone/edge#rds-edge@1.0.0", &without)));
        assert!(sources.read(r#"{"reason":"build-finished","success":true}"#));
        assert!(!sources.read("   Compiling rds-docs v1.0.0") && !sources.read("error: {}"));
        assert_eq!(sources.replace(&into, &all.join("making")).unwrap(), 1);
        assert_eq!(files(&into).unwrap(), [into.join("a1")]);
        std::fs::remove_dir_all(&all).unwrap();
    }
}
