//! The documentation as it is served below `/v1/docs`: pages rendered when this crate is built, and the few files they need.
//!
//! `build.rs` makes them of `openapi/openapi.json`, of the guides in `guides/` and of the constants of `shared`. Nothing is read or
//! rendered at run time, no page loads anything from elsewhere, and every page can be read without a script.
//!
//! # Invariants
//!
//! - A page is rendered when the program is built, from the OpenAPI document, the guides and the constants of the service. It reads without scripts and
//!   loads nothing from elsewhere.
//! - The page that verifies decisions sends nothing of what is pasted. It trusts the service for one thing, the signer registry, and that can be pasted
//!   too.
#![no_std]

extern crate alloc;

use alloc::vec::Vec;
use core::ops::Range;
use ruzstd::decoding::FrameDecoder;

/// A page, or a file that pages need.
#[derive(Debug)]
pub struct Document {
    /// Its name below `/v1/docs/`; empty for the page that stands there.
    pub name: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// Its strong ETag.
    pub etag: &'static str,
    /// Where what it holds stands among all of them.
    place: Range<usize>,
    /// Who may keep it: pages are asked for again each time, files are named by their content in the pages that load them.
    cache_control: &'static str,
    /// What a page may load, and from where.
    policy: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/documents.rs"));

/// What all documents hold, one behind the other, packed as one: pages resemble each other.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/packed"));

/// The unpacked documents: some three million bytes. A host opens it once, when the first one is asked for.
#[derive(Debug)]
pub struct Library(Vec<u8>);

impl Library {
    /// Unpacks them. A program that was built right always can; with a damaged one every document is empty.
    pub fn open() -> Self {
        let mut all = Vec::with_capacity(UNPACKED);
        if FrameDecoder::new().decode_all_to_vec(PACKED, &mut all).is_err() {
            all.clear();
        }
        Library(all)
    }

    /// What `document` holds.
    pub fn body(&self, document: &Document) -> &[u8] {
        self.0.get(document.place.clone()).unwrap_or_default()
    }

    /// The OpenAPI document, byte for byte as it is committed. It is packed with the pages, which repeat most of it.
    pub fn contract(&self) -> &[u8] {
        self.0.get(CONTRACT).unwrap_or_default()
    }
}

/// The document with this name.
pub fn find(name: &str) -> Option<&'static Document> {
    DOCUMENTS.iter().find(|document| document.name == name)
}

impl Document {
    /// The headers that go out with it beside its media type, on a 304 too.
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
