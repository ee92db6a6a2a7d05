//! A parsed request to a route of the read model.

use super::envelope;
use super::response::{Body, PreencodedBody, Response};
use crate::access::{Principal, paging};
use crate::model::EncodedRow;
use crate::model::ids::{Address, AddressError, Namespace};
use crate::route::typed::kinds::ValueOf;
use crate::route::{Found, Parameter, Query, Route, Row, RowQuery, params};
use crate::wire::error::{ApiError, Detail, ErrorCode, In};
use crate::wire::etag::{self, EtagBuilder};
use crate::wire::page::{PageMeta, PageRequest};
use crate::wire::time::Timestamp;
use alloc::format;
use alloc::vec;
use core::marker::PhantomData;
use core::ops::Deref;

/// One request of an admitted caller.
#[derive(Debug, Clone, Copy)]
pub struct Request<'r> {
    /// The route and its path parameters.
    pub found: &'r Found,
    /// The parsed query.
    pub query: &'r Query,
    /// Filter values that are in no registry, as the text of the response header.
    pub unknown_values: Option<&'r str>,
    pub principal: &'r Principal,
    /// `If-None-Match`.
    pub if_none_match: Option<&'r str>,
    /// The time of the response.
    pub now: Timestamp,
}

impl<'r> Request<'r> {
    /// The route's row in the route table.
    pub fn route(&self) -> &'static Route {
        self.found.route
    }

    /// The request typed by the route-table row `R`, which must be the matched row.
    pub fn of<R: Row>(self) -> RowRequest<'r, R> {
        debug_assert_eq!(self.route().id, R::ID, "the request is for another route");
        RowRequest { request: self, row: PhantomData }
    }

    /// An ETag builder for this route. The caller adds everything that the body depends on, except what changes with the clock.
    ///
    /// Equal bodies get equal ETags, however the query was written.
    pub fn etag(&self) -> EtagBuilder {
        let mut etag = EtagBuilder::new();
        etag.add(self.route().id.name().as_bytes());
        // The header with the unknown values is part of a cached response. It changes once a value is registered, even if the rows do
        // not.
        if let Some(unknown) = self.unknown_values {
            etag.add(unknown.as_bytes());
        }
        etag
    }

    /// Whether `If-None-Match` contains `etag`.
    pub fn is_current(&self, etag: &str) -> bool {
        self.if_none_match.is_some_and(|held| etag::if_none_match(held, etag))
    }

    /// Path parameter `index` as an address of the chain `slug`, or 400 with the reason.
    pub fn address_on(&self, slug: &str, namespace: Namespace, index: usize) -> Result<Address, ApiError> {
        let fault = |code, reason: &str| ApiError::invalid(code, vec![Detail::new(In::Path, "address", reason)]);
        Address::parse(namespace, self.found.param(index)).map_err(|error| match error {
            AddressError::Malformed => fault(
                ErrorCode::InvalidAddress,
                "must be an EVM or Solana address: 0x and 40 hex digits, or base58 of 32 bytes",
            ),
            AddressError::WrongNamespace(_) => {
                let reason = format!("must be an address of the namespace of {slug} ({})", namespace.as_str());
                fault(ErrorCode::AddressNamespaceMismatch, &reason)
            }
        })
    }

    /// 304 if `If-None-Match` contains `etag`; else the body, which is computed only then.
    pub fn respond<B: Into<Body>>(&self, etag: EtagBuilder, version: i64, body: impl FnOnce() -> B) -> Response {
        let etag = etag.weak();
        let body = (!self.is_current(&etag)).then(|| body().into());
        Response { etag, version, body }
    }

    /// A body that was encoded with the read model.
    pub fn respond_preencoded(&self, version: i64, body: &PreencodedBody) -> Response {
        let mut etag = self.etag();
        etag.add(body.digest());
        self.respond(etag, version, || Body::Preencoded(body.clone()))
    }

    /// `{"data":{…}}`: one row.
    pub fn respond_one(&self, version: i64, row: &EncodedRow) -> Response {
        let mut etag = self.etag();
        etag.add_u64(row.version());
        self.respond(etag, version, || envelope::one(row.max_len(), |body| row.write(self.now, body)))
    }

    /// `{"data":[…]}`.
    pub fn respond_list(&self, version: i64, rows: &[&EncodedRow]) -> Response {
        let mut etag = self.etag();
        rows.iter().for_each(|row| {
            etag.add_u64(row.version());
        });
        self.respond(etag, version, || envelope::list(rows, |row| row.max_len(), |row, body| row.write(self.now, body)))
    }

    /// A numbered page out of `total` rows.
    pub fn respond_page(&self, version: i64, rows: &[&EncodedRow], page: PageRequest, total: usize) -> Response {
        let meta = PageMeta::new(page, total as u64);
        let mut etag = self.etag();
        etag.add_u64(page.number).add_u64(page.size).add_u64(meta.total);
        rows.iter().for_each(|row| {
            etag.add_u64(row.version());
        });
        self.respond(etag, version, || {
            envelope::page(rows, |row| row.max_len(), meta, |row, body| row.write(self.now, body))
        })
    }
}

/// A request to the route-table row `R`, with typed access to its query parameters.
#[derive(Debug)]
pub struct RowRequest<'r, R> {
    request: Request<'r>,
    row: PhantomData<R>,
}

impl<R> Clone for RowRequest<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for RowRequest<'_, R> {}

impl<'r, R> Deref for RowRequest<'r, R> {
    type Target = Request<'r>;

    fn deref(&self) -> &Request<'r> {
        &self.request
    }
}

impl<'r, R: Row> RowRequest<'r, R> {
    /// The parsed query, typed by the row `R`.
    pub fn query(self) -> RowQuery<'r, R> {
        RowQuery::of(self.request.query)
    }

    /// The value of a parameter: the given one, or the default.
    pub fn get<P: Parameter>(self, parameter: P) -> ValueOf<'r, P> {
        self.query().get(parameter)
    }

    /// The rows of the page that `page` and `limit` select; all rows without `limit`.
    pub fn part<T>(self, rows: &[T]) -> &[T] {
        let size = self.get(params::OptionalLimit).map_or(rows.len().max(1), |limit| limit as usize);
        let page = self.get(params::Page).max(1) as usize;
        rows.chunks(size).nth(page - 1).unwrap_or_default()
    }

    /// The part of the numbered page that the caller may read; an error if all of it needs a key. A page beyond the last one is empty and
    /// needs no key.
    pub fn page(self) -> Result<PageRequest, ApiError> {
        match self.query().page() {
            Some(page) => paging::admit(self.request.principal, page),
            None => Ok(self.query().any_page().unwrap_or_else(|| PageRequest::new(1, 0))),
        }
    }
}
