//! `doctor`: checks whether everything that `serve` needs is present, one line a check.

use super::Output;
use super::chain::providers;
use crate::clock_check;
use crate::config::{self, Config, DatabaseConfig, Fault, LinkConfig, Unknown};
use crate::metrics::process::max_open_files;
use crate::status::{clocks, writes};
use rds_engine::clock::Clock;
use rds_shared::graph::evidence::Signer;
use rds_shared::graph::signature::DecisionKey;
use rds_shared::push::address::covers_public_internet;
use rds_store::graph::signers;
use rds_store::push::journal as table;
use rds_store::push::journal::JournalState;
use rds_store::rights;
use rds_store::service::health;
use rds_store::service::test_clock;
use rds_store::{self as store, Db};
use serde::Serialize;
use std::process::ExitCode;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Limit of open files below which the listeners can accept notably fewer connections.
const FEW_FILES: usize = 4_096;

// Names of checks that are reported from several places.
const SIGNING: &str = "signing key";
const CLOCK: &str = "clock";
const NEWEST: &str = "newest work";
const WRITES: &str = "writes";
const RIGHTS: &str = "rights";
/// Number of missing rights that a line names.
const NAMED_RIGHTS: usize = 5;

/// Time limit for connecting to the edge.
const EDGE_TIMEOUT: Duration = Duration::from_secs(2);

/// Age of a writing transaction from which the check fails.
const OLD_WRITER_SECONDS: i64 = 300;

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

/// Runs every check; fails if one of them fails. An invalid variable prevents only the checks that need it.
pub(super) async fn doctor(out: Output) -> ExitCode {
    let config = Config::read(config::environment);
    let mut checks = match &config {
        Ok(config) => vec![Check::good(
            "config",
            format!("edge {}, relay {}, admin {}", config.edge_addr, config.relay_addr, config.admin_addr),
        )],
        Err(error) => {
            let check = |fault: &Fault| {
                Check::bad("config", format!("{} {}; for example {}", fault.variable, fault.reason, fault.example))
            };
            error.0.iter().map(check).collect()
        }
    };
    checks.extend(config::unknown_here().iter().map(stray));
    checks.extend(check_database().await);
    checks.extend(config.iter().flat_map(check_settings));
    // The link is read separately, so that faults of other variables do not prevent this check.
    if let Ok(link) = LinkConfig::read(config::environment) {
        checks.push(edge_link(link.as_ref().map(|link| link.url.as_str())).await);
    }
    checks.extend(chains().await);
    let lines: Vec<String> = checks
        .iter()
        .map(|check| format!("{:<4} {:<14} {}", if check.ok { "ok" } else { "FAIL" }, check.name, check.detail))
        .collect();
    let shown = out.show(lines.join("\n"), &checks);
    if shown.is_ok() && checks.iter().all(|check| check.ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A variable that nothing reads: a warning, because its name is probably misspelt.
fn stray(variable: &Unknown) -> Check {
    Check::good("config", format!("WARNING: nothing reads {variable}"))
}

async fn check_database() -> Vec<Check> {
    let mut checks = Vec::new();
    let Ok(database) = DatabaseConfig::read(config::environment) else {
        let unknown = ["database", "migrations", RIGHTS, CLOCK, WRITES, "journal", NEWEST, SIGNING];
        return unknown.map(|name| Check::bad(name, "not checked, because DATABASE_URL is missing or invalid")).into();
    };
    match Db::connect(database.url.expose(), database.connections).await {
        Ok(db) => {
            checks.push(Check::good("database", "answers"));
            checks.push(match store::pending_migrations(&db).await {
                Ok(0) => Check::good("migrations", "none pending"),
                Ok(pending) => Check::bad("migrations", format!("{pending} pending; run: rds-origin migrate")),
                Err(error) => Check::bad("migrations", error.to_string()),
            });
            checks.push(rights(&db).await);
            checks.push(clock(&db).await);
            checks.push(takes_writes(&db).await);
            checks.push(journal(&db).await);
            let clock = test_clock::shift(&db).await.ok().flatten().map_or_else(Clock::system, Clock::shifted);
            checks.push(facts_ahead(&db, &clock).await);
            checks.push(match config::signing_key(config::environment) {
                Ok(key) => signing(key.as_ref(), &clock, &db).await,
                Err(_) => Check::bad(SIGNING, "RDS_SIGNING_KEY or RDS_SIGNING_KEY_FILE is invalid"),
            });
        }
        Err(error) => {
            checks.push(Check::bad("database", error.to_string()));
            let unknown = ["migrations", RIGHTS, CLOCK, WRITES, "journal", NEWEST, SIGNING];
            checks.extend(unknown.map(|name| Check::bad(name, "not checked, because the database does not answer")));
        }
    }
    checks
}

/// The checks that need only the configuration.
fn check_settings(config: &Config) -> Vec<Check> {
    let ids: Vec<&str> = config.assertion_keys.iter().map(|key| key.id()).collect();
    let signs = format!("{} is current, {} accepted", ids.first().unwrap_or(&"none"), ids.len());
    let master_key = match config.master_key {
        Some(_) => Check::good("master key", "set"),
        None => Check::bad("master key", "RDS_MASTER_KEY is not set: webhooks can be neither created nor delivered"),
    };
    let token = Check::good("admin token", "set");
    let listeners = [edge_listener(config), trusted_proxies(config)];
    let mut checks = vec![Check::good("assertion key", signs), token, master_key];
    checks.extend(listeners);
    checks.push(webhook_targets(config));
    checks
}

/// Whether the connected role may do what serving needs. More rights than that are reported, but are no failure.
async fn rights(db: &Db) -> Check {
    let rights::Rights { role, missing, excess } = match rights::compare(db).await {
        Ok(rights) => rights,
        Err(error) => return Check::bad(RIGHTS, error.to_string()),
    };
    if !missing.is_empty() {
        let named: Vec<&str> = missing.iter().take(NAMED_RIGHTS).map(String::as_str).collect();
        let more = match missing.len() - named.len() {
            0 => String::new(),
            more => format!(" and on {more} more"),
        };
        let named = named.join("; ");
        return Check::bad(
            RIGHTS,
            format!(
                "{role} lacks {named}{more}; run `rds-origin migrate` as the owner of the tables, with --serve-role {role}"
            ),
        );
    }
    match excess.is_empty() {
        true => Check::good(RIGHTS, format!("{role} has the rights that serving needs, and no others")),
        false => {
            let excess = excess.join(", ");
            Check::good(RIGHTS, format!("WARNING: {role} {excess}; serving needs less: see deploy/postgres/roles.sql"))
        }
    }
}

/// Whether this machine's clock agrees with the database's.
async fn clock(db: &Db) -> Check {
    let database_now = match health::clock(db).await {
        Ok(now) => now,
        Err(error) => return Check::bad(CLOCK, error.to_string()),
    };
    let offset = clocks::offset_seconds(Clock::system().wall(), database_now);
    match clocks::differs(offset) {
        true => Check::bad(
            CLOCK,
            format!(
                "this machine is {offset} s ahead of the database: requests of the edge are refused; set the clock"
            ),
        ),
        false => Check::good(CLOCK, format!("this machine is {offset} s ahead of the database")),
    }
}

/// Whether the database accepts writes, tested with a probe write.
async fn takes_writes(db: &Db) -> Check {
    match writes::write(db).await {
        Ok(()) => Check::good(WRITES, "the database accepts them"),
        Err(error) => Check::bad(WRITES, error.to_string()),
    }
}

/// Whether the clock is behind the newest ingest or score run.
async fn facts_ahead(db: &Db, clock: &Clock) -> Check {
    let now = clock.now();
    match clock_check::newest_work_ahead_of(db, now).await {
        Ok(None) => Check::good(NEWEST, format!("the service's time is {now}; no ingest or score run is newer")),
        // A test clock may be set back on purpose.
        Ok(Some(newest)) if clock.is_movable() => Check::good(
            NEWEST,
            format!("WARNING: the test clock is at {now}, before the newest ingest or score run at {newest}"),
        ),
        Ok(Some(newest)) => Check::bad(
            NEWEST,
            format!(
                "the service's time is {now}, before the newest ingest or score run at {newest}: {}",
                clock_check::WENT_BACK
            ),
        ),
        Err(error) => Check::bad(NEWEST, error.to_string()),
    }
}

/// Whether decisions signed by this process would verify.
async fn signing(key: Option<&DecisionKey>, clock: &Clock, db: &Db) -> Check {
    let Some(key) = key else {
        return Check::good(SIGNING, "RDS_SIGNING_KEY is not set: checks are answered without decisions");
    };
    let (address, now) = (key.address(), clock.now());
    let signers = match signers::list(&db.pool).await {
        Ok(signers) => signers,
        Err(error) => return Check::bad(SIGNING, error.to_string()),
    };
    match signers.into_iter().find(|signer| signer.address == address.as_str()) {
        None => Check::bad(SIGNING, format!("{address} is not in the registry; run: rds-origin signers activate")),
        Some(Signer { key_id, retired_at: Some(at), .. }) if at <= now => {
            Check::bad(SIGNING, format!("{key_id} at {address} was retired on {at}; set another key and activate it"))
        }
        Some(Signer { key_id, activated_at, .. }) if activated_at > now => {
            Check::bad(SIGNING, format!("{key_id} at {address} cannot sign before {activated_at}"))
        }
        Some(Signer { key_id, activated_at, .. }) => {
            Check::good(SIGNING, format!("{key_id} at {address} may sign since {activated_at}"))
        }
    }
}

/// Who may connect to the edge listener. Access for everybody is reported, but is no failure.
fn edge_listener(config: &Config) -> Check {
    const NAME: &str = "edge listener";
    let allowed: Vec<String> = config.edge_allow.iter().map(ToString::to_string).collect();
    let files = match max_open_files() {
        Some(files) if files < FEW_FILES => {
            format!("; only {files} open files are allowed (ulimit -n), which limits its connections")
        }
        _ => String::new(),
    };
    Check::good(
        NAME,
        match (allowed.is_empty(), config.edge_addr.ip().is_loopback()) {
            (false, _) if covers_public_internet(&config.edge_allow) => {
                format!(
                    "WARNING: ANYBODY MAY CONNECT: RDS_EDGE_ALLOW={} includes every address{files}",
                    allowed.join(", ")
                )
            }
            (false, _) => format!("only {} may connect (RDS_EDGE_ALLOW){files}", allowed.join(", ")),
            (true, true) => format!("only this machine may connect{files}"),
            (true, false) => format!(
                "anybody who reaches {} may connect; set RDS_EDGE_ALLOW to restrict that, for example to a proxy{files}",
                config.edge_addr
            ),
        },
    )
}

/// The proxies whose `X-Forwarded-For` each listener trusts. If everybody is trusted, callers choose the address under which rate limits
/// count them.
fn trusted_proxies(config: &Config) -> Check {
    const NAME: &str = "proxies";
    let trusted: Vec<String> = config.trusted_proxies.blocks().iter().map(ToString::to_string).collect();
    let others = "edge listener: none, the Worker signs the caller's address; admin listener: none";
    let trusted = trusted.join(", ");
    Check::good(
        NAME,
        match () {
            () if trusted.is_empty() => format!(
                "relay listener: none (RDS_TRUSTED_PROXIES), a caller's address is that of the connection; {others}"
            ),
            () if config.trusted_proxies.trusts_everyone() => format!(
                "WARNING: THE RELAY LISTENER TRUSTS EVERYBODY: with RDS_TRUSTED_PROXIES={trusted} a client can choose the address that it is \
                 counted under, so limits per address have no effect; name only the proxies' own networks; {others}"
            ),
            () => format!("relay listener: {trusted} (RDS_TRUSTED_PROXIES); {others}"),
        },
    )
}

/// Where webhooks may be delivered. Networks that are not public are a warning, but no failure.
fn webhook_targets(config: &Config) -> Check {
    const NAME: &str = "webhook targets";
    let allowed: Vec<String> = config.webhook_policy.allowed().iter().map(ToString::to_string).collect();
    let authorities = match config.webhook_authorities.len() {
        0 => String::new(),
        count => format!("; {count} further certificate authorities are trusted (RDS_WEBHOOK_CA)"),
    };
    if allowed.is_empty() {
        return Check::good(NAME, format!("public addresses only{authorities}"));
    }
    let networks = allowed.join(", ");
    let text = format!(
        "WARNING: WEBHOOKS CAN REACH {networks} (RDS_WEBHOOK_ALLOW): their owners can send requests there; not for production{authorities}"
    );
    Check::good(NAME, text)
}

/// Whether the journal can continue its sequence numbers.
async fn journal(db: &Db) -> Check {
    const NAME: &str = "journal";
    let standing = async {
        let mut connection = db.pool.acquire().await?;
        table::state(&mut connection).await
    };
    let JournalState { head, here, waiting, steps, oldest_writer_seconds } = match standing.await {
        Ok(standing) => standing,
        Err(error) => return Check::bad(NAME, error.to_string()),
    };
    let said = format!("head {head}, {waiting} operations not numbered yet, {steps} steps after restores");
    if !here {
        return Check::good(
            NAME,
            format!("{said}; the database was moved or restored: the service makes a step when it starts"),
        );
    }
    if oldest_writer_seconds > OLD_WRITER_SECONDS {
        let why = "its operations are numbered when it ends, and vacuum is held up until then";
        return Check::bad(
            NAME,
            format!("{said}; a transaction that writes has been open for {oldest_writer_seconds} s: {why}"),
        );
    }
    let hint = "if the database's disk was set back to an earlier copy, run: rds-origin journal step --reason TEXT";
    Check::good(NAME, format!("{said}; {hint}"))
}

/// What the providers of the configured chains serve.
async fn chains() -> Vec<Check> {
    const NAME: &str = "chains";
    // An invalid file is reported with the other variables.
    let Ok(chains) = config::chains(config::environment) else { return Vec::new() };
    if chains.is_empty() {
        return vec![Check::good(NAME, "RDS_CHAIN_PROVIDERS is not set: no chain is configured")];
    }
    let (mut checks, now) = (Vec::new(), Clock::system().now());
    for chain in &chains {
        let id = chain.chain_id;
        match providers::check(chain).await {
            Ok(checked) => checks.extend(checked.lines(now).into_iter().map(|(ok, line)| Check {
                name: NAME,
                ok,
                detail: format!("{id} {line}"),
            })),
            Err(error) => checks.push(Check::bad(NAME, format!("{id} {error}"))),
        }
    }
    checks
}

/// Whether the edge's address accepts connections.
async fn edge_link(url: Option<&str>) -> Check {
    const NAME: &str = "edge link";
    let Some(url) = url else {
        return Check::good(
            NAME,
            "RDS_EDGE_URL is not set: an edge learns of a changed key within 30 s, and `keys revoke` waits for that",
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
        Err(_) => Check::bad(NAME, format!("{target} accepted no connection within {} s", EDGE_TIMEOUT.as_secs())),
    }
}
