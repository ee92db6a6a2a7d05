//! What a handler is given: a request of which nothing is left to parse.

use super::answer::{Answer, Failure};
use super::pipeline::Through;
use super::signing::Whole;
use crate::store::catalog::ChainFacts;
use axum::body::Bytes;
use axum::http::HeaderValue;
use rds_shared::access::{Principal, paging};
use rds_shared::model::ids::{Address, AddressError};
use rds_shared::route::{Found, Query, Route};
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::etag::{self, EtagBuilder};
use rds_shared::wire::page::PageRequest;
use rds_shared::wire::{ApiError, ErrorCode, Timestamp, headers};

/// One admitted request.
#[derive(Debug)]
pub struct Call {
    /// The route and its path parameters.
    pub found: Found,
    /// The parsed query.
    pub query: Query,
    /// Names in its filters that no registry has, as the caller is told of them.
    pub unknown_values: Option<String>,
    /// How it came in.
    pub through: Through,
    /// Who is calling, on the edge's word.
    pub principal: Principal,
    /// The body; empty on reads.
    pub body: Bytes,
    /// `Content-Type`, for routes that take a body.
    pub content_type: Option<HeaderValue>,
    /// `If-None-Match`.
    pub if_none_match: Option<HeaderValue>,
    /// `Idempotency-Key`.
    pub idempotency_key: Option<HeaderValue>,
    /// The domain's time at which the request is answered.
    pub now: Timestamp,
}

impl Call {
    /// The route's row of the table.
    pub fn route(&self) -> &'static Route {
        self.found.route
    }

    /// The rows of a whole list that `page` and `limit` ask for: all of them without `limit`.
    pub fn part<'r, T>(&self, rows: &'r [T]) -> &'r [T] {
        let size = match self.query.int("limit") {
            0 => rows.len().max(1),
            limit => usize::try_from(limit).unwrap_or(usize::MAX),
        };
        let page = usize::try_from(self.query.int("page").max(1)).unwrap_or(usize::MAX);
        rows.chunks(size).nth(page - 1).unwrap_or_default()
    }

    /// An ETag builder for this route; the caller adds what the answer is made of, whatever moves with the clock apart.
    ///
    /// The same bytes have the same tag, however the question was spelled.
    pub fn etag(&self) -> EtagBuilder {
        let mut etag = EtagBuilder::new();
        etag.add(self.route().id.name().as_bytes());
        // A copy holds the header too: once a name becomes known, an answer with the same rows is another one.
        if let Some(unknown) = &self.unknown_values {
            etag.add(unknown.as_bytes());
        }
        etag
    }

    /// The numbered page that the query asks for, as far as the caller may have it. A page beyond the last one is empty and needs no key.
    pub fn page(&self) -> Result<PageRequest, ApiError> {
        match self.route().pages.and_then(|pages| pages.page(&self.query)) {
            Some(page) => paging::admit(&self.principal, page),
            None => Ok(self.query.page()),
        }
    }

    /// 304 when the caller already holds what `etag` stands for; else the body, which is made only then.
    pub fn answer<B: Into<Whole>>(&self, etag: EtagBuilder, version: i64, body: impl FnOnce() -> B) -> Answer {
        let etag = etag.weak();
        if self.holds(&etag) { Answer::not_modified(etag, version) } else { Answer::tagged(etag, version, body()) }
    }

    /// The same for an answer whose tag is a name of its own and not made here.
    pub fn answer_named(&self, etag: String, version: i64, body: Vec<u8>) -> Answer {
        if self.holds(&etag) { Answer::not_modified(etag, version) } else { Answer::tagged(etag, version, body) }
    }

    /// The same with a body that can fail to be made.
    pub fn try_answer(
        &self,
        etag: EtagBuilder,
        version: i64,
        body: impl FnOnce() -> Result<Vec<u8>, Failure>,
    ) -> Result<Answer, Failure> {
        let etag = etag.weak();
        Ok(if self.holds(&etag) { Answer::not_modified(etag, version) } else { Answer::tagged(etag, version, body()?) })
    }

    /// A part of the program, under its own tag.
    pub fn answer_built_in(&self, etag: &str, body: &'static [u8]) -> Answer {
        Answer::built_in(etag.to_owned(), (!self.holds(etag)).then_some(body))
    }

    /// The path parameter number `index` as an address of `chain`, or a 400 that says why it is none.
    pub fn address_on(&self, chain: &ChainFacts, index: usize) -> Result<Address, ApiError> {
        let fault = |code, reason: &str| ApiError::invalid(code, vec![Detail::new(In::Path, "address", reason)]);
        Address::parse(chain.namespace, self.found.param(index)).map_err(|error| match error {
            AddressError::Malformed => fault(ErrorCode::InvalidAddress, "is no address"),
            AddressError::WrongNamespace(_) => {
                let (slug, namespace) = (&chain.slug, chain.namespace.as_str());
                let reason = format!("is an address of another namespace than that of {slug} ({namespace})");
                fault(ErrorCode::AddressNamespaceMismatch, &reason)
            }
        })
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

    fn holds(&self, etag: &str) -> bool {
        self.if_none_match
            .as_ref()
            .and_then(|header| header.to_str().ok())
            .is_some_and(|held| etag::if_none_match(held, etag))
    }
}
