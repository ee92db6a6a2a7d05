//! Change of the master key: every signing secret is encrypted anew under the first of the keys.
//!
//! Each transaction covers a few rows, so that deliveries do not wait long. If the command is stopped, the next run continues.

use super::seal::{Sealer, Unopenable};
use rds_store::webhooks::secrets as table;
use rds_store::webhooks::secrets::Sealed;
use rds_store::{Db, StoreError};
use serde::Serialize;
use std::sync::Arc;

/// Subscriptions per transaction.
const BATCH_SIZE: i64 = 100;

/// Counts of processed subscriptions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Resealed {
    /// Subscriptions that were checked.
    pub webhooks: u64,
    /// Subscriptions with a secret that was encrypted under another key and is now encrypted under the first.
    pub resealed: u64,
    /// Ids of subscriptions with a secret that none of the keys decrypts.
    pub unopenable: Vec<i64>,
}

/// Encrypts anew every secret that is not encrypted under the first key yet.
pub async fn reseal(db: &Db, sealer: &Arc<Sealer>) -> Result<Resealed, StoreError> {
    let (mut all, mut after) = (Resealed::default(), 0);
    loop {
        let (some, last) = db
            .run_tx("reseal_webhook_secrets", |tx| {
                let sealer = sealer.clone();
                Box::pin(async move {
                    let (mut some, mut last) = (Resealed::default(), None);
                    for row in table::lock_next(tx, after, BATCH_SIZE).await? {
                        let id = row.0;
                        match anew(&sealer, &row) {
                            Ok((None, None)) => {}
                            Ok((secret, previous)) => {
                                table::reseal(tx, id, secret.as_deref(), previous.as_deref()).await?;
                                some.resealed += 1;
                            }
                            Err(Unopenable) => some.unopenable.push(id),
                        }
                        some.webhooks += 1;
                        last = Some(id);
                    }
                    Ok::<_, StoreError>((some, last))
                })
            })
            .await?;
        all.webhooks += some.webhooks;
        all.resealed += some.resealed;
        all.unopenable.extend(some.unopenable);
        match last {
            Some(last) => after = last,
            None => return Ok(all),
        }
    }
}

/// The current and the previous secret, encrypted anew; `None` where nothing has to change.
type Anew = (Option<Vec<u8>>, Option<Vec<u8>>);

fn anew(sealer: &Sealer, (id, secret, previous): &Sealed) -> Result<Anew, Unopenable> {
    let previous = previous.as_deref().map(|previous| sealer.resealed(*id, previous)).transpose()?;
    Ok((sealer.resealed(*id, secret)?, previous.flatten()))
}
