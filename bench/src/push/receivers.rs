//! Webhook receivers on loopback with TLS: some answer, others hang.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};
use memchr::memmem;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::publish_times::PublishTimes;
use super::subscribers::Latencies;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
/// Path prefix of endpoints that hang.
pub const HANG_PREFIX: &str = "/hang/";

/// Deliveries of a round to endpoints that answer.
#[derive(Default)]
pub struct Round {
    /// Commit time of each payload.
    pub sent: Option<Arc<PublishTimes>>,
    /// Time from commit to receiver.
    pub latencies: Latencies,
    /// Received deliveries by endpoint and payload.
    pub seen: std::collections::HashSet<(String, u32)>,
    /// Number of repeated deliveries.
    pub again: u64,
}

/// All receivers, behind one address.
pub struct Receivers {
    pub address: SocketAddr,
    /// Deliveries of the current round. `webhooks` replaces them when a round begins.
    pub round: Arc<Mutex<Round>>,
    /// Number of accepted connections.
    pub connections: Arc<AtomicU64>,
}

impl Receivers {
    /// Starts the receivers and writes their certificate authority to `authority`.
    pub async fn start(authority: &Path) -> Result<Self> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "receivers");
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        std::fs::write(authority, issuer.pem())?;
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()])?.signed_by(&key, &issuer)?;
        let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let receivers = Self { address: listener.local_addr()?, round: Arc::default(), connections: Arc::default() };
        let (acceptor, round, connections) =
            (TlsAcceptor::from(Arc::new(config)), receivers.round.clone(), receivers.connections.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Relaxed);
                let (acceptor, round) = (acceptor.clone(), round.clone());
                // Ignore a sender that disconnects; missing deliveries are detected at the end.
                tokio::spawn(async move { converse(acceptor, stream, &round).await });
            }
        });
        Ok(receivers)
    }
}

async fn converse(acceptor: TlsAcceptor, stream: TcpStream, round: &Mutex<Round>) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = acceptor.accept(stream).await?;
    let mut held = Vec::new();
    loop {
        let (head, end) = loop {
            if let Some(whole) = request(&held)? {
                break whole;
            }
            if stream.read_buf(&mut held).await? == 0 {
                return Ok(());
            }
        };
        let now = Instant::now();
        let path = std::str::from_utf8(held.get(..head).unwrap_or_default())?.split(' ').nth(1).context("no target")?;
        if path.starts_with(HANG_PREFIX) {
            // Wait until the sender disconnects.
            let _ = stream.read_u8().await;
            return Ok(());
        }
        let body = held.get(head..end).unwrap_or_default();
        let at = memmem::find(body, b"{\"n\":").context("a body without a payload")? + 5;
        let digits = std::str::from_utf8(body.get(at..at + 9).unwrap_or_default())?;
        note(round, path.to_owned(), digits.parse()?, now);
        held.drain(..end);
        stream.write_all(ANSWER).await?;
        stream.flush().await?;
    }
}

fn note(round: &Mutex<Round>, path: String, n: u32, now: Instant) {
    let mut round = round.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(sent) = round.sent.clone() else { return };
    if round.seen.insert((path, n)) {
        round.latencies.note(sent.since(n, now));
    } else {
        round.again += 1;
    }
}

/// The lengths of a complete request's head, and of head and body.
fn request(bytes: &[u8]) -> Result<Option<(usize, usize)>> {
    let Some(head) = memmem::find(bytes, b"\r\n\r\n").map(|at| at + 4) else { return Ok(None) };
    let text = std::str::from_utf8(bytes.get(..head).unwrap_or_default())?;
    let length = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(Ok(0), |(_, length)| length.trim().parse::<usize>())?;
    Ok((bytes.len() >= head + length).then_some((head, head + length)))
}
