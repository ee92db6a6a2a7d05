//! Commands for baskets: `baskets refresh`, `rebalance`, `deprecate`, `retire`, `list`.

use super::Output;
use super::edge::Edge;
use crate::config;
use clap::Subcommand;
use rds_engine::baskets::support::{self, SupportChange, Verb};
use rds_engine::baskets::{self, Refreshed, SHOWN_IN};
use rds_engine::clock::Clock;
use rds_shared::graph::signature::DecisionKey;
use rds_store::Db;
use rds_store::baskets::{self as table, Overview};
use rds_store::graph::signers;
use serde_json::{Value, json};
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub(super) enum Baskets {
    /// Rebalance every basket that is due: by its calendar, its constituents' scores, or new rules.
    Refresh {
        /// Fail without a change unless a signing key is configured here and active in the registry of signers.
        #[arg(long)]
        signed: bool,
    },
    /// Rebalance one basket now, even if it is not due.
    Rebalance {
        /// The basket's id.
        id: String,
        /// Fail without a change unless a signing key is configured here and active in the registry of signers.
        #[arg(long)]
        signed: bool,
    },
    /// Announce that a version will be retired.
    Deprecate {
        /// The version's id.
        #[arg(value_name = "VERSION")]
        version_id: String,
        /// The version that will replace it, if known.
        #[arg(long, value_name = "VERSION")]
        successor: Option<String>,
    },
    /// Withdraw a version in favour of another; requests for the withdrawn version get 410 from then on.
    Retire {
        /// The version's id.
        #[arg(value_name = "VERSION")]
        version_id: String,
        /// The version that replaces the withdrawn one.
        #[arg(long, value_name = "VERSION")]
        successor: String,
    },
    /// Show every basket with its versions.
    List,
}

pub(super) async fn run(db: &Db, clock: &Clock, command: Baskets, out: Output) -> anyhow::Result<ExitCode> {
    let (version, name, verb) = match command {
        Baskets::Refresh { signed } => return refresh(db, clock, None, signed, out).await,
        Baskets::Rebalance { id, signed } => return refresh(db, clock, Some(&id), signed, out).await,
        Baskets::List => return list(db, out).await,
        Baskets::Deprecate { version_id, successor } => (version_id, "deprecate", Verb::Deprecate { successor }),
        Baskets::Retire { version_id, successor } => (version_id, "retire", Verb::Retire { successor }),
    };
    let edge = Edge::configured(clock)?;
    let outcome = support::run(db, clock, &version, &verb).await?;
    let (text, result, code) = match &outcome {
        SupportChange::Done => (format!("version {version}: {name} done"), "done", ExitCode::SUCCESS),
        SupportChange::Already => (format!("version {version}: {name} was already done"), "already", ExitCode::SUCCESS),
        SupportChange::Unknown => (format!("there is no version {version}"), "unknown", ExitCode::FAILURE),
        SupportChange::Refused(why) => (format!("version {version}: {why}"), "refused", ExitCode::FAILURE),
    };
    let mut value = json!({ "version_id": version, "verb": name, "result": result });
    if let (SupportChange::Refused(why), Some(fields)) = (&outcome, value.as_object_mut()) {
        fields.insert("reason".to_owned(), json!(why));
    }
    edge.end(db, &SHOWN_IN, text, &value, code, out).await
}

/// Rebalances every basket that is due, or the basket `only` even if it is not due.
async fn refresh(
    db: &Db,
    clock: &Clock,
    only: Option<&str>,
    must_be_signed: bool,
    out: Output,
) -> anyhow::Result<ExitCode> {
    // The link and the key are read before anything is changed, so that an invalid one is reported first.
    let (edge, key) = (Edge::configured(clock)?, config::signing_key(config::environment)?);
    if must_be_signed && let Some(why) = cannot_sign(db, key.as_ref()).await? {
        out.show(format!("{why}; nothing was changed"), &json!({ "error": why }))?;
        return Ok(ExitCode::FAILURE);
    }
    let done = match only {
        None => baskets::refresh(db, clock, key.as_ref()).await?,
        Some(id) => match baskets::rebalance(db, clock, key.as_ref(), id).await? {
            Some(refreshed) => vec![(id.to_owned(), refreshed)],
            None => {
                let text = format!("there is no basket {id}");
                out.show(&text, &json!({ "error": text }))?;
                return Ok(ExitCode::FAILURE);
            }
        },
    };
    let (mut lines, mut values) = (Vec::new(), Vec::new());
    for (id, refreshed) in &done {
        let signed = is_signed(db, refreshed).await?;
        let unsigned = if signed == Some(false) { ", UNSIGNED" } else { "" };
        lines.push(format!("{id}: {}{unsigned}", line(refreshed)));
        values.push(value(id, refreshed, signed));
        if signed == Some(false) {
            let why = cannot_sign(db, key.as_ref()).await?.unwrap_or_else(|| "signing failed".to_owned());
            out.progress(&format!(
                "warning: {id}: the new version has no signature, and none can be added later: {why}"
            ));
        }
    }
    let text = if lines.is_empty() { "there are no baskets".to_owned() } else { lines.join("\n") };
    let value = json!({ "baskets": values });
    edge.end(db, &SHOWN_IN, text, &value, ExitCode::SUCCESS, out).await
}

/// Why this process cannot sign a basket version; `None` if it can.
async fn cannot_sign(db: &Db, key: Option<&DecisionKey>) -> anyhow::Result<Option<String>> {
    let Some(key) = key else {
        return Ok(Some("neither RDS_SIGNING_KEY nor RDS_SIGNING_KEY_FILE is set here".to_owned()));
    };
    let address = key.address();
    let signers = signers::list(&db.pool).await?;
    let may = signers.iter().any(|signer| signer.address == address.as_str() && signer.retired_at.is_none());
    Ok((!may).then(|| format!("{address} is not an active signer; see `signers list`")))
}

/// Whether the new version is signed; `None` if there is no new version.
async fn is_signed(db: &Db, refreshed: &Refreshed) -> anyhow::Result<Option<bool>> {
    let Refreshed::Rebalanced { version_id, .. } = refreshed else { return Ok(None) };
    let made = table::version(&db.pool, version_id).await?;
    Ok(made.map(|version| version.row.signed.signature.is_some()))
}

fn line(refreshed: &Refreshed) -> String {
    match refreshed {
        Refreshed::NotDue => "no rebalance is due".to_owned(),
        Refreshed::NoRules => "it has no rules yet".to_owned(),
        Refreshed::Unchanged => "rebalanced, and nothing changed".to_owned(),
        Refreshed::Rebalanced { version_id, trigger } => format!("{version_id} ({trigger})"),
        Refreshed::Closed => "not rebalanced while scores are withheld (fail_closed)".to_owned(),
        Refreshed::Halted { reason } => format!("halted: {reason}"),
    }
}

fn value(id: &str, refreshed: &Refreshed, signed: Option<bool>) -> Value {
    let (result, version_id, trigger, reason) = match refreshed {
        Refreshed::NotDue => ("not_due", None, None, None),
        Refreshed::NoRules => ("no_rules", None, None, None),
        Refreshed::Unchanged => ("unchanged", None, None, None),
        Refreshed::Rebalanced { version_id, trigger } => ("rebalanced", Some(version_id), Some(trigger), None),
        Refreshed::Closed => ("closed", None, None, None),
        Refreshed::Halted { reason } => ("halted", None, None, Some(reason)),
    };
    json!({
        "id": id, "result": result, "version_id": version_id, "trigger_reason": trigger, "reason": reason, "signed": signed,
    })
}

async fn list(db: &Db, out: Output) -> anyhow::Result<ExitCode> {
    let all = table::overview(db).await?;
    let text = |basket: &Overview| {
        let versions = basket.versions.iter().map(|(id, support)| format!("  {id}  {}", support.status()));
        let halt = basket.halt.iter().map(|(reason, since)| format!("  halted since {since}: {reason}"));
        [basket.id.clone()].into_iter().chain(halt).chain(versions).collect::<Vec<_>>().join("\n")
    };
    let value = |basket: &Overview| {
        let versions = basket.versions.iter().map(|(id, support)| {
            json!({
                "version_id": id, "support_status": support.status(), "deprecated_at": support.deprecated_at,
                "retired_at": support.retired_at,
            })
        });
        let halt = basket.halt.as_ref().map(|(reason, since)| json!({ "reason": reason, "since": since }));
        json!({ "id": basket.id, "halt": halt, "versions": versions.collect::<Vec<_>>() })
    };
    let lines: Vec<String> = all.iter().map(text).collect();
    let text = if lines.is_empty() { "there are no baskets".to_owned() } else { lines.join("\n") };
    out.show(text, &json!({ "baskets": all.iter().map(value).collect::<Vec<_>>() }))?;
    Ok(ExitCode::SUCCESS)
}
