//! Trees of files as tar archives (POSIX ustar) whose bytes depend on the files' content only: sorted, with one owner and one time.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

const BLOCK: usize = 512;

/// User and group without rights on the host, as which the images' programs run.
pub const NOBODY: u32 = 65_532;

/// A file of a tree.
enum Content {
    /// A folder of this user and group.
    Folder(u32),
    Copy(PathBuf),
    Bytes(Vec<u8>),
}

struct Entry {
    mode: u32,
    content: Content,
}

/// Files by their path in the archive. Parent folders are added by themselves.
#[derive(Default)]
pub struct Tree(BTreeMap<String, Entry>);

impl Tree {
    /// Adds an empty folder that belongs to a user.
    pub fn folder_of(&mut self, path: &str, user: u32) {
        self.parents(path);
        self.0.insert(format!("{path}/"), Entry { mode: 0o755, content: Content::Folder(user) });
    }

    /// Adds a copy of a file.
    pub fn copy(&mut self, path: &str, from: &Path, mode: u32) {
        self.parents(path);
        self.0.insert(path.to_owned(), Entry { mode, content: Content::Copy(from.to_owned()) });
    }

    /// Adds a file with this content.
    pub fn bytes(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.parents(path);
        self.0.insert(path.to_owned(), Entry { mode: 0o644, content: Content::Bytes(bytes.into()) });
    }

    /// Adds a copy of a folder's files, with its subfolders. Executable files stay executable.
    pub fn copy_all(&mut self, path: &str, from: &Path) -> Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let mut entries: Vec<_> = std::fs::read_dir(from)
            .with_context(|| format!("cannot read {}", from.display()))?
            .collect::<std::io::Result<_>>()?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            let inside = format!("{path}/{}", name.to_str().context("a file's name is not UTF-8")?);
            if entry.file_type()?.is_dir() {
                self.copy_all(&inside, &entry.path())?;
            } else {
                let executable = entry.metadata()?.permissions().mode() & 0o100 != 0;
                self.copy(&inside, &entry.path(), if executable { 0o755 } else { 0o644 });
            }
        }
        Ok(())
    }

    fn parents(&mut self, path: &str) {
        for (at, _) in path.match_indices('/') {
            let folder = path.get(..=at).unwrap_or_default().to_owned();
            self.0.entry(folder).or_insert(Entry { mode: 0o755, content: Content::Folder(0) });
        }
    }

    /// Writes the archive. `time` is the modification time of every file, in seconds since 1970.
    pub fn write(&self, into: &mut impl Write, time: u64) -> Result<()> {
        for (path, Entry { mode, content }) in &self.0 {
            let (kind, user, length) = match content {
                Content::Folder(user) => (b'5', *user, 0),
                Content::Bytes(bytes) => (b'0', 0, bytes.len() as u64),
                Content::Copy(from) => {
                    (b'0', 0, std::fs::metadata(from).with_context(|| format!("cannot read {}", from.display()))?.len())
                }
            };
            into.write_all(&header(path, *mode, user, length, time, kind)?)?;
            match content {
                Content::Folder(_) => {}
                Content::Bytes(bytes) => into.write_all(bytes)?,
                Content::Copy(from) => {
                    let copied = std::io::copy(&mut File::open(from)?.take(length), into)?;
                    if copied != length {
                        bail!("{} changed while it was read", from.display());
                    }
                }
            }
            let padding = (BLOCK as u64 - length % BLOCK as u64) % BLOCK as u64;
            std::io::copy(&mut std::io::repeat(0).take(padding), into)?;
        }
        into.write_all(&[0; 2 * BLOCK])?;
        Ok(())
    }
}

/// A header of POSIX.1-1988 ustar.
fn header(path: &str, mode: u32, user: u32, length: u64, time: u64, kind: u8) -> Result<[u8; BLOCK]> {
    let mut block = [0; BLOCK];
    let (prefix, name) = match path.len() {
        0..=100 => ("", path),
        _ => {
            let cut = path.match_indices('/').map(|(at, _)| at).find(|at| path.len() - at - 1 <= 100);
            let cut = cut.filter(|at| *at <= 155 && at + 1 < path.len());
            cut.and_then(|at| Some((path.get(..at)?, path.get(at + 1..)?)))
                .with_context(|| format!("{path} is too long"))?
        }
    };
    let mut put = |at: usize, text: &[u8]| {
        if let Some(field) = block.get_mut(at..at + text.len()) {
            field.copy_from_slice(text);
        }
    };
    put(0, name.as_bytes());
    put(100, format!("{mode:07o}").as_bytes());
    put(108, format!("{user:07o}").as_bytes());
    put(116, format!("{user:07o}").as_bytes());
    put(124, format!("{length:011o}").as_bytes());
    put(136, format!("{time:011o}").as_bytes());
    // The checksum counts its own field as spaces.
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    put(345, prefix.as_bytes());
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    if let Some(field) = block.get_mut(148..156) {
        field.copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn archive(tree: &Tree) -> Vec<u8> {
        let mut bytes = Vec::new();
        tree.write(&mut bytes, 1_700_000_000).unwrap();
        bytes
    }

    #[test]
    fn another_program_reads_the_archive() {
        let mut tree = Tree::default();
        let long = format!("usr/{}/{}", "a".repeat(90), "b".repeat(90));
        tree.bytes(&long, "long");
        tree.bytes("etc/one", vec![b'x'; 513]);
        tree.folder_of("var/lib/mine", NOBODY);
        tree.copy("bin/this", &std::env::current_exe().unwrap(), 0o755);
        let file = std::env::temp_dir().join(format!("rds-tree-{}.tar", std::process::id()));
        std::fs::write(&file, archive(&tree)).unwrap();
        let listed = Command::new("tar").arg("-tvf").arg(&file).stdin(Stdio::null()).output().unwrap();
        std::fs::remove_file(&file).unwrap();
        let text = String::from_utf8(listed.stdout).unwrap();
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        assert!(text.contains(&long) && text.contains("65532/65532") && text.contains("-rwxr-xr-x 0/0"), "{text}");
        assert_eq!(text.lines().count(), 10, "four entries and six parents: {text}");
    }

    #[test]
    fn the_bytes_do_not_depend_on_the_order_of_additions() {
        let (mut one, mut other) = (Tree::default(), Tree::default());
        one.bytes("a/b", "1");
        one.bytes("c", "2");
        other.bytes("c", "2");
        other.bytes("a/b", "1");
        assert_eq!(archive(&one), archive(&other));
        assert_eq!(archive(&one).len() % BLOCK, 0);
    }
}
