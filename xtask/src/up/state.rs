//! The state folder of one stack: its lock, its secrets, its logs.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use crate::workspace::random_hex;

/// A state folder, locked by one `up` at a time.
pub struct State {
    root: PathBuf,
    _lock: File,
}

impl State {
    /// Creates the folder if needed and takes its lock.
    ///
    /// # Errors
    /// If another run holds the lock; the error names its process.
    pub fn open(folder: &Path) -> Result<Self> {
        let root = std::path::absolute(folder)?;
        std::fs::create_dir_all(&root).with_context(|| format!("cannot create the state folder {}", root.display()))?;
        let path = root.join("lock");
        let mut lock = OpenOptions::new()
            .create(true)
            .read(true)
            .write(true)
            .truncate(false)
            .open(&path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                lock.read_to_string(&mut holder)?;
                bail!(
                    "a stack is already running on {} (process {}); stop it with Ctrl-C there, or \
                     choose another folder with --state",
                    root.display(),
                    holder.trim()
                );
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        lock.set_len(0)?;
        writeln!(lock, "{}", std::process::id())?;
        Ok(Self { root, _lock: lock })
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Path of the log of a service or a step.
    pub fn log(&self, name: &str) -> PathBuf {
        self.root.join("logs").join(format!("{name}.log"))
    }
}

/// Secrets that stay the same between runs, in `secrets.json` with mode 0600.
pub struct Secrets {
    path: PathBuf,
    values: Map<String, Value>,
}

impl Secrets {
    /// Reads the file; an empty set if there is none.
    pub fn load(state: &State) -> Result<Self> {
        let path = state.path("secrets.json");
        let values = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .with_context(|| format!("{} is damaged; --fresh deletes it and the stack's data", path.display()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Map::new(),
            Err(error) => return Err(error.into()),
        };
        Ok(Self { path, values })
    }

    /// A value by name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).and_then(Value::as_str)
    }

    /// A value by name; the first time it is generated from `bytes` random bytes, as hexadecimal.
    pub fn or_random(&mut self, name: &str, bytes: usize) -> Result<String> {
        if let Some(value) = self.get(name) {
            return Ok(value.to_owned());
        }
        let value = random_hex(bytes)?;
        self.set(name, &value)?;
        Ok(value)
    }

    /// Stores a value in memory and in the file.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        self.values.insert(name.to_owned(), Value::String(value.to_owned()));
        write_private(&self.path, &serde_json::to_vec_pretty(&self.values)?)
    }
}

/// Replaces a file atomically, with mode 0600.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    let next = path.with_extension("next");
    let write = || -> std::io::Result<()> {
        let _ = std::fs::remove_file(&next);
        let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&next)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&next, path)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}
