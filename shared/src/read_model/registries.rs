//! Chains, protocols and curators: their lists, and the names that filters are checked against.

use super::encoding;
use super::envelope;
use super::listed::{Listed, read_rows};
use super::request::RowRequest;
use super::response::{PreencodedBody, Response};
use crate::model::EncodedRow;
use crate::model::chain::ChainRow;
use crate::model::curator::CuratorRow;
use crate::model::ids::{ChainId, Namespace};
use crate::model::protocol::ProtocolRow;
use crate::pace::Pace;
use crate::replica::Row;
use crate::route::param::Registry;
use crate::route::{params, routes};
use crate::select::curators::{CuratorColumns, CuratorIndex};
use crate::wire::error::ApiError;
use crate::wire::record::{self, Reader};
use crate::wire::time::Timestamp;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A served chain, with or without active vaults.
#[derive(Debug, Clone)]
pub struct Chain {
    pub id: ChainId,
    pub slug: String,
    pub namespace: Namespace,
    /// The list row; `None` for a chain without active vaults, which is not listed.
    row: Option<EncodedRow>,
}

/// A row with the id of its protocol or curator.
#[derive(Debug, Clone)]
struct Named {
    id: String,
    row: EncodedRow,
}

/// The protocols, largest value first.
#[derive(Debug, Clone)]
pub(super) struct Protocols {
    all: Vec<Named>,
    /// The whole list.
    list: PreencodedBody,
}

/// The curators, in ascending order of ids.
#[derive(Debug, Clone)]
pub(super) struct Curators(Listed<Named, CuratorIndex>);

/// The chains, protocols and curators with the totals of their active vaults.
#[derive(Debug, Clone)]
pub struct Registries {
    /// Largest value first.
    pub(super) chains: Arc<Vec<Chain>>,
    pub(super) protocols: Arc<Protocols>,
    pub(super) curators: Arc<Curators>,
}

/// The row of a chain; without `listed` it has no active vaults.
pub fn chain_row(
    (id, slug, namespace): (ChainId, &str, Namespace),
    listed: Option<&ChainRow>,
) -> Result<Row, serde_json::Error> {
    let mut content = Vec::new();
    record::put_variable(id.0, &mut content);
    record::put_bytes(slug.as_bytes(), &mut content);
    record::put_bytes(namespace.as_str().as_bytes(), &mut content);
    content.push(u8::from(listed.is_some()));
    if let Some(listed) = listed {
        EncodedRow::encode(listed, None)?.write_record(&mut content);
    }
    encoding::row(&encoding::largest_first(listed.map_or(0.0, |row| row.tvl_usd), &id.0.to_be_bytes()), &content)
}

/// The row of a protocol.
pub fn protocol_row(listed: &ProtocolRow) -> Result<Row, serde_json::Error> {
    let mut content = Vec::new();
    EncodedRow::encode(listed, None)?.write_record(&mut content);
    encoding::row(&encoding::largest_first(listed.tvl, listed.id.as_bytes()), &content)
}

/// The row of a curator.
pub fn curator_row(listed: &CuratorRow) -> Result<Row, serde_json::Error> {
    let mut content = Vec::new();
    CuratorColumns::of(listed).write(&mut content);
    EncodedRow::encode(listed, None)?.write_record(&mut content);
    encoding::row(listed.id.as_bytes(), &content)
}

fn read_chain(_: &Row, mut reader: Reader<'_>) -> Option<Chain> {
    let (id, slug) = (ChainId(reader.variable()?), reader.text()?.to_owned());
    let namespace = Namespace::parse(reader.text()?)?;
    let row = if reader.flag()? { Some(EncodedRow::read_record(&mut reader, None)?) } else { None };
    reader.is_at_end().then_some(Chain { id, slug, namespace, row })
}

fn read_protocol(row: &Row, mut reader: Reader<'_>) -> Option<Named> {
    let (id, encoded) = (encoding::id_of(row.key())?.to_owned(), EncodedRow::read_record(&mut reader, None)?);
    reader.is_at_end().then_some(Named { id, row: encoded })
}

fn read_curator<'a>(row: &'a Row, mut reader: Reader<'a>) -> Option<(CuratorColumns<'a>, Named)> {
    let id = core::str::from_utf8(row.key()).ok()?.to_owned();
    let (columns, encoded) = (CuratorColumns::read(&mut reader)?, EncodedRow::read_record(&mut reader, None)?);
    reader.is_at_end().then_some((columns, Named { id, row: encoded }))
}

pub(super) async fn read_chains(rows: &[Row], pace: &Pace<'_>) -> Option<Vec<Chain>> {
    read_rows(rows, pace, read_chain).await
}

pub(super) async fn read_protocols(rows: &[Row], pace: &Pace<'_>) -> Option<Protocols> {
    let all = read_rows(rows, pace, read_protocol).await?;
    let list = PreencodedBody::of(whole(&all.iter().collect::<Vec<_>>()));
    Some(Protocols { all, list })
}

pub(super) async fn read_curators(rows: &[Row], pace: &Pace<'_>) -> Option<Curators> {
    Listed::<_, CuratorIndex>::read(rows, pace, read_curator).await.map(Curators)
}

impl Registries {
    /// Without some chains.
    pub(super) fn without_chains(&self, hidden: &[ChainId]) -> Self {
        let chains = self.chains.iter().filter(|chain| !hidden.contains(&chain.id)).cloned().collect();
        Registries { chains: Arc::new(chains), ..self.clone() }
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
            Registry::Protocols => self.protocols.all.iter().any(is_named),
            Registry::Curators => self.curators.0.rows().iter().any(is_named),
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
            return request.respond_preencoded(version, &self.protocols.list);
        }
        let rows: Vec<&Named> = self.protocols.all.iter().collect();
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
        let Curators(curators) = &*self.curators;
        let selection = curators.index().select(request.query(), page);
        let rows: Vec<&EncodedRow> = curators.selected(&selection).map(|curator| &curator.row).collect();
        Ok(request.respond_page(version, &rows, page, selection.total))
    }
}

/// `{"data":[…]}` of rows without a field that depends on the clock.
fn whole(rows: &[&Named]) -> Vec<u8> {
    let now = Timestamp::from_seconds(0);
    envelope::list(rows, |named| named.row.max_len(), |named, body| named.row.write(now, body))
}
