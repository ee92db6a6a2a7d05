//! The key: from the environment, a file, standard input or the configuration folder; never from the command line itself.

use crate::failure::Failure;
use std::env;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The key that the user gives, if any. `argument` is `--key`, `file` is `--key-file`.
pub fn find(argument: Option<&str>, file: Option<&Path>) -> Result<Option<String>, Failure> {
    match argument {
        Some("-") => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            return trimmed(&text, "standard input").map(Some);
        }
        Some(_) => {
            let text = "a key on the command line is visible to every user of this machine. Use --key - (standard input), \
                        --key-file or RDS_API_KEY, and consider that key known";
            return Err(Failure::Usage(text.into()));
        }
        None => {}
    }
    if let Some(file) = file {
        return read(file).map(Some);
    }
    if let Ok(key) = env::var("RDS_API_KEY")
        && !key.trim().is_empty()
    {
        return trimmed(&key, "RDS_API_KEY").map(Some);
    }
    match default_file() {
        Some(file) if file.exists() => read(&file).map(Some),
        _ => Ok(None),
    }
}

/// The file in the user's configuration folder.
fn default_file() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let configuration = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
    Some(configuration.join("rds/key"))
}

fn read(file: &Path) -> Result<String, Failure> {
    let fault = |text: String| Failure::Usage(format!("{}: {text}", file.display()));
    is_private(file).map_err(fault)?;
    let text = fs::read_to_string(file).map_err(|error| fault(error.to_string()))?;
    trimmed(&text, &file.display().to_string())
}

#[cfg(unix)]
fn is_private(file: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(file).map_err(|error| error.to_string())?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(format!("other users may read this key (mode {:03o}). Run chmod 600 on it", mode & 0o777))
}

#[cfg(not(unix))]
fn is_private(_: &Path) -> Result<(), String> {
    Ok(())
}

fn trimmed(text: &str, place: &str) -> Result<String, Failure> {
    let key = text.trim();
    if key.is_empty() || key.contains(char::is_whitespace) {
        return Err(Failure::Usage(format!("{place} does not contain one key")));
    }
    Ok(key.to_owned())
}
