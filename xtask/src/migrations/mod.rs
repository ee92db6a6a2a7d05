//! Rules for migrations: each one runs while the previous release serves, so it must not lock or rewrite a table that has rows, and must not
//! take away anything that the previous release uses.
//!
//! A file may do anything to the tables that it creates. For tables of earlier files, `rules` lists what Postgres would do under a lock that
//! excludes readers or writers for as long as the table is large. `CONTRIBUTING.md` describes the ways around it.

mod rules;
mod schema;
mod statements;

#[cfg(test)]
mod tests;

use anyhow::{Context, Result};

use crate::workspace;
use schema::Schema;
use statements::Parsed;

/// Version of the last migration that was released without these rules. A released migration cannot be changed: databases have recorded its
/// checksum.
const LAST_EXEMPT: &str = "20261128000100";

/// Released files that break the rules: file, what it does, and how much that takes on a database of the release before it. No later file can
/// be listed ([`LAST_EXEMPT`]).
const EXEMPT: [(&str, &str); 14] = [
    (
        "20261121001100_holders_strategies.sql",
        "updates vault_score, one row a vault, and checks protocol, one row a protocol",
    ),
    ("20261121001200_markets_oracles_positions_symbols.sql", "indexes vault, one row a vault"),
    (
        "20261121001300_reviewers_attestations_rwa.sql",
        "numbers asset and asset_version, a few thousand rows, and rewrites both",
    ),
    (
        "20261121001510_event_feed.sql",
        "maps words of a text search that it creates, which the parser does not know; checks market_state",
    ),
    ("20261121001900_baskets.sql", "checks the journal's window of operations, which is a day"),
    ("20261121002210_basket_signatures.sql", "checks basket_version, a few rows a basket"),
    ("20261121002220_decision_attempts.sql", "indexes decision, which grew only by signed checks"),
    ("20261121002600_timelines.sql", "checks incarnation, one row a restore"),
    ("20261121003010_event_repeats.sql", "reads event_feed once to fill the table of repeats"),
    ("20261121003030_signal_graph_snapshot.sql", "checks signal, a few rows a day"),
    ("20261121003100_external_research.sql", "checks research_record, a few rows a research run"),
    ("20261125000100_score_evidence.sql", "checks exposure, one row a vault"),
    ("20261126000700_read_answers.sql", "indexes asset_answer, a few thousand rows, with a condition that few meet"),
    ("20261128000100_webhook_rows.sql", "replaces an index of webhook_delivery, whose rows are kept for 30 days"),
];

/// A migration: its file name and its text.
pub(crate) struct Migration {
    pub name: String,
    pub text: String,
}

/// All violations of the clone's migrations, as `path:line: rule`.
pub(crate) fn check() -> Result<Vec<String>> {
    let folder = workspace::root().join("migrations");
    let mut migrations = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|kind| kind == "sql") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            migrations.push(Migration { text: std::fs::read_to_string(&path)?, name });
        }
    }
    migrations.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(violations(&migrations, &EXEMPT))
}

/// The violations of `migrations`, which are in the order in which they run. A file in `exempt` must have at least one, and must not be newer
/// than [`LAST_EXEMPT`].
fn violations(migrations: &[Migration], exempt: &[(&str, &str)]) -> Vec<String> {
    let (mut schema, mut found) = (Schema::default(), Vec::new());
    for (name, _) in exempt {
        if *name > LAST_EXEMPT && !name.starts_with(LAST_EXEMPT) {
            found.push(format!("migrations/{name}: only files up to {LAST_EXEMPT} can be exempt"));
        }
        if !migrations.iter().any(|one| one.name == *name) {
            found.push(format!("migrations/{name}: the exempt file does not exist"));
        }
    }
    for migration in migrations {
        let parsed = Parsed::of(&migration.text);
        let broken = rules::broken(&parsed, &schema);
        schema.apply(&parsed);
        let is_exempt = exempt.iter().any(|(name, _)| *name == migration.name);
        if is_exempt && broken.is_empty() {
            found.push(format!("migrations/{}: breaks no rule, so it must not be exempt", migration.name));
        }
        if !is_exempt {
            found
                .extend(broken.into_iter().map(|(line, rule)| format!("migrations/{}:{line}: {rule}", migration.name)));
        }
    }
    found
}
