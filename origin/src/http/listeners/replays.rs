//! Replay protection across processes and restarts.
//!
//! Every process remembers the nonces that it has seen ([`assertion`](crate::http::listeners::assertion)). A request that changes something also spends
//! its nonce in the database before the change. So does a request that opens a stream: it uses one of its key's streams and sends
//! data long after the assertion has expired.
//!
//! Reads spend no nonce in the database, because lists would then depend on the database. A captured read can be replayed to another
//! process while its assertion is valid, but only shows facts that are at most a minute newer. The edge's own messages spend no nonce
//! either: usage batches have sequence numbers, and a key look-up changes nothing.

use crate::http::exchange::trace::Ingress;
use rds_shared::route::{Method, Route, RouteId};
use rds_store::Db;
use rds_store::StoreError;
use rds_store::keys::spent_assertions;

/// Whether a request of `route` spends its nonce in the database before it is answered. Requests with a method other than GET do, unless
/// their route is listed here.
pub fn is_spent_everywhere(route: &Route) -> bool {
    match route.id {
        RouteId::EventStream => true,
        // A read whose query is too long for a URL.
        RouteId::VaultBatch => false,
        // The handler spends the nonce, and only if a decision is issued.
        RouteId::GraphCheck => false,
        _ => route.method != Method::Get,
    }
}

/// Spends the request's nonce for all processes and for good; `false` if it was spent before. A request without a nonce did not use
/// an edge assertion, so there is nothing to spend.
pub async fn spend(db: &Db, through: &Ingress) -> Result<bool, StoreError> {
    match through.nonce {
        Some(nonce) => spent_assertions::spend(db, nonce).await,
        None => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::route::ROUTES;

    #[test]
    fn only_reads_need_no_nonce_in_the_database() {
        let free = ROUTES.iter().filter(|route| !is_spent_everywhere(route));
        let odd: Vec<RouteId> = free.filter(|route| route.method != Method::Get).map(|route| route.id).collect();
        assert_eq!(odd, [RouteId::VaultBatch, RouteId::GraphCheck]);
        let spent = ROUTES.iter().filter(|route| is_spent_everywhere(route) && route.method == Method::Get);
        assert_eq!(spent.map(|route| route.id).collect::<Vec<_>>(), [RouteId::EventStream]);
    }
}
