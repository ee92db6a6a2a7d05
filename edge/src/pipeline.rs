//! The way of a request: route → identify → query → admit → copy or origin → finish.

use crate::admit::admit;
use crate::breaker::Breaker;
use crate::cache::{Memory, key};
use crate::config::Config;
use crate::identify::identify;
use crate::origin;
use crate::ports::{BodyFault, Host, Inbound};
use crate::respond::{self, Answer, Exchange, Reply};
use rds_shared::access::Principal;
use rds_shared::route::{Body, Matching, Method, Query, Route, match_route};
use rds_shared::wire::{ApiError, ErrorCode, RequestId};
use std::cell::RefCell;

/// Longest path and query taken, in bytes.
pub const MAX_TARGET: usize = 8_192;

/// What an isolate remembers from request to request.
#[derive(Debug, Default)]
pub struct Isolate {
    /// Its copies.
    pub memory: RefCell<Memory>,
    /// Its view of the origin.
    pub breaker: RefCell<Breaker>,
}

/// One request on its way.
pub(crate) struct Walk<'a, I, H> {
    pub(crate) inbound: &'a I,
    pub(crate) isolate: &'a Isolate,
    pub(crate) config: &'a Config,
    pub(crate) host: &'a H,
    pub(crate) request_id: RequestId,
    /// The configured origin whose page is asking, if one is.
    own_origin: Option<&'a str>,
}

/// A request that passed every check: what the origin would be asked.
pub(crate) struct Asked {
    pub(crate) route: &'static Route,
    /// Path and query in their one spelling.
    pub(crate) target: String,
    pub(crate) principal: Principal,
    /// The name of the copy.
    pub(crate) key: String,
    pub(crate) body: Vec<u8>,
}

/// Answers a request. There is no request that it does not answer.
pub async fn handle<I: Inbound, H: Host>(inbound: &I, isolate: &Isolate, config: &Config, host: &H) -> Reply {
    let request_id = RequestId::from_random(host.random());
    let origin = inbound.header("origin");
    let own_origin = origin.as_deref().and_then(|origin| config.first_party.find(origin));
    let walk = Walk { inbound, isolate, config, host, request_id, own_origin };
    let answer = walk.answer().await.unwrap_or_else(Answer::Error);
    let if_none_match = inbound.header("if-none-match");
    let head = inbound.method() == "HEAD";
    respond::finish(answer, Exchange { request_id, own_origin, head, if_none_match: if_none_match.as_deref() })
}

/// Answers a request to a Worker whose configuration cannot be used.
pub fn unconfigured(inbound: &impl Inbound, random: [u8; 16]) -> Reply {
    let exchange = Exchange {
        request_id: RequestId::from_random(random),
        own_origin: None,
        head: inbound.method() == "HEAD",
        if_none_match: None,
    };
    respond::finish(Answer::Error(ErrorCode::ServiceUnavailable.into()), exchange)
}

impl<I: Inbound, H: Host> Walk<'_, I, H> {
    async fn answer(&self) -> Result<Answer, ApiError> {
        let target = self.inbound.target();
        if target.len() > MAX_TARGET {
            return Err(ErrorCode::UriTooLong.into());
        }
        if self.inbound.method() == "OPTIONS" {
            return Ok(Answer::Preflight);
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut found = match match_route(Method::parse(self.inbound.method()), path) {
            Matching::Found(found) => found,
            Matching::NotFound => return Err(ApiError::not_found("route")),
            Matching::WrongMethod(methods) => {
                let message = format!("this route takes {methods}");
                return Err(ApiError { allow: Some(methods), ..ApiError::new(ErrorCode::MethodNotAllowed, message) });
            }
        };
        let route = found.route;
        self.check_body_headers(route.body)?;
        let principal = identify(self.inbound.header("authorization").as_deref(), self.own_origin)?;
        let query = Query::parse(route.query, query)?;
        admit(&principal, route.id, &query)?;
        key::fold(&mut found);
        let target = key::target(&found, &query);
        // The one spelling may be longer than the caller's: it encodes what a caller may write plainly.
        if target.len() > MAX_TARGET {
            return Err(ErrorCode::UriTooLong.into());
        }
        let key = key::key(&found, &principal, &target);
        let body = self.read_body(route.body).await?;
        let asked = Asked { route, target, principal, key, body };
        match route.cache.is_kept() {
            true => Ok(self.kept(&asked).await),
            false => Ok(self.passed_through(&asked).await),
        }
    }

    /// Refuses a body by its headers alone, before a byte of it is read.
    fn check_body_headers(&self, rule: Body) -> Result<(), ApiError> {
        let Body::Json { max_bytes } = rule else { return Ok(()) };
        if !self.inbound.header("content-type").is_some_and(|given| origin::is_json(&given)) {
            let message = "the body must be sent as application/json";
            return Err(ApiError::new(ErrorCode::UnsupportedMediaType, message));
        }
        let declared = self.inbound.header("content-length").and_then(|length| length.trim().parse::<u64>().ok());
        match declared {
            Some(length) if length > u64::try_from(max_bytes).unwrap_or(u64::MAX) => Err(too_large(max_bytes)),
            _ => Ok(()),
        }
    }

    async fn read_body(&self, rule: Body) -> Result<Vec<u8>, ApiError> {
        let Body::Json { max_bytes } = rule else { return Ok(Vec::new()) };
        self.inbound.body(max_bytes).await.map_err(|fault| match fault {
            BodyFault::TooLarge => too_large(max_bytes),
            BodyFault::Broken => ApiError::new(ErrorCode::InvalidBody, "the body ended before it was complete"),
        })
    }
}

fn too_large(max_bytes: usize) -> ApiError {
    ApiError::new(ErrorCode::PayloadTooLarge, format!("the body may have at most {max_bytes} bytes"))
}
