//! One attempt: look-up, connection, TLS, request and response, within one deadline.
//!
//! The connection goes only to an address that the egress filter has permitted; the certificate must be valid for the URL's host. No
//! proxy is used, whatever the environment says, and no redirect is followed. The response body is read up to a small bound, never
//! decompressed, and not stored.
//!
//! A connection whose last response was complete is pooled for a moment ([`ConnectionPool`]). If a pooled connection turns out to be closed, the
//! attempt continues on a new one: the receiver may then get the event twice under one event id, as after any broken connection.

use super::connection_pool::{ConnectionPool, Destination, PooledConnection};
use super::egress_filter::{EgressFilter, TargetError};
use crate::outbound;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::HOST;
use axum::http::{HeaderName, HeaderValue, Method, Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rds_engine::clock::Stopwatch;
use rds_shared::push::schedule::{AttemptOutcome, Failure};
use rds_shared::push::target::{Host, Target};
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};

/// Maximum size of a response head, in bytes.
const HEAD_BYTES: usize = 16 * 1024;
/// Maximum bytes of a response body that are read. A connection with a longer response is dropped.
const BODY_BYTES: usize = 16 * 1024;
/// Maximum addresses of one name that are tried.
const MAX_ADDRESSES: usize = 3;
/// Linux error numbers `ENFILE`, `EMFILE` and `ENOBUFS`: no file handles (of the machine or the process) or no buffers are left.
const OUT_OF_RESOURCES: [i32; 3] = [23, 24, 105];

/// The request of one attempt.
#[derive(Debug, Clone)]
pub struct AttemptRequest {
    /// The subscription's URL.
    pub url: String,
    /// The headers of the attempt.
    pub headers: Vec<(&'static str, String)>,
    /// The body, exactly the bytes that were signed.
    pub body: Bytes,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptEnd {
    /// With a response of this status.
    Answered(u16),
    /// Without a response.
    Failed(Failure),
    /// With an error on our side, which does not count as an attempt; the text is for the log.
    OurFault(String),
}

impl AttemptEnd {
    /// The outcome for the schedule; `None` if it does not count as an attempt.
    pub const fn outcome(&self) -> Option<AttemptOutcome> {
        match self {
            AttemptEnd::Answered(status) => Some(AttemptOutcome::of_status(*status)),
            AttemptEnd::Failed(failure) => Some(AttemptOutcome::Failed(*failure)),
            AttemptEnd::OurFault(_) => None,
        }
    }
}

/// Makes attempts over HTTPS.
#[derive(Clone)]
pub struct Sender {
    guard: EgressFilter,
    tls: TlsConnector,
    deadline: Duration,
    pool: Arc<ConnectionPool>,
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender").field("guard", &self.guard).field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

impl Sender {
    /// A sender that trusts the Mozilla root certificates and `authorities`.
    pub fn new(
        guard: EgressFilter,
        authorities: &[CertificateDer<'static>],
        deadline: Duration,
    ) -> Result<Self, rustls::Error> {
        Ok(Sender { guard, tls: outbound::tls(authorities)?, deadline, pool: Arc::default() })
    }

    /// The egress filter that checks every connection.
    pub fn guard(&self) -> &EgressFilter {
        &self.guard
    }

    /// How long an attempt may take.
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// The pooled connections.
    pub fn pool(&self) -> &ConnectionPool {
        &self.pool
    }

    /// Makes one attempt; returns its end and its duration in milliseconds.
    pub async fn send(&self, parcel: AttemptRequest) -> (AttemptEnd, u32) {
        let watch = Stopwatch::start();
        let ended = match timeout(self.deadline, self.exchange(parcel)).await {
            Ok(Ok(status)) => AttemptEnd::Answered(status),
            Ok(Err(ended)) => ended,
            Err(_) => AttemptEnd::Failed(Failure::Timeout),
        };
        (ended, u32::try_from(watch.micros() / 1_000).unwrap_or(u32::MAX))
    }

    async fn exchange(&self, parcel: AttemptRequest) -> Result<u16, AttemptEnd> {
        let (target, addresses) = self.guard.resolve_target(&parcel.url).await.map_err(|error| match error {
            TargetError::Refused(_) => AttemptEnd::Failed(Failure::BlockedUrl),
            TargetError::NoAnswer => failed(()),
            TargetError::OurFault(why) => AttemptEnd::OurFault(why),
        })?;
        let destination = destination(&target);
        if let Some(pooled) = self.pool.take(&destination, &addresses) {
            match self.over(pooled, request(&target, &parcel).map_err(failed)?, &destination).await {
                Err(Broken { is_closed: true }) => {}
                answered => return answered.map_err(failed),
            }
        }
        let request = request(&target, &parcel).map_err(failed)?;
        let (stream, peer) = self.connect(&target, &addresses).await?;
        let (requests, connection) =
            http1::Builder::new().max_buf_size(HEAD_BYTES).handshake(TokioIo::new(stream)).await.map_err(failed)?;
        // An error of the connection is also returned by its requests, so it is ignored here.
        let driving = tokio::spawn(async move {
            let _ = connection.await;
        });
        self.over(PooledConnection::new(requests, peer, driving), request, &destination).await.map_err(failed)
    }

    /// Sends a request over `pooled`, and returns the connection to the pool if the response was complete.
    async fn over(
        &self,
        mut pooled: PooledConnection,
        request: Request<Body>,
        destination: &Destination,
    ) -> Result<u16, Broken> {
        let response = pooled.requests.send_request(request).await.map_err(|error| Broken {
            // After an invalid response the connection does not count as closed, because a response has arrived.
            is_closed: error.is_closed() || error.is_canceled() || error.is_incomplete_message() || is_reset(&error),
        })?;
        let status = response.status().as_u16();
        if read(response).await.map_err(|_| Broken { is_closed: false })? {
            self.pool.keep(destination.clone(), pooled);
        }
        Ok(status)
    }

    /// A TLS connection to the first of `addresses` that accepts one. The address of the peer is checked before the TLS handshake.
    async fn connect(
        &self,
        target: &Target,
        addresses: &[IpAddr],
    ) -> Result<(TlsStream<TcpStream>, IpAddr), AttemptEnd> {
        let each = self.deadline / u32::try_from(MAX_ADDRESSES).unwrap_or(1);
        let mut fault = AttemptEnd::Failed(Failure::DeliveryError);
        for address in addresses.iter().take(MAX_ADDRESSES) {
            let connecting = TcpStream::connect((*address, target.port()));
            // A single address may use all of the remaining time.
            let connected = match addresses.len() {
                1 => connecting.await,
                _ => timeout(each, connecting).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())),
            };
            match connected {
                Ok(stream) => return Ok((self.secure(target, *address, stream).await?, *address)),
                Err(error) => fault = refused(&error),
            }
        }
        Err(fault)
    }

    async fn secure(
        &self,
        target: &Target,
        address: IpAddr,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, AttemptEnd> {
        let peer = stream.peer_addr().map_err(failed)?.ip();
        if peer.to_canonical() != address.to_canonical() || !self.guard.permits(peer) {
            return Err(AttemptEnd::Failed(Failure::BlockedUrl));
        }
        let _ = stream.set_nodelay(true);
        let name = match target.host() {
            Host::Address(address) => ServerName::from(*address),
            Host::Name(name) => ServerName::try_from(name.clone()).map_err(failed)?,
        };
        self.tls.connect(name, stream).await.map_err(failed)
    }
}

fn destination(target: &Target) -> Destination {
    let host = match target.host() {
        Host::Address(address) => address.to_string(),
        Host::Name(name) => name.clone(),
    };
    Destination { host, port: target.port() }
}

/// A request that failed.
struct Broken {
    /// The connection was closed before a response arrived.
    is_closed: bool,
}

fn is_reset(error: &hyper::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| matches!(cause.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof))
}

/// An error of the receiver: no connection, no valid certificate, or no valid HTTP. The cause is not recorded.
fn failed<E>(_: E) -> AttemptEnd {
    AttemptEnd::Failed(Failure::DeliveryError)
}

fn refused(error: &io::Error) -> AttemptEnd {
    if error.raw_os_error().is_some_and(|code| OUT_OF_RESOURCES.contains(&code)) {
        return AttemptEnd::OurFault(error.to_string());
    }
    match error.kind() {
        io::ErrorKind::NetworkDown | io::ErrorKind::AddrNotAvailable | io::ErrorKind::OutOfMemory => {
            AttemptEnd::OurFault(error.to_string())
        }
        io::ErrorKind::TimedOut => AttemptEnd::Failed(Failure::Timeout),
        _ => failed(()),
    }
}

fn request(target: &Target, parcel: &AttemptRequest) -> Result<Request<Body>, axum::http::Error> {
    let whole: Uri = target.as_str().parse()?;
    let authority = whole.authority().map_or("", |authority| authority.as_str()).to_owned();
    let mut request = Request::new(Body::from(parcel.body.clone()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = whole.path_and_query().map_or("/", |target| target.as_str()).parse()?;
    request.headers_mut().insert(HOST, HeaderValue::try_from(authority)?);
    for (name, value) in &parcel.headers {
        request.headers_mut().insert(HeaderName::from_static(name), HeaderValue::try_from(value)?);
    }
    Ok(request)
}

/// Reads and drops a response body up to its end or the bound. Returns whether the end was reached.
async fn read(response: Response<Incoming>) -> hyper::Result<bool> {
    let (mut body, mut bytes) = (response.into_body(), 0);
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        bytes += frame?.data_ref().map_or(0, |data| data.len());
        if bytes >= BODY_BYTES {
            return Ok(false);
        }
    }
    Ok(true)
}
