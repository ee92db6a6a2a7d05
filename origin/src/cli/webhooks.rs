//! `webhooks rotate` replaces the signing secret of a webhook; `webhooks reseal` re-encrypts the secrets of all webhooks.

use super::{Output, Webhooks};
use crate::config::{self, MasterKeyConfig};
use crate::webhooks::reseal::{Resealed, reseal};
use crate::webhooks::seal::Sealer;
use crate::webhooks::subscriptions;
use anyhow::{Context, bail};
use rds_engine::clock::Clock;
use rds_store::Db;
use serde_json::json;
use std::sync::Arc;

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
