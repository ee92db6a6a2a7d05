//! A test edge: receives the origin's key updates and tag invalidations, verifies their signatures, and responds as the test
//! requires.

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use rds_engine::clock::Clock;
use rds_origin::config::LinkConfig;
use rds_origin::edge_link::EdgeLink;
use rds_shared::access::link::{KEY_UPDATE_PATH, KeyUpdate, ORIGIN, TAG_INVALIDATION_PATH, TagInvalidation};
use rds_shared::access::{Assertion, AssertionKey, SignedRequest};
use rds_shared::route::TagVersions;
use rds_shared::wire::headers;
use serde::de::DeserializeOwned;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// The response to a verified message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// Responds with 204.
    Acknowledges,
    /// Responds with 503.
    Fails,
    /// Never responds.
    Hangs,
}

pub struct EdgePeer {
    address: SocketAddr,
    inside: Arc<Inside>,
}

struct Inside {
    keys: Vec<AssertionKey>,
    mood: watch::Sender<Mood>,
    /// Number of verified key updates.
    asked: watch::Sender<usize>,
    /// Number of verified tag invalidations.
    asked_tags: watch::Sender<usize>,
    acknowledged: Mutex<Vec<KeyUpdate>>,
    acknowledged_tags: Mutex<Vec<TagInvalidation>>,
    /// The highest tag versions ever received; a restore of the database does not reduce them.
    known: Mutex<TagVersions>,
}

impl EdgePeer {
    /// A test edge that acknowledges messages signed with one of `keys`.
    pub async fn knowing(keys: &str) -> Self {
        Self::at(TcpListener::bind("127.0.0.1:0").await.unwrap(), keys).await
    }

    /// Like [`EdgePeer::knowing`], on a bound socket.
    pub async fn at(listener: TcpListener, keys: &str) -> Self {
        let address = listener.local_addr().unwrap();
        let inside = Arc::new(Inside {
            keys: AssertionKey::parse_list(keys).unwrap(),
            mood: watch::Sender::new(Mood::Acknowledges),
            asked: watch::Sender::new(0),
            asked_tags: watch::Sender::new(0),
            acknowledged: Mutex::default(),
            acknowledged_tags: Mutex::default(),
            known: Mutex::default(),
        });
        let service = Router::new().fallback(answer).with_state(inside.clone());
        tokio::spawn(async move { axum::serve(listener, service).await });
        EdgePeer { address, inside }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets the response to later messages.
    pub fn is(&self, mood: Mood) {
        self.inside.mood.send_replace(mood);
    }

    /// Waits until `times` key updates have arrived in total.
    pub async fn until_asked(&self, times: usize) {
        self.inside.asked.subscribe().wait_for(|asked| *asked >= times).await.unwrap();
    }

    /// Waits until `times` tag invalidations have arrived in total.
    pub async fn until_told_of_tags(&self, times: usize) {
        self.inside.asked_tags.subscribe().wait_for(|asked| *asked >= times).await.unwrap();
    }

    /// The acknowledged key updates, in order.
    pub fn acknowledged(&self) -> Vec<KeyUpdate> {
        self.inside.acknowledged.lock().unwrap().clone()
    }

    /// Raises the known tag versions, as if they had been received in messages or responses.
    pub fn knows(&self, versions: &TagVersions) {
        self.inside.known.lock().unwrap().raise_to(versions);
    }

    /// The acknowledged tag versions, in order.
    pub fn acknowledged_tags(&self) -> Vec<TagVersions> {
        self.acknowledged_updates().into_iter().map(|update| update.versions).collect()
    }

    /// The acknowledged tag invalidations, in order.
    pub fn acknowledged_updates(&self) -> Vec<TagInvalidation> {
        self.inside.acknowledged_tags.lock().unwrap().clone()
    }

    /// The origin's link to this edge.
    pub fn link(&self, keys: &str) -> Arc<EdgeLink> {
        Arc::new(link(&self.url(), keys))
    }
}

/// The origin's link to an edge at `url`.
pub fn link(url: &str, keys: &str) -> EdgeLink {
    let config = LinkConfig { url: url.to_owned(), keys: AssertionKey::parse_list(keys).unwrap() };
    EdgeLink::new(&config, Clock::system()).unwrap()
}

fn read<T: DeserializeOwned>(body: &[u8]) -> T {
    serde_json::from_slice(body).unwrap()
}

async fn answer(State(edge): State<Arc<Inside>>, request: Request) -> (StatusCode, HeaderMap) {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, 64 * 1024).await.unwrap();
    let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let covered = SignedRequest {
        method: head.method.as_str(),
        target: head.uri.path(),
        body: &body,
        principal: text(headers::PRINCIPAL),
    };
    let now = Clock::system().wall().as_seconds();
    let holds = Assertion::parse(text(headers::ASSERTION))
        .is_ok_and(|assertion| assertion.verify(&edge.keys, &covered, now).is_ok());
    let is_of_tags = covered.target == TAG_INVALIDATION_PATH;
    let has_door = is_of_tags || covered.target == KEY_UPDATE_PATH;
    if !holds || covered.method != "POST" || !has_door || covered.principal != ORIGIN {
        return (StatusCode::NOT_FOUND, HeaderMap::new());
    }
    // A tag message without versions only asks for the versions that the edge knows.
    let is_question = is_of_tags && read::<TagInvalidation>(&body).versions.is_empty();
    let asked = if is_of_tags { &edge.asked_tags } else { &edge.asked };
    asked.send_modify(|asked| *asked += usize::from(!is_question));
    let mood = *edge.mood.borrow();
    match mood {
        Mood::Acknowledges => {
            let mut said = HeaderMap::new();
            if is_of_tags {
                let update: TagInvalidation = read(&body);
                let versions = update.versions;
                if !versions.is_empty() {
                    edge.acknowledged_tags.lock().unwrap().push(update);
                }
                let mut known = edge.known.lock().unwrap();
                known.raise_to(&versions);
                said.insert(headers::TAGS, known.to_text().parse().unwrap());
            } else {
                edge.acknowledged.lock().unwrap().push(read(&body));
            }
            (StatusCode::NO_CONTENT, said)
        }
        Mood::Fails => (StatusCode::SERVICE_UNAVAILABLE, HeaderMap::new()),
        Mood::Hangs => std::future::pending().await,
    }
}
