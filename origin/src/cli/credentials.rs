//! `keys` and `index-tokens`.

use super::{IndexTokens, Keys, Output};
use crate::clock::Clock;
use crate::keys::{self, KeyRow, KeyWish, Minted, Revocation, TokenRow};
use crate::store::Db;
use serde_json::json;
use std::process::ExitCode;

pub(super) async fn keys(db: &Db, clock: &Clock, command: Keys, out: Output) -> anyhow::Result<ExitCode> {
    match command {
        Keys::Mint { org, plan, rpm, shared } => {
            let effective_rpm = rpm.unwrap_or(plan.default_rpm());
            let Minted { id, key } = keys::mint(db, clock, &KeyWish { org: org.clone(), plan, rpm, shared }).await?;
            let value =
                json!({ "id": id, "key": key, "org": org, "plan": plan, "rpm": effective_rpm, "shared": shared });
            out.show(format!("{key}\nkey {id} of {org}: keep it now, it is not shown again"), &value)?;
        }
        Keys::Revoke { id } => return revoked("key", id, keys::revoke(db, clock, id).await?, out),
        Keys::List => {
            let rows = keys::list(db).await?;
            let lines: Vec<String> = rows.iter().map(key_line).collect();
            out.show(lines.join("\n"), &rows)?;
        }
    }
    Ok(ExitCode::SUCCESS)
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
            out.show(format!("{key}\ntoken {id} of {org}: keep it now, it is not shown again"), &value)?;
        }
        IndexTokens::Revoke { id } => return revoked("token", id, keys::revoke_token(db, clock, id).await?, out),
        IndexTokens::List => {
            let rows = keys::list_tokens(db).await?;
            let lines: Vec<String> = rows.iter().map(token_line).collect();
            out.show(lines.join("\n"), &rows)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn key_line(row: &KeyRow) -> String {
    let KeyRow { id, prefix, org, plan, created_at, .. } = row;
    let rpm = row.rpm.map_or_else(String::new, |rpm| format!(", {rpm} rpm by contract"));
    let shared = if row.shared { ", shared" } else { "" };
    format!("{id:>5}  {prefix}…  {org}  {plan}{rpm}{shared}  minted {created_at}{}", state(row.is_active))
}

fn token_line(row: &TokenRow) -> String {
    let TokenRow { id, prefix, name, created_at, .. } = row;
    format!("{id:>5}  {prefix}…  {name}  minted {created_at}{}", state(row.is_active))
}

fn state(is_active: bool) -> &'static str {
    if is_active { "" } else { "  revoked" }
}

fn revoked(what: &str, id: i64, found: Revocation, out: Output) -> anyhow::Result<ExitCode> {
    let (text, code) = match found {
        Revocation::Revoked => (format!("{what} {id} is revoked"), ExitCode::SUCCESS),
        Revocation::Already => (format!("{what} {id} was revoked before"), ExitCode::SUCCESS),
        Revocation::Unknown => (format!("there is no {what} {id}"), ExitCode::FAILURE),
    };
    out.show(text, &json!({ "id": id, "revoked": found == Revocation::Revoked, "is_active": false, "known": found != Revocation::Unknown }))?;
    Ok(code)
}
