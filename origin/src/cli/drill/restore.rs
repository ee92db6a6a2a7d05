//! Restores a dump into a database that exists for one drill.

use anyhow::{Context, bail};
use rds_shared::wire::Timestamp;
use rds_store::service::drill as table;
use sqlx::{Connection, PgConnection};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// Number of lines of pg_restore's message that are shown.
const SHOWN_LINES: usize = 10;

/// The dump: `path` itself, or the newest file in it whose name ends in `.dump`.
pub(super) fn newest(path: &Path) -> anyhow::Result<PathBuf> {
    let cannot = || format!("{} cannot be read", path.display());
    if std::fs::metadata(path).with_context(cannot)?.is_file() {
        return Ok(path.to_owned());
    }
    let mut newest: Option<(SystemTime, PathBuf)> = None;
    for entry in std::fs::read_dir(path).with_context(cannot)? {
        let file = entry.with_context(cannot)?.path();
        if file.extension().is_some_and(|kind| kind == "dump") && file.is_file() {
            let written = std::fs::metadata(&file).and_then(|data| data.modified()).with_context(cannot)?;
            newest = newest.max(Some((written, file)));
        }
    }
    newest.map(|(_, file)| file).with_context(|| format!("{} contains no file *.dump", path.display()))
}

/// A database that exists for one drill.
pub(super) struct Scratch {
    server: PgConnection,
    name: String,
    url: String,
}

impl Scratch {
    /// Creates an empty database on the server of `server`.
    pub(super) async fn create(server: &str, now: Timestamp) -> anyhow::Result<Self> {
        let name = format!("rds_drill_{}", now.as_seconds());
        let url = url_of(server, &name).context("the server's URL names no database")?;
        let mut server = PgConnection::connect(server).await.context("the server does not answer")?;
        table::create_database(&mut server, &name).await.context("the database for the drill cannot be created")?;
        Ok(Scratch { server, name, url })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Drops the database.
    pub(super) async fn remove(mut self) -> anyhow::Result<()> {
        let dropped = table::drop_database(&mut self.server, &self.name).await;
        dropped.with_context(|| format!("the database {} of the drill cannot be dropped", self.name))
    }
}

/// Loads the dump with `pg_restore`, which must be on the `PATH`, in the server's major version or newer.
pub(super) async fn load(dump: &Path, url: &str, jobs: u32) -> anyhow::Result<()> {
    let (url, password) = without_password(url);
    let mut command = Command::new("pg_restore");
    command.args(["--no-owner", "--no-privileges", "--exit-on-error"]);
    command.arg(format!("--jobs={jobs}")).arg(format!("--dbname={url}")).arg(dump);
    // Arguments are visible to every user of the machine, the environment is not.
    if let Some(password) = password {
        command.env("PGPASSWORD", password);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = tokio::task::spawn_blocking(move || command.output()).await?;
    let output = output.context("pg_restore cannot be started; install Postgres' client programs")?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = text.lines().take(SHOWN_LINES).collect();
        bail!("pg_restore failed ({}): {}", output.status, lines.join(" / "));
    }
    Ok(())
}

/// The URL of another database on the same server.
fn url_of(url: &str, name: &str) -> Option<String> {
    let (before, query) = url.split_once('?').map_or((url, String::new()), |(url, query)| (url, format!("?{query}")));
    let start = before.find("://")? + "://".len();
    let server = before.get(start..)?.split('/').next()?;
    Some(format!("{}{server}/{name}{query}", before.get(..start)?))
}

/// The URL without its password, and the password.
fn without_password(url: &str) -> (String, Option<String>) {
    let parts = || {
        let start = url.find("://")? + "://".len();
        let (scheme, rest) = url.split_at_checked(start)?;
        let authority = rest.get(..rest.find(['/', '?']).unwrap_or(rest.len()))?;
        let (user_info, _) = authority.rsplit_once('@')?;
        let (user, password) = user_info.split_once(':')?;
        let rest = rest.get(user_info.len()..)?;
        Some((format!("{scheme}{user}{rest}"), percent_decoded(password)))
    };
    parts().map_or_else(|| (url.to_owned(), None), |(url, password)| (url, Some(password)))
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.filter(|_| *first == b'%').and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_taken_out_of_the_url_and_decoded() {
        for (url, expected, password) in [
            (
                "postgres://rds:p%40ss@db:5432/rds?sslmode=require",
                "postgres://rds@db:5432/rds?sslmode=require",
                Some("p@ss"),
            ),
            ("postgres://rds:a:b@db/rds", "postgres://rds@db/rds", Some("a:b")),
            ("postgres://rds@db/rds", "postgres://rds@db/rds", None),
            ("postgres:///rds?host=/tmp", "postgres:///rds?host=/tmp", None),
        ] {
            assert_eq!(without_password(url), (expected.to_owned(), password.map(str::to_owned)), "{url}");
        }
    }

    #[test]
    fn another_database_keeps_the_server_and_the_options() {
        for (url, expected) in [
            ("postgres://u:p@db:1/rds?sslmode=require", "postgres://u:p@db:1/other?sslmode=require"),
            ("postgres://u@db", "postgres://u@db/other"),
            ("postgres:///rds?host=/tmp", "postgres:///other?host=/tmp"),
        ] {
            assert_eq!(url_of(url, "other").as_deref(), Some(expected));
        }
        assert_eq!(url_of("db", "other"), None);
    }
}
