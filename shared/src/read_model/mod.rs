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
//! | `encoding` | how rows are made and read |
//! | `rows` | the model as rows, and the model that rows make |
//! | [`singles`] | what is one row by itself |
//! | the others | one family of rows each: what is kept, and the answers of its routes |

pub mod assets;
mod encoding;
pub mod envelope;
pub mod feeds;
pub mod listed;
pub mod markets;
pub mod registries;
pub mod request;
pub mod response;
mod rows;
pub mod security;
pub mod singles;
pub mod symbols;
pub mod vaults;

pub use rows::chain_of;

use self::assets::Assets;
use self::feeds::Feeds;
use self::markets::Markets;
use self::registries::Registries;
use self::request::Request;
use self::response::Response;
use self::security::Security;
use self::vaults::Vaults;
use crate::access::paging;
use crate::model::EncodedRow;
use crate::replica::{Families, Family, Rows};
use crate::route::{Query, RouteId, RowQuery, params, routes};
use crate::wire::error::ApiError;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The rows of the public lists, as of one data version. Families that did not change are shared between models.
#[derive(Debug, Clone)]
pub struct ReadModel {
    /// The data version.
    pub version: i64,
    /// Active vaults.
    pub vaults: Arc<Vaults>,
    /// Chains, protocols and curators.
    pub registries: Registries,
    markets: Arc<Markets>,
    feeds: Arc<Feeds>,
    /// Assets, real-world assets and reviewers.
    assets: Assets,
    /// The security registry and the loss board.
    security: Security,
    /// One row for each symbol of an active vault; the symbols of the most vaults come first.
    symbols: Arc<Vec<EncodedRow>>,
    /// Totals of the platform.
    stats: EncodedRow,
    /// Numbers of chains that are hidden in the lists of vaults, markets and feeds.
    hidden: Arc<[String]>,
    /// The families that the model has; of the others it has no rows and answers nothing.
    families: Families,
    rows: Rows,
}

/// The families that every model has: filters are checked against the registries, and several lists are made of a single row among others.
pub const ALWAYS: Families = Families::of(&[Family::Chains, Family::Protocols, Family::Curators, Family::Singles]);

/// Whether [`answer`] answers this route.
pub const fn serves(id: RouteId) -> bool {
    use RouteId::*;
    matches!(
        id,
        VaultList
            | VaultScores
            | Royco
            | Chains
            | ProtocolList
            | CuratorList
            | AssetSymbols
            | Stats
            | MarketList
            | OracleList
            | OracleByAddress
            | AssetList
            | AssetFacets
            | RwaList
            | RwaFacets
            | ReviewerList
            | SecurityEventList
            | LossBoard
    )
}

/// The families whose rows the answer to a request for this route is made from; none for a route that [`serves`] does not name.
pub fn families_of(id: RouteId, query: &Query) -> Families {
    use RouteId::*;
    let has_loss = || RowQuery::<routes::SecurityEventList>::of(query).get(params::HasLoss).is_some();
    let family = match id {
        VaultList | VaultScores | Royco => Family::Vaults,
        Chains => Family::Chains,
        ProtocolList => Family::Protocols,
        CuratorList => Family::Curators,
        AssetSymbols => Family::Symbols,
        Stats | AssetFacets | RwaFacets => Family::Singles,
        MarketList => Family::Markets,
        OracleList | OracleByAddress => Family::Feeds,
        AssetList => Family::Assets,
        RwaList => Family::Rwa,
        ReviewerList => Family::Reviewers,
        SecurityEventList if !has_loss() => Family::SecurityEvents,
        SecurityEventList | LossBoard => Family::Losses,
        _ => return Families::NONE,
    };
    Families::of(&[family])
}

/// Checks everything about a request that does not depend on rows: a host that has no rows yet refuses with the same error as one that has.
pub fn check(request: &Request<'_>) -> Result<(), ApiError> {
    if request.route().id == RouteId::SecurityEventList {
        security::check(request.of())?;
    }
    paging::admit_query(request.principal, request.route(), request.query)
}

/// The response to a request for one of the routes that [`serves`] names; `None` for other routes, and if the model lacks the rows.
pub fn answer(model: &ReadModel, request: Request<'_>) -> Option<Result<Response, ApiError>> {
    if !model.families.has_all(families_of(request.route().id, request.query)) {
        return None;
    }
    let (version, shown) = (model.version, (model.version, &*model.hidden));
    Some(match request.route().id {
        RouteId::VaultList => model.vaults.list(shown, request.of()),
        RouteId::VaultScores => model.vaults.scores(shown, request.of()),
        RouteId::Royco => model.vaults.rewarded(shown, request.of()),
        RouteId::Chains => Ok(model.registries.chains(version, request.of())),
        RouteId::ProtocolList => Ok(model.registries.protocols(version, request.of())),
        RouteId::CuratorList => model.registries.curators(version, request.of()),
        RouteId::AssetSymbols => Ok(symbols::list(&model.symbols, version, request.of())),
        RouteId::Stats => Ok(request.respond_one(version, &model.stats)),
        RouteId::MarketList => markets::list(&model.markets, shown, request.of()),
        RouteId::OracleList => model.feeds.list(shown, request.of()),
        RouteId::OracleByAddress => model.feeds.by_address(version, &model.registries, &request),
        RouteId::AssetList => model.assets.enriched(version, request.of()),
        RouteId::AssetFacets => Ok(request.respond_preencoded(version, &model.assets.facets)),
        RouteId::RwaList => model.assets.rwa(version, request.of()),
        RouteId::RwaFacets => Ok(request.respond_preencoded(version, &model.assets.rwa_facets)),
        RouteId::ReviewerList => Ok(model.assets.reviewers(version, request.of())),
        RouteId::SecurityEventList => model.security.events(version, request.of()),
        RouteId::LossBoard => model.security.losses(version, request.of::<routes::LossBoard>()),
        _ => return None,
    })
}

#[cfg(test)]
mod samples;
#[cfg(test)]
#[path = "mod_tests.rs"]
mod tests;
