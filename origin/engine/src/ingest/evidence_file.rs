//! Files of answers to the questionnaire, checked and compared without a database.

use super::Fault;
use super::check;
use super::check::observed_at::too_far_ahead;
use super::observation::{self, Complaint, Observation};
use super::registry_row::RegistryRow;
use rds_facts::fact::Fact;
use rds_facts::{AssetAnswer, ProtocolAnswer};
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::asset::Dimension;
use rds_shared::scoring::rubric::{Answer, Hundredths, PartState, evaluate};
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Day;
use serde::{Serialize, Serializer};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead};

/// Source of answers whose row names no reviewer.
const REGISTRY: &str = "evidence";

/// The answers of a file, and every fault of its lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EvidenceFile {
    /// The valid answers about assets, in line order. In a row of the registry, the asset id is the product or contract.
    pub answers: Vec<AssetAnswer>,
    /// The valid answers about protocols and vaults, in line order.
    pub protocol_answers: Vec<ProtocolAnswer>,
    /// All faults, in line order.
    pub faults: Vec<Fault>,
}

/// A question whose newest answers differ; the weakest of them counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Contradiction {
    pub asset_id: String,
    pub dimension: Dimension,
    pub question: &'static str,
    /// Id of the answer that counts.
    pub counts: &'static str,
    /// Ids of the other answers of the same day.
    pub also_given: Vec<&'static str>,
}

/// The value of a dimension by the answers of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DimensionValue {
    /// Points, 0 to 10; null if the answers are too few for a value.
    #[serde(serialize_with = "optional_points")]
    pub value: Option<Hundredths>,
    /// The lowest value, in points, that further answers to the open questions could give.
    #[serde(serialize_with = "points")]
    pub lowest: Hundredths,
    /// The highest value, in points, that such answers could give.
    #[serde(serialize_with = "points")]
    pub highest: Hundredths,
    /// Percent of the dimension's weight without a valid answer.
    pub weight_unknown: u8,
}

/// How an answer differs between the older and the newer file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Added,
    Removed,
    /// Title, kind, note or date of the entry differ.
    Edited,
    Withdrawn,
    Restored,
}

/// An answer that differs between two files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedAnswer {
    pub change: Change,
    pub asset_id: String,
    pub dimension: Dimension,
    pub question: String,
    pub answer: String,
    pub as_of: Day,
    pub source_url: String,
}

/// A dimension whose value differs between two files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedValue {
    pub asset_id: String,
    pub dimension: Dimension,
    /// Null if the older file has no answer about the dimension.
    pub before: Option<DimensionValue>,
    /// Null if the newer file has no answer about the dimension.
    pub after: Option<DimensionValue>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct EvidenceDiff {
    /// Sorted by asset, dimension, question, answer, date and source URL.
    pub answers: Vec<ChangedAnswer>,
    /// Sorted by asset and dimension.
    pub values: Vec<ChangedValue>,
}

impl EvidenceFile {
    /// Reads NDJSON to its end; a faulty line does not stop it. Blank lines are skipped but included in line numbers.
    pub fn read(reader: impl BufRead, now: Timestamp) -> io::Result<Self> {
        let (mut file, mut places) = (EvidenceFile::default(), BTreeMap::new());
        for (number, text) in (1..).zip(reader.split(b'\n')) {
            file.push(number, &text?, now, &mut places);
        }
        Ok(file)
    }

    fn push(&mut self, line: u64, text: &[u8], now: Timestamp, places: &mut BTreeMap<String, u64>) {
        let mut fault = |field: Option<&str>, reason: String| {
            self.faults.push(Fault { line, field: field.map(str::to_owned), reason });
        };
        let Ok(text) = std::str::from_utf8(text) else { return fault(None, "is not UTF-8".to_owned()) };
        if text.trim().is_empty() {
            return;
        }
        let mut observation = match read_line(text) {
            Ok(observation) => observation,
            Err((field, reason)) => return fault(field.as_deref(), reason),
        };
        let (complaints, observed_at) = check::observation(&mut observation);
        let ahead =
            observed_at.and_then(|at| too_far_ahead(at, now)).map(|reason| (Some("observed_at".to_owned()), reason));
        let mut is_valid = true;
        for (field, reason) in complaints.into_iter().chain(ahead) {
            is_valid = false;
            fault(field.as_deref(), reason);
        }
        let key = match &observation {
            Observation::AssetAnswer(answer) => answer.key(),
            Observation::ProtocolAnswer(answer) => answer.key(),
            _ => {
                let reason = "must be asset_answer or protocol_answer in a file of evidence".to_owned();
                return fault(Some("kind"), reason);
            }
        };
        match places.entry(key) {
            Entry::Occupied(first) => {
                fault(None, format!("repeats the answer of line {} (same answer, date and address)", first.get()));
            }
            Entry::Vacant(place) => {
                place.insert(line);
                match observation {
                    Observation::AssetAnswer(answer) if is_valid => self.answers.push(*answer),
                    Observation::ProtocolAnswer(answer) if is_valid => self.protocol_answers.push(*answer),
                    _ => {}
                }
            }
        }
    }

    /// The questions whose newest answers differ, at `now`.
    pub fn contradictions(&self, now: Timestamp) -> Vec<Contradiction> {
        let mut found = Vec::new();
        for ((asset_id, dimension), answers) in self.by_dimension() {
            for part in evaluate(dimension, &answers, now).parts {
                let (PartState::Contradicted, Some(counts)) = (part.state, part.answer) else { continue };
                found.push(Contradiction {
                    asset_id: asset_id.to_owned(),
                    dimension,
                    question: part.question.id,
                    counts: counts.id,
                    also_given: part.also_given.iter().map(|answer| answer.id).collect(),
                });
            }
        }
        found
    }

    /// The number of distinct assets that the answers are about.
    pub fn assets(&self) -> usize {
        self.answers.iter().map(|one| one.asset_id.as_str()).collect::<BTreeSet<_>>().len()
    }

    /// The differences from `self` to `newer`, both evaluated at `now`.
    pub fn diff(&self, newer: &EvidenceFile, now: Timestamp) -> EvidenceDiff {
        let (before, after) = (self.by_key(), newer.by_key());
        let removed =
            before.iter().filter(|(key, _)| !after.contains_key(*key)).map(|(_, one)| (Change::Removed, *one));
        let stays = after.iter().filter_map(|(key, one)| Some((change(before.get(key).copied(), one)?, *one)));
        let mut answers: Vec<ChangedAnswer> = removed.chain(stays).map(|(change, one)| changed(change, one)).collect();
        answers.sort_by(|a, b| place_of(a).cmp(&place_of(b)));
        let (old, new) = (self.values(now), newer.values(now));
        let mut places: Vec<_> = old.keys().chain(new.keys()).copied().collect();
        places.sort_unstable();
        places.dedup();
        let values = places.into_iter().map(|place| (place, old.get(&place).copied(), new.get(&place).copied()));
        let values = values.filter(|(_, before, after)| before != after);
        EvidenceDiff {
            answers,
            values: values
                .map(|((asset_id, dimension), before, after)| ChangedValue {
                    asset_id: asset_id.to_owned(),
                    dimension,
                    before,
                    after,
                })
                .collect(),
        }
    }

    fn by_key(&self) -> BTreeMap<String, &AssetAnswer> {
        self.answers.iter().map(|one| (one.key(), one)).collect()
    }

    /// The value of every dimension that has an answer, by asset and dimension.
    fn values(&self, now: Timestamp) -> BTreeMap<(&str, Dimension), DimensionValue> {
        let value = |(place, answers): ((_, Dimension), Vec<Answer<'_>>)| {
            let outcome = evaluate(place.1, &answers, now);
            let value = DimensionValue {
                value: outcome.value.ok(),
                lowest: outcome.lowest,
                highest: outcome.highest,
                weight_unknown: outcome.weight_unknown,
            };
            (place, value)
        };
        self.by_dimension().into_iter().map(value).collect()
    }

    fn by_dimension(&self) -> BTreeMap<(&str, Dimension), Vec<Answer<'_>>> {
        let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for one in &self.answers {
            groups.entry((one.asset_id.as_str(), one.dimension)).or_default().push(one.sourced().answer);
        }
        groups
    }
}

/// How `after` differs from `before`, the same answer in the older file; `None` if both are equal.
fn change(before: Option<&AssetAnswer>, after: &AssetAnswer) -> Option<Change> {
    match before {
        None => Some(Change::Added),
        Some(before) if before == after => None,
        Some(before) if before.withdrawn == after.withdrawn => Some(Change::Edited),
        Some(_) if after.withdrawn => Some(Change::Withdrawn),
        Some(_) => Some(Change::Restored),
    }
}

/// Parses an ingest line or a row of the registry.
fn read_line(text: &str) -> Result<Observation, Complaint> {
    match RegistryRow::read(text) {
        None => observation::read(text),
        Some(row) => Ok(match row? {
            RegistryRow::Asset(row) => {
                Observation::AssetAnswer(Box::new(row.observation(row.asset.replace(':', "-"), REGISTRY)?))
            }
            RegistryRow::Protocol(row) => Observation::ProtocolAnswer(Box::new(row.observation(REGISTRY)?)),
        }),
    }
}

fn changed(change: Change, one: &AssetAnswer) -> ChangedAnswer {
    ChangedAnswer {
        change,
        asset_id: one.asset_id.clone(),
        dimension: one.dimension,
        question: one.question.clone(),
        answer: one.answer.clone(),
        as_of: Day::of(one.as_of.0),
        source_url: one.source_url.clone(),
    }
}

fn place_of(one: &ChangedAnswer) -> (&str, Dimension, &str, &str, Day, &str) {
    (&one.asset_id, one.dimension, &one.question, &one.answer, one.as_of, &one.source_url)
}

fn points<S: Serializer>(value: &Hundredths, serializer: S) -> Result<S::Ok, S::Error> {
    MilliPoints::from(*value).serialize(serializer)
}

fn optional_points<S: Serializer>(value: &Option<Hundredths>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map(MilliPoints::from).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_795_500_000);

    fn line(question: &str, answer: &str, as_of: &str, more: &str) -> String {
        format!(
            r#"{{"kind":"asset_answer","observed_at":"2026-11-20T00:00:00Z","source":"t","asset_id":"usdx","dimension":"redeemability","question":"{question}","answer":"{answer}","as_of":"{as_of}T00:00:00Z","source_title":"Terms","source_url":"https://issuer.example/terms","source_kind":"document"{more}}}"#
        )
    }

    fn read(lines: &[String]) -> EvidenceFile {
        EvidenceFile::read(lines.join("\n").as_bytes(), NOW).unwrap()
    }

    #[test]
    fn every_fault_of_a_file_is_named_with_its_line_and_field() {
        let good = line("who", "any_onchain", "2026-11-01", "");
        let file = read(&[
            good.clone(),
            line("whom", "any_onchain", "2026-11-01", ""),
            line("who", "everybody", "2026-11-01", ""),
            line("who", "institutions", "2026-11-21", ""),
            good.replace("https://issuer.example/terms", "data/terms.json"),
            good.replace("\"document\"", "\"dataset\""),
            line("who", "institutions", "2026-11-01", r#","rubric_version":"0.9.0""#),
            good.replace("2026-11-20", "2027-11-20"),
            r#"{"kind":"curator","observed_at":"2026-01-01T00:00:00Z","source":"t","id":"a","name":"A"}"#.to_owned(),
            String::new(),
            "{".to_owned(),
            good,
        ]);
        let named: Vec<_> =
            file.faults.iter().map(|fault| (fault.line, fault.field.as_deref().unwrap_or("-"))).collect();
        assert_eq!(
            named,
            [
                (2, "question"),
                (3, "answer"),
                (4, "as_of"),
                (5, "source_url"),
                (6, "source_kind"),
                (6, "-"),
                (7, "rubric_version"),
                (8, "observed_at"),
                (8, "-"),
                (9, "kind"),
                (11, "-"),
                (12, "-"),
            ]
        );
        assert_eq!(file.answers.len(), 1);
    }

    #[test]
    fn answers_of_one_day_that_differ_are_reported_and_the_weakest_counts() {
        let file = read(&[
            line("who", "any_onchain", "2026-11-01", ""),
            line("who", "institutions", "2026-11-01", ""),
            line("who", "suspended", "2026-10-01", ""),
        ]);
        let found = file.contradictions(NOW);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            (found[0].question, found[0].counts, &found[0].also_given[..]),
            ("who", "institutions", &["any_onchain"][..])
        );
    }

    #[test]
    fn a_diff_lists_changed_answers_and_the_values_that_they_move() {
        let (first, second) =
            (line("who", "any_onchain", "2026-11-01", ""), line("settlement", "same_tx", "2026-11-01", ""));
        let before = read(&[first.clone(), second.clone()]);
        assert_eq!(before.diff(&before, NOW), EvidenceDiff::default());
        let after = read(&[
            first.replace("\"Terms\"", "\"Terms of use\""),
            line("settlement", "same_tx", "2026-11-01", r#","withdrawn":true"#),
            line("price", "par", "2026-11-01", ""),
        ]);
        let diff = before.diff(&after, NOW);
        let changes: Vec<_> = diff.answers.iter().map(|one| (one.question.as_str(), one.change)).collect();
        assert_eq!(changes, [("price", Change::Added), ("settlement", Change::Withdrawn), ("who", Change::Edited)]);
        assert_eq!(diff.values.len(), 1);
        let (old, new) = (diff.values[0].before.unwrap(), diff.values[0].after.unwrap());
        assert_eq!((old.weight_unknown, new.weight_unknown), (40, 45));
        assert!(old.value.is_some() && new.value.is_none());
        let gone = after.diff(&read(&[]), NOW);
        assert!(gone.answers.iter().all(|one| one.change == Change::Removed) && gone.values[0].after.is_none());
    }
}
