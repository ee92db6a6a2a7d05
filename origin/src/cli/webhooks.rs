//! `webhooks rotate` replaces the signing secret of a webhook; `webhooks reseal` re-encrypts the secrets of all webhooks.

use super::Output;
use crate::config::{self, MasterKeyConfig};
use crate::webhooks::reseal::{Resealed, reseal};
use crate::webhooks::seal::Sealer;
use crate::webhooks::subscriptions;
use anyhow::{Context, bail};
use clap::Subcommand;
use rds_engine::clock::Clock;
use rds_store::Db;
use serde_json::json;
use std::sync::Arc;

#[derive(Debug, Subcommand)]
pub(super) enum Webhooks {
    /// Give a webhook a new signing secret; it is shown once.
    Rotate {
        /// The webhook's number.
        id: i64,
        /// Hours for which the present secret signs beside the new one.
        #[arg(long, value_name = "HOURS", value_parser = clap::value_parser!(u32).range(0..=720))]
        overlap: u32,
    },
    /// Re-encrypt every signing secret under the first key of RDS_MASTER_KEY.
    Reseal,
}

pub(super) async fn webhooks(db: &Db, clock: &Clock, command: Webhooks, out: Output) -> anyhow::Result<()> {
    let master = MasterKeyConfig::read(config::environment)?;
    let sealer = Arc::new(Sealer::new(&master.master_key).context("RDS_MASTER_KEY is not a valid key")?);
    match command {
        Webhooks::Reseal => {
            let done = reseal(db, &sealer).await?;
            let Resealed { webhooks, resealed, unopenable } = &done;
            let text =
                format!("re-encrypted the secrets of {resealed} of {webhooks} webhooks under the first master key");
            out.show(text, &done)?;
            if !unopenable.is_empty() {
                bail!(
                    "no master key decrypts the secrets of the webhooks {unopenable:?}; replace them: rds-origin webhooks rotate"
                );
            }
            Ok(())
        }
        Webhooks::Rotate { id, overlap } => {
            let seconds = i32::try_from(overlap.saturating_mul(3_600))?;
            let Some(secret) = subscriptions::rotate(db, &sealer, id, seconds, clock.now()).await? else {
                bail!("there is no webhook {id}");
            };
            let until = match overlap {
                0 => "the previous secret no longer signs".to_owned(),
                hours => format!("the previous secret signs, too, for {hours} h"),
            };
            let text = format!(
                "{}\nwebhook {id} signs with it, and {until}; store it now, it is not shown again",
                secret.expose()
            );
            out.show(text, &json!({ "id": id, "secret": secret.expose(), "overlap_hours": overlap }))
        }
    }
}
