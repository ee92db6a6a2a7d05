//! The credential of the admin listener.

use crate::config::Secret;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use sha2::{Digest, Sha256};

/// The admin token, kept as a digest so that the time of a comparison reveals nothing about it.
#[derive(Debug)]
pub struct AdminToken([u8; 32]);

impl AdminToken {
    pub fn new(token: &Secret) -> Self {
        AdminToken(Sha256::digest(token.expose()).into())
    }

    /// Whether the request carries the token. The comparison takes the same time for every wrong token.
    pub(super) fn authenticates(&self, headers: &HeaderMap) -> bool {
        let presented = headers.get(AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        let digest: [u8; 32] = Sha256::digest(presented.unwrap_or_default()).into();
        let difference = digest.iter().zip(&self.0).fold(0, |sum, (a, b)| sum | (a ^ b));
        std::hint::black_box(difference) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn only_the_complete_token_is_accepted() {
        let token = AdminToken::new(&Secret::from("correct-horse-battery".to_owned()));
        let opens = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_static(value));
            token.authenticates(&headers)
        };
        assert!(opens("Bearer correct-horse-battery"));
        for wrong in [
            "Bearer correct-horse-batter",
            "Bearer ",
            "correct-horse-battery",
            "bearer correct-horse-battery",
            "Basic x",
        ] {
            assert!(!opens(wrong), "{wrong}");
        }
        assert!(!token.authenticates(&HeaderMap::new()));
    }
}
