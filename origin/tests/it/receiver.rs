//! Receivers of webhooks on loopback, with certificates of an authority made here, that behave as badly as a test wants.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::{TlsAcceptor, rustls};

/// The authority that receivers' certificates are signed by.
static AUTHORITY: LazyLock<CertifiedIssuer<'static, KeyPair>> = LazyLock::new(|| issuer("receivers"));

/// A certificate and its key.
type Identity = (CertificateDer<'static>, PrivateKeyDer<'static>);

fn issuer(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// The authority's certificate, in a PEM file.
pub fn authority_file() -> &'static str {
    static FILE: LazyLock<String> = LazyLock::new(|| {
        let path = format!("{}/webhook-ca-{}.pem", env!("CARGO_TARGET_TMPDIR"), std::process::id());
        std::fs::write(&path, AUTHORITY.pem()).unwrap();
        path
    });
    &FILE
}

/// What a receiver presents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificate {
    /// A good one for 127.0.0.1 and the names under partner.dev.
    Good,
    /// Signed by itself.
    SelfSigned,
    /// Signed by another authority.
    OtherAuthority,
    /// Good until the year 2000.
    Expired,
    /// For another host.
    OtherHost,
}

fn identity(certificate: Certificate) -> Identity {
    let hosts = match certificate {
        Certificate::OtherHost => vec!["elsewhere.dev".to_owned()],
        _ => vec!["127.0.0.1".to_owned(), "*.partner.dev".to_owned()],
    };
    let mut params = CertificateParams::new(hosts).unwrap();
    if certificate == Certificate::Expired {
        (params.not_before, params.not_after) = (rcgen::date_time_ymd(1999, 1, 1), rcgen::date_time_ymd(2000, 1, 1));
    }
    let key = KeyPair::generate().unwrap();
    let signed = match certificate {
        Certificate::SelfSigned => params.self_signed(&key).unwrap(),
        Certificate::OtherAuthority => params.signed_by(&key, &issuer("others")).unwrap(),
        _ => params.signed_by(&key, &AUTHORITY).unwrap(),
    };
    (signed.der().clone(), PrivateKeyDer::try_from(key.serialize_der()).unwrap())
}

/// What a receiver does with a connection.
#[derive(Debug, Clone)]
pub enum Manner {
    /// Answers with these bytes, and closes.
    Says(Vec<u8>),
    /// Answers with a head, and then with pieces of a body for ever, as fast as they are taken or as slowly as told.
    Body(Vec<u8>, Duration),
    /// Writes the bytes one by one, each after a moment, for ever over again.
    Drips(&'static [u8], Duration),
    /// Answers so many requests of a connection with 200; the next one it takes and closes without a word.
    Keeps(usize),
    /// Takes the request, and says nothing.
    Hangs,
    /// Takes the connection, and says nothing, not even in TLS.
    Silent,
    /// Takes the connection and resets it.
    Resets,
    /// Speaks HTTP without TLS.
    Plain,
    /// Speaks nothing but HTTP/2.
    OnlyHttp2,
}

impl Manner {
    /// Answers with this status and an empty body.
    pub fn status(status: u16) -> Self {
        Manner::Says(format!("HTTP/1.1 {status} Because\r\ncontent-length: 0\r\n\r\n").into_bytes())
    }

    /// Answers with these lines and an empty body.
    pub fn head(lines: &str) -> Self {
        Manner::Says(format!("{lines}\r\ncontent-length: 0\r\n\r\n").into_bytes())
    }
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Seen {
    /// `POST /hook HTTP/1.1`.
    pub line: String,
    /// Headers by lower-case name.
    pub headers: BTreeMap<String, String>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

impl Seen {
    /// A header's value.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// The body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

struct State {
    manner: Mutex<Manner>,
    seen: watch::Sender<Vec<Seen>>,
    connections: AtomicUsize,
    open: AtomicUsize,
    most: AtomicUsize,
}

/// A receiver.
pub struct Receiver {
    /// Its port on 127.0.0.1.
    pub port: u16,
    state: Arc<State>,
}

impl Receiver {
    /// One with a good certificate.
    pub async fn new(manner: Manner) -> Self {
        Self::presenting(Certificate::Good, manner).await
    }

    /// One with any certificate.
    pub async fn presenting(certificate: Certificate, manner: Manner) -> Self {
        let (chain, key) = identity(certificate);
        let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![chain], key)
            .unwrap();
        if matches!(manner, Manner::OnlyHttp2) {
            config.alpn_protocols = vec![b"h2".to_vec()];
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            manner: Mutex::new(manner),
            seen: watch::channel(Vec::new()).0,
            connections: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        });
        let (serving, acceptor) = (state.clone(), TlsAcceptor::from(Arc::new(config)));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                serving.connections.fetch_add(1, Ordering::SeqCst);
                let (state, acceptor) = (serving.clone(), acceptor.clone());
                tokio::spawn(async move {
                    let open = state.open.fetch_add(1, Ordering::SeqCst) + 1;
                    state.most.fetch_max(open, Ordering::SeqCst);
                    serve(&state, acceptor, stream).await;
                    state.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Receiver { port, state }
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}/hook", self.port)
    }

    /// Its address under a name.
    pub fn url_as(&self, name: &str) -> String {
        format!("https://{name}:{}/hook", self.port)
    }

    /// From now on it behaves like this.
    pub fn behave(&self, manner: Manner) {
        *self.state.manner.lock().unwrap() = manner;
    }

    /// The requests it has read so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.state.seen.borrow().clone()
    }

    /// Waits until it has read so many requests.
    pub async fn wait_for(&self, requests: usize) -> Vec<Seen> {
        let mut seen = self.state.seen.subscribe();
        let waited = tokio::time::timeout(Duration::from_secs(30), seen.wait_for(|seen| seen.len() >= requests)).await;
        waited.unwrap_or_else(|_| panic!("{} of {requests} requests came", self.seen().len())).unwrap().clone()
    }

    /// Connections that were made to it.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Connections that were open at once, at most.
    pub fn most_at_once(&self) -> usize {
        self.state.most.load(Ordering::SeqCst)
    }
}

async fn serve(state: &State, acceptor: TlsAcceptor, mut stream: TcpStream) {
    let manner = state.manner.lock().unwrap().clone();
    match manner {
        Manner::Silent => {
            // Until the other side has had enough.
            let mut byte = [0];
            while stream.read(&mut byte).await.is_ok_and(|read| read > 0) {}
        }
        Manner::Resets => {
            let _ = stream.set_zero_linger();
        }
        Manner::Plain => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        }
        manner => {
            if let Ok(mut stream) = acceptor.accept(stream).await {
                answer(state, &mut stream, manner).await;
                let _ = stream.shutdown().await;
            }
        }
    }
}

async fn answer<S: AsyncRead + AsyncWrite + Unpin>(state: &State, stream: &mut S, manner: Manner) {
    let Some(seen) = request(stream).await else { return };
    state.seen.send_modify(|all| all.push(seen));
    match manner {
        Manner::Says(bytes) => {
            let _ = stream.write_all(&bytes).await;
        }
        Manner::Body(head, pause) => {
            let mut going = stream.write_all(&head).await.is_ok();
            let piece = if pause.is_zero() { vec![b'x'; 64 * 1024] } else { vec![b'x'] };
            while going {
                going = stream.write_all(&piece).await.is_ok() && stream.flush().await.is_ok();
                rest(pause).await;
            }
        }
        Manner::Drips(bytes, pause) => {
            for byte in bytes.iter().cycle() {
                if stream.write_all(&[*byte]).await.is_err() || stream.flush().await.is_err() {
                    return;
                }
                rest(pause).await;
            }
        }
        Manner::Keeps(answers) => {
            for _ in 0..answers {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
                let _ = stream.flush().await;
                let Some(seen) = request(stream).await else { return };
                state.seen.send_modify(|all| all.push(seen));
            }
        }
        Manner::Hangs => {
            let mut byte = [0];
            let _ = stream.read(&mut byte).await;
        }
        Manner::Silent | Manner::Resets | Manner::Plain | Manner::OnlyHttp2 => {}
    }
}

/// What a slow receiver does between two bytes.
async fn rest(pause: Duration) {
    if !pause.is_zero() {
        tokio::time::sleep(pause).await;
    }
}

async fn request<S: AsyncRead + Unpin>(stream: &mut S) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let line = lines.next()?.to_owned();
    let headers: BTreeMap<_, _> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while bytes.len() < end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(Seen { line, headers, body: bytes[end + 4..end + 4 + length].to_vec() })
}
