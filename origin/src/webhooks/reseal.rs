//! Another master key: every signing secret is encrypted anew under the first of the keys.
//!
//! A few rows a transaction, so that deliveries wait for nobody; stopped in the middle, it goes on where it is begun again.

use super::seal::{Sealer, Unopenable};
use crate::store::webhook_secrets::{self as table, Sealed};
use crate::store::{Db, StoreError};
use serde::Serialize;
use std::sync::Arc;

/// Subscriptions in one transaction.
const AT_ONCE: i64 = 100;

/// What became of the secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Resealed {
    /// Subscriptions that were looked at.
    pub webhooks: u64,
    /// Those of which something was under another key, and is under the first now.
    pub resealed: u64,
    /// Those of which something opens under none of the keys, by number.
    pub unopenable: Vec<i64>,
}

/// Encrypts every secret anew that is not under the first key yet.
pub async fn reseal(db: &Db, sealer: &Arc<Sealer>) -> Result<Resealed, StoreError> {
    let (mut all, mut after) = (Resealed::default(), 0);
    loop {
        let (some, last) = db
            .run_tx("reseal_webhook_secrets", |tx| {
                let sealer = sealer.clone();
                Box::pin(async move {
                    let (mut some, mut last) = (Resealed::default(), None);
                    for row in table::lock_next(tx, after, AT_ONCE).await? {
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

/// The secret and the one before it, encrypted anew; none where there is nothing to do.
type Anew = (Option<Vec<u8>>, Option<Vec<u8>>);

fn anew(sealer: &Sealer, (id, secret, previous): &Sealed) -> Result<Anew, Unopenable> {
    let previous = previous.as_deref().map(|previous| sealer.resealed(*id, previous)).transpose()?;
    Ok((sealer.resealed(*id, secret)?, previous.flatten()))
}
