//! What V8 says of an isolate's heap, asked over workerd's inspector: one question over a WebSocket (RFC 6455).

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(20);
const QUESTION: &[u8] = br#"{"id":1,"method":"Runtime.getHeapUsage"}"#;
/// A final frame with text.
const TEXT: u8 = 0x81;
const MASKED: u8 = 0x80;
/// Longer than the answer is.
const LONGEST: usize = 64 * 1024;

/// An isolate's heap, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Heap {
    /// Objects, living and not yet collected.
    pub used: u64,
    /// Pages that V8 holds for them.
    pub total: u64,
    /// Array buffers, and what else lies outside of those pages.
    pub buffers: u64,
}

/// Asks about the isolate of the service with this name.
pub fn heap(inspector: SocketAddr, service: &str) -> Result<Heap> {
    let mut stream = TcpStream::connect(inspector).context("no inspector")?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let key = "cmlzayBkYXRhIHNlcnZpY2U=";
    write!(
        stream,
        "GET /{service} HTTP/1.1\r\nhost: {inspector}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n\r\n"
    )?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        ensure!(head.len() < LONGEST, "the inspector's head does not end");
        head.push(byte(&mut stream)?);
    }
    ensure!(head.starts_with(b"HTTP/1.1 101"), "the inspector: {}", String::from_utf8_lossy(&head));
    // A client masks what it sends; a mask of zeros leaves it as it is.
    let mut frame = vec![TEXT, MASKED | u8::try_from(QUESTION.len())?, 0, 0, 0, 0];
    frame.extend_from_slice(QUESTION);
    stream.write_all(&frame)?;
    loop {
        let message = receive(&mut stream)?;
        let said: Value = serde_json::from_slice(&message).unwrap_or_default();
        if said.get("id").and_then(Value::as_u64) != Some(1) {
            continue;
        }
        let bytes = |name: &str| {
            let found = said.get("result").and_then(|result| result.get(name)).and_then(Value::as_f64);
            found.map(|bytes| bytes as u64).with_context(|| format!("the inspector gave no {name}: {said}"))
        };
        return Ok(Heap {
            used: bytes("usedSize")?,
            total: bytes("totalSize")?,
            buffers: bytes("backingStorageSize")?,
        });
    }
}

/// The payload of the next frame.
fn receive(stream: &mut impl Read) -> Result<Vec<u8>> {
    let _kind = byte(stream)?;
    let length = match byte(stream)? {
        126 => usize::from(u16::from_be_bytes([byte(stream)?, byte(stream)?])),
        127 => bail!("the inspector says more than was asked"),
        short => usize::from(short),
    };
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload)?;
    Ok(payload)
}

fn byte(stream: &mut impl Read) -> Result<u8> {
    let mut byte = [0];
    stream.read_exact(&mut byte)?;
    Ok(u8::from_be_bytes(byte))
}

#[cfg(test)]
mod tests {
    use super::receive;

    #[test]
    fn a_frame_is_read_by_either_length() {
        let short = [&[0x81, 2][..], b"hi"].concat();
        let long = [&[0x81, 126, 1, 0][..], &[b'x'; 256]].concat();
        assert_eq!(receive(&mut short.as_slice()).unwrap(), b"hi");
        assert_eq!(receive(&mut long.as_slice()).unwrap().len(), 256);
        assert!(receive(&mut &long[..100]).is_err());
    }
}
