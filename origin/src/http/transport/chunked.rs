//! Chunks of a body whose length is not known (RFC 9112, section 7.1).

/// Appends `frame` as a chunk (RFC 9112, section 7.1).
pub(in crate::http) fn chunk(frame: &[u8], out: &mut Vec<u8>) {
    // An empty chunk would end the body.
    if !frame.is_empty() {
        out.extend_from_slice(format!("{:x}\r\n", frame.len()).as_bytes());
        out.extend_from_slice(frame);
        out.extend_from_slice(b"\r\n");
    }
}
