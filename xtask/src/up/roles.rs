//! The database roles of a stack, created by the file that the product ships: migrations run as `rds_migrate`, the service as `rds_serve`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use super::ports::local;
use super::state::{Secrets, write_private};
use crate::console::Step;
use crate::provision::postgres::Programs;
use crate::provision::user::{self, Ids};
use crate::workspace::hex;

/// Creates the roles and hands existing tables to the first one.
const ROLES: &str = include_str!("../../../deploy/postgres/roles.sql");
const MIGRATE: &str = "rds_migrate";
const SERVE: &str = "rds_serve";

/// Passwords of the two roles, the same in every run of a stack.
pub struct Passwords {
    migrate: String,
    serve: String,
}

impl Passwords {
    /// Reads them from the stack's secrets; the first time they are generated.
    pub fn load(secrets: &mut Secrets) -> Result<Self> {
        Ok(Self {
            migrate: secrets.or_random("postgres_migrate_password", 16)?,
            serve: secrets.or_random("postgres_serve_password", 16)?,
        })
    }

    /// The address for migrations.
    pub fn migrate_url(&self, port: u16, database: &str) -> String {
        url(MIGRATE, &self.migrate, port, database)
    }

    /// The address for the service and for every other command.
    pub fn serve_url(&self, port: u16, database: &str) -> String {
        url(SERVE, &self.serve, port, database)
    }
}

fn url(role: &str, password: &str, port: u16, database: &str) -> String {
    format!("postgres://{role}:{password}@{}/{database}", local(port))
}

/// A cluster that is not running.
pub struct Stopped<'a> {
    pub programs: &'a Programs,
    /// The folder that contains the cluster's data.
    pub home: &'a Path,
    pub data: &'a Path,
    pub database: &'a str,
    /// The user that the server runs as.
    pub ids: Option<Ids>,
}

impl Stopped<'_> {
    /// Creates the roles in the server's single-user mode, because the npm package contains no client. Does nothing if they were created from
    /// the same file with the same passwords.
    pub fn create_roles(&self, passwords: &Passwords) -> Result<()> {
        let Passwords { migrate, serve } = passwords;
        let script = format!(
            "{ROLES}\n\nALTER ROLE {MIGRATE} PASSWORD '{migrate}';\n\nALTER ROLE {SERVE} PASSWORD '{serve}';\n\n"
        );
        let digest = hex(&Sha256::digest(script.as_bytes()));
        let record = self.home.join("roles");
        if std::fs::read_to_string(&record).is_ok_and(|last| last == digest) {
            return Ok(());
        }
        let step = Step::start("the database roles");
        let file = self.home.join("roles.sql");
        write_private(&file, script.as_bytes())?;
        user::hand_over(&file, self.ids, 0o600)?;
        let said = self.run(&file);
        std::fs::remove_file(&file)?;
        // Single-user mode ends successfully although a statement has failed.
        if let Some(error) = said?.lines().find(|line| line.contains("ERROR:") || line.contains("FATAL:")) {
            bail!("the database roles cannot be created: {error}");
        }
        write_private(&record, digest.as_bytes())?;
        step.done(&format!("{MIGRATE}, {SERVE}"));
        Ok(())
    }

    /// Runs a script whose statements are separated by blank lines, and returns everything that the server says.
    fn run(&self, script: &PathBuf) -> Result<String> {
        let mut server = Command::new(self.programs.bin.join("postgres"));
        server.current_dir(self.home).args(["--single", "-j", "-D"]).arg(self.data).arg(self.database);
        user::run_as(&mut server, self.ids);
        let input = std::fs::File::open(script)?;
        let output =
            server.stdin(Stdio::from(input)).output().context("the server's single-user mode does not start")?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        if !output.status.success() {
            bail!("the server's single-user mode ended with {}: {said}", output.status);
        }
        Ok(said)
    }
}
