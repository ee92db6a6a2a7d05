//! A minimal event stream parser for subscribers: the answer's head, its chunks, and the payloads.
//!
//! The framing around payloads differs between servers and is ignored. Payloads must equal the published bytes.

use anyhow::{Context, Result, bail, ensure};
use memchr::memmem;

/// Start of every payload.
pub const START: &[u8] = b"{\"n\":";
/// Number of digits of a payload's number.
const DIGITS: usize = 9;
/// Number of the first payload. All numbers have [`DIGITS`] digits, so that all payloads have the same length.
pub const FIRST: u32 = 100_000_000;
/// Maximum length of a head, in bytes.
const MAX_HEAD: usize = 16 * 1024;

/// The payload with the number `n`: an event like the API's, of about 400 bytes.
pub fn payload(n: u32) -> Vec<u8> {
    let mut payload = format!("{{\"n\":{n:0DIGITS$}").into_bytes();
    payload.extend_from_slice(REST);
    payload
}

const REST: &[u8] = b",\"type\":\"AllocationChange\",\"severity\":\"Info\",\"status\":\"published\",\"title\":\"A vault moved a tenth of its \
    assets into another market\",\"summary\":\"The share of the largest market fell from 41 to 31 percent within a day.\",\"chain\":\"devnet\",\
    \"vaultIds\":[\"aave-1-0x00000000000000000000000000000000000000aa\"],\"source\":\"bench\",\"occurredAt\":\"2026-01-01T00:00:00.000Z\"}";

/// An answer being received.
#[derive(Debug, Default)]
pub struct Incoming {
    state: State,
    /// Unprocessed bytes: of the head, or of the body after the last complete payload.
    held: Vec<u8>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Head,
    /// A body that ends with the connection.
    Plain,
    /// A chunked body.
    Chunks(Chunk),
}

#[derive(Debug)]
enum Chunk {
    /// Reading the size; its value so far.
    Size(usize),
    /// Reading the extension after the size.
    Extension(usize),
    /// Reading the data; bytes left.
    Bytes(usize),
    /// Reading the line break after the data.
    End,
}

impl Incoming {
    /// Whether the head was received and its status is 200.
    pub fn is_open(&self) -> bool {
        !matches!(self.state, State::Head)
    }

    /// Processes `bytes` and calls `each` with the number of every completed payload.
    pub fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(u32) -> Result<()>) -> Result<()> {
        match &mut self.state {
            State::Head => {
                self.held.extend_from_slice(bytes);
                let Some(end) = memmem::find(&self.held, b"\r\n\r\n") else {
                    ensure!(self.held.len() <= MAX_HEAD, "the head of the answer is too long");
                    return Ok(());
                };
                let held = std::mem::take(&mut self.held);
                let (head, body) = held.split_at(end + 4);
                self.state = body_of(head)?;
                return self.feed(body, each);
            }
            State::Plain => self.held.extend_from_slice(bytes),
            State::Chunks(chunk) => unchunk(chunk, bytes, &mut self.held)?,
        }
        let mut from = 0;
        while let Some(found) = memmem::find(self.held.get(from..).unwrap_or_default(), START) {
            let digits = from + found + START.len();
            let Some(rest) = self.held.get(digits + DIGITS..digits + DIGITS + REST.len()) else {
                from += found;
                break;
            };
            ensure!(rest == REST, "a payload differs from the published one: {}", String::from_utf8_lossy(rest));
            let number = std::str::from_utf8(self.held.get(digits..digits + DIGITS).unwrap_or_default())?;
            each(number.parse().with_context(|| format!("a payload has the invalid number {number:?}"))?)?;
            from = digits + DIGITS + REST.len();
        }
        // Keep the last bytes, which may be the first part of a payload's start.
        if !self.held.get(from..).unwrap_or_default().starts_with(START) {
            from = from.max(self.held.len().saturating_sub(START.len()));
        }
        self.held.drain(..from);
        Ok(())
    }
}

fn body_of(head: &[u8]) -> Result<State> {
    let head = String::from_utf8_lossy(head).to_lowercase();
    if !head.starts_with("http/1.1 200") {
        bail!("the stream was refused: {head}");
    }
    let is_chunked = head.lines().any(|line| line.starts_with("transfer-encoding:") && line.contains("chunked"));
    Ok(if is_chunked { State::Chunks(Chunk::Size(0)) } else { State::Plain })
}

fn unchunk(chunk: &mut Chunk, mut bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    while let Some((&first, after)) = bytes.split_first() {
        match chunk {
            Chunk::Bytes(left) => {
                let (taken, after) = bytes.split_at((*left).min(bytes.len()));
                out.extend_from_slice(taken);
                bytes = after;
                *left -= taken.len();
                if *left == 0 {
                    *chunk = Chunk::End;
                }
                continue;
            }
            Chunk::Size(size) => match (first as char).to_digit(16) {
                Some(digit) => *size = *size * 16 + digit as usize,
                None if first == b'\n' && *size == 0 => bail!("the server ended the stream"),
                None if first == b'\n' => *chunk = Chunk::Bytes(*size),
                None => *chunk = Chunk::Extension(*size),
            },
            Chunk::Extension(0) if first == b'\n' => bail!("the server ended the stream"),
            Chunk::Extension(size) if first == b'\n' => *chunk = Chunk::Bytes(*size),
            Chunk::Extension(_) => {}
            Chunk::End if first == b'\n' => *chunk = Chunk::Size(0),
            Chunk::End => {}
        }
        bytes = after;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunked(pieces: &[&[u8]]) -> Vec<u8> {
        let mut out = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for piece in pieces {
            out.extend(format!("{:x}\r\n", piece.len()).bytes());
            out.extend_from_slice(piece);
            out.extend_from_slice(b"\r\n");
        }
        out
    }

    #[test]
    fn payloads_are_found_for_any_split_of_the_bytes() {
        let (first, second) = (payload(FIRST), payload(FIRST + 1));
        let text = [b"event: ready\ndata: {}\n\ndata: ", &first[..], b"\n\nid: 2\ndata: [", &second, b"]\n\n"].concat();
        for cut in [1, 7, 100, 4_096] {
            let whole = chunked(&text.chunks(cut).collect::<Vec<_>>());
            for read in [1, 3, 64, 9_999] {
                let (mut incoming, mut seen) = (Incoming::default(), Vec::new());
                for bytes in whole.chunks(read) {
                    incoming
                        .feed(bytes, |n| {
                            seen.push(n);
                            Ok(())
                        })
                        .unwrap();
                }
                assert_eq!(seen, [FIRST, FIRST + 1], "cut by {cut}, read by {read}");
                assert!(incoming.held.len() <= START.len());
            }
        }
    }

    #[test]
    fn a_changed_payload_and_the_end_of_the_stream_are_detected() {
        let mut other = payload(FIRST);
        other[40] ^= 1;
        let mut incoming = Incoming::default();
        assert!(incoming.feed(&chunked(&[&other]), |_| Ok(())).is_err());
        let mut incoming = Incoming::default();
        assert!(incoming.feed(&chunked(&[b"data: {}\n\n", b""]), |_| Ok(())).is_err());
        let mut incoming = Incoming::default();
        assert!(incoming.feed(b"HTTP/1.1 429 Too Many Requests\r\n\r\n", |_| Ok(())).is_err());
    }
}
