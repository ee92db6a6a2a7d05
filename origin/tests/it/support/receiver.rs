//! Webhook receivers on loopback that misbehave as a test requires. Their certificates are issued by a test authority.

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

/// The authority that issues the receivers' certificates.
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

/// The certificate that a receiver presents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificate {
    /// Valid for 127.0.0.1 and the names under partner.dev.
    Good,
    SelfSigned,
    /// Signed by an authority that the service does not trust.
    OtherAuthority,
    /// Expired in the year 2000.
    Expired,
    /// Issued for elsewhere.dev.
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
    /// Answers with these bytes and closes.
    Says(Vec<u8>),
    /// Answers with a head and an endless body, with this pause after each piece. With a pause of zero it writes as fast as it can.
    Body(Vec<u8>, Duration),
    /// Writes the bytes one by one, with this pause after each, over and over.
    Drips(&'static [u8], Duration),
    /// Answers this many requests of a connection with 200, reads the next one and closes without an answer.
    Keeps(usize),
    /// Reads the request and does not answer.
    Hangs,
    /// Accepts the connection and sends nothing, not even a TLS handshake.
    Silent,
    /// Accepts the connection and resets it.
    Resets,
    /// Answers in HTTP without TLS.
    Plain,
    /// Offers only HTTP/2 in ALPN.
    OnlyHttp2,
}

impl Manner {
    /// Answers with this status and an empty body.
    pub fn status(status: u16) -> Self {
        Manner::Says(format!("HTTP/1.1 {status} Because\r\ncontent-length: 0\r\n\r\n").into_bytes())
    }

    /// Answers with these head lines and an empty body.
    pub fn head(lines: &str) -> Self {
        Manner::Says(format!("{lines}\r\ncontent-length: 0\r\n\r\n").into_bytes())
    }
}

/// A request as it was received.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The request line, such as `POST /hook HTTP/1.1`.
    pub line: String,
    /// Headers by lower-case name.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Seen {
    /// A header's value, or an empty text.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

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

pub struct Receiver {
    /// Port on 127.0.0.1.
    pub port: u16,
    state: Arc<State>,
}

impl Receiver {
    /// A receiver with a valid certificate.
    pub async fn new(manner: Manner) -> Self {
        Self::presenting(Certificate::Good, manner).await
    }

    /// A receiver with this certificate.
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

    /// The receiver's URL with its IP address as host.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}/hook", self.port)
    }

    /// The receiver's URL with `name` as host.
    pub fn url_as(&self, name: &str) -> String {
        format!("https://{name}:{}/hook", self.port)
    }

    /// Sets the behaviour for later connections.
    pub fn behave(&self, manner: Manner) {
        *self.state.manner.lock().unwrap() = manner;
    }

    /// The requests read so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.state.seen.borrow().clone()
    }

    /// Waits until at least this many requests have been read, and returns all of them. Fails after 30 seconds.
    pub async fn wait_for(&self, requests: usize) -> Vec<Seen> {
        let mut seen = self.state.seen.subscribe();
        let waited = tokio::time::timeout(Duration::from_secs(30), seen.wait_for(|seen| seen.len() >= requests)).await;
        waited.unwrap_or_else(|_| panic!("only {} of {requests} requests arrived", self.seen().len())).unwrap().clone()
    }

    /// Number of connections accepted so far.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Highest number of simultaneous connections.
    pub fn most_at_once(&self) -> usize {
        self.state.most.load(Ordering::SeqCst)
    }
}

async fn serve(state: &State, acceptor: TlsAcceptor, mut stream: TcpStream) {
    let manner = state.manner.lock().unwrap().clone();
    match manner {
        Manner::Silent => {
            // Reads until the other side closes.
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
                wait(pause).await;
            }
        }
        Manner::Drips(bytes, pause) => {
            for byte in bytes.iter().cycle() {
                if stream.write_all(&[*byte]).await.is_err() || stream.flush().await.is_err() {
                    return;
                }
                wait(pause).await;
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

async fn wait(pause: Duration) {
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
