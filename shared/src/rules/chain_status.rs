//! The component `chains` of the status feed: whether the chains that the service reads by itself are read in time.

use super::component_status::ComponentFinding;
use crate::model::status_feed::ComponentStatus::{self, Degraded, Down, Operational};
use crate::wire::time::Timestamp;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Seconds by which the newest block that was read may be older than the time between two readings: blocks become final late, and a reading
/// takes its time.
pub const FINALITY_SECONDS: i64 = 3_600;
/// Most chains that the detail names.
const MAX_NAMED: usize = 5;

/// How far one chain is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainProgress<'a> {
    /// The chain's slug.
    pub slug: &'a str,
    /// Why the chain is not read any more, and withheld; `None` while it is read.
    pub halted: Option<&'a str>,
    /// Time of the newest block that was read; `None` before the first.
    pub read_to: Option<Timestamp>,
    /// Seconds between two readings.
    pub every_seconds: u32,
    /// Operators of providers whose answers differed from those of the others, each with the time of the block.
    pub dissent: Vec<(&'a str, Timestamp)>,
}

impl ChainProgress<'_> {
    fn is_recent(&self, at: Timestamp, now: Timestamp) -> bool {
        now.seconds_since(at) <= i64::from(self.every_seconds).saturating_add(FINALITY_SECONDS)
    }

    /// The chain's own status; `None` if there is nothing to report.
    fn finding(&self, now: Timestamp) -> Option<(ComponentStatus, String)> {
        let slug = self.slug;
        if let Some(reason) = self.halted {
            return Some((Down, format!("{slug} is withheld and not read: {reason}")));
        }
        match self.read_to {
            None => return Some((Degraded, format!("{slug} has not been read yet"))),
            Some(at) if !self.is_recent(at, now) => {
                let minutes = now.seconds_since(at) / 60;
                return Some((Degraded, format!("the newest block of {slug} that was read is {minutes} minutes old")));
            }
            Some(_) => {}
        }
        let recent = self.dissent.iter().filter(|(_, at)| self.is_recent(*at, now));
        let operators: Vec<&str> = recent.map(|(operator, _)| *operator).collect();
        // Enough of the others agree, so nothing is missing.
        (!operators.is_empty()).then(|| {
            let operators = operators.join(", ");
            (Operational, format!("of {slug}, some answers of {operators} differ from those of the other operators"))
        })
    }
}

/// The reading of chains. It is down if every chain is halted: the others go on, whatever happens to one.
pub fn chains(chains: &[ChainProgress<'_>], now: Timestamp) -> ComponentFinding {
    if chains.is_empty() {
        return (Operational, Some("no chain is read by this service itself".into()));
    }
    let mut findings: Vec<(ComponentStatus, String)> = chains.iter().filter_map(|it| it.finding(now)).collect();
    findings.sort_by_key(|(status, _)| core::cmp::Reverse(*status));
    let Some((worst, _)) = findings.first() else { return (Operational, None) };
    let all_halted = findings.iter().filter(|(status, _)| *status == Down).count() == chains.len();
    let status = if *worst == Down && !all_halted { Degraded } else { *worst };
    let more = findings.len().saturating_sub(MAX_NAMED);
    let mut texts: Vec<String> = findings.into_iter().map(|(_, text)| text).take(MAX_NAMED).collect();
    if more > 0 {
        texts.push(format!("and {more} more"));
    }
    (status, Some(texts.join("; ").into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned;
    use alloc::vec;

    const NOW: Timestamp = Timestamp::from_seconds(1_795_219_200);

    fn chain(slug: &str, age: i64) -> ChainProgress<'_> {
        let read_to = Some(NOW.plus_seconds(-age));
        ChainProgress { slug, read_to, every_seconds: 600, ..ChainProgress::default() }
    }

    fn found(all: &[ChainProgress<'_>]) -> (ComponentStatus, String) {
        let (status, detail) = chains(all, NOW);
        (status, detail.unwrap_or_default().into_owned())
    }

    #[test]
    fn a_service_that_reads_no_chain_works_and_says_so() {
        assert_eq!(found(&[]), (Operational, "no chain is read by this service itself".into()));
    }

    #[test]
    fn a_chain_degrades_an_hour_after_its_reading_was_due_and_is_named() {
        assert_eq!(found(&[chain("base", 4_200)]), (Operational, String::new()));
        let late = "the newest block of base that was read is 70 minutes old".to_owned();
        assert_eq!(found(&[chain("base", 4_201), chain("ethereum", 0)]), (Degraded, late));
        let never = ChainProgress { read_to: None, ..chain("base", 0) };
        assert_eq!(found(&[never]), (Degraded, "base has not been read yet".into()));
        // A block may be ahead of this clock.
        assert_eq!(found(&[chain("base", -60)]), (Operational, String::new()));
    }

    #[test]
    fn a_halted_chain_is_down_and_the_others_go_on() {
        let halted = |slug| ChainProgress { halted: Some("block 5 was replaced"), ..chain(slug, 0) };
        let text = "base is withheld and not read: block 5 was replaced";
        assert_eq!(found(&[halted("base")]), (Down, text.into()));
        assert_eq!(found(&[chain("arbitrum", 0), halted("base")]), (Degraded, text.into()));
        let (status, detail) = found(&[chain("arbitrum", 9_000), halted("base")]);
        assert_eq!(status, Degraded);
        assert_eq!(
            detail,
            format!("{text}; the newest block of arbitrum that was read is 150 minutes old"),
            "worst first"
        );
        assert_eq!(found(&[halted("arbitrum"), halted("base")]).0, Down);
    }

    #[test]
    fn an_operator_whose_answers_differ_is_named_for_as_long_as_a_reading_counts() {
        let with =
            |age: i64| ChainProgress { dissent: vec![("example.org", NOW.plus_seconds(-age))], ..chain("base", 0) };
        let text = "of base, some answers of example.org differ from those of the other operators";
        assert_eq!(found(&[with(4_200)]), (Operational, text.into()));
        assert_eq!(found(&[with(4_201)]), (Operational, String::new()));
    }

    #[test]
    fn the_detail_stays_short_with_many_chains() {
        let many: Vec<_> = (0..40).map(|_| chain("base", 9_000)).collect();
        let (status, detail) = found(&many);
        assert_eq!((status, detail.matches("base").count()), (Degraded, 5));
        assert!(detail.ends_with("; and 35 more"), "{detail}");
    }
}
