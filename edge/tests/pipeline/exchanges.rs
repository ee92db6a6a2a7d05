//! Requests written by tests, and answers given by the origin.

use crate::world::KEY;
use rds_docs::Library;
use rds_edge::origin_link::signed_call::{Call, OriginAnswer};
use rds_edge::ports::{BodyFault, Inbound, Peer};
use rds_edge::respond::{Reply, ReplyBody};
use rds_shared::access::{AnswerHead, AssertionKey, BodyDigest, SIGNED};

#[derive(Clone)]
pub struct Ask {
    method: &'static str,
    target: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    peer: Peer,
}

impl Ask {
    pub fn new(method: &'static str, target: &str) -> Self {
        Ask {
            method,
            target: target.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            peer: Peer::At([127, 0, 0, 1].into()),
        }
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Sets the peer; the default is a proxy on this machine.
    pub fn through(mut self, peer: Peer) -> Self {
        self.peer = peer;
        self
    }

    pub fn body(mut self, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self
    }
}

impl Inbound for Ask {
    fn method(&self) -> &str {
        self.method
    }

    fn target(&self) -> &str {
        &self.target
    }

    fn header(&self, name: &str) -> Option<String> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    }

    fn peer(&self) -> Peer {
        self.peer
    }

    async fn body(&self, max_bytes: usize) -> Result<Vec<u8>, BodyFault> {
        if self.body.len() > max_bytes { Err(BodyFault::TooLarge) } else { Ok(self.body.clone()) }
    }
}

/// The answer without a signature, as if something else had answered in place of the origin.
pub fn unsigned(answer: OriginAnswer) -> OriginAnswer {
    OriginAnswer { signature: Some(UNSIGNED.to_owned()), ..answer }
}

/// Marks an answer without a signature.
const UNSIGNED: &str = "unsigned";

/// The answer as the edge receives it: signed by the origin for this call, unless it comes from [`unsigned`] or the test set a signature.
pub fn arrived(call: &Call, mut answer: OriginAnswer) -> OriginAnswer {
    let is_stream = call.streams && answer.is_stream();
    answer.digest = (!is_stream).then(|| BodyDigest::of(&answer.body));
    answer.signature = match answer.signature.take() {
        Some(signature) => Some(signature).filter(|signature| signature != UNSIGNED),
        None => {
            let key = AssertionKey::parse(KEY).unwrap();
            let head = AnswerHead {
                nonce: &call.nonce,
                status: answer.status,
                headers: SIGNED.map(|name| answer.header(name)),
            };
            Some(key.sign_answer(&head, answer.digest.as_ref()))
        }
    };
    // The host reads only the signed headers.
    answer.headers.retain(|(name, _)| rds_edge::origin_link::signed_call::READ.contains(name));
    answer
}

/// A cacheable success.
pub fn page(body: &str) -> OriginAnswer {
    answer(200, body)
        .with("cdn-cache-control", "max-age=15, stale-if-error=86400")
        .with("etag", "W/\"version-7\"")
        .with("x-data-version", "7")
}

/// A JSON answer of the origin.
pub fn answer(status: u16, body: &str) -> OriginAnswer {
    OriginAnswer {
        status,
        headers: vec![("content-type", "application/json".to_owned())],
        body: body.as_bytes().to_vec(),
        ..OriginAnswer::default()
    }
}

/// The origin's error envelope for this call.
pub fn envelope(status: u16, code: &str, call: &Call) -> OriginAnswer {
    let id = &call.headers.iter().find(|(name, _)| *name == "x-request-id").unwrap().1;
    answer(
        status,
        &format!("{{\"error\":{{\"code\":\"{code}\",\"message\":\"in the origin's words\",\"request_id\":\"{id}\"}}}}"),
    )
}

pub trait With {
    fn with(self, name: &'static str, value: &str) -> Self;
}

impl With for OriginAnswer {
    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

/// The body; empty without one.
pub fn bytes(reply: &Reply) -> Vec<u8> {
    match &reply.body {
        None => Vec::new(),
        Some(ReplyBody::Bytes(bytes)) => bytes.to_vec(),
        Some(ReplyBody::Asset(asset)) => Library::open().content(asset).to_vec(),
        Some(ReplyBody::Stream) => panic!("the host keeps the stream"),
    }
}

pub fn text(reply: &Reply) -> String {
    String::from_utf8(bytes(reply)).unwrap()
}

/// The value of `X-Cache`.
pub fn x_cache(reply: &Reply) -> &str {
    reply.header("x-cache").unwrap_or("")
}
