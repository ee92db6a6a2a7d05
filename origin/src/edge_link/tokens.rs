//! Revoked index tokens, sent to the edge by the command that revokes them.
//!
//! Unlike changes of keys, a revocation is not queued: the command itself sends it. The command waits until the edge has acknowledged the
//! revocation, or until the edge's lease of the token's record has ended.

use super::EdgeLink;
use super::outbox::{CHECK_INTERVAL, EDGE_SEEN_SECONDS, Settled};
use rds_engine::clock::Stopwatch;
use rds_shared::access::link::KeyUpdate;
use rds_store::keys::edge_outbox;
use rds_store::{Db, StoreError};
use std::time::Duration;
use tokio::time::sleep;

/// Waits until no isolate of the edge can use an older record of a token. `say` is called with the reason for waiting whenever the
/// reason changes.
pub async fn settle(
    db: &Db,
    link: Option<&EdgeLink>,
    update: &KeyUpdate,
    lease: Duration,
    mut say: impl FnMut(&str),
) -> Result<Settled, StoreError> {
    let watch = Stopwatch::start();
    let mut known = String::new();
    loop {
        let why = match link {
            Some(link) => match link.send_key_update(update).await {
                Ok(()) => return Ok(Settled::Acknowledged),
                Err(error) => error.to_string(),
            },
            None if !edge_outbox::has_edge_queried(db, EDGE_SEEN_SECONDS).await? => return Ok(Settled::NoEdge),
            None => "no edge is configured here (RDS_EDGE_URL); its lease of the token will expire".to_owned(),
        };
        if why != known {
            say(&why);
            known = why;
        }
        if u128::from(watch.micros()) > lease.as_micros() {
            return Ok(Settled::LeaseOver);
        }
        sleep(CHECK_INTERVAL).await;
    }
}
