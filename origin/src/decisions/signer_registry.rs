//! The registry of signers: the period in which each key may sign.
//!
//! A change touches [`Tag::Signers`], so the edge is notified of it as of a change of facts.

use rds_engine::clock::Clock;
use rds_shared::graph::evidence::{MAX_SIGNERS, Signer};
use rds_shared::model::ids::Address;
use rds_shared::route::Tag;
use rds_shared::wire::Timestamp;
use rds_store::graph::signers as table;
use rds_store::service::tags;
use rds_store::{Db, StoreError};

/// Tags that a change of the registry touches.
pub const SHOWN_IN: [Tag; 1] = [Tag::Signers];

/// The result of a change, with the signer's current entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// The change was made.
    Done(Signer),
    /// The entry already had the requested state.
    Already(Signer),
    /// The change is not allowed, for this reason.
    Refused(&'static str),
}

/// Name of a key that was registered without one.
pub fn default_name(address: &Address) -> String {
    format!("k-{}", address.as_str().get(2..10).unwrap_or_default())
}

/// Lets the key at `address` sign from `at` on, under the name `key_id`.
pub async fn activate(db: &Db, key_id: &str, address: &Address, at: Timestamp) -> Result<Changed, StoreError> {
    let at = whole_millis(at);
    db.run_tx("activate signer", |tx| {
        let (key_id, address) = (key_id.to_owned(), address.as_str().to_owned());
        Box::pin(async move {
            table::lock_registry(tx).await?;
            let signers = table::list(&mut **tx).await?;
            let full = signers.len() >= MAX_SIGNERS;
            let known = signers.into_iter().find(|signer| signer.key_id == key_id || signer.address == address);
            match known {
                Some(known) if known.address != address => {
                    return Ok(Changed::Refused("another key has this name"));
                }
                Some(Signer { retired_at: Some(_), .. }) => {
                    return Ok(Changed::Refused("this key was retired; a retired key cannot be activated again"));
                }
                Some(known) if known.key_id != key_id => {
                    return Ok(Changed::Refused("this key is in the registry under another name"));
                }
                Some(known) => return Ok(Changed::Already(known)),
                None if full => return Ok(Changed::Refused("the registry is full")),
                None => {}
            }
            table::insert(tx, &key_id, &address, at).await?;
            tags::touch(tx, &SHOWN_IN).await?;
            Ok(Changed::Done(Signer { address, key_id, activated_at: at, retired_at: None }))
        })
    })
    .await
}

/// When a retirement takes effect; from then on, the key may no longer sign.
#[derive(Debug, Clone)]
pub enum Retirement {
    /// From this instant on, which may be in the past. Decisions signed since then become void.
    At(Timestamp),
    /// From now on. No decision becomes void, whichever process signed it and whatever its clock showed.
    Now(Clock),
}

/// Retires the key. Decisions that it signed before the retirement takes effect stay valid.
pub async fn retire(db: &Db, key_id: &str, from: Retirement) -> Result<Changed, StoreError> {
    db.run_tx("retire signer", |tx| {
        let (key_id, from) = (key_id.to_owned(), from.clone());
        Box::pin(async move {
            table::lock_registry(tx).await?;
            let at = match from {
                Retirement::At(at) => whole_millis(at),
                Retirement::Now(clock) => {
                    // The clock is read once no process can sign with the key any more, so decisions signed during the wait stay valid.
                    table::lock_key(tx, &key_id).await?;
                    let last = table::signed_last(tx, &key_id).await?;
                    let after_it = |last: Timestamp| Timestamp::from_millis(last.as_millis().saturating_add(1));
                    whole_millis(clock.now()).max(last.map_or(Timestamp::default(), after_it))
                }
            };
            let known = table::list(&mut **tx).await?.into_iter().find(|signer| signer.key_id == key_id);
            let signer = match known {
                None => return Ok(Changed::Refused("no key has this name")),
                Some(known) if known.retired_at.is_some_and(|retired| retired <= at) => {
                    return Ok(Changed::Already(known));
                }
                Some(known) if at < known.activated_at => {
                    return Ok(Changed::Refused("the retirement cannot take effect before the activation"));
                }
                Some(known) => Signer { retired_at: Some(at), ..known },
            };
            table::retire(tx, &key_id, at).await?;
            tags::touch(tx, &SHOWN_IN).await?;
            Ok(Changed::Done(signer))
        })
    })
    .await
}

fn whole_millis(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(at.as_millis())
}
