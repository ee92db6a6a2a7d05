//! How requests are sent: a trait, and HTTP/1.1 with kept connections.

use bytes::Bytes;
use futures_core::Stream;
use futures_util::TryStreamExt as _;
use http::{Request, Response};
use http_body_util::{BodyDataStream, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use std::error::Error as StdError;
use std::pin::Pin;

/// A future on the heap.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
/// Any error.
pub type BoxError = Box<dyn StdError + Send + Sync>;
/// The body of an answer, piece by piece.
pub type Body = Pin<Box<dyn Stream<Item = Result<Bytes, BoxError>> + Send>>;

/// Sends one request. Give [`crate::ClientBuilder::transport`] your own to go through a proxy or to answer in tests.
///
/// Dropping the future or the body cancels the request. An answer with an error status is no `Err`.
///
/// ```
/// use risk_data_client::transport::{Body, BoxError, BoxFuture, Transport};
/// use risk_data_client::{Client, bytes::Bytes, http};
///
/// struct Fixed(&'static str);
///
/// impl Transport for Fixed {
///     fn send(&self, _: http::Request<Bytes>) -> BoxFuture<Result<http::Response<Body>, BoxError>> {
///         let body: Body = Box::pin(futures_util::stream::iter([Ok(Bytes::from_static(self.0.as_bytes()))]));
///         Box::pin(async { Ok(http::Response::new(body)) })
///     }
/// }
///
/// # rds_recorded::run(async |_| {
/// let client = Client::builder("https://rds.example").transport(Fixed(r#"{"status": "degraded"}"#)).build()?;
/// assert_eq!(client.service().status().await?.json()?["status"], "degraded");
/// # Ok(()) })
/// ```
pub trait Transport: Send + Sync + 'static {
    /// Sends the request.
    fn send(&self, request: Request<Bytes>) -> BoxFuture<Result<Response<Body>, BoxError>>;
}

/// HTTP/1.1 over TCP and TLS.
pub(crate) struct Http {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Http {
    pub fn new() -> Self {
        let connector = HttpsConnectorBuilder::new().with_webpki_roots().https_or_http().enable_http1().build();
        Http { client: Client::builder(TokioExecutor::new()).build(connector) }
    }
}

impl Transport for Http {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<Result<Response<Body>, BoxError>> {
        let answer = self.client.request(request.map(Full::new));
        Box::pin(async {
            let answer = answer.await.map_err(causes)?;
            Ok(answer.map(|body| Box::pin(BodyDataStream::new(body).map_err(BoxError::from)) as Body))
        })
    }
}

/// The client's error says only "client error"; its causes say what happened.
fn causes(error: hyper_util::client::legacy::Error) -> BoxError {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(it) = cause {
        text = format!("{text}: {it}");
        cause = it.source();
    }
    text.into()
}
