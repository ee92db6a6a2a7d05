//! What the answers about one protocol or vault say about one input at one instant.

use super::{Dated, PartState, ProtocolAnswer, ProtocolInput, ProtocolValue};
use crate::scoring::tables::rubric::protocol_question;
use crate::wire::time::{Day, Timestamp};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// One question about a protocol or a vault, with the value that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolPart {
    pub input: ProtocolInput,
    /// Whether an answer counts as evidence, and if not, why.
    pub state: PartState,
    /// The value that counts: of several lists of dependencies all of them together, and of audits, which all count, the newest. `None` for
    /// an unknown input. An aged or withdrawn value stays if it counts less than an unknown input.
    pub value: Option<Dated<ProtocolValue>>,
    /// The other values of the newest day, strongest first; empty unless the state is `contradicted`.
    pub also_given: Vec<ProtocolValue>,
    /// All protocols in the aged and withdrawn lists of dependencies, if no list counts. Whether such a list is worse than unknown
    /// dependencies depends on the tiers of the protocols.
    pub lapsed_dependencies: Option<Dated<Vec<String>>>,
}

impl ProtocolPart {
    /// What the answers about one subject say about `input` at `now`. An answer dated after `now` does not count.
    pub fn new(input: ProtocolInput, answers: &[ProtocolAnswer], now: Timestamp) -> Self {
        let given = answers.iter().filter(|it| it.value.input() == input && it.observed_at <= now);
        let (withdrawn, valid): (Vec<_>, Vec<_>) = given.partition(|it| it.is_withdrawn(now));
        match input {
            ProtocolInput::Audit => audit(&withdrawn, &valid),
            _ => settle(input, &withdrawn, &valid, now),
        }
    }

    /// Whether the value that counts at `now` follows from this answer about the same subject.
    pub fn rests_on(&self, answer: &ProtocolAnswer, now: Timestamp) -> bool {
        if answer.value.input() != self.input || answer.observed_at > now {
            return false;
        }
        let is_valid = !answer.is_withdrawn(now);
        match (self.input, &self.value) {
            // Whether lapsed lists apply depends on the tiers of the protocols, so none of them counts here.
            (_, None) => false,
            (ProtocolInput::Audit, Some(_)) => is_valid,
            (ProtocolInput::Dependencies, Some(counts)) => {
                is_valid && Day::of(answer.observed_at) == Day::of(counts.observed_at)
            }
            // A withdrawn answer decides only where no other does.
            (_, Some(counts)) => *counts == answer.dated(answer.value.clone()) && (is_valid || !self.state.is_known()),
        }
    }

    fn without_evidence(input: ProtocolInput, state: PartState, value: Option<Dated<ProtocolValue>>) -> Self {
        ProtocolPart { input, state, value, also_given: Vec::new(), lapsed_dependencies: None }
    }
}

/// Every report counts and none ages, so that different reports do not contradict each other.
fn audit(withdrawn: &[&ProtocolAnswer], valid: &[&ProtocolAnswer]) -> ProtocolPart {
    let state = match (valid, withdrawn) {
        ([], []) => PartState::Unknown,
        ([], _) => PartState::Withdrawn,
        _ => PartState::Answered,
    };
    let newest = valid.iter().max_by_key(|it| it.value.strength()).map(|it| it.dated(it.value.clone()));
    ProtocolPart::without_evidence(ProtocolInput::Audit, state, newest)
}

/// The rule of assets, see [`super::answer`]: the newest day counts, and of several answers of that day the weakest.
fn settle(
    input: ProtocolInput,
    withdrawn: &[&ProtocolAnswer],
    valid: &[&ProtocolAnswer],
    now: Timestamp,
) -> ProtocolPart {
    let day = |it: &ProtocolAnswer| Day::of(it.observed_at);
    let newest_day = valid.iter().map(|it| day(it)).max();
    let standing: Vec<&ProtocolAnswer> = valid.iter().copied().filter(|it| Some(day(it)) == newest_day).collect();
    let is_fresh = |at: Timestamp| now.seconds_since(at) <= protocol_question(input).counts_for_seconds();
    if standing.iter().map(|it| it.observed_at).max().is_some_and(is_fresh) {
        return counting(input, &standing);
    }
    let withdrawn: Vec<&ProtocolAnswer> = withdrawn.iter().copied().filter(|it| Some(day(it)) >= newest_day).collect();
    let state = match withdrawn.iter().map(|it| day(it)).max() {
        newest if newest > newest_day => PartState::Withdrawn,
        _ if newest_day.is_some() => PartState::Aged,
        _ => PartState::Unknown,
    };
    let lapsed: Vec<&ProtocolAnswer> = standing.into_iter().chain(withdrawn).collect();
    let left = weakest(lapsed.iter().copied()).filter(|it| it.value.is_below_unknown());
    let part = ProtocolPart::without_evidence(input, state, left.map(|it| it.dated(it.value.clone())));
    ProtocolPart { lapsed_dependencies: listed(&lapsed), ..part }
}

/// The answers of the newest day, which count as evidence.
fn counting(input: ProtocolInput, standing: &[&ProtocolAnswer]) -> ProtocolPart {
    let value = weakest(standing.iter().copied()).map(|it| it.dated(together(&it.value, standing)));
    let mut given: Vec<ProtocolValue> = Vec::new();
    for it in standing {
        let stated = together(&it.value, &[it]);
        if !given.contains(&stated) {
            given.push(stated);
        }
    }
    let state = if given.len() > 1 { PartState::Contradicted } else { PartState::Answered };
    given.retain(|other| value.as_ref().is_none_or(|counts| counts.value != *other));
    given.sort_by_key(|it| Reverse(rank(it)));
    ProtocolPart { input, state, value, also_given: given, lapsed_dependencies: None }
}

/// Lists of dependencies as one list. Any other value stays as it is.
fn together(value: &ProtocolValue, given: &[&ProtocolAnswer]) -> ProtocolValue {
    listed(given).map_or_else(|| value.clone(), |list| ProtocolValue::Dependencies(list.value))
}

/// Lists of dependencies as one sorted list, with the date of the newest: which of two lists is the weaker one depends on the tiers of the
/// protocols, but all of them together are never stronger than one list. `None` for answers to another question.
fn listed(given: &[&ProtocolAnswer]) -> Option<Dated<Vec<String>>> {
    let lists = given.iter().filter_map(|it| match &it.value {
        ProtocolValue::Dependencies(names) => Some((names, it.observed_at)),
        _ => None,
    });
    let newest = lists.clone().map(|(_, at)| at).max()?;
    let names: BTreeSet<&String> = lists.flat_map(|(names, _)| names).collect();
    Some(Dated { value: names.into_iter().cloned().collect(), observed_at: newest })
}

/// The answer with the weakest value. Of equally weak values the first in the order of their text counts, and of equal values the latest, so
/// the order of the answers does not matter.
fn weakest<'a>(answers: impl Iterator<Item = &'a ProtocolAnswer>) -> Option<&'a ProtocolAnswer> {
    answers.min_by_key(|it| (rank(&it.value), Reverse(it.observed_at)))
}

fn rank(value: &ProtocolValue) -> (i128, String) {
    (value.strength(), format!("{value:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoring::rubric::Audit;
    use crate::scoring::vault::Timelock;
    use alloc::vec;

    const NOW: Timestamp = Timestamp::from_seconds(1_795_500_000);

    fn answer(value: ProtocolValue, days_ago: i64) -> ProtocolAnswer {
        ProtocolAnswer { value, observed_at: NOW.plus_seconds(-days_ago * 86_400), withdrawn_at: None }
    }

    fn lock(seconds: u64, days_ago: i64) -> ProtocolAnswer {
        answer(ProtocolValue::Timelock(Timelock::Seconds(seconds)), days_ago)
    }

    fn withdrawn(answer: ProtocolAnswer) -> ProtocolAnswer {
        ProtocolAnswer { withdrawn_at: Some(NOW), ..answer }
    }

    fn state(input: ProtocolInput, answers: &[ProtocolAnswer]) -> PartState {
        ProtocolPart::new(input, answers, NOW).state
    }

    #[test]
    fn a_question_is_withdrawn_after_a_withdrawal_and_aged_only_after_its_cadences() {
        let timelock = |answers: &[ProtocolAnswer]| state(ProtocolInput::Timelock, answers);
        // Four semi-annual cadences are two years.
        let (fresh, old) = (lock(86_400, 30), lock(86_400, 3 * 366));
        assert_eq!(timelock(&[]), PartState::Unknown);
        assert_eq!(timelock(core::slice::from_ref(&fresh)), PartState::Answered);
        assert_eq!(timelock(core::slice::from_ref(&old)), PartState::Aged);
        assert_eq!(timelock(&[withdrawn(fresh.clone())]), PartState::Withdrawn);
        assert_eq!(timelock(&[withdrawn(old.clone())]), PartState::Withdrawn);
        // The newest answer decides.
        assert_eq!(timelock(&[old.clone(), withdrawn(fresh.clone())]), PartState::Withdrawn);
        assert_eq!(timelock(&[old.clone(), withdrawn(lock(0, 4 * 366))]), PartState::Aged);
        assert_eq!(timelock(&[lock(172_800, 60), withdrawn(fresh)]), PartState::Answered);
    }

    #[test]
    fn withdrawn_audits_are_withdrawn_and_different_reports_do_not_contradict_each_other() {
        let report = |firm: &str, days_ago: i64| {
            let date = Day::of(NOW.plus_seconds(-days_ago * 86_400));
            answer(ProtocolValue::Audit(Audit { firm: firm.into(), date, scope: "v1".into() }), 1)
        };
        let audits = |answers: &[ProtocolAnswer]| state(ProtocolInput::Audit, answers);
        assert_eq!(audits(&[]), PartState::Unknown);
        assert_eq!(audits(&[withdrawn(report("Hull", 9))]), PartState::Withdrawn);
        let both = [report("Hull", 2_000), report("Keel", 9)];
        assert_eq!(audits(&both), PartState::Answered);
        let part = ProtocolPart::new(ProtocolInput::Audit, &both, NOW);
        assert_eq!((part.value.map(|it| it.value), part.also_given), (Some(both[1].value.clone()), Vec::new()));
    }

    #[test]
    fn answers_of_one_day_that_differ_contradict_each_other_and_the_weakest_counts() {
        let answers = [lock(172_800, 3), lock(0, 3), lock(86_400, 3), lock(604_800, 9)];
        let part = ProtocolPart::new(ProtocolInput::Timelock, &answers, NOW);
        assert_eq!((part.state, part.value.map(|it| it.value)), (PartState::Contradicted, Some(lock(0, 3).value)));
        assert_eq!(part.also_given, [lock(172_800, 3).value, lock(86_400, 3).value]);
        let part = ProtocolPart::new(ProtocolInput::Timelock, &answers, NOW);
        assert_eq!(answers.each_ref().map(|it| part.rests_on(it, NOW)), [false, true, false, false]);
        assert!(!part.rests_on(&withdrawn(lock(0, 3)), NOW));
        let early = ProtocolAnswer { observed_at: NOW.plus_seconds(-3 * 86_400 - 60), ..lock(0, 3) };
        for order in [[early.clone(), lock(0, 3)], [lock(0, 3), early.clone()]] {
            let value = ProtocolPart::new(ProtocolInput::Timelock, &order, NOW).value;
            assert_eq!(value.map(|it| it.observed_at), Some(lock(0, 3).observed_at));
        }
        let stays = [withdrawn(lock(0, 3))];
        assert!(ProtocolPart::new(ProtocolInput::Timelock, &stays, NOW).rests_on(&stays[0], NOW));
        assert_eq!(state(ProtocolInput::Timelock, &[lock(0, 3), lock(0, 3)]), PartState::Answered);
    }

    #[test]
    fn lists_of_dependencies_that_differ_contradict_each_other_and_count_together() {
        let list =
            |names: &[&str]| answer(ProtocolValue::Dependencies(names.iter().map(|it| (*it).into()).collect()), 3);
        let part = |answers: &[ProtocolAnswer]| ProtocolPart::new(ProtocolInput::Dependencies, answers, NOW);
        assert_eq!(part(&[list(&["a", "b"]), list(&["b", "a"])]).state, PartState::Answered);
        let both = part(&[list(&["c"]), list(&["b", "a"])]);
        assert_eq!(
            (both.state, both.value.map(|it| it.value)),
            (PartState::Contradicted, Some(list(&["a", "b", "c"]).value))
        );
        assert_eq!(both.also_given, vec![list(&["c"]).value, list(&["a", "b"]).value]);
        assert_eq!(both.lapsed_dependencies, None);
    }

    #[test]
    fn aged_and_withdrawn_lists_of_dependencies_are_kept_apart() {
        let list = |names: &[&str], days_ago| {
            answer(ProtocolValue::Dependencies(names.iter().map(|it| (*it).into()).collect()), days_ago)
        };
        // Four annual cadences are four years.
        let (old, newer) = (list(&["c"], 5 * 366), withdrawn(list(&["b", "a"], 9)));
        let part = ProtocolPart::new(ProtocolInput::Dependencies, &[old, newer.clone()], NOW);
        assert_eq!((part.state, part.value), (PartState::Withdrawn, None));
        let lapsed = part.lapsed_dependencies.unwrap();
        assert_eq!((lapsed.value, lapsed.observed_at), (vec!["a".into(), "b".into(), "c".into()], newer.observed_at));
        let timelock = ProtocolPart::new(ProtocolInput::Timelock, &[withdrawn(lock(0, 1))], NOW);
        assert_eq!(timelock.lapsed_dependencies, None);
    }
}
