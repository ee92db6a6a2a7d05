//! Loads data sets, and records them so that a second run is fast and keeps its data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use super::origin::Origin;
use super::state::write_private;
use crate::console::Step;
use crate::workspace::{collect, hex};

/// The value of `--data`.
#[derive(Clone, Debug)]
pub enum Data {
    /// The simulated market on chain `devnet`.
    Demo,
    /// An empty database.
    None,
    /// A folder of data sets.
    Folder(PathBuf),
}

/// Reads a `--data` value.
pub fn parse(text: &str) -> Result<Data, String> {
    match text {
        "demo" => Ok(Data::Demo),
        "none" => Ok(Data::None),
        folder if Path::new(folder).is_dir() => {
            std::path::absolute(folder).map(Data::Folder).map_err(|error| error.to_string())
        }
        other => Err(format!("`{other}` must be `demo`, `none` or an existing folder")),
    }
}

/// The record of loaded data sets, stored next to the database: the fingerprint of each source.
struct Loaded {
    path: PathBuf,
    sources: BTreeMap<String, String>,
}

impl Loaded {
    fn read(path: PathBuf) -> Result<Self> {
        let sources = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| format!("{} is damaged", path.display()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error.into()),
        };
        Ok(Self { path, sources })
    }

    fn add(&mut self, source: String, fingerprint: String) -> Result<()> {
        self.sources.insert(source, fingerprint);
        write_private(&self.path, &serde_json::to_vec_pretty(&self.sources)?)
    }
}

/// Loads the requested data unless it is loaded already. Without a request, an empty database gets the demo market and a filled one
/// is kept. `record` is the path of the record.
pub fn load(origin: &Origin, requested: Option<&Data>, record: &Path) -> Result<()> {
    let mut loaded = Loaded::read(record.to_owned())?;
    let data = match requested {
        Some(data) => data,
        None if loaded.sources.is_empty() => &Data::Demo,
        None => &Data::None,
    };
    match data {
        Data::None => Ok(()),
        Data::Demo => {
            if loaded.sources.contains_key("demo") {
                Step::start("the demo market").done("kept");
                return Ok(());
            }
            origin.simulate()?;
            loaded.add("demo".to_owned(), String::new())
        }
        Data::Folder(folder) => {
            let source = folder.display().to_string();
            let fingerprint = listing(folder)?;
            if loaded.sources.get(&source) == Some(&fingerprint) {
                Step::start(format!("the data sets of {source}")).done("kept");
                return Ok(());
            }
            origin.import(folder)?;
            loaded.add(source, fingerprint)
        }
    }
}

/// Fails if the demo market is not loaded, by the record at this path.
pub fn require_demo(record: &Path) -> Result<()> {
    if !Loaded::read(record.to_owned())?.sources.contains_key("demo") {
        bail!(
            "--chain needs the demo market, to which its vaults belong, but the stack's data has none; add it with \
             --data demo, or choose another folder with --state"
        );
    }
    Ok(())
}

/// SHA-256 over names, sizes and modification times, which detects changed data sets.
fn listing(folder: &Path) -> Result<String> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    if files.is_empty() {
        bail!("{} contains no files", folder.display());
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let facts = std::fs::metadata(&file)?;
        let changed = facts.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        hash.update(file.as_os_str().as_encoded_bytes());
        hash.update(facts.len().to_le_bytes());
        hash.update(changed.as_nanos().to_le_bytes());
    }
    Ok(hex(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn a_stack_without_the_demo_market_is_told_how_to_add_it() {
        let record = std::env::temp_dir().join(format!("rds-loaded-{}", workspace::random_hex(4).unwrap()));
        assert!(require_demo(&record).unwrap_err().to_string().contains("--data demo"));
        std::fs::write(&record, r#"{"demo": ""}"#).unwrap();
        require_demo(&record).unwrap();
        std::fs::remove_file(&record).unwrap();
    }
}
