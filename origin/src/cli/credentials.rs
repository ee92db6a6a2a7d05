//! `keys` and `index-tokens`: creates, revokes and lists credentials.

use super::Output;
use crate::config::{self, LinkConfig};
use crate::edge_link::EdgeLink;
use crate::edge_link::outbox::{LEASE, Settled, settle};
use crate::edge_link::tokens;
use crate::keys::{self, Alignment, CreateKey, KeyRow, Minted, Revocation, TokenRow};
use anyhow::bail;
use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rds_engine::clock::Clock;
use rds_shared::access::Plan;
use rds_store::Db;
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(Debug, Subcommand)]
pub(super) enum Keys {
    /// Create a key; it is shown once.
    Mint {
        /// The organisation that holds the key.
        #[arg(long)]
        org: String,
        /// The key's plan.
        #[arg(long, value_parser = plan())]
        plan: Plan,
        /// Contracted requests per minute of this key. Default: the plan's.
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        rpm: Option<u32>,
        /// The key is shared: its holder serves several clients with it.
        #[arg(long)]
        shared: bool,
    },
    /// Revoke a key permanently; returns once no edge accepts it any more.
    Revoke {
        /// The key's number, as `list` shows it.
        id: i64,
    },
    /// Move an organisation and its active keys to a plan; contracted rates stay.
    Align {
        /// The organisation's name.
        #[arg(long)]
        org: String,
        /// The new plan.
        #[arg(long, value_parser = plan())]
        plan: Plan,
    },
    /// Show every key, including revoked ones.
    List,
}

/// Parses the name of a plan.
fn plan() -> impl TypedValueParser<Value = Plan> {
    let names = PossibleValuesParser::new(Plan::ALL.map(Plan::as_str));
    names.try_map(|name| Plan::parse(&name).ok_or("must be the name of a plan"))
}

#[derive(Debug, Subcommand)]
pub(super) enum IndexTokens {
    /// Create a token; it is shown once.
    Mint {
        /// The organisation that holds the token.
        #[arg(long)]
        org: String,
    },
    /// Revoke a token permanently; returns once no edge accepts it any more.
    Revoke {
        /// The token's number, as `list` shows it.
        id: i64,
    },
    /// Show every token, including revoked ones.
    List,
}

pub(super) async fn keys(db: &Db, clock: &Clock, command: Keys, out: Output) -> anyhow::Result<ExitCode> {
    // The link is read before anything is changed, so that an invalid link is reported first.
    let link = LinkConfig::read(config::environment)?.map(|link| EdgeLink::new(&link, clock.clone())).transpose()?;
    let edge = Edge { db, link: link.map(Arc::new), out };
    match command {
        Keys::Mint { org, plan, rpm, shared } => {
            let effective_rpm = rpm.unwrap_or(plan.default_rpm());
            let Minted { id, key } = keys::mint(db, clock, &CreateKey { org: org.clone(), plan, rpm, shared }).await?;
            let value =
                json!({ "id": id, "key": key, "org": org, "plan": plan, "rpm": effective_rpm, "shared": shared });
            out.show(format!("{key}\nkey {id} of {org}; store it now, it is not shown again"), &value)?;
        }
        Keys::Revoke { id } => {
            let found = keys::revoke(db, clock, id).await?;
            // The edge is notified even if the key was already revoked: an earlier command may have been stopped before it notified the
            // edge.
            let settled = edge.settled(&[id], &format!("key {id} is revoked")).await?;
            return revoked("key", id, found, Some(settled), out);
        }
        Keys::Align { org, plan } => edge.align(&org, plan).await?,
        Keys::List => {
            let rows = keys::list(db).await?;
            let lines: Vec<String> = rows.iter().map(key_line).collect();
            out.show(lines.join("\n"), &rows)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What a command on credentials uses: the database, the link to the edge if the environment names one, and the output.
struct Edge<'a> {
    db: &'a Db,
    link: Option<Arc<EdgeLink>>,
    out: Output,
}

impl Edge<'_> {
    /// Waits until the change of `keys` is in force at the edge, and prints the reason for waiting.
    async fn settled(&self, keys: &[i64], done: &str) -> anyhow::Result<Settled> {
        let say = |why: &str| self.out.progress(&format!("{done}; waiting for the edge to acknowledge: {why}"));
        Ok(settle(self.db, self.link.as_ref(), keys, LEASE, say).await?)
    }

    async fn align(&self, org: &str, plan: Plan) -> anyhow::Result<()> {
        let Some(Alignment { keys, changed }) = keys::align(self.db, org, plan).await? else {
            bail!("there is no organisation {org}");
        };
        // Unchanged keys are included: an earlier command may have changed them, and been stopped before it notified the edge.
        let settled = self.settled(&keys, &format!("{org} is on plan {plan}")).await?;
        let text = format!("{org} is on plan {plan}; {} of {} live keys changed", changed.len(), keys.len());
        let value = json!({ "org": org, "plan": plan, "keys": keys, "changed": changed, "edge": edge_state(settled) });
        self.out.show(format!("{text}{}", remark(settled)), &value)
    }
}

pub(super) async fn index_tokens(
    db: &Db,
    clock: &Clock,
    command: IndexTokens,
    out: Output,
) -> anyhow::Result<ExitCode> {
    match command {
        IndexTokens::Mint { org } => {
            let Minted { id, key } = keys::mint_token(db, clock, &org).await?;
            let value = json!({ "id": id, "token": key, "org": org });
            out.show(format!("{key}\ntoken {id} of {org}; store it now, it is not shown again"), &value)?;
        }
        IndexTokens::Revoke { id } => {
            let link =
                LinkConfig::read(config::environment)?.map(|link| EdgeLink::new(&link, clock.clone())).transpose()?;
            let found = keys::revoke_token(db, clock, id).await?;
            // The edge is notified even if the token was already revoked: an earlier command may have been stopped before it notified the
            // edge.
            let settled = match keys::token_update(db, id).await? {
                Some(news) => {
                    let say = |why: &str| {
                        out.progress(&format!("token {id} is revoked; waiting for the edge to acknowledge: {why}"));
                    };
                    Some(tokens::settle(db, link.as_ref(), &news, LEASE, say).await?)
                }
                None => None,
            };
            return revoked("token", id, found, settled, out);
        }
        IndexTokens::List => {
            let rows = keys::list_tokens(db).await?;
            let lines: Vec<String> = rows.iter().map(token_line).collect();
            out.show(lines.join("\n"), &rows)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn key_line(row: &KeyRow) -> String {
    let KeyRow { id, prefix, org, plan, rpm, created_at, .. } = row;
    let contract = if row.metadata.get("contracted_rpm").is_some() { " by contract" } else { "" };
    let shared = if row.shared { ", shared" } else { "" };
    format!(
        "{id:>5}  {prefix}…  {org}  {plan}, {rpm} rpm{contract}{shared}  minted {created_at}{}",
        state(row.is_active)
    )
}

fn token_line(row: &TokenRow) -> String {
    let TokenRow { id, prefix, org, created_at, .. } = row;
    format!("{id:>5}  {prefix}…  {org}  minted {created_at}{}", state(row.is_active))
}

fn state(is_active: bool) -> &'static str {
    if is_active { "" } else { "  revoked" }
}

fn edge_state(settled: Settled) -> &'static str {
    match settled {
        Settled::Acknowledged => "acknowledged",
        Settled::NoEdge => "none",
        Settled::LeaseOver => "lease_over",
    }
}

fn remark(settled: Settled) -> &'static str {
    match settled {
        Settled::Acknowledged => "",
        Settled::NoEdge => {
            "; RDS_EDGE_URL is not set, no service has recorded that it notifies an edge, and no edge has looked up a key lately"
        }
        Settled::LeaseOver => "; the edge has not acknowledged it, but its key lease has expired",
    }
}

fn revoked(what: &str, id: i64, found: Revocation, settled: Option<Settled>, out: Output) -> anyhow::Result<ExitCode> {
    let (text, code) = match found {
        Revocation::Revoked => (format!("{what} {id} is revoked"), ExitCode::SUCCESS),
        Revocation::Already => (format!("{what} {id} was already revoked"), ExitCode::SUCCESS),
        Revocation::Unknown => (format!("there is no {what} {id}"), ExitCode::FAILURE),
    };
    let known = found != Revocation::Unknown;
    let settled = settled.filter(|_| known);
    let (edge, remark) = (settled.map(edge_state), settled.map_or("", remark));
    let value =
        json!({ "id": id, "revoked": found == Revocation::Revoked, "is_active": false, "known": known, "edge": edge });
    out.show(format!("{text}{remark}"), &value)?;
    Ok(code)
}
