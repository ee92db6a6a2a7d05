//! `doctor`: is everything there that `serve` needs? One line a check.

use super::Output;
use crate::clock::Clock;
use crate::clock_check;
use crate::config::{self, Config, DatabaseConfig, Fault, LinkConfig, Unknown};
use crate::metrics::process::most_files;
use crate::status::{clocks, writes};
use crate::store::decision_signers;
use crate::store::health;
use crate::store::journal::{self as table, Standing};
use crate::store::{self, Db, test_clock};
use rds_shared::graph::evidence::Signer;
use rds_shared::graph::signature::DecisionKey;
use rds_shared::push::address::hold_everybody;
use serde::Serialize;
use std::process::ExitCode;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The check of the signing key.
const SIGNING: &str = "signing key";

/// Open files below which the doors hold notably fewer connections than they could.
const FEW_FILES: usize = 4_096;
/// The checks of the clock, of what was done by it, and of the database's disk.
const CLOCK: &str = "clock";
const NEWEST: &str = "newest work";
const WRITES: &str = "writes";

/// How long the edge may take to accept a connection.
const EDGE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a transaction may write before an operator should look at it.
const OLD_WRITER_SECONDS: i64 = 300;

/// One check.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    detail: String,
}

impl Check {
    fn good(name: &'static str, detail: impl Into<String>) -> Self {
        Check { name, ok: true, detail: detail.into() }
    }

    fn bad(name: &'static str, detail: impl Into<String>) -> Self {
        Check { name, ok: false, detail: detail.into() }
    }
}

/// Runs every check; fails when one of them did. What is wrong with one variable keeps no other check from being made.
pub(super) async fn doctor(out: Output) -> ExitCode {
    let config = Config::read(config::environment);
    let mut checks = match &config {
        Ok(config) => vec![Check::good(
            "config",
            format!("edge {}, relay {}, admin {}", config.edge_addr, config.relay_addr, config.admin_addr),
        )],
        Err(error) => {
            let told = |fault: &Fault| {
                Check::bad("config", format!("{} {}; for example {}", fault.variable, fault.reason, fault.example))
            };
            error.0.iter().map(told).collect()
        }
    };
    checks.extend(config::unknown_here().iter().map(stray));
    checks.extend(of_the_database().await);
    checks.extend(config.iter().flat_map(of_the_rest));
    // Read for itself: it is none of the others' affair whether it can be.
    if let Ok(link) = LinkConfig::read(config::environment) {
        checks.push(edge_link(link.as_ref().map(|link| link.url.as_str())).await);
    }
    let lines: Vec<String> = checks
        .iter()
        .map(|check| format!("{:<4} {:<14} {}", if check.ok { "ok" } else { "FAIL" }, check.name, check.detail))
        .collect();
    let shown = out.show(lines.join("\n"), &checks);
    if shown.is_ok() && checks.iter().all(|check| check.ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A variable that nothing reads is not wrong, but whoever set it wanted something.
fn stray(variable: &Unknown) -> Check {
    Check::good("config", format!("WARNING: NOTHING READS {variable}"))
}

async fn of_the_database() -> Vec<Check> {
    let mut checks = Vec::new();
    let Ok(database) = DatabaseConfig::read(config::environment) else {
        let unknown = ["database", "migrations", CLOCK, WRITES, "journal", NEWEST, SIGNING];
        return unknown.map(|name| Check::bad(name, "unknown while DATABASE_URL is at fault")).into();
    };
    match Db::connect(database.url.expose(), database.connections).await {
        Ok(db) => {
            checks.push(Check::good("database", "answers"));
            checks.push(match store::pending_migrations(&db).await {
                Ok(0) => Check::good("migrations", "none pending"),
                Ok(pending) => Check::bad("migrations", format!("{pending} pending; run: rds-origin migrate")),
                Err(error) => Check::bad("migrations", error.to_string()),
            });
            checks.push(clock(&db).await);
            checks.push(takes_writes(&db).await);
            checks.push(journal(&db).await);
            let clock = test_clock::shift(&db).await.ok().flatten().map_or_else(Clock::system, Clock::shifted);
            checks.push(facts_ahead(&db, &clock).await);
            checks.push(match config::signing_key(config::environment) {
                Ok(key) => signing(key.as_ref(), &clock, &db).await,
                Err(_) => Check::bad(SIGNING, "unknown while its variable is at fault"),
            });
        }
        Err(error) => {
            checks.push(Check::bad("database", error.to_string()));
            let unknown = ["migrations", CLOCK, WRITES, "journal", NEWEST, SIGNING];
            checks.extend(unknown.map(|name| Check::bad(name, "unknown without a database")));
        }
    }
    checks
}

/// What needs nothing but the configuration.
fn of_the_rest(config: &Config) -> Vec<Check> {
    let ids: Vec<&str> = config.assertion_keys.iter().map(|key| key.id()).collect();
    let signs = format!("{} signs, {} verify", ids.first().unwrap_or(&"none"), ids.len());
    let master_key = match config.master_key {
        Some(_) => Check::good("master key", "set"),
        None => Check::bad("master key", "RDS_MASTER_KEY is not set: webhooks can be neither created nor delivered"),
    };
    let token = Check::good("admin token", "set");
    let doors = [edge_door(config), trusted_proxies(config)];
    let mut checks = vec![Check::good("assertion key", signs), token, master_key];
    checks.extend(doors);
    checks.push(webhook_targets(config));
    checks
}

/// Whether this machine's clock agrees with the database's.
async fn clock(db: &Db) -> Check {
    let database_now = match health::clock(db).await {
        Ok(now) => now,
        Err(error) => return Check::bad(CLOCK, error.to_string()),
    };
    let offset = clocks::offset_seconds(Clock::system().wall(), database_now);
    match clocks::differs(offset) {
        true => {
            Check::bad(CLOCK, format!("{offset} s ahead of the database's: the edge is refused here; set it right"))
        }
        false => Check::good(CLOCK, format!("{offset} s ahead of the database's")),
    }
}

/// Whether the database takes writes: one is made.
async fn takes_writes(db: &Db) -> Check {
    match writes::write(db).await {
        Ok(()) => Check::good(WRITES, "the database takes them"),
        Err(error) => Check::bad(WRITES, error.to_string()),
    }
}

/// Whether the clock is behind what was done by it.
async fn facts_ahead(db: &Db, clock: &Clock) -> Check {
    let now = clock.now();
    match clock_check::behind(db, now).await {
        Ok(None) => Check::good(NEWEST, format!("{now}, and nothing in the database is newer")),
        // A test clock is moved to and fro by whoever asked for one.
        Ok(Some(newest)) if clock.is_movable() => {
            Check::good(NEWEST, format!("WARNING: the test clock says {now}, and the newest work is of {newest}"))
        }
        Ok(Some(newest)) => {
            Check::bad(NEWEST, format!("{now}, and the newest work is of {newest}: {}", clock_check::WENT_BACK))
        }
        Err(error) => Check::bad(NEWEST, error.to_string()),
    }
}

/// Whether what this process would sign will be recognised.
async fn signing(key: Option<&DecisionKey>, clock: &Clock, db: &Db) -> Check {
    let Some(key) = key else {
        return Check::good(SIGNING, "no RDS_SIGNING_KEY: checks are answered without decisions");
    };
    let (address, now) = (key.address(), clock.now());
    let signers = match decision_signers::list(&db.pool).await {
        Ok(signers) => signers,
        Err(error) => return Check::bad(SIGNING, error.to_string()),
    };
    match signers.into_iter().find(|signer| signer.address == address.as_str()) {
        None => Check::bad(SIGNING, format!("{address} is not in the registry; run: rds-origin signers activate")),
        Some(Signer { key_id, retired_at: Some(at), .. }) if at <= now => {
            Check::bad(SIGNING, format!("{key_id} at {address} was retired on {at}; set another key and activate it"))
        }
        Some(Signer { key_id, activated_at, .. }) if activated_at > now => {
            Check::bad(SIGNING, format!("{key_id} at {address} signs nothing before {activated_at}"))
        }
        Some(Signer { key_id, activated_at, .. }) => {
            Check::good(SIGNING, format!("{key_id} at {address} signs from {activated_at}"))
        }
    }
}

/// Who may connect to the edge's door. Where that is anybody it is not wrong, but an operator shall know.
fn edge_door(config: &Config) -> Check {
    const NAME: &str = "edge door";
    let allowed: Vec<String> = config.edge_allow.iter().map(ToString::to_string).collect();
    let files = match most_files() {
        Some(files) if files < FEW_FILES => {
            format!("; only {files} open files are allowed (ulimit -n): few connections")
        }
        _ => String::new(),
    };
    Check::good(
        NAME,
        match (allowed.is_empty(), config.edge_addr.ip().is_loopback()) {
            (false, _) if hold_everybody(&config.edge_allow) => {
                format!("WARNING: ANYBODY MAY CONNECT: {} (RDS_EDGE_ALLOW) keeps nobody out{files}", allowed.join(", "))
            }
            (false, _) => format!("only {} may connect (RDS_EDGE_ALLOW){files}", allowed.join(", ")),
            (true, true) => format!("this machine may connect{files}"),
            (true, false) => format!(
                "whoever reaches {} may connect: RDS_EDGE_ALLOW names those who may, as the proxy before it{files}",
                config.edge_addr
            ),
        },
    )
}

/// Whose word on a caller's address counts at each door. A list that believes everybody lets callers choose whose allowance they spend.
fn trusted_proxies(config: &Config) -> Check {
    const NAME: &str = "proxies";
    let trusted: Vec<String> = config.trusted_proxies.blocks().iter().map(ToString::to_string).collect();
    let others = "edge door: none, a caller's address is in what the Worker signed; admin door: none";
    let trusted = trusted.join(", ");
    Check::good(
        NAME,
        match () {
            () if trusted.is_empty() => format!(
                "relay door: none (RDS_TRUSTED_PROXIES), a caller's address is that of the connection; {others}"
            ),
            () if config.trusted_proxies.believe_everybody() => format!(
                "WARNING: THE RELAY DOOR BELIEVES EVERYBODY: with {trusted} in RDS_TRUSTED_PROXIES whoever connects writes the address that \
                 is counted, and no limit for addresses holds; name the proxies' own networks; {others}"
            ),
            () => format!("relay door: {trusted} (RDS_TRUSTED_PROXIES); {others}"),
        },
    )
}

/// Where webhooks may go. What an operator has opened is not wrong, but nobody shall overlook it.
fn webhook_targets(config: &Config) -> Check {
    const NAME: &str = "webhook targets";
    let allowed: Vec<String> = config.webhook_policy.allowed().iter().map(ToString::to_string).collect();
    let authorities = match config.webhook_authorities.len() {
        0 => String::new(),
        count => format!("; {count} more authorities are trusted (RDS_WEBHOOK_CA)"),
    };
    if allowed.is_empty() {
        return Check::good(NAME, format!("public addresses only{authorities}"));
    }
    let networks = allowed.join(", ");
    let text = format!(
        "WARNING: WHOEVER MAY MAKE WEBHOOKS CAN REACH {networks} FROM HERE (RDS_WEBHOOK_ALLOW); never in production{authorities}"
    );
    Check::good(NAME, text)
}

/// Whether the numbers of the event stream may go on from where they are.
async fn journal(db: &Db) -> Check {
    const NAME: &str = "journal";
    let standing = async {
        let mut connection = db.pool.acquire().await?;
        table::standing(&mut connection).await
    };
    let Standing { head, here, waiting, steps, oldest_writer_seconds } = match standing.await {
        Ok(standing) => standing,
        Err(error) => return Check::bad(NAME, error.to_string()),
    };
    let said = format!("head {head}, {waiting} operations without a number, {steps} steps over lost numbers");
    if !here {
        return Check::good(
            NAME,
            format!("{said}; restored from elsewhere: the service steps over what may be lost when it starts"),
        );
    }
    if oldest_writer_seconds > OLD_WRITER_SECONDS {
        let why = "its operations come when it ends, and nothing can be vacuumed until then";
        return Check::bad(
            NAME,
            format!("{said}; a transaction has been writing for {oldest_writer_seconds} s: {why}"),
        );
    }
    let hint = "after setting the database's disk back to an earlier copy run: rds-origin journal step --reason TEXT";
    Check::good(NAME, format!("{said}; {hint}"))
}

/// Whether something listens where the edge should be.
async fn edge_link(url: Option<&str>) -> Check {
    const NAME: &str = "edge link";
    let Some(url) = url else {
        return Check::good(
            NAME,
            "no RDS_EDGE_URL: an edge learns of a changed key within 30 s, and keys revoke waits for that",
        );
    };
    let (default_port, rest) = match url.strip_prefix("https://") {
        Some(rest) => (443, rest),
        None => (80, url.strip_prefix("http://").unwrap_or(url)),
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let target = if has_port { authority.to_owned() } else { format!("{authority}:{default_port}") };
    match timeout(EDGE_TIMEOUT, TcpStream::connect(&target)).await {
        Ok(Ok(_)) => Check::good(NAME, format!("{target} accepts connections")),
        Ok(Err(error)) => Check::bad(NAME, format!("{target}: {error}")),
        Err(_) => Check::bad(NAME, format!("{target} does not answer")),
    }
}
