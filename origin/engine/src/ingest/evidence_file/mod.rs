//! Files of answers to the questionnaire, checked and compared without a database.
//!
//! Faults name the fields of the line in which they are. Contradictions and differences name the fields of the registry's rows.

mod asked;
mod contradiction;
mod diff;
#[cfg(test)]
mod tests;

pub use asked::Asked;
pub use contradiction::Contradiction;
pub use diff::{Change, ChangedAnswer, ChangedInput, ChangedValue, DimensionValue, EvidenceDiff};

use super::Fault;
use super::check;
use super::check::observed_at::too_far_ahead;
use super::observation::{self, Complaint, Observation};
use super::registry_row::RegistryRow;
use rds_facts::fact::Fact;
use rds_facts::{AssetAnswer, ProtocolAnswer};
use rds_shared::scoring::asset::Dimension;
use rds_shared::scoring::rubric::{Answer, ProtocolAnswer as EvaluatedAnswer, ProtocolInput};
use rds_shared::wire::Timestamp;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead};

/// Source of answers whose row names no reviewer.
const REGISTRY: &str = "evidence";

/// The answers of a file, and every fault of its lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EvidenceFile {
    /// The valid answers about assets, in line order. In a row of the registry, the asset id is the product or contract as written.
    pub answers: Vec<AssetAnswer>,
    /// The valid answers about protocols and vaults, in line order.
    pub protocol_answers: Vec<ProtocolAnswer>,
    /// All faults, in line order.
    pub faults: Vec<Fault>,
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
        let mut fault = |(field, reason): Complaint| self.faults.push(Fault { line, field, reason });
        let Ok(text) = std::str::from_utf8(text) else { return fault((None, "is not UTF-8".to_owned())) };
        if text.trim().is_empty() {
            return;
        }
        let Line { mut observation, row } = match Line::read(text) {
            Ok(line) => line,
            Err(complaint) => return fault(complaint),
        };
        let (complaints, observed_at) = check::observation(&mut observation);
        let ahead =
            observed_at.and_then(|at| too_far_ahead(at, now)).map(|reason| (Some("observed_at".to_owned()), reason));
        let mut is_valid = true;
        for complaint in complaints.into_iter().chain(ahead) {
            is_valid = false;
            fault(match &row {
                Some(row) => row.complaint(complaint),
                None => complaint,
            });
        }
        if let (Observation::AssetAnswer(answer), Some(RegistryRow::Asset(row))) = (&mut observation, &row) {
            answer.asset_id.clone_from(&row.asset);
        }
        let key = match &observation {
            Observation::AssetAnswer(answer) => answer.key(),
            Observation::ProtocolAnswer(answer) => answer.key(),
            _ => {
                let reason = "must be asset_answer or protocol_answer in a file of evidence".to_owned();
                return fault((Some("kind".to_owned()), reason));
            }
        };
        match places.entry(key) {
            Entry::Occupied(first) => {
                fault((None, format!("repeats the answer of line {} (same answer, date and address)", first.get())));
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

    /// The number of distinct assets that the answers are about.
    pub fn assets(&self) -> usize {
        self.answers.iter().map(|one| one.asset_id.as_str()).collect::<BTreeSet<_>>().len()
    }

    fn by_dimension(&self) -> BTreeMap<(&str, Dimension), Vec<Answer<'_>>> {
        let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for one in &self.answers {
            groups.entry((one.asset_id.as_str(), one.dimension)).or_default().push(one.sourced().answer);
        }
        groups
    }

    fn by_input(&self) -> BTreeMap<(&str, ProtocolInput), Vec<EvaluatedAnswer>> {
        let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for one in &self.protocol_answers {
            groups.entry((one.subject.as_str(), one.input)).or_default().extend(one.evaluated());
        }
        groups
    }
}

/// One line of a file of answers.
struct Line {
    observation: Observation,
    /// The row from which the observation was made; `None` for an ingest line.
    row: Option<RegistryRow>,
}

impl Line {
    fn read(text: &str) -> Result<Self, Complaint> {
        let Some(row) = RegistryRow::read(text) else {
            return Ok(Line { observation: observation::read(text)?, row: None });
        };
        let row = row?;
        let observation = match &row {
            // Ids of assets are slugs, which have no colon.
            RegistryRow::Asset(row) => {
                Observation::AssetAnswer(Box::new(row.observation(row.asset.replace(':', "-"), REGISTRY)?))
            }
            RegistryRow::Protocol(row) | RegistryRow::Vault(row) => {
                Observation::ProtocolAnswer(Box::new(row.observation(REGISTRY)?))
            }
        };
        Ok(Line { observation, row: Some(row) })
    }
}
