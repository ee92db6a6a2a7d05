//! What happens once, although every process could be asked for it: a captured request is no second one elsewhere, nor after a restart.
//!
//! Every process remembers the nonces that it was shown ([`assertion`](super::assertion)). A request that changes something spends its nonce
//! in the database besides, before it changes anything. So does one that opens a stream: it takes a place of its key's, and goes on telling
//! long after the assertion has lapsed.
//!
//! Reads do not. Whoever holds a captured read has seen what it was answered; shown to another process within its minute, it is answered
//! with the same facts at most a minute younger. For that, lists would have to wait for the database, and fail with it. The edge's own
//! messages do not either: counts of usage have numbers of their own, and the question about a key changes nothing.

use super::pipeline::Through;
use crate::app::App;
use crate::store::{StoreError, spent_assertions};
use rds_shared::route::{Method, Route, RouteId};

/// Whether a request of `route` spends its nonce everywhere before it is answered. What is new and no GET does, unless it is named here.
pub fn is_spent_everywhere(route: &Route) -> bool {
    match route.id {
        RouteId::EventStream => true,
        // A read whose question is too long for a URL.
        RouteId::VaultBatch => false,
        // Only where a decision is issued: its handler spends the nonce then.
        RouteId::GraphCheck => false,
        _ => route.method != Method::Get,
    }
}

/// Spends the nonce of the request that came `through` a door, at every process and for good; `false` where that was done before. A request
/// without a nonce was believed for another reason, and is no capture of the edge's.
pub async fn spend(app: &App, through: &Through) -> Result<bool, StoreError> {
    match through.nonce {
        Some(nonce) => spent_assertions::spend(&app.db, nonce).await,
        None => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::route::ROUTES;

    #[test]
    fn reads_and_nothing_else_do_without_the_database() {
        let free = ROUTES.iter().filter(|route| !is_spent_everywhere(route));
        let odd: Vec<RouteId> = free.filter(|route| route.method != Method::Get).map(|route| route.id).collect();
        assert_eq!(odd, [RouteId::VaultBatch, RouteId::GraphCheck]);
        let spent = ROUTES.iter().filter(|route| is_spent_everywhere(route) && route.method == Method::Get);
        assert_eq!(spent.map(|route| route.id).collect::<Vec<_>>(), [RouteId::EventStream]);
    }
}
