//! A frame of a stream, encoded once with the framing of its transfer.

use axum::body::Bytes;

/// A frame as one chunk of an HTTP/1.1 body (RFC 9112, section 7.1). Clones share the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    chunk: Bytes,
    /// Length of the chunk's first line, with its line break.
    head: usize,
}

/// The chunk that ends a body.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
/// The end of a chunk.
const END: &[u8] = b"\r\n";

impl Frame {
    /// A frame of these bytes, which must not be empty, because an empty chunk ends the body.
    pub fn new(bytes: &[u8]) -> Self {
        let head = format!("{:x}\r\n", bytes.len());
        Frame { chunk: [head.as_bytes(), bytes, END].concat().into(), head: head.len() }
    }

    /// The frame as a chunk.
    pub fn chunk(&self) -> &Bytes {
        &self.chunk
    }

    /// The frame alone.
    pub fn bytes(&self) -> Bytes {
        self.chunk.slice(self.head..self.chunk.len() - END.len())
    }

    /// Length of the chunk.
    pub fn size(&self) -> usize {
        self.chunk.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_a_chunk_that_shares_its_bytes() {
        let frame = Frame::new(&[b'x'; 18]);
        assert_eq!(frame.chunk().as_ref(), b"12\r\nxxxxxxxxxxxxxxxxxx\r\n");
        assert_eq!(frame.bytes().as_ref(), [b'x'; 18]);
        assert_eq!(frame.clone().bytes().as_ptr(), frame.chunk()[4..].as_ptr());
    }
}
