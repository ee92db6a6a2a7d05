//! Agreement of operators: a value counts only if several independent operators name it.
//!
//! An *operator* runs one or more providers (JSON-RPC endpoints). Providers of one operator fail and lie together, so an operator counts
//! once. Values are compared field by field, and only if they were read at the same block hash: the state at a hash is the same everywhere.
//! A provider that failed gave no answer; that is neither agreement nor dissent.

use crate::block::BlockHash;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;

/// How many operators must name the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quorum {
    needed: usize,
}

/// A quorum of fewer than two operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooFew;

impl fmt::Display for TooFew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quorum needs at least two operators")
    }
}

impl core::error::Error for TooFew {}

impl Quorum {
    /// A quorum of `needed` operators, at least two.
    pub fn of(needed: usize) -> Result<Self, TooFew> {
        if needed >= 2 { Ok(Self { needed }) } else { Err(TooFew) }
    }

    /// Trusts a single operator, for a test network or one's own node. Its errors and lies are not detected.
    pub const fn trusting_one_operator() -> Self {
        Self { needed: 1 }
    }

    /// Number of operators that must agree.
    pub const fn needed(self) -> usize {
        self.needed
    }
}

/// What one provider answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers<O, V> {
    /// Who runs the provider, such as the registrable domain of its host.
    pub operator: O,
    /// The block at which the provider read.
    pub block: BlockHash,
    /// The value of each field, in an order that all providers share; `None` where the provider gave no answer.
    pub values: Vec<Option<V>>,
}

/// The result for one field. Operators are named in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict<O, V> {
    /// Enough operators named `value`, and no other value was named by as many as the quorum needs.
    Agreed {
        /// The value.
        value: V,
        /// Who named it.
        agreed_by: Vec<O>,
        /// Who named another value, or several values.
        dissenters: Vec<O>,
    },
    /// The operators contradict each other, and no value won.
    Disputed {
        /// Each value and who named it, the most supported value first.
        values: Vec<(V, Vec<O>)>,
        /// Operators whose own providers contradict each other. They support no value.
        inconsistent: Vec<O>,
    },
    /// Nobody contradicts, but too few operators answered.
    Missing {
        /// Who answered.
        answered_by: Vec<O>,
    },
}

/// The verdict on each of `fields` fields at `block`. Answers at other blocks are left out.
pub fn decide<O: Ord + Clone, V: Ord + Clone>(
    quorum: Quorum,
    block: BlockHash,
    fields: usize,
    answers: &[Answers<O, V>],
) -> Vec<Verdict<O, V>> {
    let mut of_block: Vec<_> = answers.iter().filter(|answers| answers.block == block).collect();
    of_block.sort_by(|one, other| one.operator.cmp(&other.operator));
    let verdict = |field| unanimous(quorum, field, &of_block).unwrap_or_else(|| decide_field(quorum, field, &of_block));
    (0..fields).map(verdict).collect()
}

/// The operators whose answers to this question were read at another block than `block`, without duplicates.
pub fn at_other_blocks<O: Ord + Clone, V>(block: BlockHash, answers: &[Answers<O, V>]) -> Vec<O> {
    let others: BTreeSet<&O> =
        answers.iter().filter(|answers| answers.block != block).map(|answers| &answers.operator).collect();
    others.into_iter().cloned().collect()
}

/// The verdict on a field, if enough operators answered and nobody contradicts: the usual case, which needs no counting. `answers` are in
/// ascending order of their operators.
fn unanimous<O: Ord + Clone, V: Ord + Clone>(
    quorum: Quorum,
    field: usize,
    answers: &[&Answers<O, V>],
) -> Option<Verdict<O, V>> {
    let named = || answers.iter().filter_map(|it| Some((&it.operator, it.values.get(field)?.as_ref()?)));
    let (_, value) = named().next()?;
    if named().any(|(_, other)| other != value) {
        return None;
    }
    let mut agreed_by: Vec<O> = Vec::with_capacity(answers.len());
    for (operator, _) in named() {
        if agreed_by.last() != Some(operator) {
            agreed_by.push(operator.clone());
        }
    }
    let is_enough = agreed_by.len() >= quorum.needed;
    is_enough.then(|| Verdict::Agreed { value: value.clone(), agreed_by, dissenters: Vec::new() })
}

fn decide_field<O: Ord + Clone, V: Ord + Clone>(
    quorum: Quorum,
    field: usize,
    answers: &[&Answers<O, V>],
) -> Verdict<O, V> {
    let mut named: BTreeMap<&O, BTreeSet<&V>> = BTreeMap::new();
    for answers in answers {
        if let Some(Some(value)) = answers.values.get(field) {
            named.entry(&answers.operator).or_default().insert(value);
        }
    }
    let mut supporters: BTreeMap<&V, Vec<O>> = BTreeMap::new();
    let mut inconsistent = Vec::new();
    for (operator, values) in &named {
        match values.first() {
            Some(value) if values.len() == 1 => supporters.entry(value).or_default().push((*operator).clone()),
            _ => inconsistent.push((*operator).clone()),
        }
    }
    let mut winners = supporters.iter().filter(|(_, operators)| operators.len() >= quorum.needed);
    if let (Some((value, agreed_by)), None) = (winners.next(), winners.next()) {
        let dissenters =
            named.keys().filter(|operator| !agreed_by.contains(operator)).map(|operator| (*operator).clone());
        return Verdict::Agreed {
            value: (*value).clone(),
            dissenters: dissenters.collect(),
            agreed_by: agreed_by.clone(),
        };
    }
    if supporters.len() <= 1 && inconsistent.is_empty() {
        return Verdict::Missing { answered_by: named.keys().map(|operator| (*operator).clone()).collect() };
    }
    let mut values: Vec<(V, Vec<O>)> =
        supporters.into_iter().map(|(value, operators)| (value.clone(), operators)).collect();
    values.sort_by_key(|(_, operators)| core::cmp::Reverse(operators.len()));
    Verdict::Disputed { values, inconsistent }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const BLOCK: BlockHash = BlockHash([1; 32]);

    fn answer(operator: &str, value: Option<u32>) -> Answers<&str, u32> {
        Answers { operator, block: BLOCK, values: vec![value] }
    }

    fn verdict<'a>(needed: usize, answers: &[Answers<&'a str, u32>]) -> Verdict<&'a str, u32> {
        decide(Quorum::of(needed).unwrap(), BLOCK, 1, answers).remove(0)
    }

    #[test]
    fn two_operators_outvote_a_liar_and_name_it() {
        let answers = [answer("liar", Some(8)), answer("b", Some(7)), answer("a", Some(7))];
        assert_eq!(
            verdict(2, &answers),
            Verdict::Agreed { value: 7, agreed_by: vec!["a", "b"], dissenters: vec!["liar"] }
        );
        assert!(matches!(verdict(3, &answers), Verdict::Disputed { .. }));
    }

    #[test]
    fn an_operator_counts_once_however_many_providers_it_has() {
        let answers = [answer("a", Some(7)), answer("a", Some(7)), answer("a", Some(7))];
        assert_eq!(verdict(2, &answers), Verdict::Missing { answered_by: vec!["a"] });
    }

    #[test]
    fn an_operator_whose_providers_contradict_each_other_supports_no_value() {
        let mut answers = vec![answer("a", Some(7)), answer("a", Some(8)), answer("b", Some(7))];
        assert_eq!(verdict(2, &answers), Verdict::Disputed { values: vec![(7, vec!["b"])], inconsistent: vec!["a"] });
        answers.push(answer("c", Some(7)));
        assert_eq!(
            verdict(2, &answers),
            Verdict::Agreed { value: 7, agreed_by: vec!["b", "c"], dissenters: vec!["a"] }
        );
    }

    #[test]
    fn a_failed_provider_is_neither_agreement_nor_dissent() {
        let answers = [answer("a", Some(7)), answer("b", None), answer("c", None)];
        assert_eq!(verdict(2, &answers), Verdict::Missing { answered_by: vec!["a"] });
        let none: [Answers<&str, u32>; 0] = [];
        assert_eq!(verdict(2, &none), Verdict::Missing { answered_by: vec![] });
    }

    #[test]
    fn two_values_with_a_quorum_each_are_a_dispute() {
        let answers = [answer("a", Some(7)), answer("b", Some(7)), answer("c", Some(8)), answer("d", Some(8))];
        let values = vec![(7, vec!["a", "b"]), (8, vec!["c", "d"])];
        assert_eq!(verdict(2, &answers), Verdict::Disputed { values, inconsistent: vec![] });
    }

    #[test]
    fn answers_at_another_block_are_left_out_and_named() {
        let elsewhere = Answers { block: BlockHash([2; 32]), ..answer("b", Some(7)) };
        let answers = [answer("a", Some(7)), elsewhere.clone(), elsewhere];
        assert_eq!(verdict(2, &answers), Verdict::Missing { answered_by: vec!["a"] });
        assert_eq!(at_other_blocks(BLOCK, &answers), ["b"]);
    }

    #[test]
    fn trust_in_a_single_operator_must_be_asked_for() {
        assert_eq!((Quorum::of(0), Quorum::of(1)), (Err(TooFew), Err(TooFew)));
        let one = decide(Quorum::trusting_one_operator(), BLOCK, 1, &[answer("a", Some(7))]);
        assert_eq!(one, [Verdict::Agreed { value: 7, agreed_by: vec!["a"], dissenters: vec![] }]);
        let two = [answer("a", Some(7)), answer("b", Some(8))];
        assert!(matches!(decide(Quorum::trusting_one_operator(), BLOCK, 1, &two)[..], [Verdict::Disputed { .. }]));
    }

    #[test]
    fn fields_are_decided_one_by_one() {
        let of = |operator, values: [Option<u32>; 3]| Answers { operator, block: BLOCK, values: values.into() };
        let answers = [of("a", [Some(1), Some(2), None]), of("b", [Some(1), Some(3), None])];
        let verdicts = decide(Quorum::of(2).unwrap(), BLOCK, 4, &answers);
        assert!(matches!(
            verdicts[..],
            [Verdict::Agreed { .. }, Verdict::Disputed { .. }, Verdict::Missing { .. }, Verdict::Missing { .. }]
        ));
    }
}
