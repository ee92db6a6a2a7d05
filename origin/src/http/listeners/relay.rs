//! The relay listener: the few routes that backends call directly, not through the edge.
//!
//! Keys, rate limits and access follow the same shared rules as at the edge. The caller's address is the peer's, or the one
//! forwarded by a proxy listed in `RDS_TRUSTED_PROXIES`.

use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::router;
use crate::http::exchange::trace::Trace;
use crate::http::listeners::relay_meter::{Caller, Client, NoCounterLeft};
use crate::http::server::Server;
use crate::keys::known::LookupError;
use crate::metrics::Label;
use crate::telemetry::CredentialId;
use axum::body::Bytes;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use rds_shared::access::{ClientNet, KeyRecord, Presented, Principal, gate};
use rds_shared::route::bounds::SUBCLIENT_BYTES;
use rds_shared::route::{Listeners, Matching, Method, Route, match_route};
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, ErrorCode, headers};
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use std::sync::PoisonError;
use std::time::Duration;
use tokio::time::timeout;

/// The header to which proxies append the address of their client.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// Time limit for verifying a key, so that readiness is answered within a second in total.
const VERIFY_TIMEOUT: Duration = Duration::from_millis(900);

/// Routes the paths of this listener. All other paths are 404 and are not metered.
pub async fn handle(server: &Server, request: Request, trace: &mut Trace) -> Result<Answer, Failure> {
    let (mut head, _) = request.into_parts();
    // Only the edge may require minimum tag versions.
    head.headers.remove(headers::TAGS);
    let matching = match match_route(Method::parse(head.method.as_str()), head.uri.path()) {
        Matching::Found(found) if found.route.listeners == Listeners::EdgeAndRelay => Matching::Found(found),
        Matching::Found(_) => Matching::NotFound,
        Matching::WrongMethod(allow) if answers(head.uri.path()) => Matching::WrongMethod(allow),
        Matching::WrongMethod(_) | Matching::NotFound => Matching::NotFound,
    };
    let principal = match &matching {
        Matching::Found(found) => {
            trace.label = Label::Route(found.route.id);
            let caller = caller(server, trace.through.peer, &head.headers);
            admit(server, found.route, caller, &head.headers, trace).await?
        }
        Matching::WrongMethod(_) | Matching::NotFound => Principal::Anonymous,
    };
    router::route(server, matching, principal, &head, Bytes::new(), trace).await
}

fn answers(path: &str) -> bool {
    matches!(match_route(Some(Method::Get), path), Matching::Found(found) if found.route.listeners == Listeners::EdgeAndRelay)
}

/// The verified credential of a request.
enum Credential {
    Nothing,
    Rejected,
    Key(KeyRecord),
}

/// Identifies the caller and charges the request to its rate limit.
///
/// A key that cannot be verified because the database is unavailable gets 401 if it was refused lately, else 503.
async fn admit(
    server: &Server,
    route: &Route,
    caller: IpAddr,
    headers: &HeaderMap,
    trace: &mut Trace,
) -> Result<Principal, Failure> {
    let (net, now) = (ClientNet::of(caller), server.app.clock.now().as_seconds());
    let credential = match timeout(VERIFY_TIMEOUT, credential(server, net, headers, now)).await {
        Ok(Ok(credential)) => credential,
        Ok(Err(LookupError::Busy)) => return Err(LookupError::Busy.into()),
        Ok(Err(LookupError::Store(error))) => {
            tracing::warn!(%error, "a key could not be verified");
            without_database(server, headers, now)?
        }
        Err(_) => without_database(server, headers, now)?,
    };
    let mut unusable = None;
    let caller = match &credential {
        Credential::Nothing => Caller::Anonymous,
        Credential::Rejected => Caller::Rejected,
        Credential::Key(record) => Caller::Key(
            record,
            client(record, headers).unwrap_or_else(|fault| {
                unusable = Some(fault);
                0
            }),
        ),
    };
    if let Caller::Key(record, _) = caller {
        trace.through.line.prove();
        // Noted before the limit is charged, so that the log says whose request was refused.
        trace.credential = Some(CredentialId::Key { id: record.id, org: record.org_id });
    }
    let verdict = server
        .relay
        .limiter
        .take(route.rate_limit_class, caller, net, now)
        .map_err(|NoCounterLeft| Failure::from(ErrorCode::ServiceUnavailable))?;
    trace.verdict = verdict;
    if let Some(verdict) = verdict.filter(|verdict| !verdict.admitted) {
        return Err(gate::spent(&verdict, now).into());
    }
    match (credential, unusable) {
        (_, Some(fault)) => Err(fault.into()),
        (Credential::Nothing, None) => Ok(Principal::Anonymous),
        (Credential::Rejected, None) => Err(gate::rejected_key().into()),
        (Credential::Key(KeyRecord { id, org_id, plan, .. }), None) => Ok(Principal::Key { id, org_id, plan }),
    }
}

/// The caller's address: the peer's, or the one that trusted proxies forwarded.
fn caller(server: &Server, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let values = headers.get_all(FORWARDED_FOR).iter().collect::<Vec<_>>();
    // A value that is not text counts as an invalid address.
    server.relay.proxies.caller(peer, values.iter().map(|value| value.to_str().unwrap_or("-")))
}

/// Judges the credential while the database is unavailable: rejected if it was refused lately, else 503.
fn without_database(server: &Server, headers: &HeaderMap, now: i64) -> Result<Credential, ApiError> {
    let Presented::Key(text) = presented(headers) else { return Err(gate::unverifiable_key()) };
    let refused = server.relay.refused.lock().unwrap_or_else(PoisonError::into_inner);
    match refused.is_refused(&text.digest(), now) {
        true => Ok(Credential::Rejected),
        false => Err(gate::unverifiable_key()),
    }
}

/// Reads `Authorization`. A header that is not text, or that occurs twice, is malformed.
fn presented(headers: &HeaderMap) -> Presented<'_> {
    let mut sent = headers.get_all(AUTHORIZATION).iter();
    let first = sent.next();
    Presented::read(first.map(|value| value.to_str().ok().filter(|_| sent.next().is_none()).unwrap_or("-")))
}

/// Verifies `Authorization` against the database on every request, so that a revoked key is refused at once.
async fn credential(server: &Server, net: ClientNet, headers: &HeaderMap, now: i64) -> Result<Credential, LookupError> {
    let text = match presented(headers) {
        Presented::Nothing => return Ok(Credential::Nothing),
        Presented::Malformed | Presented::IndexToken(_) => return Ok(Credential::Rejected),
        Presented::Key(text) => text,
    };
    let (spent, millis, digest) =
        (server.relay.limiter.is_spent(net, now), server.app.clock.now().as_millis(), text.digest());
    let key = server.relay.lookups.key((&server.app.db, &server.app.prover), text, spent, millis).await?;
    let mut refused = server.relay.refused.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(match key {
        Some(key) => {
            refused.mark_valid(&digest);
            Credential::Key(key)
        }
        None => {
            refused.note(digest, now);
            Credential::Rejected
        }
    })
}

/// The client of a shared key, from the sub-client header, which is ignored for other keys.
fn client(record: &KeyRecord, sent: &HeaderMap) -> Result<Client, ApiError> {
    let Some(value) = sent.get(headers::SUBCLIENT).filter(|_| record.shared) else { return Ok(0) };
    let name = value.as_bytes().trim_ascii();
    if name.len() > SUBCLIENT_BYTES {
        let reason = format!("must have at most {SUBCLIENT_BYTES} bytes");
        return Err(ApiError::parameter(Detail::new(In::Header, headers::SUBCLIENT, reason)));
    }
    if name.is_empty() {
        return Ok(0);
    }
    // 0 is the bucket of clients without a name, so a name's hash is never 0.
    Ok(Sha256::digest(name).iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte)).max(1))
}
