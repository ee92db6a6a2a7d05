//! Parts of shared bytes: several values that lie in one piece of memory hold it together, without copies.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, Range};

/// A range of shared bytes. Clones share the bytes; two parts are equal if their bytes are.
#[derive(Clone)]
pub struct SharedBytes {
    bytes: Arc<[u8]>,
    start: usize,
    end: usize,
}

impl SharedBytes {
    /// The bytes in `range`. `None` if the range does not lie within `bytes`.
    pub fn part(bytes: &Arc<[u8]>, range: Range<usize>) -> Option<Self> {
        bytes.get(range.clone())?;
        Some(SharedBytes { bytes: Arc::clone(bytes), start: range.start, end: range.end })
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }
}

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<&[u8]> for SharedBytes {
    fn from(bytes: &[u8]) -> Self {
        SharedBytes { bytes: bytes.into(), start: 0, end: bytes.len() }
    }
}

impl From<Vec<u8>> for SharedBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(bytes.as_slice())
    }
}

impl PartialEq for SharedBytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for SharedBytes {}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedBytes").field(&&**self).finish()
    }
}
