//! Lock files of what is fetched and run: names of their contents, and a tool's own lock out of the one that fetches it.

use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::workspace::hex;

/// The name of the package that fetches a tool: it depends on the tool and on nothing else.
pub const FETCHER: &str = "lock";

/// The first characters of the SHA-256 of a file: the same file has the same name in every clone.
pub fn digest(file: &Path) -> Result<String> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let digest = hex(&Sha256::digest(bytes));
    Ok(digest.get(..12).unwrap_or(&digest).to_owned())
}

/// The version that a `Cargo.lock` pins of a package.
pub fn version_of<'a>(lock: &'a str, package: &str) -> Result<&'a str> {
    let block = blocks(lock).find(|block| field(block, "name") == Some(package));
    block.and_then(|block| field(block, "version")).with_context(|| format!("{package} is not in its lock"))
}

/// The SHA-256 that a `Cargo.lock` has of a package; none of a package in the clone.
pub fn checksum_of<'a>(lock: &'a str, package: &str, version: &str) -> Option<&'a str> {
    let is = |block: &&str| field(block, "name") == Some(package) && field(block, "version") == Some(version);
    blocks(lock).find(is).and_then(|block| field(block, "checksum"))
}

/// The lock under which `tool` is built from its own sources: that of the fetching package, without the latter, and with `tool` as
/// what is built instead of what is fetched.
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
    fn a_tool_is_built_under_what_it_was_fetched_with() {
        assert_eq!(version_of(LOCK, "tool").unwrap(), "0.8.7");
        assert!(version_of(LOCK, "other").is_err());
        let own = of_tool(LOCK, "tool");
        assert!(!own.contains("\"lock\"") && own.contains("checksum = \"ab\"") && !own.contains("checksum = \"cd\""));
        assert!(own.ends_with("name = \"tool\"\nversion = \"0.8.7\"\n"), "{own}");
    }

    #[test]
    fn every_tool_comes_with_its_hash() {
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
        assert!(seen >= 5);
    }
}
