//! Finds the Postgres programs: npm's embedded build first, then a system installation.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::cache::Cache;
use super::npm;
use crate::command;
use crate::workspace;

/// Minimum server version that the migrations support.
const MIN_VERSION: u32 = 15;

/// A server installation.
pub struct Programs {
    /// The folder with `postgres` and `initdb`.
    pub bin: PathBuf,
    pub major: u32,
}

/// The embedded server, or an installed one if the embedded server is unavailable.
///
/// # Errors
/// If neither is available; the error says what to install.
pub fn find(cache: &Cache) -> Result<Programs> {
    let embedded = npm::postgres(cache).and_then(|folder| match installation(&folder.join("bin")) {
        Some(programs) => Ok(programs),
        None => bail!("the embedded server in {} does not run", folder.display()),
    });
    let error = match embedded {
        Ok(programs) => return Ok(programs),
        Err(error) => error,
    };
    crate::signals::check()?;
    if let Some(programs) = system() {
        crate::console::heading(&format!(
            "  the embedded Postgres is unavailable; using {} (reason: {})",
            programs.bin.display(),
            workspace::log("npm").display()
        ));
        return Ok(programs);
    }
    bail!(
        "no Postgres {MIN_VERSION} or newer: the embedded server is unavailable ({error:#}), and none is \
         installed. Install one, or set DATABASE_URL to a database for this purpose"
    )
}

/// The newest installed server, on the `PATH` or in the usual folders.
fn system() -> Option<Programs> {
    let mut folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    for base in ["/usr/lib/postgresql", "/opt/homebrew/opt"] {
        let versions = std::fs::read_dir(base).into_iter().flatten().flatten();
        folders.extend(versions.map(|entry| entry.path().join("bin")));
    }
    folders.extend(["/usr/pgsql/bin", "/usr/local/pgsql/bin"].map(PathBuf::from));
    folders
        .iter()
        .filter_map(|folder| installation(folder))
        .filter(|programs| programs.major >= MIN_VERSION)
        .max_by_key(|programs| programs.major)
}

/// The installation in a folder, if it contains `postgres` and `initdb` and the server runs.
fn installation(bin: &Path) -> Option<Programs> {
    let server = bin.join("postgres");
    if !server.is_file() || !bin.join("initdb").is_file() {
        return None;
    }
    let version = command::output(Command::new(&server).arg("--version")).ok()?;
    Some(Programs { bin: bin.to_path_buf(), major: major(&version)? })
}

/// The major version in `postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)`.
fn major(version: &str) -> Option<u32> {
    let number = version.split_once("(PostgreSQL) ")?.1;
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::major;

    #[test]
    fn the_major_version_is_read_from_releases_and_betas() {
        assert_eq!(major("postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)"), Some(15));
        assert_eq!(major("postgres (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major("mysqld 8"), None);
    }
}
