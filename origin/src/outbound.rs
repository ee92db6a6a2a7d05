//! Outbound HTTP client: one request per connection, within a deadline.
//!
//! Redirects are not followed, so that data reaches only the configured host. Connections are not reused, because requests are
//! small and rare.

use axum::body::Body;
use axum::http::header::HOST;
use axum::http::response::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

/// Maximum size of a response head, in bytes.
const HEAD_BYTES: usize = 16 * 1024;

/// Why a request got no response. The text is for operators and contains no secret.
#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    /// The address is not an `http://` or `https://` URL with a host.
    #[error("the address has no host, or is neither http:// nor https://")]
    Address,
    /// The connection was refused, or it broke.
    #[error("{0}")]
    Connection(#[from] std::io::Error),
    /// The peer did not send valid HTTP, or closed the connection.
    #[error("no HTTP response: {0}")]
    Http(#[from] hyper::Error),
    /// The deadline passed before the response head was complete.
    #[error("no answer within {} s", .0.as_secs_f32())]
    Deadline(Duration),
}

/// TLS for HTTP/1.1 that trusts the Mozilla root certificates (`webpki-roots`) and `authorities`.
pub fn tls(authorities: &[CertificateDer<'static>]) -> Result<TlsConnector, rustls::Error> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for authority in authorities {
        roots.add(authority.clone())?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// An HTTP client. Clones share its TLS configuration.
#[derive(Clone)]
pub struct Client {
    tls: TlsConnector,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

impl Client {
    /// A client that trusts the Mozilla root certificates only.
    pub fn new() -> Result<Self, rustls::Error> {
        Ok(Client { tls: tls(&[])? })
    }

    /// POSTs `body` to `uri` and returns the response head; the response body is not read.
    pub async fn post(
        &self,
        uri: &Uri,
        headers: HeaderMap,
        body: Vec<u8>,
        deadline: Duration,
    ) -> Result<Parts, OutboundError> {
        self.send(Method::POST, uri, headers, body, deadline).await
    }

    /// GETs `uri` and returns the status; the response body is not read.
    pub async fn get(&self, uri: &Uri, deadline: Duration) -> Result<StatusCode, OutboundError> {
        Ok(self.send(Method::GET, uri, HeaderMap::new(), Vec::new(), deadline).await?.status)
    }

    async fn send(
        &self,
        method: Method,
        uri: &Uri,
        headers: HeaderMap,
        body: Vec<u8>,
        deadline: Duration,
    ) -> Result<Parts, OutboundError> {
        match tokio::time::timeout(deadline, self.exchange(method, uri, headers, body)).await {
            Ok(answered) => answered,
            Err(_) => Err(OutboundError::Deadline(deadline)),
        }
    }

    async fn exchange(
        &self,
        method: Method,
        uri: &Uri,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Parts, OutboundError> {
        let (authority, host) =
            uri.authority().zip(uri.host()).filter(|(_, host)| !host.is_empty()).ok_or(OutboundError::Address)?;
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        let mut request = Request::new(Body::from(body));
        *request.method_mut() = method;
        *request.uri_mut() = target.parse().map_err(|_| OutboundError::Address)?;
        *request.headers_mut() = headers;
        let named = HeaderValue::from_str(authority.as_str()).map_err(|_| OutboundError::Address)?;
        request.headers_mut().insert(HOST, named);
        // A URL encloses an IPv6 address in brackets (RFC 3986); the socket address and the TLS server name have no brackets.
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let connect = |default_port| TcpStream::connect((host, uri.port_u16().unwrap_or(default_port)));
        match uri.scheme_str() {
            Some("http") => answered(connect(80).await?, request).await,
            Some("https") => {
                let name = ServerName::try_from(host.to_owned()).map_err(|_| OutboundError::Address)?;
                answered(self.tls.connect(name, connect(443).await?).await?, request).await
            }
            _ => Err(OutboundError::Address),
        }
    }
}

/// Sends `request` over `stream`. The connection is polled here and dropped with the response, so no task outlives the call.
async fn answered<S>(stream: S, request: Request<Body>) -> Result<Parts, OutboundError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) =
        http1::Builder::new().max_buf_size(HEAD_BYTES).handshake(TokioIo::new(stream)).await?;
    let response = drive(sender.send_request(request), connection).await?;
    Ok(response.into_parts().0)
}

/// Polls `connection` until `asking` completes. The connection may end after it has delivered the response.
async fn drive<T>(
    asking: impl Future<Output = hyper::Result<T>>,
    connection: impl Future<Output = hyper::Result<()>>,
) -> hyper::Result<T> {
    let (mut asking, connection) = (pin!(asking), pin!(connection));
    tokio::select! {
        biased;
        answer = &mut asking => answer,
        ended = connection => match asking.await {
            Ok(answer) => Ok(answer),
            // The connection's error is more specific than the request's.
            Err(error) => Err(ended.err().unwrap_or(error)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Posts to a server that replies with `answer`; returns the status and the request that the server read.
    async fn post_to(answer: &'static str) -> (Result<StatusCode, OutboundError>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri: Uri = format!("http://{}/a?b=c", listener.local_addr().unwrap()).parse().unwrap();
        let other = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut said = vec![0; 4096];
            let mut length = 0;
            while !String::from_utf8_lossy(&said[..length]).ends_with("{}") {
                length += stream.read(&mut said[length..]).await.unwrap();
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8_lossy(&said[..length]).into_owned()
        });
        let client = Client::new().unwrap();
        let status = client.post(&uri, HeaderMap::new(), b"{}".to_vec(), Duration::from_secs(10)).await;
        (status.map(|head| head.status), other.await.unwrap())
    }

    #[tokio::test]
    async fn the_status_is_returned_whether_the_connection_stays_open_or_closes() {
        for answer in [
            "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n",
            "HTTP/1.1 204 No Content\r\ncontent-length: 9\r\n\r\nnot whole",
        ] {
            let (status, said) = post_to(answer).await;
            assert_eq!(status.unwrap(), StatusCode::NO_CONTENT, "{answer}");
            assert!(said.starts_with("POST /a?b=c HTTP/1.1\r\n") && said.contains("host: 127.0.0.1:"), "{said}");
        }
        assert_eq!(post_to("HTTP/1.1 302 Found\r\nlocation: /\r\n\r\n").await.0.unwrap(), StatusCode::FOUND);
    }

    #[tokio::test]
    async fn a_reply_that_is_not_http_is_an_error() {
        for answer in ["", "SSH-2.0\r\n\r\n", "HTTP/1.1 20"] {
            assert!(matches!(post_to(answer).await.0, Err(OutboundError::Http(_))), "{answer}");
        }
    }

    #[tokio::test]
    async fn a_silent_server_fails_at_the_deadline_and_a_wrong_address_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = Client::new().unwrap();
        let send = async |uri: String| {
            client.post(&uri.parse().unwrap(), HeaderMap::new(), Vec::new(), Duration::from_millis(50)).await
        };
        let silent = send(format!("http://{}/", listener.local_addr().unwrap())).await;
        assert!(matches!(silent, Err(OutboundError::Deadline(_))), "{silent:?}");
        assert!(matches!(send("/nowhere".to_owned()).await, Err(OutboundError::Address)));
        assert!(matches!(send("ftp://127.0.0.1/".to_owned()).await, Err(OutboundError::Address)));
    }
}
