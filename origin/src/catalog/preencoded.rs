//! Response bodies that do not depend on the clock: encoded when the catalog is built, and shared by all responses.

use axum::body::Bytes;
use rds_shared::wire::Data;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// A complete body `{"data":…}`.
#[derive(Debug, Clone)]
pub struct PreencodedBody {
    body: Bytes,
    digest: [u8; 32],
}

impl PreencodedBody {
    /// Encodes `data`. Fails only if `data` cannot be represented as JSON (a map whose keys are not strings).
    pub fn encode<T: Serialize>(data: &T) -> Result<Self, serde_json::Error> {
        Ok(Self::of(serde_json::to_vec(&Data { data })?.into()))
    }

    fn of(body: Bytes) -> Self {
        PreencodedBody { digest: Sha256::digest(&body).into(), body }
    }

    /// The bytes, as another handle on the same memory.
    pub fn body(&self) -> Bytes {
        self.body.clone()
    }

    /// SHA-256 of the bytes.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

impl Default for PreencodedBody {
    /// `{"data":null}`.
    fn default() -> Self {
        Self::of(Bytes::from_static(b"{\"data\":null}"))
    }
}
