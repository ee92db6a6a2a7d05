//! Chains, protocols and curators: their lists, and the names that filters are checked against.

use super::envelope;
use super::listed::Listed;
use super::request::RowRequest;
use super::response::{PreencodedBody, Response};
use crate::model::EncodedRow;
use crate::model::ids::{ChainId, Namespace};
use crate::route::param::Registry;
use crate::route::{params, routes};
use crate::select::curators::CuratorIndex;
use crate::wire::error::ApiError;
use crate::wire::time::Timestamp;
use alloc::string::String;
use alloc::vec::Vec;

/// A served chain, with or without active vaults.
#[derive(Debug, Clone)]
pub struct Chain {
    pub id: ChainId,
    pub slug: String,
    pub namespace: Namespace,
    /// The list row; `None` for a chain without active vaults, which is not listed.
    pub row: Option<EncodedRow>,
}

/// A row with the id of its protocol or curator.
#[derive(Debug, Clone)]
pub struct Named {
    pub id: String,
    pub row: EncodedRow,
}

/// The chains, protocols and curators with the totals of their active vaults.
#[derive(Debug, Clone, Default)]
pub struct Registries {
    /// Largest value first.
    pub(super) chains: Vec<Chain>,
    /// Largest value first.
    pub(super) protocols: Vec<Named>,
    /// The whole list of protocols.
    pub(super) protocol_list: PreencodedBody,
    /// In ascending order of ids.
    pub(super) curators: Listed<Named, CuratorIndex>,
}

impl Registries {
    /// Chains and protocols with the largest value first; curators in the order in which their index was built.
    pub fn new(chains: Vec<Chain>, protocols: Vec<Named>, curators: Listed<Named, CuratorIndex>) -> Self {
        let rows: Vec<&Named> = protocols.iter().collect();
        let protocol_list = PreencodedBody::of(whole(&rows));
        Registries { chains, protocols, protocol_list, curators }
    }

    /// A chain by slug, ignoring letter case, or by number.
    pub fn chain(&self, network: &str) -> Option<&Chain> {
        let number = network.parse().ok().map(ChainId);
        self.chains.iter().find(|chain| chain.slug.eq_ignore_ascii_case(network) || Some(chain.id) == number)
    }

    /// Whether a registry has `name`, ignoring letter case.
    pub fn knows(&self, registry: Registry, name: &str) -> bool {
        let is_named = |entry: &Named| entry.id.eq_ignore_ascii_case(name);
        match registry {
            Registry::Chains | Registry::ChainsOrUnmapped => self.chain(name).is_some(),
            Registry::Protocols => self.protocols.iter().any(is_named),
            Registry::Curators => self.curators.rows().iter().any(is_named),
        }
    }

    /// `GET /v1/chains`: the chains with active vaults, largest TVL first.
    pub(super) fn chains(&self, version: i64, request: RowRequest<'_, routes::Chains>) -> Response {
        let rows: Vec<&EncodedRow> = self.chains.iter().filter_map(|chain| chain.row.as_ref()).collect();
        request.respond_list(version, request.part(&rows))
    }

    /// `GET /v1/protocols`: every known protocol, largest TVL first. The ETag is that of the body, because the whole list is one body.
    pub(super) fn protocols(&self, version: i64, request: RowRequest<'_, routes::ProtocolList>) -> Response {
        if request.get(params::OptionalLimit).is_none() && request.get(params::Page) == 1 {
            return request.respond_preencoded(version, &self.protocol_list);
        }
        let rows: Vec<&Named> = self.protocols.iter().collect();
        let body = whole(request.part(&rows));
        let mut etag = request.etag();
        etag.add(&body);
        request.respond(etag, version, || body)
    }

    /// `GET /v1/curators`: every known curator, paged and sorted.
    pub(super) fn curators(
        &self,
        version: i64,
        request: RowRequest<'_, routes::CuratorList>,
    ) -> Result<Response, ApiError> {
        let page = request.page()?;
        let selection = self.curators.index().select(request.query(), page);
        let rows: Vec<&EncodedRow> = self.curators.selected(&selection).map(|curator| &curator.row).collect();
        Ok(request.respond_page(version, &rows, page, selection.total))
    }
}

/// `{"data":[…]}` of rows without a field that depends on the clock.
fn whole(rows: &[&Named]) -> Vec<u8> {
    let now = Timestamp::from_seconds(0);
    envelope::list(rows, |named| named.row.max_len(), |named, body| named.row.write(now, body))
}
