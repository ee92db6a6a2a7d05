//! Every SQL statement of the origin is prepared against the migrated schema, so a wrong column, table or type fails this test and not a
//! user's request.
//!
//! The statements are read from the source as string literals. `{NAME}` in a `format!` is replaced by the constant or the local literal of
//! that name. Sqlx's checked macros are not used, because a third of the statements share fragments, which the macros cannot take, and
//! because the macros would check each statement again in every build.

use crate::support::db::TestDb;
use crate::support::sql::without_comments;
use sqlx::Executor;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Files with placeholders that functions fill in, each with the tests that run the resulting statements.
const BUILT: [(&str, &str); 16] = [
    ("store/src/events/places.rs", "events::feed"),
    ("store/src/ingest/facts.rs", "ingest::batches, with every kind of fact"),
    ("store/src/ingest/readings.rs", "ingest::chain_readings"),
    ("store/src/migrate.rs", "service::migrations"),
    ("store/src/push/journal/retention.rs", "push::journal_retention"),
    ("store/src/push/journal/step.rs", "push::journal_restores"),
    ("store/src/research/facts.rs", "research::runs"),
    ("store/src/research/predictions.rs", "research::runs"),
    ("store/src/research/samples.rs", "research::runs"),
    ("store/src/security/signals.rs", "security::signals"),
    ("store/src/service/drill.rs", "service::drill"),
    ("store/src/thinning.rs", "vaults::thinning"),
    ("store/src/vaults/days/mod.rs", "vaults::days"),
    ("store/src/vaults/days/signals.rs", "vaults::days"),
    ("store/src/vaults/days/sql.rs", "vaults::days"),
    ("store/src/vaults/rewards.rs", "vaults::detail"),
];

/// Literals that begin like a statement but are only parts of statements, by file and first words. The statements that contain them are
/// checked, or are in [`BUILT`].
const FRAGMENTS: [(&str, &str); 12] = [
    ("store/src/events/feed.rs", "SELECT e.id, e.event_type"),
    ("store/src/events/pages.rs", "SELECT f.occurred_at FROM ("),
    ("store/src/push/journal/mod.rs", "SELECT o.id, o.recorded_at"),
    ("store/src/research/samples.rs", "SELECT max(greatest(drawdown_bp"),
    ("store/src/research/samples.rs", "SELECT max(div((peak - pps)"),
    ("store/src/security/mod.rs", "SELECT s.*, (s.loss_usd * 100)"),
    ("store/src/thinning.rs", "SELECT min(observed_at) FROM vault_snapshot h WHERE h.vault_id = v.id"),
    ("store/src/thinning.rs", "SELECT min(first.at) FROM unnest"),
    ("store/src/thinning.rs", "SELECT min(observed_at) FROM holder_snapshot h WHERE h.vault_id = v.id"),
    ("store/src/vaults/days/signals.rs", "SELECT '-infinity'::date AS day, {PART_COLUMNS} FROM"),
    ("store/src/vaults/days/signals.rs", "SELECT '-infinity'::date AS day, used_at"),
    ("store/src/vaults/days/signals.rs", "SELECT {first} AS day"),
];

/// First words of SQL statements, after comments. A string that begins with another word is a fragment.
const VERBS: [&str; 9] =
    ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH ", "LOCK ", "LISTEN ", "TRUNCATE ", "DROP "];

/// SQL keywords that are not also names of tables, columns or functions.
const KEYWORDS: [&str; 15] = [
    "select",
    "from",
    "where",
    "join",
    "insert",
    "into",
    "update",
    "delete",
    "returning",
    "values",
    "order",
    "group",
    "exists",
    "distinct",
    "null",
];

/// The keywords of a statement that are in lower case. Quoted texts, comments and placeholders are not checked.
fn lower_case_keywords(sql: &str) -> BTreeSet<&str> {
    let code = sql.lines().map(|line| line.split_once("--").map_or(line, |(code, _)| code));
    let plain = code.flat_map(|line| line.split('\'').step_by(2)).flat_map(|part| {
        let (first, rest) = part.split_once('{').unwrap_or((part, ""));
        [first].into_iter().chain(rest.split('{').map(|piece| piece.split_once('}').map_or(piece, |(_, after)| after)))
    });
    let words = plain.flat_map(|part| part.split(|char: char| !char.is_alphanumeric() && char != '_'));
    words.filter(|word| KEYWORDS.contains(word)).collect()
}

/// Whether `text` is a statement; its first word may be in upper or lower case.
fn is_statement(text: &str) -> bool {
    let text = without_comments(text);
    VERBS.iter().any(|verb| text.get(..verb.len()).is_some_and(|start| start.eq_ignore_ascii_case(verb)))
}

/// A string literal in a source file.
struct Literal {
    line: usize,
    /// The source before the literal, back to the previous `;`, `}` or literal.
    before: String,
    text: String,
}

impl Literal {
    fn is_format(&self) -> bool {
        self.before.trim_end().ends_with("format!(")
    }

    /// The name of the constant or variable that the literal is assigned to.
    fn name(&self) -> Option<&str> {
        let (name, between) = self.before.rsplit_once('=')?;
        if !between.trim().is_empty() {
            return None;
        }
        let name = name.split(": &").next()?.trim_end();
        name.rsplit(|char: char| !char.is_alphanumeric() && char != '_').next().filter(|name| !name.is_empty())
    }
}

/// The string literals of a source file, except those in comments and in its `#[cfg(test)]` module.
fn literals(source: &str) -> Vec<Literal> {
    let source = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let (mut found, mut line, mut before) = (Vec::new(), 1, String::new());
    let mut chars = source.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '/' if chars.peek() == Some(&'/') => while chars.next_if(|char| *char != '\n').is_some() {},
            '\'' => {
                // The start of a character literal such as '"', or of a lifetime.
                before.push(char);
                let mut ahead = chars.clone();
                if ahead.next() == Some('\\') || ahead.next() == Some('\'') {
                    let is_escape = chars.next() == Some('\\');
                    if is_escape {
                        chars.next();
                    }
                    chars.find(|char| *char == '\'');
                }
            }
            '"' => {
                let (start, mut text) = (line, String::new());
                while let Some(char) = chars.next().filter(|char| *char != '"') {
                    line += usize::from(char == '\n');
                    match (char, chars.peek()) {
                        ('\\', Some('\n')) => {
                            while chars
                                .next_if(|char| char.is_whitespace())
                                .inspect(|char| line += usize::from(*char == '\n'))
                                .is_some()
                            {}
                        }
                        ('\\', Some(_)) => text.extend(chars.next().map(|char| if char == 'n' { '\n' } else { char })),
                        _ => text.push(char),
                    }
                }
                found.push(Literal { line: start, before: std::mem::take(&mut before), text });
            }
            '\n' => {
                line += 1;
                before.push(char);
            }
            ';' | '}' => before.clear(),
            _ => before.push(char),
        }
    }
    found
}

/// The placeholders of a format string, such as `COLUMNS` in `SELECT {COLUMNS}`.
fn placeholders(text: &str) -> BTreeSet<String> {
    let plain = text.replace("{{", "").replace("}}", "");
    let inside = plain.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    inside.map(|(name, _)| name.split(':').next().unwrap_or_default().to_owned()).collect()
}

/// Statements of one file with their lines, and the placeholders that no literal resolves.
fn statements(
    name: &str,
    file: &[Literal],
    elsewhere: &BTreeMap<String, String>,
) -> (Vec<(usize, String)>, BTreeSet<String>) {
    let is_fragment =
        |text: &str| FRAGMENTS.iter().any(|(of, start)| *of == name && text.trim_start().starts_with(start));
    let here: BTreeMap<&str, &str> =
        file.iter().filter(|one| !one.is_format()).filter_map(|one| Some((one.name()?, one.text.as_str()))).collect();
    let (mut whole, mut open) = (Vec::new(), BTreeSet::new());
    for literal in file.iter().filter(|one| VERBS.iter().any(|verb| without_comments(&one.text).starts_with(verb))) {
        if is_fragment(&literal.text) {
            continue;
        }
        let mut text = literal.text.clone();
        if literal.is_format() {
            // A fragment may have placeholders of its own.
            for _ in 0..3 {
                for name in placeholders(&text) {
                    if let Some(value) = here.get(name.as_str()).copied().or(elsewhere.get(&name).map(String::as_str)) {
                        text = text.replace(&format!("{{{name}}}"), value);
                    }
                }
            }
            let left = placeholders(&text);
            if !left.is_empty() {
                open.extend(left);
                continue;
            }
            text = text.replace("{{", "{").replace("}}", "}");
        }
        whole.push((literal.line, text));
    }
    (whole, open)
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|kind| kind == "rs") {
            found.push(entry);
        }
    }
}

/// Every statement with its file and line, and the files whose statements are [`BUILT`], with their placeholders.
#[derive(Default)]
pub struct Statements {
    pub whole: Vec<(String, usize, String)>,
    built: BTreeMap<String, BTreeSet<String>>,
    lower_case: Vec<String>,
}

/// Reads the statements of all crates.
pub fn all() -> Statements {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = Vec::new();
    for folder in ["src", "store/src", "engine/src", "simulate/src", "importers/src"] {
        sources(&root.join(folder), &mut names);
    }
    names.sort();
    let files: Vec<(String, Vec<Literal>)> = names
        .iter()
        .map(|name| {
            let inside = name.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            (inside, literals(&std::fs::read_to_string(name).unwrap()))
        })
        .collect();
    let shared: BTreeMap<String, String> = files
        .iter()
        .flat_map(|(_, file)| file)
        .filter(|one| !one.is_format() && one.before.contains("const "))
        .filter_map(|one| Some((one.name()?.to_owned(), one.text.clone())))
        .collect();

    let mut all = Statements::default();
    for (name, file) in &files {
        let (whole, open) = statements(name, file, &shared);
        for statement in file.iter().filter(|one| name.starts_with("store/src/") && is_statement(&one.text)) {
            let lower = lower_case_keywords(&statement.text);
            if !lower.is_empty() {
                all.lower_case.push(format!("origin/{name}:{}: keywords in lower case: {lower:?}", statement.line));
            }
        }
        all.whole.extend(whole.into_iter().map(|(line, sql)| (name.clone(), line, sql)));
        if !open.is_empty() {
            all.built.insert(name.clone(), open);
        }
    }
    all
}

#[tokio::test]
async fn every_statement_fits_the_migrated_schema() {
    let Statements { whole, built, lower_case: mut faults } = all();
    let test = TestDb::new().await;
    let mut connection = test.db.pool.acquire().await.unwrap();
    let mut prepared = 0;
    for (name, line, sql) in whole {
        match connection.prepare(&sql).await {
            Ok(_) => prepared += 1,
            Err(error) => faults.push(format!("origin/{name}:{line}: {error}\n    {sql}")),
        }
    }
    assert!(faults.is_empty(), "{} of them:\n{}", faults.len(), faults.join("\n"));
    assert!(prepared > 380, "only {prepared} statements were found");
    let known: BTreeSet<&str> = BUILT.iter().map(|(file, _)| *file).collect();
    assert_eq!(built.keys().map(String::as_str).collect::<BTreeSet<_>>(), known, "{built:?}");
}

#[test]
fn a_keyword_in_lower_case_is_noticed() {
    let sql = "\n  -- from\n  select a, {values} FROM {from} where b = 'from' AND c.values_at = 1 -- order";
    assert!(is_statement(sql));
    assert_eq!(lower_case_keywords(sql), BTreeSet::from(["select", "where"]));
    assert!(!is_statement("the update was refused"));
}

#[test]
fn a_literal_is_read_as_the_compiler_reads_it() {
    let source = "const COLUMNS: &str = \"a, b\";\n// \"no\"\nlet q = '\"';\nlet sql = format!(\n  \"SELECT {COLUMNS} FROM t \\\n     WHERE \\\"x\\\" = 1\"\n);";
    let file = literals(source);
    assert_eq!(file.len(), 2);
    assert_eq!((file[0].name(), file[0].text.as_str()), (Some("COLUMNS"), "a, b"));
    let (whole, open) = statements("", &file, &BTreeMap::new());
    assert_eq!(whole, [(5, "SELECT a, b FROM t WHERE \"x\" = 1".to_owned())]);
    assert!(open.is_empty());
}
