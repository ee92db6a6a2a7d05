//! The revisions of the protocol, and what each demands of a request.
//!
//! Up to 2025-11-25 a connection begins with `initialize`, and later requests name the agreed revision in a header. Since 2026-07-28 there is
//! no handshake: each request carries its revision in `_meta` and repeats revision, method and name in headers, so that proxies can route it
//! without reading the body. The rules and error codes are those of the official SDKs (PyPI `mcp` 2.3.0, npm `@modelcontextprotocol/server`
//! 2.4.0).

use super::message::{Fault, INVALID_PARAMS, Request};
use super::{quoted, quoted_list};
use rds_shared::wire::base64url;
use serde_json::Value;

/// The revision without a handshake.
pub const STATELESS: &str = "2026-07-28";
/// The revisions with a handshake, newest first.
pub const WITH_HANDSHAKE: [&str; 2] = ["2025-11-25", "2025-06-18"];

/// The headers disagree with the body.
pub const HEADER_MISMATCH: i32 = -32_020;
/// The revision is not supported.
pub const UNSUPPORTED_VERSION: i32 = -32_022;

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// The names of the headers that a request repeats its routing in.
pub const VERSION_HEADER: &str = "mcp-protocol-version";
pub const METHOD_HEADER: &str = "mcp-method";
pub const NAME_HEADER: &str = "mcp-name";

/// The headers of a message that concern the protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers {
    pub version: Option<String>,
    pub method: Option<String>,
    pub name: Option<String>,
}

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Revisions with a handshake.
    Handshake,
    /// The revision without one.
    Stateless,
}

/// The revisions that the server supports, as JSON.
pub fn supported() -> String {
    quoted_list(core::iter::once(STATELESS).chain(WITH_HANDSHAKE))
}

/// Whether a notification's revision is supported.
pub fn check_notification(headers: &Headers) -> Result<(), Fault> {
    match headers.version.as_deref() {
        Some(version) if version != STATELESS && !WITH_HANDSHAKE.contains(&version) => Err(unsupported(version)),
        _ => Ok(()),
    }
}

/// The revision of a request. Its own claim in `_meta` decides; without one, the header does. Without both it is a request of an older client.
pub fn of(headers: &Headers, request: &Request) -> Result<Era, Fault> {
    let meta = request.params.get("_meta").and_then(Value::as_object);
    let claim = meta.and_then(|meta| meta.get(VERSION_KEY));
    if claim.is_none() {
        match headers.version.as_deref() {
            None => return Ok(Era::Handshake),
            Some(version) if WITH_HANDSHAKE.contains(&version) => return Ok(Era::Handshake),
            Some(STATELESS) => {}
            Some(other) => return Err(unsupported(other)),
        }
    }
    let missing: Vec<&str> = [VERSION_KEY, CAPABILITIES_KEY]
        .into_iter()
        .filter(|key| meta.is_none_or(|meta| !meta.contains_key(*key)))
        .collect();
    if !missing.is_empty() {
        return Err(Fault::new(INVALID_PARAMS, format!("`params._meta` lacks {}", missing.join(" and "))));
    }
    let mismatch = |name: &str, with: &str| {
        Err(Fault::new(HEADER_MISMATCH, format!("the header {name} does not equal {with} of the body")))
    };
    if headers.version.is_none() || headers.version.as_deref() != claim.and_then(Value::as_str) {
        return mismatch(VERSION_HEADER, "the protocol version");
    }
    if headers.method.as_deref() != Some(request.method.as_str()) {
        return mismatch(METHOD_HEADER, "`method`");
    }
    let named = match request.method.as_str() {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        _ => None,
    };
    if let Some(value) = named.and_then(|key| request.params.get(key))
        && headers.name.as_deref().and_then(decoded).as_deref() != value.as_str()
    {
        return mismatch(NAME_HEADER, "the name");
    }
    match headers.version.as_deref() {
        Some(STATELESS) => Ok(Era::Stateless),
        other => Err(unsupported(other.unwrap_or_default())),
    }
}

/// The revision that the server answers an `initialize` with: the requested one if it is supported, else its newest with a handshake.
pub fn agreed(requested: &str) -> &'static str {
    let [newest, ..] = WITH_HANDSHAKE;
    WITH_HANDSHAKE.into_iter().find(|known| *known == requested).unwrap_or(newest)
}

fn unsupported(version: &str) -> Fault {
    let data = format!("{{\"supported\":{},\"requested\":{}}}", supported(), quoted(version));
    Fault { data: Some(data), ..Fault::new(UNSUPPORTED_VERSION, "unsupported protocol version") }
}

/// A header's value: `=?base64?…?=` contains base64 of UTF-8, any other text is itself. `None` if the base64 is malformed.
fn decoded(value: &str) -> Option<String> {
    let Some(text) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(value.to_owned());
    };
    let letters = text.trim_end_matches('=').replace('+', "-").replace('/', "_");
    String::from_utf8(base64url::decode(&letters)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::message::{Message, read};
    use serde_json::json;

    fn request(method: &str, params: &Value) -> Request {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        match read(body.as_bytes()) {
            Ok(Message::Request(request)) => request,
            other => panic!("{other:?}"),
        }
    }

    fn headers(version: Option<&str>, method: Option<&str>, name: Option<&str>) -> Headers {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Headers { version: owned(version), method: owned(method), name: owned(name) }
    }

    fn meta(version: &str) -> Value {
        json!({VERSION_KEY: version, CAPABILITIES_KEY: {}})
    }

    fn code(headers: &Headers, request: &Request) -> i32 {
        let fault = of(headers, request).unwrap_err();
        assert_eq!(fault.status, 400);
        fault.code
    }

    #[test]
    fn a_request_without_a_claim_is_one_of_an_older_revision() {
        let list = request("tools/list", &json!({}));
        for version in [None, Some("2025-11-25"), Some("2025-06-18")] {
            assert_eq!(of(&headers(version, None, None), &list), Ok(Era::Handshake), "{version:?}");
        }
        for version in ["2024-11-05", "2027-01-01", "", "nonsense"] {
            assert_eq!(code(&headers(Some(version), None, None), &list), UNSUPPORTED_VERSION, "{version}");
        }
    }

    #[test]
    fn a_request_with_a_claim_repeats_it_in_headers() {
        let call = request("tools/call", &json!({"name": "overview", "_meta": meta(STATELESS)}));
        let good = headers(Some(STATELESS), Some("tools/call"), Some("overview"));
        assert_eq!(of(&good, &call), Ok(Era::Stateless));
        for bad in [
            headers(None, Some("tools/call"), Some("overview")),
            headers(Some("2025-11-25"), Some("tools/call"), Some("overview")),
            headers(Some(STATELESS), None, Some("overview")),
            headers(Some(STATELESS), Some("tools/list"), Some("overview")),
            headers(Some(STATELESS), Some("tools/call"), None),
            headers(Some(STATELESS), Some("tools/call"), Some("other")),
            headers(Some(STATELESS), Some("tools/call"), Some("=?base64?!!?=")),
        ] {
            assert_eq!(code(&bad, &call), HEADER_MISMATCH, "{bad:?}");
        }
    }

    #[test]
    fn a_name_that_is_no_header_text_is_sent_as_base64() {
        let read = request("resources/read", &json!({"uri": "rds://vault/é", "_meta": meta(STATELESS)}));
        // The base64 of the URI contains `+`, `/` or padding in other URIs; here it has padding.
        let name = "=?base64?cmRzOi8vdmF1bHQvw6k=?=";
        assert_eq!(of(&headers(Some(STATELESS), Some("resources/read"), Some(name)), &read), Ok(Era::Stateless));
    }

    #[test]
    fn an_incomplete_claim_is_refused_and_its_missing_member_named() {
        let bare = request("tools/list", &json!({}));
        let stateless = headers(Some(STATELESS), Some("tools/list"), None);
        assert_eq!(code(&stateless, &bare), INVALID_PARAMS);
        let partial = request("tools/list", &json!({"_meta": {VERSION_KEY: STATELESS}}));
        let fault = of(&stateless, &partial).unwrap_err();
        assert_eq!(fault.code, INVALID_PARAMS);
        assert!(fault.message.contains(CAPABILITIES_KEY) && !fault.message.contains(VERSION_KEY), "{}", fault.message);
    }

    #[test]
    fn an_unknown_revision_is_refused_with_the_supported_ones() {
        let list = request("tools/list", &json!({"_meta": meta("2027-01-01")}));
        let fault = of(&headers(Some("2027-01-01"), Some("tools/list"), None), &list).unwrap_err();
        assert_eq!(fault.code, UNSUPPORTED_VERSION);
        let data: Value = serde_json::from_str(&fault.data.unwrap()).unwrap();
        assert_eq!(data, json!({"supported": ["2026-07-28", "2025-11-25", "2025-06-18"], "requested": "2027-01-01"}));
        assert!(check_notification(&headers(Some("2027-01-01"), None, None)).is_err());
        assert_eq!(check_notification(&headers(Some(STATELESS), None, None)), Ok(()));
    }

    #[test]
    fn a_handshake_agrees_on_the_requested_revision_or_the_newest() {
        assert_eq!(agreed("2025-06-18"), "2025-06-18");
        for other in ["2025-11-25", "2026-07-28", "2024-11-05", ""] {
            assert_eq!(agreed(other), "2025-11-25", "{other}");
        }
    }
}
