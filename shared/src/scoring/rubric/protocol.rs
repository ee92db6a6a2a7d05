//! The inputs of a vault's platform and control vectors from answers about its protocol, or about the vault itself.
//!
//! A value is a fact, not points: the methodology's tables turn it into points. The rules are those of assets as far as they apply. Of
//! the answers that are not withdrawn, those of the newest UTC day count, and of several the weakest. An answer older than four cadences
//! is no evidence, except that a value below that of an unknown input stays, so that neither ageing nor a withdrawal raises a score.
//! Lists of dependencies of that day add up; an aged list is kept apart, because whether it is below unknown depends on the tiers of its
//! protocols. Audits add up over all days: each report is a fact of its own that does not age, because the age of the newest report is an
//! input too.

use super::{ProtocolPart, SourceKind};
use crate::scoring::asset::AttestationCadence;
use crate::scoring::vault::{Exit, Signers, Source, Strategy, Timelock};
use crate::scoring::{named_enum, tables};
use crate::wire::time::{Day, Timestamp};
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

named_enum! {
    /// An input of a vault's score that is answered for a whole protocol, or for one vault.
    pub enum ProtocolInput {
        /// The first transaction of the deployed version.
        VersionFirstSeen = "version_first_seen",
        /// One report by an independent firm on the deployed version.
        Audit = "audit",
        /// Maximum of a live bug bounty, in whole USD.
        BountyUsd = "bounty_usd",
        /// How the protocol uses deposits.
        Strategy = "strategy",
        /// Value locked in the protocol, in whole USD.
        ProtocolTvlUsd = "protocol_tvl_usd",
        /// Protocols whose failure stops or empties the vaults.
        Dependencies = "dependencies",
        /// Seconds between announcing and executing the most harmful change.
        Timelock = "timelock",
        /// Who can order that change.
        Signers = "signers",
        /// How a depositor leaves.
        Exit = "exit",
        /// Whether the source of the deployed code is published and verified.
        Source = "source",
    }
}

/// A report by an independent firm.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Audit {
    pub firm: String,
    pub date: Day,
    /// What was examined, with its version.
    pub scope: String,
}

/// The value that an answer gives to an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtocolValue {
    VersionFirstSeen(Day),
    Audit(Audit),
    BountyUsd(u64),
    Strategy(Strategy),
    ProtocolTvlUsd(u64),
    Dependencies(Vec<String>),
    Timelock(Timelock),
    Signers(Signers),
    Exit(Exit),
    Source(Source),
}

impl ProtocolValue {
    /// The input that the value belongs to.
    pub const fn input(&self) -> ProtocolInput {
        match self {
            ProtocolValue::VersionFirstSeen(_) => ProtocolInput::VersionFirstSeen,
            ProtocolValue::Audit(_) => ProtocolInput::Audit,
            ProtocolValue::BountyUsd(_) => ProtocolInput::BountyUsd,
            ProtocolValue::Strategy(_) => ProtocolInput::Strategy,
            ProtocolValue::ProtocolTvlUsd(_) => ProtocolInput::ProtocolTvlUsd,
            ProtocolValue::Dependencies(_) => ProtocolInput::Dependencies,
            ProtocolValue::Timelock(_) => ProtocolInput::Timelock,
            ProtocolValue::Signers(_) => ProtocolInput::Signers,
            ProtocolValue::Exit(_) => ProtocolInput::Exit,
            ProtocolValue::Source(_) => ProtocolInput::Source,
        }
    }

    /// Orders values of one input, the weakest first.
    pub(super) fn strength(&self) -> i128 {
        match self {
            ProtocolValue::VersionFirstSeen(day) => -i128::from(day.number()),
            ProtocolValue::Audit(audit) => i128::from(audit.date.number()),
            ProtocolValue::BountyUsd(usd) | ProtocolValue::ProtocolTvlUsd(usd) => i128::from(*usd),
            ProtocolValue::Strategy(strategy) => tables::strategy_points(*strategy).get().into(),
            ProtocolValue::Dependencies(names) => -(names.len() as i128),
            ProtocolValue::Timelock(Timelock::Seconds(seconds)) => i128::from(*seconds),
            ProtocolValue::Timelock(Timelock::Immutable) => i128::MAX,
            ProtocolValue::Timelock(Timelock::Unknown) => -1,
            ProtocolValue::Signers(signers) => tables::signers_points(*signers).get().into(),
            ProtocolValue::Exit(exit) => tables::exit_points(*exit).get().into(),
            ProtocolValue::Source(source) => tables::source_points(*source).get().into(),
        }
    }

    /// Whether the value counts less than the input would if it were unknown.
    pub(super) fn is_below_unknown(&self) -> bool {
        match self {
            ProtocolValue::Timelock(timelock) => tables::timelock_points(*timelock) < tables::TIMELOCK_UNKNOWN,
            ProtocolValue::Signers(signers) => tables::signers_points(*signers) < tables::SIGNERS_UNKNOWN,
            ProtocolValue::Exit(exit) => tables::exit_points(*exit) < tables::exit_points(Exit::Unknown),
            // Unknown amounts count as none, and an unknown version or strategy is never better than a known one. The worth of a list of
            // dependencies is not known here.
            _ => false,
        }
    }
}

/// An answer about a protocol or a vault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolAnswer {
    pub value: ProtocolValue,
    /// When the source showed it; midnight UTC if the source states a day.
    pub observed_at: Timestamp,
    /// When the answer was withdrawn; `None` if it was not.
    pub withdrawn_at: Option<Timestamp>,
}

impl ProtocolAnswer {
    pub(super) fn is_withdrawn(&self, now: Timestamp) -> bool {
        self.withdrawn_at.is_some_and(|at| at <= now)
    }

    /// A value with the date of this answer.
    pub(super) fn dated<T>(&self, value: T) -> Dated<T> {
        Dated { value, observed_at: self.observed_at }
    }
}

/// A question about a protocol or a vault.
#[derive(Debug, PartialEq, Eq)]
pub struct ProtocolQuestion {
    pub input: ProtocolInput,
    /// The question.
    pub text: &'static str,
    /// The form of the value in an answer.
    pub value: &'static str,
    /// The kinds of source that may be cited.
    pub evidence: &'static [SourceKind],
    /// How often the answer should be renewed; `None` for a fact that does not age.
    pub cadence: Option<AttestationCadence>,
    /// Where and how a reviewer reads the answer.
    pub how_to_read: &'static str,
}

impl ProtocolQuestion {
    /// Greatest age in seconds, inclusive, at which an answer still counts.
    pub fn counts_for_seconds(&self) -> i64 {
        let cadence = self.cadence.map(tables::attestation_cadence_seconds);
        cadence.map_or(i64::MAX, |seconds| seconds.saturating_mul(tables::rubric::EXPIRES_AFTER_CADENCES))
    }
}

/// A value with the date of its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dated<T> {
    pub value: T,
    pub observed_at: Timestamp,
}

/// The audits of the deployed version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audits {
    /// Number of firms with a report; several reports of one firm count once.
    pub firms: u32,
    /// Date of the newest report.
    pub newest: Day,
}

/// The values that answers give to the inputs; `None` for an input without evidence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtocolFacts {
    pub version_first_seen: Option<Dated<Day>>,
    pub audits: Option<Dated<Audits>>,
    pub bounty_usd: Option<Dated<u64>>,
    pub strategy: Option<Dated<Strategy>>,
    pub protocol_tvl_usd: Option<Dated<u64>>,
    pub dependencies: Option<Dated<Vec<String>>>,
    /// See [`ProtocolPart::lapsed_dependencies`].
    pub lapsed_dependencies: Option<Dated<Vec<String>>>,
    pub timelock: Option<Dated<Timelock>>,
    pub signers: Option<Dated<Signers>>,
    pub exit: Option<Dated<Exit>>,
    pub source: Option<Dated<Source>>,
}

impl ProtocolFacts {
    /// The values that the answers about one subject give at `now`.
    pub fn new(answers: &[ProtocolAnswer], now: Timestamp) -> Self {
        let mut facts = ProtocolFacts { audits: audits(answers, now), ..ProtocolFacts::default() };
        for input in ProtocolInput::ALL {
            let part = ProtocolPart::new(*input, answers, now);
            if part.lapsed_dependencies.is_some() {
                facts.lapsed_dependencies = part.lapsed_dependencies;
            }
            let Some(Dated { value, observed_at: at }) = part.value else { continue };
            match value {
                // The count of firms needs every report, so `audits` combines them.
                ProtocolValue::Audit(_) => {}
                ProtocolValue::VersionFirstSeen(value) => facts.version_first_seen = dated(value, at),
                ProtocolValue::BountyUsd(value) => facts.bounty_usd = dated(value, at),
                ProtocolValue::Strategy(value) => facts.strategy = dated(value, at),
                ProtocolValue::ProtocolTvlUsd(value) => facts.protocol_tvl_usd = dated(value, at),
                ProtocolValue::Dependencies(value) => facts.dependencies = dated(value, at),
                ProtocolValue::Timelock(value) => facts.timelock = dated(value, at),
                ProtocolValue::Signers(value) => facts.signers = dated(value, at),
                ProtocolValue::Exit(value) => facts.exit = dated(value, at),
                ProtocolValue::Source(value) => facts.source = dated(value, at),
            }
        }
        facts
    }
}

fn dated<T>(value: T, observed_at: Timestamp) -> Option<Dated<T>> {
    Some(Dated { value, observed_at })
}

fn audits(answers: &[ProtocolAnswer], now: Timestamp) -> Option<Dated<Audits>> {
    let today = Day::of(now);
    let reports = answers.iter().filter(|it| !it.is_withdrawn(now) && it.observed_at <= now);
    let reports: Vec<(&Audit, Timestamp)> = reports
        .filter_map(|it| match &it.value {
            ProtocolValue::Audit(audit) if audit.date <= today => Some((audit, it.observed_at)),
            _ => None,
        })
        .collect();
    let firms: BTreeSet<String> = reports.iter().map(|(audit, _)| firm_key(&audit.firm)).collect();
    let newest = reports.iter().map(|(audit, _)| audit.date).max()?;
    let observed_at = reports.iter().map(|(_, at)| *at).max()?;
    let firms = u32::try_from(firms.len()).unwrap_or(u32::MAX);
    Some(Dated { value: Audits { firms, newest }, observed_at })
}

/// One key for all spellings of a firm's name: letters and digits in lower case.
fn firm_key(firm: &str) -> String {
    firm.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_795_500_000);
    const DAY: i64 = 86_400;

    fn answer(value: ProtocolValue, days_ago: i64) -> ProtocolAnswer {
        ProtocolAnswer { value, observed_at: NOW.plus_seconds(-days_ago * DAY), withdrawn_at: None }
    }

    fn audit(firm: &str, days_ago: i64) -> ProtocolAnswer {
        let date = Day::of(NOW.plus_seconds(-days_ago * DAY));
        answer(ProtocolValue::Audit(Audit { firm: firm.into(), date, scope: "v1".into() }), days_ago)
    }

    #[test]
    fn reports_of_one_firm_count_once_and_the_newest_date_is_kept() {
        let answers = [audit("Trail of Bits", 900), audit("trail-of-bits", 400), audit("Spearbit", 700)];
        let audits = ProtocolFacts::new(&answers, NOW).audits.unwrap().value;
        assert_eq!((audits.firms, audits.newest), (2, Day::of(NOW.plus_seconds(-400 * DAY))));
        let mut withdrawn = answers;
        withdrawn[2].withdrawn_at = Some(NOW);
        assert_eq!(ProtocolFacts::new(&withdrawn, NOW).audits.unwrap().value.firms, 1);
    }

    #[test]
    fn the_newest_day_counts_and_of_two_answers_of_that_day_the_weaker() {
        let lock = |seconds, days_ago| answer(ProtocolValue::Timelock(Timelock::Seconds(seconds)), days_ago);
        let of = |answers: &[ProtocolAnswer]| ProtocolFacts::new(answers, NOW).timelock.map(|it| it.value);
        assert_eq!(of(&[lock(86_400, 30), lock(172_800, 3)]), Some(Timelock::Seconds(172_800)));
        assert_eq!(of(&[lock(86_400, 3), lock(172_800, 3)]), Some(Timelock::Seconds(86_400)));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn lists_of_dependencies_of_one_day_add_up_in_any_order_of_the_answers() {
        let list =
            |names: &[&str]| answer(ProtocolValue::Dependencies(names.iter().map(|it| (*it).into()).collect()), 3);
        let answers = [list(&["prime"]), list(&["edge"]), list(&["edge", "core"])];
        let mut reversed = answers.clone();
        reversed.reverse();
        for given in [answers, reversed] {
            let found = ProtocolFacts::new(&given, NOW).dependencies.unwrap().value;
            assert_eq!(found, ["core", "edge", "prime"]);
        }
    }

    #[test]
    fn an_aged_answer_is_unknown_unless_it_counts_less_than_unknown() {
        let aged = |value| {
            let facts = ProtocolFacts::new(&[answer(value, 5 * 366)], NOW);
            (facts.timelock.map(|it| it.value), facts.bounty_usd.is_some(), facts.version_first_seen.is_some())
        };
        assert_eq!(aged(ProtocolValue::Timelock(Timelock::Seconds(604_800))), (None, false, false));
        let none = Timelock::Seconds(0);
        assert_eq!(aged(ProtocolValue::Timelock(none)), (Some(none), false, false));
        assert_eq!(aged(ProtocolValue::BountyUsd(1_000_000)), (None, false, false));
        assert_eq!(aged(ProtocolValue::VersionFirstSeen(Day::of(NOW))), (None, false, true));
    }

    proptest! {
        #[test]
        fn withdrawing_an_answer_never_makes_a_timelock_stronger_than_unknown(
            seconds in prop::collection::vec((0u64..2_000_000, 0i64..3_000), 1..5), withdrawn in 0usize..5,
        ) {
            let mut answers: Vec<_> = seconds.iter()
                .map(|(lock, ago)| answer(ProtocolValue::Timelock(Timelock::Seconds(*lock)), *ago)).collect();
            let points = |answers: &[ProtocolAnswer]| ProtocolFacts::new(answers, NOW).timelock
                .map_or(tables::TIMELOCK_UNKNOWN, |it| tables::timelock_points(it.value));
            let only = answers.len() == 1;
            let before = points(&answers);
            if let Some(one) = answers.get_mut(withdrawn) {
                one.withdrawn_at = Some(NOW);
                if only {
                    prop_assert!(points(&answers) <= before.max(tables::TIMELOCK_UNKNOWN));
                    prop_assert!(before > tables::TIMELOCK_UNKNOWN || points(&answers) <= before);
                }
            }
        }
    }
}
