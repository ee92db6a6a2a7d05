//! The relay's door: the few routes that backends reach directly, without the edge before them.
//!
//! What the edge does for its callers is done here by the same shared rules: who presents which key, what that is charged to,
//! and whether it opens the route. The address is the peer's: nobody stands before this door whose word on it would count.

use super::answer::{Answer, Failure};
use super::pipeline::Trace;
use super::relay_meter::{Caller, Client, Full};
use super::router;
use crate::app::App;
use crate::keys::known::{self, LookupError};
use crate::metrics::Label;
use axum::body::Bytes;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use rds_shared::access::budget::Verdict;
use rds_shared::access::link::KeyAnswer;
use rds_shared::access::{ClientNet, KeyRecord, Presented, Principal, gate};
use rds_shared::route::bounds::SUBCLIENT_BYTES;
use rds_shared::route::{Access, Door, Matching, Method, Route, match_route};
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, ErrorCode, headers};
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::time::timeout;

/// How long a key may take to be judged; readiness has to be told within a second all in all.
const JUDGED_WITHIN: Duration = Duration::from_millis(900);

/// Routes what this door answers; every other path is unknown here, and unknown paths are not metered.
pub async fn handle(app: &Arc<App>, request: Request, trace: &mut Trace) -> Result<Answer, Failure> {
    let (mut head, _) = request.into_parts();
    // Only the edge knows what an answer must not be older than.
    head.headers.remove(headers::TAGS);
    let matching = match match_route(Method::parse(head.method.as_str()), head.uri.path()) {
        Matching::Found(found) if found.route.door == Door::EdgeAndRelay => Matching::Found(found),
        Matching::Found(_) => Matching::NotFound,
        Matching::WrongMethod(allow) if answers(head.uri.path()) => Matching::WrongMethod(allow),
        Matching::WrongMethod(_) | Matching::NotFound => Matching::NotFound,
    };
    let principal = match &matching {
        Matching::Found(found) => {
            trace.label = Label::Route(found.route.id);
            let peer = trace.through.peer;
            admit(app, found.route, peer, &head.headers, trace).await?
        }
        Matching::WrongMethod(_) | Matching::NotFound => Principal::Anonymous,
    };
    router::route(app, matching, principal, &head, Bytes::new(), trace).await
}

fn answers(path: &str) -> bool {
    matches!(match_route(Some(Method::Get), path), Matching::Found(found) if found.route.door == Door::EdgeAndRelay)
}

/// What a request presents, once it was looked at.
enum Credential {
    Nothing,
    Rejected,
    /// Its address has guessed too many keys for another look-up.
    Guessed(Verdict),
    Key(KeyRecord),
}

/// Finds out who calls and charges the request to them.
///
/// A key that cannot be judged, because the database is away, is nobody's: routes that anybody may call are served to it.
async fn admit(
    app: &App,
    route: &Route,
    peer: IpAddr,
    headers: &HeaderMap,
    trace: &mut Trace,
) -> Result<Principal, Failure> {
    let (net, now) = (ClientNet::of(peer), app.clock.now().as_seconds());
    let credential = match timeout(JUDGED_WITHIN, credential(app, net, headers, now)).await {
        Ok(Ok(credential)) => credential,
        Ok(Err(LookupError::Store(error))) if route.access == Access::Public => {
            tracing::warn!(%error, "a key could not be judged");
            Credential::Nothing
        }
        Err(_) if route.access == Access::Public => Credential::Nothing,
        Ok(Err(error)) => return Err(error.into()),
        Err(_) => return Err(ErrorCode::ServiceUnavailable.into()),
    };
    let mut unusable = None;
    let caller = match &credential {
        Credential::Nothing => Caller::Anonymous,
        Credential::Guessed(verdict) => {
            trace.verdict = Some(*verdict);
            return Err(gate::spent(verdict, now).into());
        }
        Credential::Rejected => Caller::Rejected,
        Credential::Key(record) => Caller::Key(
            record,
            client(record, headers).unwrap_or_else(|fault| {
                unusable = Some(fault);
                0
            }),
        ),
    };
    let verdict = app
        .relay_meter
        .take(route.family, caller, net, now)
        .map_err(|Full| Failure::from(ErrorCode::ServiceUnavailable))?;
    trace.verdict = verdict;
    if let Some(verdict) = verdict.filter(|verdict| !verdict.admitted) {
        return Err(gate::spent(&verdict, now).into());
    }
    match (credential, unusable) {
        (_, Some(fault)) => Err(fault.into()),
        (Credential::Nothing, None) => Ok(Principal::Anonymous),
        (Credential::Rejected | Credential::Guessed(_), None) => Err(gate::rejected_key().into()),
        (Credential::Key(KeyRecord { id, org_id, plan, .. }), None) => Ok(Principal::Key { id, org_id, plan }),
    }
}

/// Judges `Authorization` by the database, on every request: a key that was revoked is refused from then on.
///
/// A stranger's guesses are looked up a hundred times a minute at most, and put no slow hash to work once their allowance is
/// spent.
async fn credential(app: &App, net: ClientNet, headers: &HeaderMap, now: i64) -> Result<Credential, LookupError> {
    let mut sent = headers.get_all(AUTHORIZATION).iter();
    let first = sent.next();
    // A header that is no text is no key, nor are two of them.
    let presented = first.map(|value| value.to_str().ok().filter(|_| sent.next().is_none()).unwrap_or("-"));
    let text = match Presented::read(presented) {
        Presented::Nothing => return Ok(Credential::Nothing),
        Presented::Malformed | Presented::IndexToken(_) => return Ok(Credential::Rejected),
        Presented::Key(text) => text,
    };
    let guesses = || app.relay_guesses.lock().unwrap_or_else(PoisonError::into_inner);
    let (digest, shown) = (text.digest(), text.shown());
    if let Some(verdict) = guesses().refusal(net, &digest, now) {
        return Ok(Credential::Guessed(verdict));
    }
    let provable = Some(text).filter(|_| !app.relay_meter.is_spent(net, now));
    match known::look_up(&app.db, &app.prover, &digest, shown, provable).await? {
        KeyAnswer::Known { record } if record.active => {
            guesses().good(digest);
            Ok(Credential::Key(record))
        }
        KeyAnswer::Known { .. } | KeyAnswer::Unknown | KeyAnswer::TextNeeded => {
            guesses().rejected(net, &digest, now);
            Ok(Credential::Rejected)
        }
    }
}

/// Which client of a shared key asks; the header means nothing on other keys.
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
    // A name's hash is not 0, for that is the bucket of those without one.
    Ok(Sha256::digest(name).iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte)).max(1))
}
