//! Import of public data sets: a folder of JSON Lines files, converted to observations by one adapter per file.
//!
//! Nothing about a real vault is invented. An adapter passes on what its file states and leaves everything else null or `unknown`. If a
//! value is derived, the observation's `evidence` names its origin. All files become one batch, so a folder is imported completely or not at
//! all, and every vault is scored once, with all of its data.

mod adapter;
mod assets;
mod bridges;
mod chains;
mod curators;
mod evidence;
mod exposures;
mod folder;
mod incidents;
mod lending_emodes;
mod lending_reserves;
mod oracles;
mod protocols;
mod signer_sets;
mod subjects;
mod timelocks;
mod vault_history;
mod vault_history_vaults;
mod vaults;
mod yield_vaults;

use adapter::{Adapter, Known, Observed};
use folder::Folder;
use rds_engine::baskets::default_baskets;
use rds_engine::clock::Clock;
use rds_engine::ingest::{self, Batch, Fault, IngestError, IngestReport};
use rds_store::Db;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// The imported files.
    pub files: Vec<FileReport>,
    /// Data sets of the folder that have no adapter.
    pub not_used: Vec<String>,
    /// The result of ingesting the batch.
    pub ingest: IngestReport,
}

/// Counts of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FileReport {
    /// Name of the file.
    pub file: &'static str,
    /// Number of rows in the file.
    pub rows: u64,
    /// Number of observations made from the file.
    pub observations: u64,
    /// Number of rows that yielded no observation, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
}

/// A fault of an observation, with the row that it was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RowFault {
    pub file: &'static str,
    /// Row number, counted from 1.
    pub row: u64,
    /// The observation's field; null if the fault concerns the whole observation.
    pub field: Option<String>,
    pub reason: String,
}

impl fmt::Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = self.field.as_deref().map(|field| format!("{field} ")).unwrap_or_default();
        write!(f, "{} row {}: {field}{}", self.file, self.row, self.reason)
    }
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("the folder {} cannot be read: {source}", dir.display())]
    Folder { dir: PathBuf, source: std::io::Error },
    #[error("{file} is missing in {}", dir.display())]
    Missing { file: &'static str, dir: PathBuf },
    #[error("{file} cannot be read after row {row}: {source}")]
    Read {
        file: &'static str,
        /// The last row that was read.
        row: u64,
        source: std::io::Error,
    },
    #[error("{file} row {row} cannot be parsed: {source}")]
    Row {
        file: &'static str,
        /// Row number, counted from 1.
        row: u64,
        source: serde_json::Error,
    },
    /// `--only` names a file without an adapter.
    #[error("{only:?} is not a known file; --only must be one of {}", FILES.join(", "))]
    UnknownFile { only: String },
    /// Ingest refuses observations made from the rows.
    #[error("{total} faults; the first are: {}", summary(.first))]
    Faults {
        /// Number of all faults.
        total: u64,
        /// The first faults, at most [`ingest::MAX_FAULTS`].
        first: Vec<RowFault>,
    },
    #[error(transparent)]
    Ingest(#[from] IngestError),
}

fn summary(faults: &[RowFault]) -> String {
    faults.iter().take(3).map(RowFault::to_string).collect::<Vec<_>>().join("; ")
}

/// The files with an adapter, in reading order: a file comes after those that its rows refer to.
pub const FILES: [&str; 21] = [
    chains::Chains::FILE,
    protocols::Protocols::FILE,
    curators::Curators::FILE,
    assets::Assets::FILE,
    vaults::Vaults::FILE,
    vault_history_vaults::VaultHistoryVaults::FILE,
    yield_vaults::YieldVaults::FILE,
    vault_history::VaultHistory::FILE,
    incidents::Incidents::FILE,
    lending_reserves::LendingReserves::FILE,
    lending_emodes::LendingEmodes::FILE,
    oracles::Oracles::FILE,
    signer_sets::SignerSets::FILE,
    timelocks::Timelocks::FILE,
    bridges::Bridges::FILE,
    exposures::Exposures::FILE,
    evidence::AssetEvidence::FILE,
    evidence::AssetEvidenceOnTrial::FILE,
    evidence::OwnAssetAnswers::FILE,
    evidence::ProtocolEvidence::FILE,
    evidence::OwnProtocolAnswers::FILE,
];

/// Imports the data sets of `dir`, or only the file `only`, named with or without its extension.
///
/// Importing the same data again changes nothing. `progress` receives messages of one line.
pub async fn import(
    db: &Db,
    clock: &Clock,
    dir: &Path,
    only: Option<&str>,
    progress: &mut (dyn FnMut(&str) + Send),
) -> Result<ImportReport, ImportError> {
    let folder = Folder::open(dir)?;
    let chosen = chosen(only)?;
    let mut reading = Reading { folder: &folder, chosen, known: Known::default(), rows: Vec::new(), files: Vec::new() };
    let mut batch = Batch::default();
    reading.read_all(&mut batch, progress)?;
    if only.is_none() {
        reading.default_baskets(&mut batch);
    }
    progress(&format!("storing and scoring {} observations", batch.lines()));
    let Reading { rows, files, .. } = reading;
    let ingest = ingest::commit_whole(db, clock, batch).await.map_err(|error| by_row(error, &rows))?;
    let not_used = folder.data_sets().into_iter().filter(|name| !FILES.contains(&name.as_str())).collect();
    Ok(ImportReport { files, not_used, ingest })
}

fn chosen(only: Option<&str>) -> Result<Vec<&'static str>, ImportError> {
    let Some(only) = only else { return Ok(FILES.to_vec()) };
    let stem = |file: &'static str| file.split('.').next().unwrap_or(file);
    let found = FILES.into_iter().find(|file| *file == only || stem(file) == only);
    found.map(|file| vec![file]).ok_or_else(|| ImportError::UnknownFile { only: only.to_owned() })
}

/// Replaces the batch's line numbers in ingest faults by the file and the row that the observation was made from.
fn by_row(error: IngestError, rows: &[(&'static str, u64)]) -> ImportError {
    let IngestError::Faults(faults) = error else { return error.into() };
    let row_of = |fault: Fault| {
        let place = usize::try_from(fault.line).ok().and_then(|line| rows.get(line.checked_sub(1)?));
        let (file, row) = place.copied().unwrap_or(("the folder", 0));
        RowFault { file, row, field: fault.field, reason: fault.reason }
    };
    ImportError::Faults { total: faults.total(), first: faults.into_listed().into_iter().map(row_of).collect() }
}

/// State while the files of a folder are read into a batch.
struct Reading<'a> {
    folder: &'a Folder,
    chosen: Vec<&'static str>,
    known: Known,
    /// The file and row of each observation.
    rows: Vec<(&'static str, u64)>,
    files: Vec<FileReport>,
}

impl Reading<'_> {
    fn read_all(&mut self, batch: &mut Batch, progress: &mut (dyn FnMut(&str) + Send)) -> Result<(), ImportError> {
        self.read(chains::Chains, batch, progress)?;
        self.read(protocols::Protocols, batch, progress)?;
        self.read(curators::Curators, batch, progress)?;
        self.read(assets::Assets { subjects: subjects::Subjects::load()? }, batch, progress)?;
        let ended = match self.chosen.contains(&vaults::Vaults::FILE) {
            true => vault_history_vaults::ended(self.folder)?,
            false => HashMap::new(),
        };
        let exposed = exposures::contracts(self.folder)?;
        self.read(vaults::Vaults { ended, exposed: exposed.clone() }, batch, progress)?;
        self.read(vault_history_vaults::VaultHistoryVaults, batch, progress)?;
        self.read(yield_vaults::YieldVaults { exposed }, batch, progress)?;
        self.read(vault_history::VaultHistory, batch, progress)?;
        self.read(incidents::Incidents, batch, progress)?;
        self.read(lending_reserves::LendingReserves, batch, progress)?;
        self.read(lending_emodes::LendingEmodes, batch, progress)?;
        self.read(oracles::Oracles, batch, progress)?;
        self.read(signer_sets::SignerSets, batch, progress)?;
        self.read(timelocks::Timelocks, batch, progress)?;
        self.read(bridges::Bridges, batch, progress)?;
        self.read(exposures::Exposures, batch, progress)?;
        self.read(evidence::AssetEvidence, batch, progress)?;
        self.read(evidence::AssetEvidenceOnTrial, batch, progress)?;
        self.read(evidence::OwnAssetAnswers, batch, progress)?;
        self.read(evidence::ProtocolEvidence, batch, progress)?;
        self.read(evidence::OwnProtocolAnswers, batch, progress)
    }

    /// Adds the default baskets, which are defined in code.
    fn default_baskets(&mut self, batch: &mut Batch) {
        for observation in default_baskets::definitions() {
            self.rows.push(("the default baskets", 0));
            batch.push(observation);
        }
    }

    /// Reads a file if it is chosen, or if a chosen file needs its contents.
    fn read<A: Adapter>(
        &mut self,
        adapter: A,
        batch: &mut Batch,
        progress: &mut (dyn FnMut(&str) + Send),
    ) -> Result<(), ImportError> {
        let imported = self.chosen.contains(&A::FILE);
        if !imported && !A::NEEDED_BY.iter().any(|file| self.chosen.contains(file)) {
            return Ok(());
        }
        if A::OPTIONAL && A::TEXT.is_none() && !self.folder.has(A::FILE) {
            return Ok(());
        }
        let rows = |folder: &Folder| match A::TEXT {
            Some(text) => Ok(Folder::embedded::<A::Row>(A::FILE, text)),
            None => folder.rows::<A::Row>(A::FILE),
        };
        let mut report = FileReport { file: A::FILE, ..FileReport::default() };
        if A::READ_TWICE {
            for row in rows(self.folder)? {
                adapter.learn(&row?.1, &mut self.known);
            }
        }
        for observation in adapter.preface(&mut self.known).into_iter().filter(|_| imported) {
            // Row 0 stands for the file as a whole.
            self.rows.push((A::FILE, 0));
            report.observations += 1;
            batch.push(observation);
        }
        for row in rows(self.folder)? {
            let (number, row) = row?;
            report.rows = number;
            adapter.learn(&row, &mut self.known);
            if !imported {
                continue;
            }
            match adapter.observe(row, &self.known) {
                Observed::Skipped(reason) => *report.skipped.entry(reason).or_default() += 1,
                Observed::As(observations) => {
                    for observation in observations {
                        self.rows.push((A::FILE, number));
                        report.observations += 1;
                        batch.push(observation);
                    }
                }
            }
        }
        if imported {
            progress(&format!("{}: {} rows, {} observations", A::FILE, report.rows, report.observations));
            self.files.push(report);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_the_date_that_its_comment_states() {
        let days = [
            (chains::AS_OF, "2026-01-01"),
            (protocols::AS_OF, "2026-07-01"),
            (curators::AS_OF, "2026-07-01"),
            (assets::AS_OF, "2026-07-03"),
            (yield_vaults::AS_OF, "2026-08-20"),
            (incidents::AS_OF, "2026-08-22"),
            (lending_reserves::AS_OF, "2026-01-01"),
            (signer_sets::AS_OF, "2026-08-22"),
            (bridges::AS_OF, "2026-01-01"),
        ];
        for (as_of, day) in days {
            assert_eq!(as_of.to_string(), format!("{day}T00:00:00.000Z"));
        }
    }

    #[test]
    fn a_single_file_is_chosen_with_or_without_its_extension() {
        assert_eq!(chosen(Some("vaults.jsonl.gz")).unwrap(), [vaults::Vaults::FILE]);
        assert_eq!(chosen(Some("vault_history")).unwrap(), [vault_history::VaultHistory::FILE]);
        assert_eq!(chosen(None).unwrap(), FILES);
        let refused = chosen(Some("vault_prices.jsonl")).unwrap_err().to_string();
        assert!(refused.contains("vault_prices.jsonl") && refused.contains("incidents.jsonl"), "{refused}");
    }
}
