//! The origin's signature over its answers to the edge, and bodies whose digest is computed once.

use axum::body::Bytes;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use rds_shared::access::{AnswerHead, AssertionKey, BodyDigest, Vouched};
use rds_shared::wire::headers;
use std::sync::OnceLock;

/// A body that is at hand whole. Its digest is computed when it is first wanted, and kept for answers that share the body.
#[derive(Debug, Clone, Default)]
pub struct Whole {
    bytes: Bytes,
    digest: OnceLock<BodyDigest>,
}

impl Whole {
    /// A body whose SHA-256 is known.
    pub fn with_digest(bytes: Bytes, sha256: [u8; 32]) -> Self {
        Whole { bytes, digest: OnceLock::from(BodyDigest::from_bytes(sha256)) }
    }

    /// The body.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Its SHA-256.
    pub fn digest(&self) -> &BodyDigest {
        self.digest.get_or_init(|| BodyDigest::of(&self.bytes))
    }
}

impl<B: Into<Bytes>> From<B> for Whole {
    fn from(bytes: B) -> Self {
        Whole { bytes: bytes.into(), digest: OnceLock::new() }
    }
}

impl PartialEq for Whole {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Whole {}

/// A response before it is signed: its body is kept beside it, because a response gives its body to nobody but the connection.
#[derive(Debug)]
pub struct Unsigned {
    /// The response, complete but for the signature.
    pub response: Response,
    /// Its body; `None` for a stream.
    pub body: Option<Whole>,
}

/// Signs the answer to one request of the edge's: with the key that signed the request, bound to its nonce.
#[derive(Debug)]
pub struct AnswerSigner {
    key: AssertionKey,
    nonce: String,
}

impl AnswerSigner {
    /// For the answer to the request that `vouched` is of. None for v1, which a Worker sends that looks for no signature.
    pub fn of(vouched: &Vouched<'_>) -> Option<Self> {
        vouched.is_proven().then(|| Self::with(vouched.key(), vouched.assertion().nonce()))
    }

    /// For the answer to a request with this nonce.
    pub fn with(key: &AssertionKey, nonce: &str) -> Self {
        AnswerSigner { key: key.clone(), nonce: nonce.to_owned() }
    }

    /// Adds the signature.
    pub fn sign(&self, response: &mut Response, body: Option<&Whole>) {
        let given = response.headers();
        let head = AnswerHead {
            nonce: &self.nonce,
            status: response.status().as_u16(),
            header: |name: &'static str| given.get(name).and_then(|value| value.to_str().ok()),
        };
        let signature = self.key.sign_answer(&head, body.map(Whole::digest));
        // Words, hex and separators: always a valid header value.
        if let Ok(signature) = HeaderValue::try_from(signature) {
            response.headers_mut().insert(HeaderName::from_static(headers::ANSWER), signature);
        }
    }
}
