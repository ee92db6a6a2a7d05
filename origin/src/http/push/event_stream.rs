//! `GET /v1/events/stream`: admission, start position, and the stream.

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::{Call, RouteCall};
use crate::http::exchange::namespaces;
use crate::http::exchange::trace::Ingress;
use crate::listener::Listener;
use crate::stream::Streams;
use crate::stream::body::EventBody;
use crate::stream::delivery::{StreamSources, Subscription, deliver};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Version};
use rds_shared::access::client_net::client_net;
use rds_shared::access::{ClientNet, Principal};
use rds_shared::model::ids::VaultId;
use rds_shared::push::cursor::{Resume, Window};
use rds_shared::route::{params, routes};
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, ErrorCode, headers};
use rds_store::push::journal::read as journal;
use rds_store::push::journal::read::Extent;
use rds_store::push::stream_leases::Verdict;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Opens a stream, or refuses it with an ordinary response. HEAD gets the headers of a stream, but opens no stream.
pub async fn open(
    live: &LiveCatalog,
    sources: &Arc<StreamSources>,
    call: RouteCall<'_, routes::EventStream>,
    head: &Parts,
) -> Result<Answer, Failure> {
    let StreamSources { db, clock, streams, .. } = &**sources;
    if streams.is_draining() {
        return Err(ErrorCode::ShuttingDown.into());
    }
    let (key, viewer) = whose(&call, head)?;
    if head.method == Method::HEAD {
        return Ok(Answer::events(None));
    }
    let asked = call.get(params::StreamVault).map(str::to_owned);
    // Ids are compared in their canonical form. A text that is not an id matches no vault and is not refused.
    let vault = match asked.as_deref().map(|id| VaultId::parse(id).ok_or(id)) {
        None => None,
        Some(Err(text)) => Some(text.to_owned()),
        Some(Ok(id)) => {
            namespaces::check_id(live, &id).map_err(|reason| namespaces::refused("vaultId", reason))?;
            Some(id.to_string())
        }
    };
    let admitted = streams.admit(db, key, viewer.as_deref()).await?;
    let lease = admitted.map_err(|full| {
        streams.meters.refused.fetch_add(1, Relaxed);
        refusal(full)
    })?;
    let extent = journal::extent(&db.pool, clock.now()).await?;
    let last_event_id = head.headers.get(headers::LAST_EVENT_ID).map(|value| value.as_bytes());
    let resume = Resume::read(last_event_id, call.get(params::StreamSince));
    note_a_cursor_ahead(streams, resume, &extent, key);
    let start = Window { floor: extent.floor, tail: extent.tail, jumps: &extent.jumps }.start(resume);
    streams.meters.opened.fetch_add(1, Relaxed);
    let (delivering, subscription) = (sources.clone(), Subscription { vault, asked, start, extent, lease });
    let body = EventBody::new(sources.journal.clone(), |out| deliver(delivering, subscription, out));
    // HTTP/1.0 has no chunked encoding, so such a body ends when the connection closes.
    call.through.line.streams((head.version == Version::HTTP_11).then(|| body.source()));
    Ok(Answer::events(Some(body)))
}

/// The owner of the stream: a key, with its end viewer if one is reported; without a key, an address.
fn whose(call: &Call, head: &Parts) -> Result<(Option<i64>, Option<String>), ApiError> {
    Ok(match (&call.principal, &call.through) {
        (Principal::Key { id, .. }, _) => (Some(*id), reported(&head.headers)?.map(|net| net.to_string())),
        // On the relay listener the peer is the caller; on the edge listener only the edge knows the caller's address.
        (_, Ingress { listener: Listener::Relay, peer, .. }) => (None, Some(ClientNet::of(*peer).to_string())),
        // The access check admits no index token to this route.
        (Principal::Anonymous | Principal::FirstParty { .. } | Principal::IndexToken { .. }, _) => {
            let net = reported(&head.headers)?.unwrap_or(ClientNet::V4(Ipv4Addr::UNSPECIFIED));
            (None, Some(net.to_string()))
        }
    })
}

fn reported(sent: &HeaderMap) -> Result<Option<ClientNet>, ApiError> {
    let Some(value) = sent.get(headers::CLIENT_IP) else { return Ok(None) };
    match value.to_str().ok().and_then(client_net) {
        Some(net) => Ok(Some(net)),
        None => Err(ApiError::parameter(Detail::new(In::Header, headers::CLIENT_IP, "must be one IP address"))),
    }
}

fn refusal(full: Verdict) -> Failure {
    let message = match full {
        Verdict::ViewerIsFull => "this viewer already has the maximum number of open event streams",
        Verdict::KeyIsFull | Verdict::Admitted => "this key already has the maximum number of open event streams",
    };
    ApiError::new(ErrorCode::StreamLimitReached, message).into()
}

/// Warns if an authenticated client sends a cursor above the head: the database was restored to an older state, or the cursor was invented.
fn note_a_cursor_ahead(streams: &Streams, resume: Resume, extent: &Extent, key: Option<i64>) {
    if let (Resume::After(cursor), Some(key)) = (resume, key)
        && cursor > extent.tail
    {
        streams.meters.ahead.fetch_add(1, Relaxed);
        tracing::warn!(key, %cursor, tail = %extent.tail, "a client sent a cursor above the head of the journal: was the database restored?");
    }
}
