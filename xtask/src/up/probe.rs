//! A minimal HTTP request over loopback, to check whether a service is ready.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::ports::local;

const TIMEOUT: Duration = Duration::from_secs(5);

/// The status of `GET path`, or `None` when nothing answers.
pub fn status(port: u16, path: &str) -> Option<u16> {
    let mut stream = TcpStream::connect_timeout(&local(port).into(), TIMEOUT).ok()?;
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    stream.take(64).read_to_end(&mut answer).ok()?;
    parse(&answer)
}

/// Whether `GET path` answers 200.
pub fn is_ok(port: u16, path: &str) -> bool {
    status(port, path) == Some(200)
}

fn parse(answer: &[u8]) -> Option<u16> {
    let text = String::from_utf8_lossy(answer);
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_status_is_read_from_the_first_line() {
        assert_eq!(parse(b"HTTP/1.1 503 Service Unavailable\r\nx: y\r\n"), Some(503));
        assert_eq!(parse(b""), None);
    }
}
