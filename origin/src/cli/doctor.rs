//! `doctor`: is everything there that `serve` needs? One line a check.

use super::Output;
use crate::clock::Clock;
use crate::config::{self, Config};
use crate::store::decision_signers;
use crate::store::journal::{self as table, Standing};
use crate::store::{self, Db};
use rds_shared::graph::evidence::Signer;
use serde::Serialize;
use std::process::ExitCode;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The check of the signing key.
const SIGNING: &str = "signing key";

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

/// Runs every check; fails when one of them did.
pub(super) async fn doctor(out: Output) -> ExitCode {
    let checks = match Config::read(config::environment) {
        Ok(config) => examine(&config).await,
        Err(error) => error
            .0
            .iter()
            .map(|fault| {
                Check::bad("config", format!("{} {}; for example {}", fault.variable, fault.reason, fault.example))
            })
            .collect(),
    };
    let lines: Vec<String> = checks
        .iter()
        .map(|check| format!("{:<4} {:<14} {}", if check.ok { "ok" } else { "FAIL" }, check.name, check.detail))
        .collect();
    let shown = out.show(lines.join("\n"), &checks);
    if shown.is_ok() && checks.iter().all(|check| check.ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn examine(config: &Config) -> Vec<Check> {
    let mut checks = vec![Check::good(
        "config",
        format!("edge {}, relay {}, admin {}", config.edge_addr, config.relay_addr, config.admin_addr),
    )];
    match Db::connect(config.database.url.expose(), config.database.connections).await {
        Ok(db) => {
            checks.push(Check::good("database", "answers"));
            checks.push(match store::pending_migrations(&db).await {
                Ok(0) => Check::good("migrations", "none pending"),
                Ok(pending) => Check::bad("migrations", format!("{pending} pending; run: rds-origin migrate")),
                Err(error) => Check::bad("migrations", error.to_string()),
            });
            checks.push(journal(&db).await);
            checks.push(signing(config, &db).await);
        }
        Err(error) => {
            checks.push(Check::bad("database", error.to_string()));
            checks.push(Check::bad("migrations", "unknown without a database"));
            checks.push(Check::bad("journal", "unknown without a database"));
            checks.push(Check::bad(SIGNING, "unknown without a database"));
        }
    }
    let ids: Vec<&str> = config.assertion_keys.iter().map(|key| key.id()).collect();
    checks
        .push(Check::good("assertion key", format!("{} signs, {} verify", ids.first().unwrap_or(&"none"), ids.len())));
    checks.push(Check::good("admin token", "set"));
    checks.push(match config.master_key {
        Some(_) => Check::good("master key", "set"),
        None => Check::bad("master key", "RDS_MASTER_KEY is not set: webhooks can be neither created nor delivered"),
    });
    checks.push(webhook_targets(config));
    checks.push(edge_link(config.edge_url.as_deref()).await);
    checks
}

/// Whether what this process would sign will be recognised.
async fn signing(config: &Config, db: &Db) -> Check {
    let Some(key) = &config.signing_key else {
        return Check::good(SIGNING, "no RDS_SIGNING_KEY: checks are answered without decisions");
    };
    let (address, now) = (key.address(), Clock::system().now());
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
