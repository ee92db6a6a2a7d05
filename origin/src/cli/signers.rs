//! `signers`: who may sign decisions, from when and until when.

use super::Output;
use super::edge::Edge;
use crate::config;
use crate::decisions::signer_registry::{self, Changed, Retirement, SHOWN_IN};
use anyhow::Context;
use clap::Subcommand;
use rds_engine::clock::Clock;
use rds_shared::graph::evidence::Signer;
use rds_shared::model::ids::{Address, Namespace};
use rds_shared::wire::Timestamp;
use rds_store::Db;
use rds_store::graph::signers;
use serde_json::json;
use std::process::ExitCode;

/// Maximum length of a key's name, in ASCII characters.
const MAX_NAME: usize = 64;

#[derive(Debug, Subcommand)]
pub(super) enum Signers {
    /// Show every signer, including retired ones.
    List,
    /// Allow a key to sign decisions. Default: the key of RDS_SIGNING_KEY or RDS_SIGNING_KEY_FILE.
    #[command(visible_alias = "add")]
    Activate {
        /// The key's name, which its decisions carry. Default: `k-` and the first eight hex digits of its address.
        #[arg(long, value_parser = name)]
        key_id: Option<String>,
        /// Address of the key, if it is not the configured one.
        #[arg(long, value_parser = address)]
        address: Option<Address>,
        /// Time from which the key may sign. Default: now.
        #[arg(long, value_parser = instant)]
        at: Option<Timestamp>,
    },
    /// Retire a key; decisions that it signed before stay valid.
    Retire {
        /// The key's name, as `list` shows it.
        key_id: String,
        /// Effective time; later signatures are void. Default: now, or just after the key's last signature.
        #[arg(long, value_parser = instant)]
        at: Option<Timestamp>,
    },
}

pub(super) async fn run(db: &Db, clock: &Clock, command: Signers, out: Output) -> anyhow::Result<ExitCode> {
    // The link is read before anything is changed, so that an invalid link is reported first.
    let edge = Edge::configured(clock)?;
    let (named, changed) = match command {
        Signers::List => {
            let rows = signers::list(&db.pool).await?;
            let lines: Vec<String> = rows.iter().map(line).collect();
            out.show(lines.join("\n"), &rows)?;
            return Ok(ExitCode::SUCCESS);
        }
        Signers::Activate { key_id, address, at } => {
            let own = || config::signing_key(config::environment).map(|key| key.map(|key| key.address()));
            let address = match address {
                Some(address) => address,
                None => own()?.context("give --address, or set RDS_SIGNING_KEY or RDS_SIGNING_KEY_FILE")?,
            };
            let key_id = key_id.unwrap_or_else(|| signer_registry::default_name(&address));
            let changed = signer_registry::activate(db, &key_id, &address, at.unwrap_or_else(|| clock.now())).await?;
            (key_id, changed)
        }
        Signers::Retire { key_id, at } => {
            let from = at.map_or_else(|| Retirement::Now(clock.clone()), Retirement::At);
            let changed = signer_registry::retire(db, &key_id, from).await?;
            (key_id, changed)
        }
    };
    let (signer, changed) = match changed {
        Changed::Done(signer) => (signer, true),
        Changed::Already(signer) => (signer, false),
        Changed::Refused(why) => {
            out.show(format!("{named}: {why}"), &json!({ "key_id": named, "changed": false, "error": why }))?;
            return Ok(ExitCode::FAILURE);
        }
    };
    let mut value = serde_json::to_value(&signer)?;
    value["changed"] = json!(changed);
    let before = if changed { "" } else { "  (unchanged)" };
    edge.end(db, &SHOWN_IN, format!("{}{before}", line(&signer)), &value, ExitCode::SUCCESS, out).await
}

fn line(signer: &Signer) -> String {
    let until = signer.retired_at.map(|at| format!(" until {at}")).unwrap_or_default();
    format!("{}  {}  signs from {}{until}", signer.key_id, signer.address, signer.activated_at)
}

fn name(text: &str) -> Result<String, String> {
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
    if plain && (1..=MAX_NAME).contains(&text.len()) {
        Ok(text.to_owned())
    } else {
        Err(format!("must be 1 to {MAX_NAME} letters, digits, dots, dashes or underscores"))
    }
}

fn address(text: &str) -> Result<Address, String> {
    Address::parse(Namespace::Evm, text).map_err(|_| "must be 0x and 40 hex digits".to_owned())
}

fn instant(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text).ok_or_else(|| "must be an instant such as 2026-11-21T00:00:00Z".to_owned())
}
