//! One request and its answer over a connection that is opened again when the server closes it.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::draw::Drawn;

/// Longer than any answer takes, so that a request without an answer ends the run.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A connection to one server.
pub struct Exchange {
    address: SocketAddr,
    stream: Option<TcpStream>,
}

/// An answer; status 0 if the server closed the connection without one.
#[derive(Debug, Default)]
pub struct Got {
    pub status: u16,
    /// The head in lower case.
    pub head: String,
    pub body: Vec<u8>,
}

impl Exchange {
    pub fn new(address: SocketAddr) -> Self {
        Exchange { address, stream: None }
    }

    /// Sends a drawn request.
    pub fn ask(&mut self, drawn: &Drawn) -> Result<Got> {
        self.send(&drawn.bytes(), drawn.method == "HEAD")
    }

    /// Sends complete bytes. The answer to a HEAD request has no body.
    pub fn send(&mut self, request: &[u8], is_head: bool) -> Result<Got> {
        let is_kept = self.stream.is_some();
        let got = self.attempt(request, is_head)?;
        // A kept connection may have been closed before the request came.
        if got.status == 0 && is_kept { self.attempt(request, is_head) } else { Ok(got) }
    }

    fn attempt(&mut self, request: &[u8], is_head: bool) -> Result<Got> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(self.address)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(TIMEOUT))?;
                stream
            }
        };
        // A server that refuses a head answers and closes while the body is still being sent.
        let _ = stream.write_all(request);
        let mut buffer = Vec::new();
        let Some(got) = receive(&mut stream, &mut buffer, is_head)? else { return Ok(Got::default()) };
        if !got.head.contains("connection: close") && got.status != 400 {
            self.stream = Some(stream);
        }
        Ok(got)
    }
}

/// Reads one answer; `None` if the connection ends before its head.
fn receive(stream: &mut TcpStream, buffer: &mut Vec<u8>, is_head: bool) -> Result<Option<Got>> {
    let head = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if !more(stream, buffer)? {
            return Ok(None);
        }
    };
    let text = String::from_utf8_lossy(buffer.get(..head).unwrap_or_default()).to_lowercase();
    let status: u16 =
        text.split(' ').nth(1).and_then(|code| code.parse().ok()).with_context(|| format!("no status: {text}"))?;
    let field = |name: &str| {
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(field, _)| *field == name)
            .map(|(_, value)| value.trim().to_owned())
    };
    let body = if is_head || status == 204 || status == 304 {
        Vec::new()
    } else if let Some(length) = field("content-length") {
        let end = head + length.parse::<usize>().context("a content length")?;
        while buffer.len() < end {
            if !more(stream, buffer)? {
                bail!("an answer that ends within its body: {text}");
            }
        }
        buffer.get(head..end).unwrap_or_default().to_vec()
    } else {
        chunks(stream, buffer, head)?
    };
    Ok(Some(Got { status, head: text, body }))
}

/// The body of an answer in chunks.
fn chunks(stream: &mut TcpStream, buffer: &mut Vec<u8>, mut at: usize) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = loop {
            if let Some(end) = buffer.get(at..).unwrap_or_default().windows(2).position(|window| window == b"\r\n") {
                break at + end;
            }
            if !more(stream, buffer)? {
                bail!("an answer that ends within its chunks");
            }
        };
        let size = usize::from_str_radix(std::str::from_utf8(buffer.get(at..line).unwrap_or_default())?.trim(), 16)
            .context("the size of a chunk")?;
        while buffer.len() < line + 2 + size + 2 {
            if !more(stream, buffer)? {
                bail!("an answer that ends within a chunk");
            }
        }
        body.extend_from_slice(buffer.get(line + 2..line + 2 + size).unwrap_or_default());
        at = line + 2 + size + 2;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// Reads more; false at the end of the stream.
fn more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<bool> {
    let mut piece = [0; 16 * 1024];
    match stream.read(&mut piece) {
        Ok(0) => Ok(false),
        Ok(length) => {
            buffer.extend_from_slice(piece.get(..length).unwrap_or_default());
            Ok(true)
        }
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe
            ) =>
        {
            Ok(false)
        }
        Err(error) => Err(error).context("no answer in time"),
    }
}
