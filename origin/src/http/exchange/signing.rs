//! Answer signatures of the origin, and bodies whose digest is computed once.

use axum::body::Bytes;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use rds_shared::access::{AnswerHead, AssertionKey, BodyDigest, VerifiedHead, signed_headers};
use rds_shared::wire::headers;
use std::sync::OnceLock;

/// A complete body. Its digest is computed on first use and kept; clones made afterwards share it.
#[derive(Debug, Clone, Default)]
pub struct HashedBody {
    bytes: Bytes,
    digest: OnceLock<BodyDigest>,
}

impl HashedBody {
    /// A body whose SHA-256 is known.
    pub fn with_digest(bytes: Bytes, sha256: [u8; 32]) -> Self {
        HashedBody { bytes, digest: OnceLock::from(BodyDigest::from_bytes(sha256)) }
    }

    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The body's SHA-256.
    pub fn digest(&self) -> &BodyDigest {
        self.digest.get_or_init(|| BodyDigest::of(&self.bytes))
    }
}

impl<B: Into<Bytes>> From<B> for HashedBody {
    fn from(bytes: B) -> Self {
        HashedBody { bytes: bytes.into(), digest: OnceLock::new() }
    }
}

impl PartialEq for HashedBody {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for HashedBody {}

/// A response before it is signed. The body is kept separately, because only the connection can read a response's body.
#[derive(Debug)]
pub struct Unsigned {
    /// The response, complete but for the signature.
    pub response: Response,
    /// The body of the response; `None` for a stream.
    pub body: Option<HashedBody>,
}

/// Signs the response to one request of the edge: with the key that signed the request, and bound to the request's nonce.
#[derive(Debug)]
pub struct AnswerSigner {
    key: AssertionKey,
    nonce: String,
}

impl AnswerSigner {
    /// The signer for the request of `vouched`. `None` for a v1 assertion, because Workers of the previous release check no answer
    /// signature.
    pub fn of(vouched: &VerifiedHead<'_>) -> Option<Self> {
        vouched.is_proven().then(|| Self::with(vouched.key(), vouched.assertion().nonce()))
    }

    /// The signer for a request with this nonce.
    pub fn with(key: &AssertionKey, nonce: &str) -> Self {
        AnswerSigner { key: key.clone(), nonce: nonce.to_owned() }
    }

    pub fn sign(&self, response: &mut Response, body: Option<&HashedBody>) {
        let headers =
            signed_headers(response.headers().iter().map(|(name, value)| (name.as_str(), value.to_str().ok())));
        let head = AnswerHead { nonce: &self.nonce, status: response.status().as_u16(), headers };
        let signature = self.key.sign_answer(&head, body.map(HashedBody::digest));
        // The signature consists of ASCII words, hex and separators, so the conversion does not fail.
        if let Ok(signature) = HeaderValue::try_from(signature) {
            response.headers_mut().insert(HeaderName::from_static(headers::ANSWER), signature);
        }
    }
}
