//! `webhooks`.

use super::{Output, Webhooks};
use crate::clock::Clock;
use crate::config::{self, MasterKeyConfig};
use crate::store::Db;
use crate::webhooks::seal::Sealer;
use crate::webhooks::subscriptions;
use anyhow::{Context, bail};
use serde_json::json;
use std::sync::Arc;

pub(super) async fn webhooks(db: &Db, clock: &Clock, command: Webhooks, out: Output) -> anyhow::Result<()> {
    match command {
        Webhooks::Rotate { id, overlap } => {
            let master = MasterKeyConfig::read(config::environment)?;
            let sealer = Arc::new(Sealer::new(&master.master_key).context("RDS_MASTER_KEY is no key")?);
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
