//! The stamp: which state is current at the origin, and what it includes.

use super::state::StateId;
use crate::model::ids::ChainId;
use crate::route::TagVersions;
use crate::wire::record::{self, Reader};
use crate::wire::time::Timestamp;
use alloc::vec::Vec;

/// A state, and the facts that it includes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    pub state: StateId,
    /// The data version.
    pub version: i64,
    /// The tag versions whose changes the rows include.
    pub tags: TagVersions,
    /// The withheld chains, of which the rows contain nothing; in ascending order.
    pub withheld: Vec<ChainId>,
    /// When the origin said so.
    pub made_at: Timestamp,
}

impl Stamp {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(self.state.bytes());
        record::put_u64(self.version.cast_unsigned(), &mut out);
        record::put_bytes(self.tags.to_text().as_bytes(), &mut out);
        record::put_u64(self.withheld.len() as u64, &mut out);
        self.withheld.iter().for_each(|chain| record::put_u64(chain.0, &mut out));
        record::put_u64(self.made_at.as_micros().cast_unsigned(), &mut out);
        out
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (state, rest) = bytes.split_first_chunk::<32>()?;
        let reader = &mut Reader::new(rest);
        let (version, tags, count) = (reader.i64()?, TagVersions::parse(reader.text()?), reader.u64()?);
        let withheld = (0..count).map(|_| reader.u64().map(ChainId)).collect::<Option<_>>()?;
        let made_at = Timestamp::from_micros(reader.i64()?);
        let state = StateId::from_bytes(*state);
        reader.is_at_end().then_some(Stamp { state, version, tags, withheld, made_at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_stamp_is_read_back_and_only_whole() {
        let stamp = Stamp {
            state: StateId::from_bytes([7; 32]),
            version: 12,
            tags: TagVersions::parse("vaults=12;fail_safe=3"),
            withheld: vec![ChainId(1), ChainId(8453)],
            made_at: Timestamp::from_millis(1_795_219_200_123),
        };
        let bytes = stamp.encode();
        assert_eq!(Stamp::decode(&bytes), Some(stamp));
        assert!((0..bytes.len()).all(|end| Stamp::decode(&bytes[..end]).is_none()));
    }
}
