//! Responses of the read model.

use crate::route::{ResponseHead, TagVersions};
use crate::wire::{Data, headers};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// The response to a request: 200 with a body, or 304 without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The entity tag, with its quotes.
    pub etag: String,
    /// The data version of the rows.
    pub version: i64,
    /// JSON; `None` if the caller's copy is current.
    pub body: Option<Body>,
}

impl Response {
    /// The HTTP status: 200 or 304.
    pub const fn status(&self) -> u16 {
        if self.body.is_some() { 200 } else { 304 }
    }

    /// What the header fields are made from, given what the request's handler knows about it.
    pub fn head(&self, tags: TagVersions, unknown_values: Option<String>) -> ResponseHead {
        ResponseHead {
            content: self.body.as_ref().map(|body| (headers::JSON, body.bytes().len())),
            etag: Some(self.etag.clone()),
            version: Some(self.version),
            tags,
            unknown_values,
        }
    }
}

/// A complete body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Built for one response.
    Built(Vec<u8>),
    /// Encoded with the read model, and shared by all responses.
    Preencoded(PreencodedBody),
}

impl Body {
    pub fn bytes(&self) -> &[u8] {
        match self {
            Body::Built(bytes) => bytes,
            Body::Preencoded(body) => body.bytes(),
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Body::Built(bytes)
    }
}

/// A complete body `{"data":…}` that does not depend on the clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreencodedBody {
    bytes: Arc<[u8]>,
    digest: [u8; 32],
}

impl PreencodedBody {
    /// Encodes `data`. Fails only if `data` cannot be represented as JSON (a map whose keys are not strings).
    pub fn encode<T: Serialize>(data: &T) -> Result<Self, serde_json::Error> {
        Ok(Self::of(serde_json::to_vec(&Data { data })?))
    }

    /// The body with these bytes.
    pub fn of(bytes: Vec<u8>) -> Self {
        PreencodedBody { digest: Sha256::digest(&bytes).into(), bytes: bytes.into() }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, as another handle on the same memory.
    pub fn shared(&self) -> Arc<[u8]> {
        Arc::clone(&self.bytes)
    }

    /// SHA-256 of the bytes.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

impl Default for PreencodedBody {
    /// `{"data":null}`.
    fn default() -> Self {
        Self::of(b"{\"data\":null}".to_vec())
    }
}
