//! The block to read at: one that enough operators name.

use crate::block::BlockId;
use crate::quorum::Quorum;
use alloc::collections::{BTreeMap, BTreeSet};

/// One operator's statement that a block belongs to the chain, such as its answer for the tag `finalized`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim<O> {
    /// Who says so. An operator may name several blocks.
    pub operator: O,
    /// The block.
    pub block: BlockId,
}

/// The highest block that the quorum's number of operators name with the same hash.
///
/// Operators that lag behind name lower blocks and are left out. If two blocks of the highest number have a quorum each, there is no
/// target: the operators see different forks.
pub fn target<O: Ord>(quorum: Quorum, claims: &[Claim<O>]) -> Option<BlockId> {
    let mut named_by: BTreeMap<BlockId, BTreeSet<&O>> = BTreeMap::new();
    for claim in claims {
        named_by.entry(claim.block).or_default().insert(&claim.operator);
    }
    let mut agreed = named_by.iter().rev().filter(|(_, operators)| operators.len() >= quorum.needed());
    let (highest, _) = agreed.next()?;
    let is_unique = agreed.next().is_none_or(|(next, _)| next.number < highest.number);
    is_unique.then_some(*highest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::BlockHash;

    fn claim(operator: &str, number: u64, fork: u8) -> Claim<&str> {
        Claim { operator, block: BlockId { number, hash: BlockHash([fork; 32]) } }
    }

    fn number(needed: usize, claims: &[Claim<&str>]) -> Option<u64> {
        target(Quorum::of(needed).unwrap(), claims).map(|block| block.number)
    }

    #[test]
    fn a_lagging_operator_is_left_out_if_the_others_suffice() {
        let claims = [claim("a", 100, 1), claim("b", 100, 1), claim("c", 90, 1)];
        assert_eq!(number(2, &claims), Some(100));
        assert_eq!(number(3, &claims), None);
        assert_eq!(number(2, &[claim("a", 100, 1), claim("a", 99, 1), claim("b", 99, 1)]), Some(99));
    }

    #[test]
    fn one_operator_with_two_providers_is_no_quorum() {
        assert_eq!(number(2, &[claim("a", 100, 1), claim("a", 100, 1)]), None);
    }

    #[test]
    fn operators_on_different_forks_give_no_target() {
        let forks = [claim("a", 100, 1), claim("b", 100, 1), claim("c", 100, 2), claim("d", 100, 2)];
        assert_eq!(number(2, &forks), None);
        assert_eq!(number(2, &[claim("a", 100, 1), claim("b", 100, 2)]), None);
        assert_eq!(number(2, &[]), None);
    }
}
