//! `ingest --check` and `ingest --schema` as an operator runs them: without a database.

use rds_engine::ingest::{KINDS, describe};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A valid line.
const GOOD: &str =
    r#"{"kind":"curator","observed_at":"2026-01-01T00:00:00Z","source":"test","id":"keel","name":"Keel Capital"}"#;

/// Runs the program without any environment variable, with `input` on standard input.
fn program(words: &[&str], input: &[u8]) -> Output {
    let mut running = Command::new(env!("CARGO_BIN_EXE_rds-origin"))
        .env_clear()
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = running.stdin.take().unwrap();
    let input = input.to_vec();
    // A program that does not read its input closes it.
    let writing = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = running.wait_with_output().unwrap();
    writing.join().unwrap();
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Checks standard input: exit code, findings, summary.
fn check(input: &[u8]) -> (i32, Vec<String>, String) {
    let output = program(&["ingest", "--check"], input);
    (output.status.code().unwrap(), text(&output.stderr).lines().map(str::to_owned).collect(), text(&output.stdout))
}

/// The only finding of one line.
fn finding(line: &[u8]) -> String {
    let (code, findings, summary) = check(line);
    assert_eq!((code, findings.len()), (2, 1), "{findings:?} {summary}");
    assert!(summary.starts_with("1 of 1 lines are invalid"), "{summary}");
    findings[0].clone()
}

#[test]
fn the_examples_of_the_documentation_are_valid() {
    let (code, findings, summary) = check(describe::EXAMPLES.as_bytes());
    assert_eq!((code, findings), (0, Vec::<String>::new()));
    let lines = describe::EXAMPLES.lines().count();
    assert!(summary.starts_with(&format!("{lines} of {lines} lines are valid: ")), "{summary}");
    assert!(summary.contains("2 vault_state") && summary.contains("not checked: references"), "{summary}");
}

#[test]
fn each_finding_has_line_kind_and_field() {
    let wrong = GOOD.replace("keel", "Keel!").replace("Keel Capital", " ");
    let (code, findings, summary) = check(format!("{GOOD}\n\n{wrong}\n{GOOD}").as_bytes());
    assert_eq!(code, 2);
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert!(findings[0].starts_with("line 3: curator: id must be a slug"), "{findings:?}");
    assert_eq!(findings[1], "line 3: curator: name must be a text of 1 to 4000 bytes");
    assert!(summary.starts_with("1 of 3 lines are invalid, with 2 findings\n"), "{summary}");
}

#[test]
fn every_kind_of_bad_line_is_told() {
    for (line, told) in [
        ("not json".to_owned(), "line 1: the line expected ident"),
        ("[1]".to_owned(), "line 1: kind "),
        (r#"{"kind":"weather"}"#.to_owned(), r#"line 1: kind "weather" is not a kind; known kinds are chain, "#),
        (r#"{"observed_at":"2026-01-01T00:00:00Z"}"#.to_owned(), "line 1: kind is missing"),
        (GOOD.replace(r#","id":"keel""#, ""), "line 1: curator: id missing field `id`"),
        (GOOD.replace(r#""id""#, r#""colour":"red","id""#), "line 1: curator: colour unknown field `colour`"),
        (GOOD.replace(r#""id""#, r#""id":"other","id""#), "line 1: curator: id duplicate field `id`"),
        (GOOD.replace(r#""source""#, r#""kind":"curator","source""#), "line 1: kind duplicate field `kind`"),
        (GOOD.replace("2026-01", "2999-01"), "line 1: curator: observed_at must not be more than 5 minutes ahead"),
        (GOOD.replace("2026-01-01T00:00:00Z", "yesterday"), "line 1: curator: observed_at "),
        (
            r#"{"kind":"market_state","observed_at":"2026-01-01T00:00:00Z","source":"t","chain_id":1,
                "address":"0x0000000000000000000000000000000000000001","bad_debt_usd":"12"}"#
                .replace('\n', ""),
            "line 1: market_state: bad_debt_usd invalid type: string \"12\", expected f64",
        ),
    ] {
        let found = finding(line.as_bytes());
        assert!(found.starts_with(told), "{line}: {found}");
    }
}

#[test]
fn a_line_that_is_not_utf_8_does_not_hide_the_next_one() {
    let (code, findings, _) = check(&[&b"{\"kind\":\"cur\xffator\"}\n"[..], br#"{"kind":"weather"}"#].concat());
    assert_eq!((code, findings.len()), (2, 2));
    assert_eq!(findings[0], "line 1: the line is not UTF-8");
    assert!(findings[1].starts_with("line 2: kind "), "{findings:?}");
}

#[test]
fn a_file_larger_than_a_batch_is_invalid_although_its_lines_are_not() {
    let blank = vec![b' '; 64 << 20];
    let (code, findings, summary) = check(&[GOOD.as_bytes(), b"\n", &blank].concat());
    assert_eq!((code, findings), (2, Vec::new()));
    assert!(summary.contains("more than the 67108864 of one batch"), "{summary}");
    let found = finding(&[&blank[..], b"  "].concat());
    assert_eq!(found, "line 1: the line is longer than a batch may be, 67108864 bytes");
}

#[test]
fn an_empty_file_is_valid_and_a_missing_one_cannot_be_read() {
    for empty in [&b""[..], b"\n \n"] {
        let (code, findings, summary) = check(empty);
        assert_eq!((code, findings.len()), (0, 0));
        assert!(summary.starts_with("there is no line to check"), "{summary}");
    }
    let missing = program(&["ingest", "--check", "no-such-file.ndjson"], b"");
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).contains("no-such-file.ndjson cannot be read"), "{}", text(&missing.stderr));
    let folder = program(&["ingest", "--check", "."], b"");
    assert_eq!(folder.status.code(), Some(1), "{}", text(&folder.stderr));
}

#[test]
fn a_file_is_checked_like_standard_input_and_json_is_one_value() {
    let file: PathBuf = std::env::temp_dir().join(format!("rds-ingest-check-{}.ndjson", std::process::id()));
    fs::write(&file, format!("{GOOD}\n{{}}\n")).unwrap();
    let output = program(&["ingest", "--check", file.to_str().unwrap(), "--json"], b"");
    fs::remove_file(&file).unwrap();
    assert_eq!(output.status.code(), Some(2));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["valid"], json!(false));
    assert_eq!(value["findings"], json!([{"line": 2, "kind": null, "field": "kind", "reason": "is missing"}]));
    assert_eq!((&value["checked"]["lines"], &value["checked"]["valid"]), (&json!(2), &json!({"curator": 1})));
    assert_eq!(text(&output.stderr), "line 2: kind is missing\n");
}

#[test]
fn the_schema_of_a_kind_is_printed_and_an_unknown_kind_is_refused() {
    for kind in KINDS {
        let output = program(&["ingest", "--schema", kind], b"");
        assert!(output.status.success(), "{kind}: {}", text(&output.stderr));
        let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["properties"]["kind"]["const"], kind);
    }
    let all: Value = serde_json::from_slice(&program(&["ingest", "--schema"], b"").stdout).unwrap();
    assert_eq!(all["oneOf"].as_array().unwrap().len(), KINDS.len());
    let unknown = program(&["ingest", "--schema", "weather"], b"");
    assert!(!unknown.status.success() && text(&unknown.stderr).contains("weather"), "{}", text(&unknown.stderr));
}

#[test]
fn the_help_says_what_is_not_checked_and_a_file_is_needed_to_ingest() {
    let help = text(&program(&["ingest", "--help"], b"").stdout);
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["whether the rows exist that a line refers to", "whether signatures verify", "2 if a line is not"] {
        assert!(words.contains(part), "{part}: {help}");
    }
    let none = program(&["ingest"], b"");
    assert!(!none.status.success() && text(&none.stderr).contains("FILE"), "{}", text(&none.stderr));
}
