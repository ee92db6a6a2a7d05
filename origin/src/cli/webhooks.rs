//! `webhooks`.

use super::{Output, Webhooks};
use crate::clock::Clock;
use crate::config::{self, MasterKeyConfig};
use crate::store::Db;
use crate::webhooks::reseal::{Resealed, reseal};
use crate::webhooks::seal::Sealer;
use crate::webhooks::subscriptions;
use anyhow::{Context, bail};
use serde_json::json;
use std::sync::Arc;

pub(super) async fn webhooks(db: &Db, clock: &Clock, command: Webhooks, out: Output) -> anyhow::Result<()> {
    let master = MasterKeyConfig::read(config::environment)?;
    let sealer = Arc::new(Sealer::new(&master.master_key).context("RDS_MASTER_KEY is no key")?);
    match command {
        Webhooks::Reseal => {
            let done = reseal(db, &sealer).await?;
            let Resealed { webhooks, resealed, unopenable } = &done;
            let text = format!(
                "{resealed} of {webhooks} webhooks had secrets under another master key; they are under the first now"
            );
            out.show(text, &done)?;
            if !unopenable.is_empty() {
                bail!(
                    "secrets of the webhooks {unopenable:?} open under none of the keys; give them others: webhooks rotate"
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
                0 => "the one before it does not any more".to_owned(),
                hours => format!("for {hours} h the one before it signs too"),
            };
            let text =
                format!("{}\nwebhook {id} signs with it; {until}: keep it now, it is not shown again", secret.expose());
            out.show(text, &json!({ "id": id, "secret": secret.expose(), "overlap_hours": overlap }))
        }
    }
}
