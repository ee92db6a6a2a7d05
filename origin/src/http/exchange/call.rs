//! The parsed request that a handler is given.

use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::signing::HashedBody;
use crate::http::exchange::trace::Ingress;
use axum::body::Bytes;
use axum::http::HeaderValue;
use rds_shared::access::Principal;
use rds_shared::model::ids::Address;
use rds_shared::read_model::request::Request;
use rds_shared::route::typed::kinds::ValueOf;
use rds_shared::route::{Found, Parameter, Query, Route, Row, RowQuery};
use rds_shared::wire::etag::EtagBuilder;
use rds_shared::wire::page::PageRequest;
use rds_shared::wire::{ApiError, ErrorCode, Timestamp, headers};
use rds_store::registry::catalog::ChainFacts;
use std::marker::PhantomData;
use std::ops::Deref;

/// One admitted request.
#[derive(Debug)]
pub struct Call {
    /// The route and its path parameters.
    pub found: Found,
    /// The parsed query.
    pub query: Query,
    /// Filter values that are in no registry, as the text of the response header.
    pub unknown_values: Option<String>,
    /// The listener and connection that the request arrived on.
    pub through: Ingress,
    /// The authenticated caller.
    pub principal: Principal,
    /// The body; empty on reads.
    pub body: Bytes,
    /// `Content-Type`, for routes that take a body.
    pub content_type: Option<HeaderValue>,
    /// `If-None-Match`.
    pub if_none_match: Option<HeaderValue>,
    /// `Idempotency-Key`.
    pub idempotency_key: Option<HeaderValue>,
    /// The domain time of the response.
    pub now: Timestamp,
}

impl Call {
    /// The route's row in the route table.
    pub fn route(&self) -> &'static Route {
        self.found.route
    }

    /// The call typed by the route-table row `R`, which must be the matched row.
    pub fn of<R: Row>(&self) -> RouteCall<'_, R> {
        debug_assert_eq!(self.route().id, R::ID, "the handler is of another route");
        RouteCall { call: self, row: PhantomData }
    }

    /// The call as a request to the read model.
    pub fn request(&self) -> Request<'_> {
        Request {
            found: &self.found,
            query: &self.query,
            unknown_values: self.unknown_values.as_deref(),
            principal: &self.principal,
            if_none_match: self.if_none_match.as_ref().and_then(|header| header.to_str().ok()),
            now: self.now,
        }
    }

    /// An ETag builder for this route. The handler adds everything that the body depends on, except what changes with the clock.
    ///
    /// Equal bodies get equal ETags, however the query was written.
    pub fn etag(&self) -> EtagBuilder {
        self.request().etag()
    }

    /// 304 if `If-None-Match` contains `etag`; else the body, which is computed only then.
    pub fn answer<B: Into<HashedBody>>(&self, etag: EtagBuilder, version: i64, body: impl FnOnce() -> B) -> Answer {
        let etag = etag.weak();
        if self.is_current(&etag) { Answer::not_modified(etag, version) } else { Answer::tagged(etag, version, body()) }
    }

    /// Like [`Call::answer`], with a complete ETag and a body that is already built.
    pub fn answer_named(&self, etag: String, version: i64, body: Vec<u8>) -> Answer {
        if self.is_current(&etag) { Answer::not_modified(etag, version) } else { Answer::tagged(etag, version, body) }
    }

    /// Like [`Call::answer`], with a body whose computation can fail.
    pub fn try_answer(
        &self,
        etag: EtagBuilder,
        version: i64,
        body: impl FnOnce() -> Result<Vec<u8>, Failure>,
    ) -> Result<Answer, Failure> {
        let etag = etag.weak();
        Ok(if self.is_current(&etag) {
            Answer::not_modified(etag, version)
        } else {
            Answer::tagged(etag, version, body()?)
        })
    }

    /// A response that is compiled into the program, with its own ETag.
    pub fn answer_built_in(&self, etag: &str, body: &'static [u8]) -> Answer {
        Answer::built_in(etag.to_owned(), (!self.is_current(etag)).then_some(body))
    }

    /// Path parameter `index` as an address of `chain`, or 400 with the reason.
    pub fn address_on(&self, chain: &ChainFacts, index: usize) -> Result<Address, ApiError> {
        self.request().address_on(&chain.slug, chain.namespace, index)
    }

    /// 415 unless the body was sent as `application/json`, with or without parameters.
    pub fn expect_json(&self) -> Result<(), ApiError> {
        let given = self.content_type.as_ref().and_then(|value| value.to_str().ok());
        let essence = given.and_then(|given| given.split(';').next());
        if essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(headers::JSON)) {
            return Ok(());
        }
        Err(ApiError::new(ErrorCode::UnsupportedMediaType, "send the body as application/json"))
    }

    fn is_current(&self, etag: &str) -> bool {
        self.request().is_current(etag)
    }
}

/// A call of the route-table row `R`, with typed access to its query parameters.
#[derive(Debug)]
pub struct RouteCall<'c, R> {
    call: &'c Call,
    row: PhantomData<R>,
}

impl<R> Clone for RouteCall<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for RouteCall<'_, R> {}

impl<R> Deref for RouteCall<'_, R> {
    type Target = Call;

    fn deref(&self) -> &Call {
        self.call
    }
}

impl<'c, R: Row> RouteCall<'c, R> {
    /// The parsed query, typed by the row `R`.
    pub fn query(self) -> RowQuery<'c, R> {
        RowQuery::of(&self.call.query)
    }

    /// The value of a parameter: the given one, or the default.
    pub fn get<P: Parameter>(self, parameter: P) -> ValueOf<'c, P> {
        self.query().get(parameter)
    }

    /// The part of the numbered page that the caller may read; an error if all of it needs a key. A page beyond the last one is empty and
    /// needs no key.
    pub fn page(self) -> Result<PageRequest, ApiError> {
        self.call.request().of::<R>().page()
    }

    /// The rows of the page that `page` and `limit` select; all rows without `limit`.
    pub fn part<T>(self, rows: &[T]) -> &[T] {
        self.call.request().of::<R>().part(rows)
    }
}
