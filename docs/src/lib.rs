//! The documentation served below `/v1/docs`: pages rendered when this crate is built, and the few files they load.
//!
//! `build.rs` generates the pages from `openapi/openapi.json`, the guides in `guides/` and the constants of `shared`.
//!
//! # Invariants
//!
//! - Pages are rendered at build time; nothing is read or rendered at run time. Every page is readable without scripts and loads nothing from
//!   other hosts.
//! - The page that verifies decisions never sends the pasted text. It trusts the service only for the signer registry, which can be pasted too.
//! - Only the worker that reads scores again may send requests to other hosts, and sends them to those that the user names.
#![no_std]

extern crate alloc;

use alloc::vec::Vec;
use core::ops::Range;
use ruzstd::decoding::FrameDecoder;

/// A page, or a file that pages load.
#[derive(Debug)]
pub struct Document {
    /// Path below `/v1/docs/`; empty for the first page.
    pub name: &'static str,
    pub media_type: &'static str,
    /// Strong ETag.
    pub etag: &'static str,
    /// Position of its content in the unpacked library.
    place: Range<usize>,
    /// `Cache-Control`: clients revalidate pages each time, but may cache files, because pages load files by URLs that contain a fingerprint.
    cache_control: &'static str,
    /// `Content-Security-Policy`.
    policy: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/documents.rs"));

/// The content of all documents, concatenated and compressed together because pages resemble each other.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/packed"));

/// The unpacked documents, about three million bytes. A host opens the library once, on the first request for a document.
#[derive(Debug)]
pub struct Library(Vec<u8>);

impl Library {
    /// Unpacks the documents. In a damaged program, where unpacking fails, every document is empty.
    pub fn open() -> Self {
        let mut all = Vec::with_capacity(UNPACKED);
        if FrameDecoder::new().decode_all_to_vec(PACKED, &mut all).is_err() {
            all.clear();
        }
        Library(all)
    }

    /// The content of `document`.
    pub fn body(&self, document: &Document) -> &[u8] {
        self.0.get(document.place.clone()).unwrap_or_default()
    }

    /// The OpenAPI document, byte for byte as committed. It is compressed together with the pages, which repeat most of it.
    pub fn contract(&self) -> &[u8] {
        self.0.get(CONTRACT).unwrap_or_default()
    }
}

/// The document with this name.
pub fn find(name: &str) -> Option<&'static Document> {
    DOCUMENTS.iter().find(|document| document.name == name)
}

impl Document {
    /// The response headers besides `Content-Type`, also sent with a 304.
    pub fn headers(&self) -> [(&'static str, &'static str); 7] {
        [
            ("etag", self.etag),
            ("cache-control", self.cache_control),
            ("content-security-policy", self.policy),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
        ]
    }
}
