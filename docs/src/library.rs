//! The content of all files, compiled into programs that serve them without a folder of assets.

extern crate alloc;

use crate::{Asset, Document};
use alloc::vec::Vec;
use core::ops::Range;
use ruzstd::decoding::FrameDecoder;

/// All content, concatenated and compressed together because pages resemble each other and repeat most of the OpenAPI document.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/packed"));

include!(concat!(env!("OUT_DIR"), "/places.rs"));

/// The unpacked content, about four million bytes. A host opens the library once, on the first request for a document.
#[derive(Debug)]
pub struct Library(Vec<u8>);

impl Library {
    /// Unpacks the content. In a damaged program, where unpacking fails, every document is empty.
    pub fn open() -> Self {
        let mut all = Vec::with_capacity(UNPACKED);
        if FrameDecoder::new().decode_all_to_vec(PACKED, &mut all).is_err() {
            all.clear();
        }
        Library(all)
    }

    /// The content of `document`.
    pub fn body(&self, document: &Document) -> &[u8] {
        self.content(&document.asset)
    }

    /// The content of `asset`.
    pub fn content(&self, asset: &Asset) -> &[u8] {
        let found = PLACES.iter().find(|(name, _)| *name == asset.name);
        found.and_then(|(_, place)| self.0.get(place.clone())).unwrap_or_default()
    }
}
