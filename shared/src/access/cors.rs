//! Cross-origin access (CORS): granted only to the service's own pages.

use alloc::string::String;
use alloc::vec::Vec;

/// Response headers that a page's script may read.
pub const EXPOSED_HEADERS: &str = "age, cache-status, deprecation, etag, link, retry-after, sunset, warning, x-cache, x-data-version, \
     x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, x-ratelimit-subclient-limit, x-ratelimit-subclient-remaining, \
     x-ratelimit-window, x-request-id, x-service-failsafe-mode, x-service-ignored-parameters, x-service-unknown-values";
/// Request headers that a page's script may send.
pub const ALLOWED_HEADERS: &str =
    "authorization, content-type, idempotency-key, if-none-match, last-event-id, x-service-subclient";
/// Methods that a page's script may use.
pub const ALLOWED_METHODS: &str = "GET, HEAD, POST, DELETE, OPTIONS";
/// How long a browser may cache a preflight response, in seconds.
pub const PREFLIGHT_SECONDS: &str = "86400";

/// The service's own origins, such as `https://app.example`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FirstParty(Vec<String>);

impl FirstParty {
    /// Reads a comma-separated list. Each entry is a scheme, a host and an optional port. The error is the first malformed entry.
    pub fn parse(list: &str) -> Result<Self, String> {
        let mut origins = Vec::new();
        for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let host = entry.strip_prefix("https://").or_else(|| entry.strip_prefix("http://"));
            if !host.is_some_and(is_host) {
                return Err(String::from(entry));
            }
            origins.push(entry.to_ascii_lowercase());
        }
        Ok(FirstParty(origins))
    }

    /// The configured origin that equals a request's `Origin`. The comparison is exact, because browsers send origins in lower case.
    pub fn find(&self, origin: &str) -> Option<&str> {
        self.0.iter().map(String::as_str).find(|known| *known == origin)
    }
}

/// Whether a configured text may be a host: only the characters of a name or an IP address with an optional port.
pub fn is_host(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_exactly_equal_origin_is_first_party() {
        let ours = FirstParty::parse("https://app.example, http://localhost:5173").unwrap();
        assert_eq!(ours.find("https://app.example"), Some("https://app.example"));
        assert_eq!(ours.find("http://localhost:5173"), Some("http://localhost:5173"));
        for other in [
            "",
            "null",
            "https://app.example.evil",
            "https://app.example/",
            "http://app.example",
            "https://app.example:8443",
            "*",
        ] {
            assert_eq!(ours.find(other), None, "{other}");
        }
    }

    #[test]
    fn a_wildcard_or_a_path_is_rejected_as_an_origin() {
        for bad in ["*", "app.example", "https://app.example/x", "https://", "ftp://app.example"] {
            assert!(FirstParty::parse(bad).is_err(), "{bad}");
        }
    }
}
