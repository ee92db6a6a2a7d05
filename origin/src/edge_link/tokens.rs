//! Revoked index tokens, told to the edge by the command that revokes.
//!
//! A token changes once in its life, so nothing is queued for it: what cannot be told ends by itself with the edge's lease, and
//! the command waits for one or the other.

use super::EdgeLink;
use super::outbox::{EDGE_SECONDS, LOOK, Settled};
use crate::clock::Stopwatch;
use crate::store::{Db, StoreError, edge_outbox};
use rds_shared::access::link::KeyNews;
use std::time::Duration;
use tokio::time::sleep;

/// Waits until no isolate of the edge can act on an older record of a token. `say` is told why it takes longer, each reason once.
pub async fn settle(
    db: &Db,
    link: Option<&EdgeLink>,
    news: &KeyNews,
    lease: Duration,
    mut say: impl FnMut(&str),
) -> Result<Settled, StoreError> {
    let watch = Stopwatch::start();
    let mut known = String::new();
    loop {
        let why = match link {
            Some(link) => match link.tell(news).await {
                Ok(()) => return Ok(Settled::Acknowledged),
                Err(error) => error.to_string(),
            },
            None if !edge_outbox::has_edge_asked(db, EDGE_SECONDS).await? => return Ok(Settled::NoEdge),
            None => "no edge is known here (RDS_EDGE_URL); what it knows expires".to_owned(),
        };
        if why != known {
            say(&why);
            known = why;
        }
        if u128::from(watch.micros()) > lease.as_micros() {
            return Ok(Settled::LeaseOver);
        }
        sleep(LOOK).await;
    }
}
