//! The differences between two files: which answers differ, and which values they change.

use super::{Asked, EvidenceFile};
use rds_facts::fact::Fact;
use rds_facts::{AssetAnswer, ProtocolAnswer};
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::asset::Dimension;
use rds_shared::scoring::rubric::{
    Hundredths, ProtocolAnswer as EvaluatedAnswer, ProtocolFacts, ProtocolInput, ProtocolPart, evaluate,
};
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Day;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

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
    #[serde(flatten)]
    pub asked: Asked,
    /// Id of the answer, or the value of the input.
    pub answer: Value,
    /// The day of the source.
    pub observed_at: Day,
    pub source_url: String,
}

/// A dimension whose value differs between two files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedValue {
    pub asset: String,
    pub dimension: Dimension,
    /// Null if the older file has no answer about the dimension.
    pub before: Option<DimensionValue>,
    /// Null if the newer file has no answer about the dimension.
    pub after: Option<DimensionValue>,
}

/// An input of a protocol or a vault whose value differs between two files. The value of `audit` is the number of firms with a report and
/// the date of the newest report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedInput {
    #[serde(flatten)]
    pub asked: Asked,
    /// Null if the input is unknown by the older file.
    pub before: Option<Value>,
    /// Null if the input is unknown by the newer file.
    pub after: Option<Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct EvidenceDiff {
    /// Sorted by subject, question, answer, date and source URL, those about assets first.
    pub answers: Vec<ChangedAnswer>,
    /// Sorted by asset and dimension.
    pub values: Vec<ChangedValue>,
    /// Sorted by subject and input.
    pub inputs: Vec<ChangedInput>,
}

/// An answer of either kind.
#[derive(Clone, Copy, PartialEq)]
enum Given<'a> {
    Asset(&'a AssetAnswer),
    Protocol(&'a ProtocolAnswer),
}

impl EvidenceFile {
    /// The differences from `self` to `newer`, both evaluated at `now`.
    pub fn diff(&self, newer: &EvidenceFile, now: Timestamp) -> EvidenceDiff {
        let values = changes(self.values(now), newer.values(now)).map(|((asset, dimension), before, after)| {
            ChangedValue { asset: asset.to_owned(), dimension, before, after }
        });
        let inputs = changes(self.inputs(now), newer.inputs(now));
        let inputs = inputs.map(|((subject, input), before, after)| ChangedInput {
            asked: Asked::of_subject(subject, input),
            before,
            after,
        });
        EvidenceDiff { answers: self.changed_answers(newer), values: values.collect(), inputs: inputs.collect() }
    }

    fn changed_answers(&self, newer: &EvidenceFile) -> Vec<ChangedAnswer> {
        let changed = changes(self.by_key(), newer.by_key());
        let changed = changed.filter_map(|(_, before, after)| Some(change(before, after).of(after.or(before)?)));
        let mut answers: Vec<ChangedAnswer> = changed.collect();
        answers.sort_by_cached_key(|one| {
            (one.asked.clone(), one.answer.to_string(), one.observed_at, one.source_url.clone())
        });
        answers
    }

    fn by_key(&self) -> BTreeMap<String, Given<'_>> {
        let about_assets = self.answers.iter().map(|one| (format!("asset|{}", one.key()), Given::Asset(one)));
        let about_protocols = self.protocol_answers.iter();
        let about_protocols = about_protocols.map(|one| (format!("protocol|{}", one.key()), Given::Protocol(one)));
        about_assets.chain(about_protocols).collect()
    }

    /// The value of every dimension that has an answer, by asset and dimension.
    fn values(&self, now: Timestamp) -> BTreeMap<(&str, Dimension), DimensionValue> {
        let value = |(place, answers): ((_, Dimension), Vec<_>)| {
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

    /// The value of every known input, by protocol or vault.
    fn inputs(&self, now: Timestamp) -> BTreeMap<(&str, ProtocolInput), Value> {
        let value = |(place, answers): ((_, _), Vec<_>)| Some((place, input_value(place.1, &answers, now)?));
        self.by_input().into_iter().filter_map(value).collect()
    }
}

fn input_value(input: ProtocolInput, answers: &[EvaluatedAnswer], now: Timestamp) -> Option<Value> {
    if input == ProtocolInput::Audit {
        let audits = ProtocolFacts::new(answers, now).audits?.value;
        return Some(json!({"firms": audits.firms, "newest": audits.newest.to_string()}));
    }
    Some(json!(ProtocolPart::new(input, answers, now).value?.value))
}

/// The places whose values differ, each with the older and the newer value, in the order of the places.
fn changes<K: Ord + Clone, V: PartialEq + Clone>(
    old: BTreeMap<K, V>,
    new: BTreeMap<K, V>,
) -> impl Iterator<Item = (K, Option<V>, Option<V>)> {
    let places: BTreeSet<K> = old.keys().chain(new.keys()).cloned().collect();
    let both = places.into_iter().map(move |place| {
        let (before, after) = (old.get(&place).cloned(), new.get(&place).cloned());
        (place, before, after)
    });
    both.filter(|(_, before, after)| before != after)
}

impl Given<'_> {
    const fn is_withdrawn(self) -> bool {
        match self {
            Given::Asset(one) => one.withdrawn,
            Given::Protocol(one) => one.withdrawn,
        }
    }
}

/// How the newer file's answer differs from the same answer in the older file, which is not equal to it.
fn change(before: Option<Given<'_>>, after: Option<Given<'_>>) -> Change {
    match (before.map(Given::is_withdrawn), after.map(Given::is_withdrawn)) {
        (None, _) => Change::Added,
        (_, None) => Change::Removed,
        (Some(false), Some(true)) => Change::Withdrawn,
        (Some(true), Some(false)) => Change::Restored,
        _ => Change::Edited,
    }
}

impl Change {
    fn of(self, given: Given<'_>) -> ChangedAnswer {
        let (asked, answer, as_of, source_url) = match given {
            Given::Asset(one) => (Asked::of_asset(one), json!(one.answer), one.as_of, &one.source_url),
            Given::Protocol(one) => {
                (Asked::of_subject(&one.subject, one.input), one.value.clone(), one.as_of, &one.source_url)
            }
        };
        ChangedAnswer { change: self, asked, answer, observed_at: Day::of(as_of.0), source_url: source_url.clone() }
    }
}

fn points<S: Serializer>(value: &Hundredths, serializer: S) -> Result<S::Ok, S::Error> {
    MilliPoints::from(*value).serialize(serializer)
}

fn optional_points<S: Serializer>(value: &Option<Hundredths>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map(MilliPoints::from).serialize(serializer)
}
