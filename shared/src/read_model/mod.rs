//! The read model: the rows of the public lists, encoded, with the indexes that select them, and the answers made from them.
//!
//! A host holds a [`ReadModel`] of one data version and calls [`answer`] for a parsed request. Equal rows give equal bytes in status, headers
//! and body, whichever host holds them: the ETag covers the route, the page and the versions of the rows, and only the fields that depend on
//! the clock differ between two instants.
//!
//! | file | content |
//! |---|---|
//! | [`request`] | a parsed request to a route of the read model |
//! | [`response`] | the response to it |
//! | [`envelope`] | bodies assembled from encoded rows |
//! | [`listed`] | the rows of one list, with their index |
//! | the others | one family of rows each: what is kept, and the answers of its routes |

pub mod envelope;
pub mod listed;
pub mod request;
pub mod response;
pub mod vaults;

use self::request::Request;
use self::response::Response;
use self::vaults::Vaults;
use crate::access::paging;
use crate::route::RouteId;
use crate::wire::error::ApiError;
use alloc::sync::Arc;

/// The rows of the public lists, as of one data version. Families that did not change are shared between models.
#[derive(Debug, Clone, Default)]
pub struct ReadModel {
    /// The data version.
    pub version: i64,
    /// Active vaults.
    pub vaults: Arc<Vaults>,
}

/// Whether [`answer`] answers this route.
pub const fn serves(id: RouteId) -> bool {
    use RouteId::{Royco, VaultList, VaultScores};
    matches!(id, VaultList | VaultScores | Royco)
}

/// Checks everything about a request that does not depend on rows: a host that has no rows yet refuses with the same error as one that has.
pub fn check(request: &Request<'_>) -> Result<(), ApiError> {
    paging::admit_query(request.principal, request.route(), request.query)
}

/// The response to a request for one of the routes that [`serves`] names; `None` for other routes.
pub fn answer(model: &ReadModel, request: Request<'_>) -> Option<Result<Response, ApiError>> {
    let version = model.version;
    Some(match request.route().id {
        RouteId::VaultList => model.vaults.list(version, request.of()),
        RouteId::VaultScores => model.vaults.scores(version, request.of()),
        RouteId::Royco => model.vaults.rewarded(version, request.of()),
        _ => return None,
    })
}
