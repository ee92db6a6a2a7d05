//! Who is calling, what they may reach, and how the edge vouches for them to the origin.

pub mod assertion;
pub mod budget;
pub mod client_net;
pub mod cors;
pub mod credential;
pub mod gate;
pub mod link;
pub mod paging;
pub mod plan;
pub mod principal;
pub mod spray;

pub use assertion::{Assertion, AssertionError, AssertionKey, SignedRequest};
pub use client_net::ClientNet;
pub use cors::FirstParty;
pub use credential::{KeyDigest, Presented};
pub use plan::{KeyRecord, Plan};
pub use principal::Principal;
pub use spray::Spray;

use alloc::vec::Vec;

/// The bytes that hex of either case stands for.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    for pair in text.as_bytes().chunks(2) {
        let [high, low] = pair else { return None };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        bytes.push((digit(*high)? << 4 | digit(*low)?) as u8);
    }
    Some(bytes)
}
