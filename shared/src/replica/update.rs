//! Updates: what a holder is answered that asks for the current state.

use crate::wire::record::{self, Reader};
use alloc::vec::Vec;

/// The answer to a holder that said which state it has. Every member is a sealed document ([`super::seal`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// The sealed [`super::Stamp`] of the current state.
    pub stamp: Vec<u8>,
    pub step: Step,
}

/// What leads from the holder's state to the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The holder has the current state.
    Current,
    /// Sealed [`super::Delta`]s: the first begins at the holder's state, each next one where the one before ends.
    Deltas(Vec<Vec<u8>>),
    /// A sealed [`super::Manifest`], and sealed deltas from its state on.
    Whole { manifest: Vec<u8>, deltas: Vec<Vec<u8>> },
}

impl Update {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        record::put_bytes(&self.stamp, &mut out);
        let deltas = match &self.step {
            Step::Current => {
                out.push(0);
                return out;
            }
            Step::Deltas(deltas) => {
                out.push(1);
                deltas
            }
            Step::Whole { manifest, deltas } => {
                out.push(2);
                record::put_bytes(manifest, &mut out);
                deltas
            }
        };
        record::put_u64(deltas.len() as u64, &mut out);
        deltas.iter().for_each(|delta| record::put_bytes(delta, &mut out));
        out
    }

    /// Reads what [`encode`](Self::encode) wrote. The documents in it are not opened.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let reader = &mut Reader::new(bytes);
        let (stamp, kind) = (reader.bytes()?.to_vec(), reader.byte()?);
        let deltas = |reader: &mut Reader<'_>| {
            let count = reader.u64()?;
            (0..count).map(|_| reader.bytes().map(<[u8]>::to_vec)).collect::<Option<Vec<_>>>()
        };
        let step = match kind {
            0 => Step::Current,
            1 => Step::Deltas(deltas(reader)?),
            2 => Step::Whole { manifest: reader.bytes()?.to_vec(), deltas: deltas(reader)? },
            _ => return None,
        };
        reader.is_at_end().then_some(Update { stamp, step })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn updates_are_read_back_and_only_whole() {
        let deltas = vec![b"one".to_vec(), Vec::new()];
        for step in [Step::Current, Step::Deltas(deltas.clone()), Step::Whole { manifest: b"m".to_vec(), deltas }] {
            let update = Update { stamp: b"stamp".to_vec(), step };
            let bytes = update.encode();
            assert_eq!(Update::decode(&bytes), Some(update));
            assert!((0..bytes.len()).all(|end| Update::decode(&bytes[..end]).is_none()));
        }
    }
}
