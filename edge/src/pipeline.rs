//! The steps of a request: route → identify and meter → query → admit → cached response or origin → finish.

use crate::answer_counts::Answered;
use crate::asked::Asked;
use crate::cache::{Memory, key};
use crate::config::Config;
use crate::guard::Remembered;
use crate::identify::Identified;
use crate::origin_link::breaker::Breaker;
use crate::origin_link::signed_call;
use crate::pages;
use crate::ports::{BodyFault, Guards, Host, Inbound};
use crate::replica::IsolateReplica;
use crate::respond::{self, Answer, CacheScope, Exchange, Reply};
use crate::tag_versions::Lease;
use crate::well_known::{self, Entrance};
use rds_shared::access::budget::Verdict;
use rds_shared::access::{Principal, link, paging};
use rds_shared::route::unknown::refuse_unknown_values;
use rds_shared::route::{Body, Found, Matching, Method, Query, Route, RouteId, is_graph_path, match_route};
use rds_shared::wire::accept::prefers_markdown;
use rds_shared::wire::{ApiError, ErrorCode, RequestId, TARGET_BYTES, headers};
use std::cell::{Cell, RefCell};

/// State that an isolate keeps between requests.
#[derive(Debug, Default)]
pub struct Isolate {
    /// Cached responses.
    pub memory: RefCell<Memory>,
    /// The circuit breaker for calls to the origin.
    pub breaker: RefCell<Breaker>,
    /// Counts of responses that the origin did not count.
    pub answered: RefCell<Answered>,
    /// Remembered keys, addresses, refusals and reservations.
    pub guards: Remembered,
    /// Tag versions that this isolate knows, and until when they are valid.
    pub tag_lease: RefCell<Lease>,
    /// The rows of the public lists.
    pub replica: RefCell<IsolateReplica>,
}

/// One request in progress.
pub(crate) struct RequestContext<'a, I, H> {
    pub(crate) inbound: &'a Asked<'a, I>,
    pub(crate) isolate: &'a Isolate,
    pub(crate) config: &'a Config,
    pub(crate) host: &'a H,
    pub(crate) request_id: RequestId,
    /// The configured first-party origin that sent the request, if any.
    pub(crate) own_origin: Option<&'a str>,
    /// Whether the response is excluded from this isolate's counts: the origin counted it, or its key is unknown and could not be checked.
    pub(crate) uncounted: Cell<bool>,
}

/// The handler of a request.
enum Destination {
    /// A route of the table.
    Route(Found),
    /// CORS preflight.
    Preflight,
    /// A path outside the API, such as `/robots.txt`.
    Entrance(Entrance),
    /// The origin's messages about changed keys.
    KeyUpdate,
    /// The origin's messages about changed tags.
    TagInvalidation,
}

/// The result of a request.
struct HandledRequest {
    answer: Result<Answer, ApiError>,
    /// The rate-limit verdict, if the request was metered.
    verdict: Option<Verdict>,
    privacy: CacheScope,
    route: Option<&'static Route>,
    /// Unknown parameters, as text for the response header.
    ignored: Option<String>,
}

/// A request that passed every check, ready to be sent to the origin.
pub(crate) struct OriginRequest {
    pub(crate) route: &'static Route,
    /// The route with its path parameters in their canonical spelling.
    pub(crate) found: Found,
    pub(crate) query: Query,
    /// Canonical path and query.
    pub(crate) target: String,
    pub(crate) principal: Principal,
    /// Cache key.
    pub(crate) key: String,
    pub(crate) body: Vec<u8>,
    /// The caller's headers to forward, validated.
    pub(crate) forwarded_headers: Vec<(&'static str, String)>,
}

impl OriginRequest {
    /// Whether the caller sent an idempotency key.
    pub(crate) fn is_named(&self) -> bool {
        self.forwarded_headers.iter().any(|(name, _)| *name == headers::IDEMPOTENCY_KEY)
    }
}

/// Answers a request; every failure becomes an error response.
pub async fn handle<I: Inbound, H: Host + Guards>(inbound: &I, isolate: &Isolate, config: &Config, host: &H) -> Reply {
    reply(&Asked::by_caller(inbound), isolate, config, host).await
}

/// Identifies the caller of a request for `route` and charges it, as [`handle`] does before it answers. For simulations of the limits alone.
pub async fn identify<I: Inbound, H: Host + Guards>(
    inbound: &I,
    isolate: &Isolate,
    config: &Config,
    host: &H,
    route: &Route,
) -> Identified {
    let inbound = &Asked::by_caller(inbound);
    let request_id = RequestId::from_random(host.random());
    let uncounted = Cell::new(false);
    RequestContext { inbound, isolate, config, host, request_id, own_origin: None, uncounted }.identify(route).await
}

/// As [`handle`], for a caller's request and for those that an MCP tool makes for the caller.
pub(crate) async fn reply<I: Inbound, H: Host + Guards>(
    inbound: &Asked<'_, I>,
    isolate: &Isolate,
    config: &Config,
    host: &H,
) -> Reply {
    let request_id = RequestId::from_random(host.random());
    let origin = inbound.header("origin");
    let own_origin = origin.as_deref().and_then(|origin| config.first_party.find(origin));
    let uncounted = Cell::new(false);
    let context = RequestContext { inbound, isolate, config, host, request_id, own_origin, uncounted };
    let HandledRequest { answer, verdict, privacy, route, ignored } = context.outcome().await;
    let fail_safe =
        route.filter(|route| route.cache.is_kept() && route.states_fail_safe_mode()).and_then(|_| context.fail_safe());
    let if_none_match = inbound.header("if-none-match");
    let head = inbound.method() == "HEAD";
    let if_none_match = if_none_match.as_deref();
    let (verdict, ignored) = (verdict.as_ref(), ignored.as_deref());
    let exchange =
        Exchange { request_id, own_origin, head, if_none_match, verdict, privacy, route, ignored, fail_safe };
    let answer = answer.unwrap_or_else(Answer::Error);
    let is_counted = route.is_some_and(|route| context.is_counted(route, &answer));
    let reply = context.with_asset(respond::finish(answer, exchange), exchange).await;
    if is_counted {
        context.count(reply.status);
    }
    reply
}

/// Answers a request to a Worker whose configuration cannot be used.
pub fn unconfigured(inbound: &impl Inbound, random: [u8; 16]) -> Reply {
    let exchange = Exchange {
        request_id: RequestId::from_random(random),
        own_origin: None,
        verdict: None,
        privacy: CacheScope::Public,
        head: inbound.method() == "HEAD",
        if_none_match: None,
        route: None,
        ignored: None,
        fail_safe: None,
    };
    respond::finish(Answer::Error(ErrorCode::ServiceUnavailable.into()), exchange)
}

impl<I: Inbound, H: Host + Guards> RequestContext<'_, I, H> {
    async fn outcome(&self) -> HandledRequest {
        let unmetered =
            |answer| HandledRequest { answer, verdict: None, privacy: CacheScope::Public, route: None, ignored: None };
        let found = match self.destination() {
            Ok(Destination::Route(found)) => found,
            Ok(Destination::Preflight) => return unmetered(Ok(Answer::Preflight)),
            Ok(Destination::Entrance(entrance)) => return unmetered(Ok(self.entered(entrance))),
            Ok(Destination::KeyUpdate) => return unmetered(self.receive_key_update().await),
            Ok(Destination::TagInvalidation) => return unmetered(self.receive_tag_invalidation().await),
            Err(error) => return unmetered(Err(error)),
        };
        let route = found.route;
        if route.cache.is_kept() {
            // The renewal runs while the caller is identified: it calls another Durable Object, so neither waits for the other.
            self.renew_lease();
        }
        let Identified { verdict, outcome } = self.identify(route).await;
        let text = self.inbound.target().split_once('?').map_or("", |(_, query)| query);
        let query = Query::parse(route.query, text);
        let longer = query.as_ref().is_ok_and(|query| paging::is_longer_with_key(route, query));
        let privacy = match &outcome {
            _ if !route.depends_on_caller() && !longer => CacheScope::Public,
            Ok(Principal::Key { .. } | Principal::IndexToken { .. }) => CacheScope::PerCaller,
            _ => CacheScope::PerClass,
        };
        let ignored = query.as_ref().ok().and_then(Query::ignored);
        let answer = match outcome {
            Ok(principal) => self.answer(found, query, principal, longer).await,
            Err(error) => Err(error),
        };
        HandledRequest { answer, verdict, privacy, route: Some(route), ignored }
    }

    /// Selects the handler; the caller is not identified yet.
    fn destination(&self) -> Result<Destination, ApiError> {
        let (target, method) = (self.inbound.target(), self.inbound.method());
        if target.len() > TARGET_BYTES {
            return Err(ErrorCode::UriTooLong.into());
        }
        if method == "OPTIONS" {
            return Ok(Destination::Preflight);
        }
        match target {
            link::KEY_UPDATE_PATH if method == "POST" => return Ok(Destination::KeyUpdate),
            link::TAG_INVALIDATION_PATH if method == "POST" => return Ok(Destination::TagInvalidation),
            _ => {}
        }
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        if is_graph_path(path) && !self.config.graph {
            return Err(ApiError::not_found("route"));
        }
        match match_route(Method::parse(method), path) {
            Matching::Found(found) => Ok(Destination::Route(found)),
            Matching::NotFound => {
                let entrance = well_known::find(path).filter(|_| matches!(method, "GET" | "HEAD"));
                entrance.map(Destination::Entrance).ok_or_else(|| ApiError::not_found("route"))
            }
            Matching::WrongMethod(methods) => {
                let message = format!("this route accepts only {methods}");
                Err(ApiError { allow: Some(methods), ..ApiError::new(ErrorCode::MethodNotAllowed, message) })
            }
        }
    }

    /// Answers an identified caller who is within their limits.
    async fn answer(
        &self,
        mut found: Found,
        query: Result<Query, ApiError>,
        principal: Principal,
        longer: bool,
    ) -> Result<Answer, ApiError> {
        let route = found.route;
        if route.id == RouteId::Mcp {
            self.check_message_origin()?;
        }
        self.check_body_headers(route.body)?;
        let forwarded_headers = self.forwarded_headers(route, &principal)?;
        let query = query?;
        paging::admit_query(&principal, route, &query)?;
        found.fold();
        let target = key::target(&found, &query);
        // The canonical target may be longer than the caller's: it percent-encodes characters that callers may send plain.
        if target.len() > TARGET_BYTES {
            return Err(ErrorCode::UriTooLong.into());
        }
        let key = key::key(&found, &principal, &target, longer);
        let body = self.read_body(route.body).await?;
        let asked = OriginRequest { route, found, query, target, principal, key, body, forwarded_headers };
        if route.id == RouteId::Mcp {
            return Ok(self.message(&asked.body).await);
        }
        if matches!(route.id, RouteId::Docs | RouteId::DocsFile) {
            return self.page(asked.found.path.first().map(String::as_str));
        }
        let answer = match route.cache.is_kept() {
            _ if route.streams() => self.streamed(&asked).await,
            _ if route.id == RouteId::OpenApi => Answer::OpenApi(route),
            true if route.id == RouteId::DecisionVerify => self.verified(&asked, asked.found.param(0)).await,
            true => self.kept(&asked).await,
            false if route.id == RouteId::Ready => self.ready(&asked).await,
            false if route.id == RouteId::Health => self.probed(&asked).await,
            false => self.passed_through(&asked).await,
        };
        match answer.unknown_values() {
            Some(unknown) if asked.query.is_strict() => Err(refuse_unknown_values(unknown)),
            _ => Ok(answer),
        }
    }

    /// A page of the documentation, as Markdown for clients that prefer it; browsers that ask for a missing page get one with links.
    fn page(&self, name: Option<&str>) -> Result<Answer, ApiError> {
        let markdown = self.inbound.header("accept").is_some_and(|accept| prefers_markdown(&accept));
        match pages::find_for(name, markdown) {
            Ok(document) => Ok(Answer::Document(document)),
            Err(_) if self.wants_html() => pages::find(Some(pages::NOT_FOUND)).map(Answer::NoPage),
            Err(error) => Err(error),
        }
    }

    /// Checks a body by its headers alone, before a byte of it is read.
    fn check_body_headers(&self, rule: Body) -> Result<(), ApiError> {
        let Body::Json { max_bytes } = rule else { return Ok(()) };
        if !self.inbound.header("content-type").is_some_and(|given| signed_call::is_json(&given)) {
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
            BodyFault::Late => ApiError::new(ErrorCode::InvalidBody, "the body did not arrive in time"),
        })
    }
}

fn too_large(max_bytes: usize) -> ApiError {
    ApiError::new(ErrorCode::PayloadTooLarge, format!("the body may have at most {max_bytes} bytes"))
}
