//! Many connections over real sockets: clients without credentials use few resources and displace no authenticated client.

use crate::support::market::lines;
use crate::support::streaming::{PATIENCE, Serving, eventually, key, service, service_as};
use crate::support::testapp::{ADMIN_TOKEN, EDGE_KEY, TestApp, signed};
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use rds_engine::clock::Clock;
use rds_engine::entropy;
use rds_origin::listener::Listener;
use rds_shared::access::{Assertion, AssertionKey, BodyDigest, Principal, SignedHead, SignedRequest};
use rds_shared::wire::headers;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// Address of clients whose earlier requests were authenticated.
const PROXY: [u8; 4] = [127, 0, 0, 1];
const NEWCOMER: [u8; 4] = [127, 0, 0, 200];
/// Addresses from which many unauthenticated clients connect.
const CROWD: [[u8; 4]; 8] = [
    [127, 0, 1, 1],
    [127, 0, 1, 2],
    [127, 0, 1, 3],
    [127, 0, 1, 4],
    [127, 0, 1, 5],
    [127, 0, 1, 6],
    [127, 0, 1, 7],
    [127, 0, 1, 8],
];

/// Connects to a listener from a loopback address.
async fn connect(source: [u8; 4], listener: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from((source, 0))).unwrap();
    socket.connect(listener).await.unwrap()
}

/// A request's head, for a body of this size.
fn head_of(request: &Request, body_bytes: usize) -> String {
    let mut text = format!("{} {} HTTP/1.1\r\nhost: test\r\n", request.method(), request.uri());
    for (name, value) in request.headers() {
        text.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap()));
    }
    if body_bytes > 0 {
        text.push_str(&format!("content-length: {body_bytes}\r\n"));
    }
    text + "\r\n"
}

/// Sends a request and reads the whole response; returns its status.
async fn ask(stream: &mut TcpStream, request: Request) -> u16 {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let text = head_of(&Request::from_parts(head, Body::empty()), body.len());
    stream.write_all(&[text.as_bytes(), &body].concat()).await.unwrap();
    answer(stream).await
}

/// Reads one response; returns its status.
async fn answer(stream: &mut TcpStream) -> u16 {
    let mut got = Vec::new();
    let reading = async {
        let head = loop {
            if let Some(end) = got.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            assert_ne!(stream.read_buf(&mut got).await.unwrap(), 0, "{}", String::from_utf8_lossy(&got));
        };
        let text = String::from_utf8(got[..head].to_vec()).unwrap();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        while got.len() < head + length {
            assert_ne!(stream.read_buf(&mut got).await.unwrap(), 0);
        }
        text[9..12].parse().unwrap()
    };
    timeout(PATIENCE, reading).await.expect("an answer")
}

/// Opens `count` silent connections and returns those that the listener has not closed.
async fn silent(listener: SocketAddr, count: usize, mut meanwhile: impl AsyncFnMut()) -> VecDeque<TcpStream> {
    let mut open: VecDeque<TcpStream> = VecDeque::new();
    for number in 0..count {
        open.push_back(connect(CROWD[number % CROWD.len()], listener).await);
        while open.front().is_some_and(is_over) {
            open.pop_front();
        }
        if number % 1_000 == 0 {
            meanwhile().await;
        }
    }
    open
}

/// Whether the listener closed the connection.
fn is_over(stream: &TcpStream) -> bool {
    !matches!(stream.try_read(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
}

/// A request with a signed head, as the Worker sends it.
fn proved(method: &str, target: &str, body: &str) -> Request {
    let (key, principal) = (AssertionKey::parse(EDGE_KEY).unwrap(), Principal::Anonymous.to_json());
    let head = SignedHead {
        method,
        target,
        principal: &principal,
        forwarded: &[("accept", "application/json"), ("content-type", "application/json")],
    };
    let now = Clock::system().wall().as_seconds();
    let digest = BodyDigest::of(body.as_bytes());
    let assertion = Assertion::sign_head(&key, &head, digest, now, entropy::random_bytes());
    let request = Request::builder().method(method).uri(target).header(headers::ASSERTION, assertion.to_header());
    let request = request.header(headers::PRINCIPAL, &principal).header("accept", "application/json");
    request.header("content-type", "application/json").body(Body::from(body.to_owned())).unwrap()
}

fn list() -> Request {
    proved("GET", "/v1/vaults", "")
}

async fn ingested() -> (TestApp, Serving) {
    let (test, serving) = service().await;
    test.ingest(&lines()).await;
    (test, serving)
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_thousand_silent_connections_take_no_room_of_a_known_peers() {
    let (test, serving) = ingested().await;
    let (listener, held) = (serving.listeners.edge, test.server.limits.at(Listener::Edge));
    let mut kept = connect(PROXY, listener).await;
    assert_eq!(ask(&mut kept, list()).await, 200);
    let crowd = silent(listener, 16_390, async || assert_eq!(ask(&mut kept, list()).await, 200)).await;
    let open = held.open();
    assert!(open.strangers <= held.bounds().strangers, "{open:?}");
    assert_eq!(ask(&mut kept, list()).await, 200, "a connection from before");
    assert_eq!(ask(&mut connect(PROXY, listener).await, list()).await, 200, "a new one of a known peer");
    assert_eq!(ask(&mut connect(NEWCOMER, listener).await, list()).await, 200, "one of a peer that was never seen");
    drop(crowd);
    serving.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_at_the_other_listeners_shut_out_neither_keys_nor_operators() {
    let (test, serving) = service().await;
    let key = key(&test).await;
    let bare = |target: &str, credential: &str| {
        let request = Request::builder().uri(target).header("authorization", format!("Bearer {credential}"));
        request.body(Body::empty()).unwrap()
    };
    for (listener, address, target, credential) in [
        (Listener::Relay, serving.listeners.relay, "/v1/health", key.key.as_str()),
        (Listener::Admin, serving.listeners.admin, "/metrics", ADMIN_TOKEN),
    ] {
        let held = test.server.limits.at(listener);
        let mut kept = connect(PROXY, address).await;
        assert_eq!(ask(&mut kept, bare(target, credential)).await, 200);
        let crowd = silent(address, held.bounds().strangers + 500, async || ()).await;
        assert!(held.open().strangers <= held.bounds().strangers, "{:?}", held.open());
        assert_eq!(ask(&mut kept, bare(target, credential)).await, 200, "{target}");
        assert_eq!(ask(&mut connect(PROXY, address).await, bare(target, credential)).await, 200, "{target}");
        assert_eq!(ask(&mut connect(NEWCOMER, address).await, bare(target, credential)).await, 200, "{target}");
        drop(crowd);
    }
    serving.stop().await;
}

/// Head of a `POST /v1/graph/check` with this assertion that announces a body of half a megabyte.
fn large(assertion: &str) -> String {
    let mut request = signed("POST", "/v1/graph/check", "");
    request.headers_mut().insert(headers::ASSERTION, assertion.parse().unwrap());
    head_of(&request, 512 << 10)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_a_bad_assertion_is_refused_before_its_body_is_read() {
    let (test, serving) = ingested().await;
    let (now, zeros) = (Clock::system().wall().as_seconds(), "0".repeat(64));
    let nonce = "ab".repeat(16);
    let bad = [
        "v1;k1;1;0;0".to_owned(),
        format!("v1;k1;{};{nonce};{zeros}", now - 60),
        format!("v1;other;{now};{nonce};{zeros}"),
        format!("v2;k1;{now};{nonce};{zeros};{zeros}"),
        format!("v3;k1;{now};{nonce};{zeros};{zeros}"),
    ];
    let mut clients = Vec::new();
    for number in 0..300 {
        let mut client = connect(CROWD[number % 8], serving.listeners.edge).await;
        client.write_all(large(&bad[number % bad.len()]).as_bytes()).await.unwrap();
        // The response arrives although no byte of the body was sent.
        assert_eq!(answer(&mut client).await, 401, "{}", bad[number % bad.len()]);
        let _ = client.try_write(&vec![b'x'; 512 << 10]);
        clients.push(client);
    }
    let listeners = &test.server.limits;
    for bodies in [&listeners.strange_bodies, &listeners.unproved_bodies, &listeners.edge_bodies] {
        assert_eq!((bodies.now(), bodies.maximum()), (0, 0));
    }
    assert_eq!(test.app.metrics.assertions_refused.load(Relaxed), 300);
    serving.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_only_a_signature_of_the_release_before_would_prove_hold_a_megabyte_together() {
    let (test, serving) = ingested().await;
    let mut clients = Vec::new();
    for number in 0..32 {
        let mut client = connect(CROWD[number % 8], serving.listeners.edge).await;
        let (now, nonce) = (Clock::system().wall().as_seconds(), format!("{number:032x}"));
        let forged = large(&format!("v1;k1;{now};{nonce};{}", "0".repeat(64)));
        client.write_all(forged.as_bytes()).await.unwrap();
        // The listener closes the connection of a client that exceeds the limit while it sends.
        let _ = timeout(Duration::from_secs(1), client.write_all(&vec![b'x'; (512 << 10) - 1])).await;
        clients.push(client);
    }
    let bodies = &test.server.limits.strange_bodies;
    eventually("some find no room", async || bodies.refused() > 0).await;
    assert!(bodies.maximum() <= 1 << 20, "{}", bodies.maximum());
    // Authenticated requests have a separate share, whichever address sends them.
    let batch = proved("POST", "/v1/vaults/batch", r#"{"ids":["x"]}"#);
    let status = ask(&mut connect(NEWCOMER, serving.listeners.edge).await, batch).await;
    assert!(status == 200 || status == 400, "{status}");
    eventually("nobody is waited for", async || bodies.now() == 0).await;
    serving.stop().await;
}

#[tokio::test]
async fn a_worker_of_the_release_before_is_believed() {
    let test = TestApp::with_market().await;
    let key = AssertionKey::parse(EDGE_KEY).unwrap();
    for (method, target, body) in [("GET", "/v1/vaults", ""), ("POST", "/v1/vaults/batch", r#"{"ids":[]}"#)] {
        let mut request = signed(method, target, body);
        let principal = request.headers()[headers::PRINCIPAL].to_str().unwrap().to_owned();
        let covered = SignedRequest { method, target, body: body.as_bytes(), principal: &principal };
        let old = Assertion::sign(&key, &covered, Clock::system().wall().as_seconds(), entropy::random_bytes());
        assert!(old.to_header().starts_with("v1;"));
        request.headers_mut().insert(headers::ASSERTION, old.to_header().parse().unwrap());
        let reply = test.ask(request).await;
        assert_ne!(reply.status, 401, "{}", reply.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_an_allow_list_other_addresses_get_no_answer_at_the_edge_listener() {
    let (test, serving) = service_as(vec![("RDS_EDGE_ALLOW", "127.0.0.1, 10.1.0.0/16")]).await;
    test.ingest(&lines()).await;
    assert_eq!(ask(&mut connect(PROXY, serving.listeners.edge).await, list()).await, 200);
    let mut other = connect(NEWCOMER, serving.listeners.edge).await;
    let _ = other.write_all(head_of(&list(), 0).as_bytes()).await;
    let ended = timeout(PATIENCE, other.read_u8()).await.expect("it is hung up on");
    assert!(ended.is_err());
    assert_eq!(test.server.limits.at(Listener::Edge).meters.not_allowed.load(Relaxed), 1);
    let health = Request::builder().uri("/v1/health").body(Body::empty()).unwrap();
    assert_eq!(
        ask(&mut connect(NEWCOMER, serving.listeners.relay).await, health).await,
        200,
        "the list is of one listener"
    );
    serving.stop().await;
}
