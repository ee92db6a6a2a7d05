//! V8's heap usage of an isolate, read through workerd's inspector with one request over a WebSocket (RFC 6455).

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

const TIMEOUT: Duration = Duration::from_secs(20);
const REQUEST: &[u8] = br#"{"id":1,"method":"Runtime.getHeapUsage"}"#;
/// First byte of a final text frame.
const TEXT: u8 = 0x81;
const MASKED: u8 = 0x80;
/// Maximum length of the handshake's head, in bytes.
const MAX_HEAD: usize = 64 * 1024;

/// An isolate's heap, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Heap {
    /// Objects, including garbage that is not yet collected.
    pub used: u64,
    /// Heap pages that V8 has allocated.
    pub total: u64,
    /// Array buffers and other memory outside the heap pages.
    pub buffers: u64,
}

/// Heap of the isolate that runs the workerd service `service`.
pub fn heap(inspector: SocketAddr, service: &str) -> Result<Heap> {
    let mut stream = TcpStream::connect(inspector).context("no inspector")?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let key = "cmlzayBkYXRhIHNlcnZpY2U=";
    write!(
        stream,
        "GET /{service} HTTP/1.1\r\nhost: {inspector}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n\r\n"
    )?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        ensure!(head.len() < MAX_HEAD, "the head of the inspector's answer is too long");
        head.push(byte(&mut stream)?);
    }
    ensure!(head.starts_with(b"HTTP/1.1 101"), "no WebSocket: {}", String::from_utf8_lossy(&head));
    // A client must mask its frames; a mask of zeros leaves the payload unchanged.
    let mut frame = vec![TEXT, MASKED | u8::try_from(REQUEST.len())?, 0, 0, 0, 0];
    frame.extend_from_slice(REQUEST);
    stream.write_all(&frame)?;
    loop {
        let message = receive(&mut stream)?;
        let said: Value = serde_json::from_slice(&message).unwrap_or_default();
        if said.get("id").and_then(Value::as_u64) != Some(1) {
            continue;
        }
        let bytes = |name: &str| {
            let found = said.get("result").and_then(|result| result.get(name)).and_then(Value::as_f64);
            found.map(|bytes| bytes as u64).with_context(|| format!("the inspector's answer has no {name}: {said}"))
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
        127 => bail!("the inspector's answer is too long"),
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
    fn frames_with_short_and_extended_length_are_read() {
        let short = [&[0x81, 2][..], b"hi"].concat();
        let long = [&[0x81, 126, 1, 0][..], &[b'x'; 256]].concat();
        assert_eq!(receive(&mut short.as_slice()).unwrap(), b"hi");
        assert_eq!(receive(&mut long.as_slice()).unwrap().len(), 256);
        assert!(receive(&mut &long[..100]).is_err());
    }
}
