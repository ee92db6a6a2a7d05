//! Quorums and failures under arbitrary input.

use proptest::prelude::*;
use rds_chain::BlockHash;
use rds_chain::failure::{self, Failure, Response};
use rds_chain::quorum::{Answers, Quorum, Verdict, decide};
use std::collections::BTreeSet;

const BLOCK: BlockHash = BlockHash([1; 32]);

fn answers() -> impl Strategy<Value = Vec<Answers<u8, u8>>> {
    let one = (0..5_u8, any::<prop::sample::Index>(), proptest::option::weighted(0.8, 0..3_u8));
    let answer = one.prop_map(|(operator, block, value)| {
        let block = if block.index(5) == 0 { BlockHash([2; 32]) } else { BLOCK };
        Answers { operator, block, values: vec![value] }
    });
    proptest::collection::vec(answer, 0..9)
}

proptest! {
    /// An agreed value was named by enough operators that named nothing else, and no other value was.
    #[test]
    fn an_agreed_value_has_a_quorum_of_operators(answers in answers(), needed in 2..4_usize) {
        let named_by = |operator: u8| -> BTreeSet<u8> {
            answers.iter().filter(|it| it.operator == operator && it.block == BLOCK).filter_map(|it| it.values[0]).collect()
        };
        let supporters = |value: u8| -> Vec<u8> { (0..5).filter(|operator| named_by(*operator) == BTreeSet::from([value])).collect() };
        let winners: Vec<u8> = (0..3).filter(|value| supporters(*value).len() >= needed).collect();
        let verdict = decide(Quorum::of(needed).unwrap(), BLOCK, 1, &answers).remove(0);
        match verdict {
            Verdict::Agreed { value, agreed_by, dissenters } => {
                prop_assert_eq!(&winners, &[value]);
                prop_assert_eq!(&agreed_by, &supporters(value));
                let others: Vec<u8> = (0..5).filter(|it| !named_by(*it).is_empty() && !agreed_by.contains(it)).collect();
                prop_assert_eq!(dissenters, others);
            }
            Verdict::Disputed { .. } => prop_assert!(winners.len() != 1),
            Verdict::Missing { answered_by } => {
                prop_assert!(winners.is_empty() && answered_by.len() < needed);
                let values: BTreeSet<u8> = (0..5).flat_map(named_by).collect();
                prop_assert!(values.len() <= 1);
            }
        }
    }

    #[test]
    fn the_order_of_the_answers_does_not_matter(answers in answers(), needed in 2..4_usize) {
        let mut reversed = answers.clone();
        reversed.reverse();
        let quorum = Quorum::of(needed).unwrap();
        prop_assert_eq!(decide(quorum, BLOCK, 1, &answers), decide(quorum, BLOCK, 1, &reversed));
    }

    /// Failed providers change no verdict.
    #[test]
    fn transport_failures_change_nothing(answers in answers(), failed in proptest::collection::vec(0..5_u8, 0..5)) {
        let mut more = answers.clone();
        more.extend(failed.into_iter().map(|operator| Answers { operator, block: BLOCK, values: vec![None] }));
        let quorum = Quorum::of(2).unwrap();
        prop_assert_eq!(decide(quorum, BLOCK, 1, &answers), decide(quorum, BLOCK, 1, &more));
    }

    #[test]
    fn a_throttled_request_is_never_a_revert(message in "\\PC{0,60}", code: i64, status in 100..600_u16, body: Vec<u8>) {
        let is_revert = |status, body: &[u8]| {
            failure::read(Response { status, retry_after: None, body }, 1).is_err_and(|failure| failure.is_of_the_contract())
        };
        let json = |code: i64, message: &str| serde_json::json!({"id": 1, "error": {"code": code, "message": message}}).to_string();
        let reverted = format!("execution reverted: {message}");
        prop_assert!(!is_revert(status, &body));
        prop_assert!(!is_revert(429, json(3, &reverted).as_bytes()));
        prop_assert!(!is_revert(200, json(-32_005, &reverted).as_bytes()));
        if status != 200 {
            prop_assert!(!is_revert(status, json(code, &reverted).as_bytes()));
        }
        prop_assert!(is_revert(200, json(3, &reverted).as_bytes()));
    }

    /// A response whose end is missing has neither a result nor a revert.
    #[test]
    fn a_cut_response_is_a_transport_failure(cut in 1..60_usize) {
        let whole = r#"{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted","data":"0xab"}}"#;
        let body = &whole.as_bytes()[..whole.len() - cut];
        prop_assert_eq!(failure::read(Response { status: 200, retry_after: None, body }, 1).err(), Some(Failure::Transport));
    }
}
