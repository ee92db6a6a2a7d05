//! Lock files of tools: their digests, their entries, and the lock file for building a tool from its own sources.

use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::workspace::hex;

/// Name of the temporary package whose only dependency is a tool; cargo fetches the tool through it.
pub const FETCHER: &str = "lock";

/// The first 12 hex characters of a file's SHA-256.
pub fn digest(file: &Path) -> Result<String> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let digest = hex(&Sha256::digest(bytes));
    Ok(digest.get(..12).unwrap_or(&digest).to_owned())
}

/// The version of a package in a `Cargo.lock`.
pub fn version_of<'a>(lock: &'a str, package: &str) -> Result<&'a str> {
    let block = blocks(lock).find(|block| field(block, "name") == Some(package));
    block.and_then(|block| field(block, "version")).with_context(|| format!("{package} is not in its lock file"))
}

/// The SHA-256 of a package in a `Cargo.lock`; `None` for workspace packages.
pub fn checksum_of<'a>(lock: &'a str, package: &str, version: &str) -> Option<&'a str> {
    let is = |block: &&str| field(block, "name") == Some(package) && field(block, "version") == Some(version);
    blocks(lock).find(is).and_then(|block| field(block, "checksum"))
}

/// Turns the lock file of the fetching package into the lock file for building `tool` from its own sources: removes the fetching package
/// and makes `tool` a local package.
pub fn of_tool(lock: &str, tool: &str) -> String {
    let mut out = lock.split("[[package]]").next().unwrap_or_default().to_owned();
    for block in blocks(lock).filter(|block| field(block, "name") != Some(FETCHER)) {
        out.push_str("[[package]]");
        let is_tool = field(block, "name") == Some(tool);
        let fetched = |line: &&str| line.starts_with("source = ") || line.starts_with("checksum = ");
        for line in block.split_inclusive('\n').filter(|line| !(is_tool && fetched(line))) {
            out.push_str(line);
        }
    }
    out
}

fn blocks(lock: &str) -> impl Iterator<Item = &str> {
    lock.split("[[package]]").skip(1)
}

fn field<'a>(block: &'a str, name: &str) -> Option<&'a str> {
    block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"lock\"\nversion = \"0.0.0\"\ndependencies = [\n \"tool\",\n]\n\n\
                        [[package]]\nname = \"serde\"\nversion = \"1.0.1\"\nsource = \"registry\"\nchecksum = \"ab\"\n\n\
                        [[package]]\nname = \"tool\"\nversion = \"0.8.7\"\nsource = \"registry\"\nchecksum = \"cd\"\n";

    #[test]
    fn a_tool_is_built_with_the_dependencies_it_was_fetched_with() {
        assert_eq!(version_of(LOCK, "tool").unwrap(), "0.8.7");
        assert!(version_of(LOCK, "other").is_err());
        let own = of_tool(LOCK, "tool");
        assert!(!own.contains("\"lock\"") && own.contains("checksum = \"ab\"") && !own.contains("checksum = \"cd\""));
        assert!(own.ends_with("name = \"tool\"\nversion = \"0.8.7\"\n"), "{own}");
    }

    #[test]
    fn every_tool_and_dependency_has_a_hash() {
        let folder = workspace::root().join("xtask/locks/cargo");
        let mut seen = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let file = file.unwrap().path();
            let tool = file.file_stem().unwrap().to_str().unwrap();
            let lock = std::fs::read_to_string(&file).unwrap();
            let block = blocks(&lock).find(|block| field(block, "name") == Some(tool)).unwrap();
            assert_eq!(field(block, "checksum").unwrap().len(), 64, "{tool}");
            for block in blocks(&lock).filter(|block| field(block, "name") != Some(FETCHER)) {
                assert!(field(block, "checksum").is_some(), "{tool}: {block}");
            }
            seen += 1;
        }
        assert!(seen >= 4);
        let bindgen = std::fs::read_to_string(workspace::root().join("xtask/bindgen/Cargo.lock")).unwrap();
        let unverified: Vec<_> = blocks(&bindgen).filter(|block| field(block, "checksum").is_none()).collect();
        assert_eq!(unverified.iter().filter_map(|block| field(block, "name")).collect::<Vec<_>>(), ["rds-bindgen"]);
    }
}
