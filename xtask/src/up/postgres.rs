//! A Postgres server on loopback: one cluster per state folder, with a password and without a Unix socket.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::ports::{first_free, local};
use super::roles::{Passwords, Stopped};
use super::state::{Secrets, State, write_private};
use crate::command;
use crate::console::Step;
use crate::provision::cache::{Cache, remove};
use crate::provision::postgres::Programs;
use crate::provision::user::{self, Ids};
use crate::service::{Service, StopRule};
use crate::workspace::hex;

/// The superuser of the cluster, which tests and tools use, and the database of the service.
const ROLE: &str = "rds";
const DATABASE: &str = "rds";
const TIMEOUT: Duration = Duration::from_secs(120);
/// SIGINT requests Postgres' fast shutdown: sessions are disconnected and data is flushed.
const STOP: StopRule = StopRule { signal: Signal::INT, grace: Duration::from_secs(20) };

/// Whether data must survive a crash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Data survives a crash of the machine.
    Kept,
    /// For one test run: data is not flushed to disk.
    Temporary,
}

/// A running cluster.
pub struct Postgres {
    pub service: Service,
    pub urls: Urls,
}

/// The addresses of the service's database, for each role.
#[derive(Clone)]
pub struct Urls {
    /// `postgres://rds:…@127.0.0.1:port/rds`; the role is a superuser. For tests and tools.
    pub administrator: String,
    /// For migrations.
    pub migrate: String,
    /// For the service and its commands.
    pub serve: String,
}

impl Urls {
    /// One address for everything: a database that this tool did not create.
    pub fn one(url: String) -> Self {
        Self { administrator: url.clone(), migrate: url.clone(), serve: url }
    }
}

/// Folder of the cluster: `<state>/postgres`. If Postgres must run as a user who cannot enter that folder, a folder in the cache instead,
/// named by a hash of the path.
pub fn home(cache: &Cache, state: &State) -> Result<PathBuf> {
    let inside = state.path("postgres");
    if user::can_traverse(&inside, user::dropped()?) {
        return Ok(inside);
    }
    use sha2::{Digest, Sha256};
    let name = hex(&Sha256::digest(inside.as_os_str().as_encoded_bytes()));
    let name = name.get(..16).unwrap_or(&name);
    Ok(cache.folder("data").join(name))
}

/// A cluster that is not started.
pub struct Cluster {
    major: u32,
    port: u16,
    server: PathBuf,
    arguments: Vec<String>,
    home: PathBuf,
    ids: Option<Ids>,
    pub urls: Urls,
}

impl Cluster {
    /// The command that starts the server.
    pub fn command(&self) -> Command {
        let mut server = Command::new(&self.server);
        server.current_dir(&self.home).args(&self.arguments);
        user::run_as(&mut server, self.ids);
        server
    }

    /// The command as JSON, for programs that start and kill the server themselves: `{program, arguments, folder, uid, gid}`. `uid` and
    /// `gid` are null when the server runs as the current user.
    pub fn describe(&self) -> Value {
        let (uid, gid) = (self.ids.map(|ids| ids.uid), self.ids.map(|ids| ids.gid));
        json!({"program": self.server, "arguments": self.arguments, "folder": self.home, "uid": uid, "gid": gid})
    }
}

/// Starts the cluster in `home`, created if needed, and waits until it accepts connections.
pub fn start(
    programs: &Programs,
    home: &Path,
    state: &State,
    secrets: &mut Secrets,
    port_from: u16,
    durability: Durability,
) -> Result<Postgres> {
    let cluster = prepare(programs, home, state, secrets, port_from, durability)?;
    let mut step = Step::start(format!("Postgres {}", cluster.major));
    let mut service = Service::start("Postgres", cluster.command(), state.log("postgres"), STOP)?;
    let ready_file = home.join("data/postmaster.pid");
    service.wait_until(&mut step, TIMEOUT, || {
        // The server writes its status to the last line of this file.
        std::fs::read_to_string(&ready_file)
            .is_ok_and(|text| text.lines().last().is_some_and(|line| line.trim() == "ready"))
    })?;
    step.done(&format!("port {}", cluster.port));
    Ok(Postgres { service, urls: cluster.urls })
}

/// The cluster in `home`, created if needed, on the first free port from `port_from`.
pub fn prepare(
    programs: &Programs,
    home: &Path,
    state: &State,
    secrets: &mut Secrets,
    port_from: u16,
    durability: Durability,
) -> Result<Cluster> {
    let ids = user::dropped()?;
    if !user::can_traverse(&programs.bin, ids) {
        bail!(
            "Postgres must run as an ordinary user, who cannot enter {}; set RDS_CACHE to a \
             folder that everyone can enter",
            programs.bin.display()
        );
    }
    let password = secrets.or_random("postgres_password", 16)?;
    let data = home.join("data");
    if !data.join("PG_VERSION").is_file() {
        create(programs, home, state, &password, ids, durability)?;
    }
    let version = std::fs::read_to_string(data.join("PG_VERSION"))?;
    if version.trim() != programs.major.to_string() {
        bail!(
            "the data in {} belongs to Postgres {}, but the server is Postgres {}; --fresh deletes the data",
            data.display(),
            version.trim(),
            programs.major
        );
    }

    let passwords = Passwords::load(secrets)?;
    Stopped { programs, home, data: &data, database: DATABASE, ids }.create_roles(&passwords)?;

    let port = first_free(port_from, "Postgres")?;
    let port_text = port.to_string();
    let mut settings = vec![
        ("listen_addresses", "127.0.0.1"),
        ("port", port_text.as_str()),
        ("unix_socket_directories", ""),
        ("max_connections", "200"),
        ("shared_buffers", "256MB"),
        ("timezone", "UTC"),
        ("log_timezone", "UTC"),
    ];
    if durability == Durability::Temporary {
        settings.extend([("fsync", "off"), ("synchronous_commit", "off"), ("full_page_writes", "off")]);
        settings.extend([("wal_level", "minimal"), ("max_wal_senders", "0"), ("max_wal_size", "256MB")]);
    }
    let mut arguments = vec!["-D".to_owned(), data.display().to_string()];
    arguments.extend(settings.iter().flat_map(|(name, value)| ["-c".to_owned(), format!("{name}={value}")]));
    Ok(Cluster {
        major: programs.major,
        port,
        server: programs.bin.join("postgres"),
        arguments,
        home: home.to_owned(),
        ids,
        urls: Urls {
            administrator: format!("postgres://{ROLE}:{password}@{}/{DATABASE}", local(port)),
            migrate: passwords.migrate_url(port, DATABASE),
            serve: passwords.serve_url(port, DATABASE),
        },
    })
}

/// Creates a cluster with one superuser and one database.
fn create(
    programs: &Programs,
    home: &Path,
    state: &State,
    password: &str,
    ids: Option<Ids>,
    durability: Durability,
) -> Result<()> {
    let mut step = Step::start("a Postgres cluster");
    let making = home.join("making");
    std::fs::create_dir_all(home).with_context(|| format!("cannot create {}", home.display()))?;
    user::hand_over(home, ids, 0o700)?;
    remove(&making)?;
    let password_file = home.join("password");
    write_private(&password_file, password.as_bytes())?;
    user::hand_over(&password_file, ids, 0o600)?;

    let mut initdb = Command::new(programs.bin.join("initdb"));
    initdb
        .current_dir(home)
        .arg("-D")
        .arg(&making)
        .arg(format!("--username={ROLE}"))
        .arg("--pwfile")
        .arg(&password_file)
        .args(["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"]);
    if durability == Durability::Temporary {
        // Tests open thousands of connections, and a client of a debug build needs longer for 4,096 rounds of its password's hash than for the
        // rest of a short test.
        initdb.args(["--no-data-checksums", "-c", "scram_iterations=1"]);
    }
    user::run_as(&mut initdb, ids);
    let log = state.log("initdb");
    let made = command::run(&mut step, initdb, &log, TIMEOUT);
    std::fs::remove_file(&password_file)?;
    made?;
    create_database(&mut step, programs, home, &making, &log, ids)?;
    let data = home.join("data");
    remove(&data)?;
    std::fs::rename(&making, &data)?;
    step.done("initialised");
    Ok(())
}

/// Creates the service's database in the server's single-user mode, because the npm package contains no client.
fn create_database(
    step: &mut Step,
    programs: &Programs,
    home: &Path,
    data: &Path,
    log: &Path,
    ids: Option<Ids>,
) -> Result<()> {
    let mut shell = Command::new("sh");
    shell
        .current_dir(home)
        .args(["-c", "echo \"CREATE DATABASE $1\" | \"$2\" --single -D \"$3\" postgres", "sh", DATABASE])
        .arg(programs.bin.join("postgres"))
        .arg(data);
    user::run_as(&mut shell, ids);
    command::run(step, shell, log, TIMEOUT)
}
