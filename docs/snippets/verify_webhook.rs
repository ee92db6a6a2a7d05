//! The Rust snippet of the guide `webhooks`.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Whether `body` (the raw bytes) was signed with `secret`, no more than five minutes from `now` (Unix seconds).
pub fn is_genuine(header: &str, body: &[u8], secret: &str, now: u64) -> bool {
    let parts: Vec<_> = header.split(',').filter_map(|part| part.split_once('=')).collect();
    let Some((_, time)) = parts.iter().find(|(name, _)| *name == "t") else { return false };
    if !time.parse().is_ok_and(|signed_at: u64| now.abs_diff(signed_at) <= 300) {
        return false;
    }
    parts.iter().filter(|(name, _)| *name == "v1").filter_map(|(_, hex)| unhex(hex)).any(|given| {
        let Ok(mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return false };
        // `verify_slice` compares in constant time.
        mac.chain_update(time).chain_update(".").chain_update(body).verify_slice(&given).is_ok()
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<_>> = text.chars().map(|c| c.to_digit(16)).collect();
    Some(digits?.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | *digit as u8)).collect())
}
