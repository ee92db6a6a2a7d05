//! A minimal HTTP/1.1 client for loads: one request, one answer with a content length.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Error, Result, bail};

/// Read timeout; longer than any measured answer takes, so a stuck server ends the run.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A keep-alive connection with its unread bytes.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
}

/// A received response.
pub struct Answer {
    pub status: u16,
    /// The head in lower case.
    pub head: String,
    /// The ETag in its original spelling.
    pub etag: Option<String>,
    pub body: Vec<u8>,
}

impl Answer {
    /// The headers; names and values in lower case.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.map(|(name, value)| (name, value.trim()))
    }
}

impl Connection {
    pub fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self { stream, buffer: vec![0; 256 * 1024], filled: 0 })
    }

    /// Sends a complete request.
    pub fn send(&mut self, request: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(request)?)
    }

    /// Makes the connection non-blocking; answers are then read by [`arrived`](Self::arrived).
    pub fn never_block(&mut self) -> Result<&TcpStream> {
        self.stream.set_nonblocking(true)?;
        Ok(&self.stream)
    }

    /// Reads available bytes and returns whether the answer is complete. Fails unless its status is 200.
    pub fn arrived(&mut self) -> Result<bool> {
        match self.read() {
            Ok(0) => return Err(closed().into()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        match head_and_body(self.buffer.get(..self.filled).unwrap_or_default())? {
            Some((head, end)) if self.filled >= end => {
                self.pass_ok(head, end)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Reads one answer and discards it. Fails unless its status is 200.
    pub fn expect_ok(&mut self) -> Result<()> {
        let (head, end) = self.fill()?;
        self.pass_ok(head, end)
    }

    fn pass_ok(&mut self, head: usize, end: usize) -> Result<()> {
        let status = self.buffer.get(..12).unwrap_or_default();
        if status != b"HTTP/1.1 200" {
            bail!("under load: {}", String::from_utf8_lossy(self.buffer.get(..head).unwrap_or_default()));
        }
        self.drop_until(end);
        Ok(())
    }

    /// Reads one answer of any status.
    pub fn receive(&mut self) -> Result<Answer> {
        let (head, end) = self.fill()?;
        let sent = String::from_utf8_lossy(self.buffer.get(..head).unwrap_or_default());
        let mut lines = sent.lines().filter_map(|line| line.split_once(':'));
        let etag = lines.find(|(name, _)| name.eq_ignore_ascii_case("etag")).map(|(_, value)| value.trim().to_owned());
        let text = sent.to_lowercase();
        let status = text.split(' ').nth(1).and_then(|code| code.parse().ok()).context("no status line")?;
        let body = self.buffer.get(head..end).unwrap_or_default().to_vec();
        self.drop_until(end);
        Ok(Answer { status, head: text, etag, body })
    }

    /// Waits for a complete answer in the buffer; returns the lengths of its head, and of head and body.
    fn fill(&mut self) -> Result<(usize, usize)> {
        let mut ends = None;
        loop {
            if ends.is_none() {
                ends = head_and_body(self.buffer.get(..self.filled).unwrap_or_default())?;
            }
            if let Some((head, end)) = ends
                && self.filled >= end
            {
                return Ok((head, end));
            }
            if self.read()? == 0 {
                return Err(closed().into());
            }
        }
    }

    /// One read into the buffer; 0 at the end of the stream.
    fn read(&mut self) -> std::io::Result<usize> {
        if self.filled == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let read = self.stream.read(self.buffer.get_mut(self.filled..).unwrap_or_default())?;
        self.filled += read;
        Ok(read)
    }

    fn drop_until(&mut self, end: usize) {
        self.buffer.copy_within(end..self.filled, 0);
        self.filled -= end;
    }
}

fn closed() -> std::io::Error {
    std::io::Error::new(ErrorKind::UnexpectedEof, "the server closed the connection")
}

/// Whether an exchange failed because the server closed or reset the connection.
pub fn was_cut(error: &Error) -> bool {
    let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    matches!(
        kind,
        Some(
            ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::BrokenPipe
                | ErrorKind::UnexpectedEof
        )
    )
}

/// Sends one request on a new connection.
pub fn ask(address: SocketAddr, request: &[u8]) -> Result<Answer> {
    let mut connection = Connection::open(address)?;
    connection.send(request)?;
    connection.receive()
}

/// A GET without a body; `headers` are complete lines, each ended by CRLF.
pub fn get(target: &str, headers: &str) -> Vec<u8> {
    request("GET", target, headers, b"")
}

/// A request with an optional JSON body.
pub fn request(method: &str, target: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let about = match body.len() {
        0 => String::new(),
        length => format!("content-type: application/json\r\ncontent-length: {length}\r\n"),
    };
    let mut out = format!("{method} {target} HTTP/1.1\r\nhost: bench\r\n{about}{headers}\r\n").into_bytes();
    out.extend_from_slice(body);
    out
}

fn head_and_body(bytes: &[u8]) -> Result<Option<(usize, usize)>> {
    let Some(head) = bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4) else {
        return Ok(None);
    };
    let text = std::str::from_utf8(bytes.get(..head).unwrap_or_default()).context("the answer's head is not UTF-8")?;
    if text.starts_with("HTTP/1.1 204") || text.starts_with("HTTP/1.1 304") {
        return Ok(Some((head, head)));
    }
    let length = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<usize>().ok())
        .with_context(|| format!("an answer without a content length: {text}"))?;
    Ok(Some((head, head + length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_after_its_content_length() {
        let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1";
        assert_eq!(head_and_body(bytes).unwrap(), Some((38, 40)));
        assert_eq!(head_and_body(&bytes[..20]).unwrap(), None);
        assert!(head_and_body(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert_eq!(head_and_body(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap(), Some((27, 27)));
        assert_eq!(head_and_body(b"HTTP/1.1 304 Not Modified\r\n\r\n").unwrap(), Some((29, 29)));
    }
}
