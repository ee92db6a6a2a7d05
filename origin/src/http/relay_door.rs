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
use crate::store::StoreError;
use axum::body::Bytes;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use rds_shared::access::link::KeyAnswer;
use rds_shared::access::{ClientNet, KeyRecord, Presented, Principal, gate};
use rds_shared::route::{Access, Door, Matching, Method, Route, match_route};
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, ErrorCode, headers};
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use std::sync::Arc;

/// Longest name of a client of a shared key, in bytes.
const CLIENT_BYTES: usize = 128;

/// Routes what this door answers; every other path is unknown here, and unknown paths are not metered.
pub async fn handle(app: &Arc<App>, peer: IpAddr, request: Request, trace: &mut Trace) -> Result<Answer, Failure> {
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
    let credential = match credential(app, headers).await {
        Ok(credential) => credential,
        Err(LookupError::Busy | LookupError::Store(StoreError::Unavailable(_))) if route.access == Access::Public => {
            Credential::Nothing
        }
        Err(error) => return Err(error.into()),
    };
    let caller = match &credential {
        Credential::Nothing => Caller::Anonymous,
        Credential::Rejected => Caller::Rejected,
        Credential::Key(record) => Caller::Key(record, client(record, headers)?),
    };
    let now = app.clock.now().as_seconds();
    let verdict = app
        .relay_meter
        .take(route.family, caller, ClientNet::of(peer), now)
        .map_err(|Full| Failure::from(ErrorCode::ServiceUnavailable))?;
    trace.verdict = verdict;
    if let Some(verdict) = verdict.filter(|verdict| !verdict.admitted) {
        return Err(gate::spent(&verdict, now).into());
    }
    match credential {
        Credential::Nothing => Ok(Principal::Anonymous),
        Credential::Rejected => Err(gate::rejected_key().into()),
        Credential::Key(KeyRecord { id, org_id, plan, .. }) => Ok(Principal::Key { id, org_id, plan }),
    }
}

/// Judges `Authorization` by the database, on every request: a key that was revoked is refused from then on.
async fn credential(app: &App, headers: &HeaderMap) -> Result<Credential, LookupError> {
    // A header that is no text is no key.
    let presented = headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap_or("-"));
    let text = match Presented::read(presented) {
        Presented::Nothing => return Ok(Credential::Nothing),
        Presented::Malformed | Presented::IndexToken(_) => return Ok(Credential::Rejected),
        Presented::Key(text) => text,
    };
    let known = known::look_up(&app.db, &app.prover, &text.digest(), text.shown(), Some(text)).await?;
    Ok(match known {
        KeyAnswer::Known { record } if record.active => Credential::Key(record),
        KeyAnswer::Known { .. } | KeyAnswer::Unknown | KeyAnswer::TextNeeded => Credential::Rejected,
    })
}

/// Which client of a shared key asks; the header means nothing on other keys.
fn client(record: &KeyRecord, sent: &HeaderMap) -> Result<Client, ApiError> {
    let Some(value) = sent.get(headers::SUBCLIENT).filter(|_| record.shared) else { return Ok(0) };
    let name = value.as_bytes().trim_ascii();
    if name.len() > CLIENT_BYTES {
        let reason = format!("must have at most {CLIENT_BYTES} bytes");
        return Err(ApiError::parameter(Detail::new(In::Header, headers::SUBCLIENT, reason)));
    }
    if name.is_empty() {
        return Ok(0);
    }
    // A name's hash is not 0, for that is the bucket of those without one.
    Ok(Sha256::digest(name).iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte)).max(1))
}
