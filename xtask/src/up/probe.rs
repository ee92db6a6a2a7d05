//! Minimal HTTP requests over loopback, to check whether a service is ready, and to ask the local node.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::ports::local;

const TIMEOUT: Duration = Duration::from_secs(5);

/// Most bytes of an answer of the local node.
const MAX_ANSWER: u64 = 1024 * 1024;

fn connect(port: u16) -> Option<TcpStream> {
    let stream = TcpStream::connect_timeout(&local(port).into(), TIMEOUT).ok()?;
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    Some(stream)
}

/// The status of `GET path`, or `None` when nothing answers.
pub fn status(port: u16, path: &str) -> Option<u16> {
    let mut stream = connect(port)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    stream.take(64).read_to_end(&mut answer).ok()?;
    parse(&answer)
}

/// Whether `GET path` answers 200.
pub fn is_ok(port: u16, path: &str) -> bool {
    status(port, path) == Some(200)
}

/// The result of a JSON-RPC call, or `None` when nothing answers, or with an error.
pub fn rpc(port: u16, method: &str, params: &Value) -> Option<Value> {
    let mut stream = connect(port)?;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    write!(
        stream,
        "POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
    .ok()?;
    let mut answer = String::new();
    stream.take(MAX_ANSWER).read_to_string(&mut answer).ok()?;
    result(&answer)
}

/// The result in an answer that is not sent in chunks.
fn result(answer: &str) -> Option<Value> {
    let (_, body) = answer.split_once("\r\n\r\n")?;
    serde_json::from_str::<Value>(body).ok()?.get("result").cloned()
}

fn parse(answer: &[u8]) -> Option<u16> {
    let text = String::from_utf8_lossy(answer);
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{parse, result};
    use serde_json::json;

    #[test]
    fn the_status_is_read_from_the_first_line() {
        assert_eq!(parse(b"HTTP/1.1 503 Service Unavailable\r\nx: y\r\n"), Some(503));
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn a_result_may_be_null_and_an_error_is_none() {
        assert_eq!(result("HTTP/1.1 200 OK\r\n\r\n{\"result\":\"0x1\"}"), Some(json!("0x1")));
        assert_eq!(result("HTTP/1.1 200 OK\r\n\r\n{\"result\":null}"), Some(json!(null)));
        assert_eq!(result("HTTP/1.1 200 OK\r\n\r\n{\"error\":{}}"), None);
        assert_eq!(result("HTTP/1.1 200 OK\r\n"), None);
    }
}
