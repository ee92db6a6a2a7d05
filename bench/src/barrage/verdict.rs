//! What an answer must be, whatever was asked.

use serde_json::Value;

use super::draw::Drawn;
use super::exchange::Got;

/// Codes of answers with 503 that report an intended state.
const INTENDED: [&str; 3] = ["FAIL_CLOSED", "MATERIALIZATION_UNAVAILABLE", "SHUTTING_DOWN"];

/// The error code of an answer.
pub fn code(got: &Got) -> Option<String> {
    let body: Value = serde_json::from_slice(&got.body).ok()?;
    Some(body.pointer("/error/code")?.as_str()?.to_owned())
}

/// What is wrong with an answer, if anything.
pub fn fault(drawn: &Drawn, got: &Got) -> Option<String> {
    match got.status {
        // The runtime refuses what is not HTTP before our code sees it.
        0 | 400 | 431 | 501 if drawn.is_odd_http => None,
        0 => Some("the connection was closed".to_owned()),
        500.. => {
            let code = code(got);
            let is_intended = code.as_deref().is_some_and(|code| INTENDED.contains(&code));
            (!is_intended).then(|| format!("status {} with {code:?}", got.status))
        }
        400..500 => refused(drawn, got),
        _ => None,
    }
}

/// What is wrong with a refusal: it has a request id and, except for pages, an error with a code and a message.
fn refused(drawn: &Drawn, got: &Got) -> Option<String> {
    if !got.head.contains("\r\nx-request-id: ") {
        return Some(format!("status {} without a request id", got.status));
    }
    let is_json = got.head.contains("\r\ncontent-type: application/json");
    if drawn.method == "HEAD" || !is_json && got.head.contains("\r\ncontent-type: text/html") {
        return None;
    }
    let body: Option<Value> = serde_json::from_slice(&got.body).ok();
    let said = |at: &str| {
        body.as_ref().and_then(|body| body.pointer(at)).and_then(Value::as_str).is_some_and(|text| !text.is_empty())
    };
    // JSON-RPC has errors of its own.
    let is_whole = said("/error/code") && said("/error/message")
        || body.as_ref().is_some_and(|body| body.get("jsonrpc").is_some());
    (!is_whole).then(|| {
        format!(
            "status {} without an error: {}",
            got.status,
            String::from_utf8_lossy(got.body.get(..200).unwrap_or(&got.body))
        )
    })
}
