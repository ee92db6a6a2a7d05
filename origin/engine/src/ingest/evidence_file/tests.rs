//! Faults, contradictions and differences of files of answers.

use super::*;
use serde_json::{Value, json};

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
    let named: Vec<_> = file.faults.iter().map(|fault| (fault.line, fault.field.as_deref().unwrap_or("-"))).collect();
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
    let told = json!({"asset": "usdx", "dimension": "redeemability", "question": "who", "counts": "institutions", "also_given": ["any_onchain"]});
    assert_eq!(json!(found[0]), told);
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
    let changes: Vec<_> = diff.answers.iter().map(|one| (one.asked.to_string(), one.change)).collect();
    let asked = |question: &str| format!("usdx redeemability.{question}");
    let expected = [("price", Change::Added), ("settlement", Change::Withdrawn), ("who", Change::Edited)];
    assert_eq!(changes, expected.map(|(question, change)| (asked(question), change)));
    assert_eq!(diff.values.len(), 1);
    let (old, new) = (diff.values[0].before.unwrap(), diff.values[0].after.unwrap());
    assert_eq!((old.weight_unknown, new.weight_unknown), (40, 45));
    assert!(old.value.is_some() && new.value.is_none());
    let gone = after.diff(&read(&[]), NOW);
    assert!(gone.answers.iter().all(|one| one.change == Change::Removed) && gone.values[0].after.is_none());
}

fn row(fields: &Value) -> String {
    let mut row = json!({"source_title": "Documentation", "source_url": "https://protocol.example/docs", "source_kind": "document",
                         "observed_at": "2026-11-01"});
    row.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    row.to_string()
}

fn asset_row(fields: &Value) -> String {
    let mut answer =
        json!({"asset": "usdx", "dimension": "redeemability", "question": "who", "answer": "institutions"});
    answer.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    row(&answer)
}

fn protocol_row(input: &str, value: &Value, fields: &Value) -> String {
    let mut answer = json!({"protocol": "harbor", "input": input, "value": value});
    answer.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    row(&answer)
}

#[test]
fn a_fault_of_a_registry_row_names_a_field_of_the_row() {
    let vault = json!({"vault": " ", "input": "timelock", "value": 0});
    let file = read(&[
        asset_row(&json!({"asset": "USDX"})),
        asset_row(&json!({"reviewer": " "})),
        asset_row(&json!({"observed_at": "2001-01-01"})),
        asset_row(&json!({"observed_at": "2027-01-01"})),
        asset_row(&json!({"answer": "any_onchain", "withdrawn_at": "2026-10-01"})),
        asset_row(&json!({"answer": "any_after_kyc", "withdrawn_at": "2027-01-01"})),
        asset_row(&json!({"asset": null})),
        row(&json!({"dimension": "redeemability", "question": "who", "answer": "institutions"})),
        row(&json!({"input": "timelock", "value": 0})),
        row(&json!({})),
        protocol_row("timelock", &json!(0), &json!({"protocol": ""})),
        protocol_row("timelock", &json!(-1), &json!({})),
        protocol_row("timelock", &json!(0), &json!({"vault": "harbor-1-0x01"})),
        row(&vault),
        asset_row(&json!({"subject": "usdx"})),
    ]);
    let named: Vec<_> = file.faults.iter().map(|fault| (fault.line, fault.field.as_deref().unwrap_or("-"))).collect();
    let expected = [
        (1, "asset"),
        (2, "reviewer"),
        (3, "observed_at"),
        (4, "observed_at"),
        (5, "observed_at"),
        (6, "withdrawn_at"),
        (7, "asset"),
        (8, "asset"),
        (9, "protocol"),
        (10, "-"),
        (11, "protocol"),
        (12, "value"),
        (13, "vault"),
        (14, "vault"),
        (15, "subject"),
    ];
    assert_eq!(named, expected);
    assert_eq!(file.faults[4].reason, "must not be after withdrawn_at");
    let said = file.faults.iter().map(|fault| fault.reason.as_str()).collect::<Vec<_>>().join("; ");
    assert!(!said.contains("asset_id") && !said.contains("as_of") && !said.contains("ingest"), "{said}");
}

#[test]
fn an_asset_is_named_as_its_row_names_it() {
    let contract = "1:0x7f39c581f595b53c5cb19bd0b3f8da6c935e2ca0";
    let of = |answer: &str| asset_row(&json!({"asset": contract, "answer": answer}));
    let file = read(&[of("institutions"), of("any_onchain")]);
    assert_eq!(file.faults, []);
    assert_eq!(json!(file.contradictions(NOW))[0]["asset"], contract);
}

#[test]
fn answers_about_a_protocol_that_differ_are_reported_and_the_weakest_counts() {
    let report = |firm: &str| json!({"firm": firm, "date": "2026-02-01", "scope": "v3"});
    let vault = "harbor-1-0x7f39c581f595b53c5cb19bd0b3f8da6c935e2ca0";
    let own = |seconds: i64| row(&json!({"vault": vault, "input": "timelock", "value": seconds}));
    let file = read(&[
        protocol_row("timelock", &json!(86_400), &json!({})),
        protocol_row("timelock", &json!(0), &json!({})),
        protocol_row("timelock", &json!(3_600), &json!({"observed_at": "2026-10-01"})),
        protocol_row("audit", &report("Hull"), &json!({})),
        protocol_row("audit", &report("Keel"), &json!({})),
        own(5),
        own(7),
    ]);
    assert_eq!(file.faults, []);
    let found = json!(file.contradictions(NOW));
    let told = json!([
        {"protocol": "harbor", "input": "timelock", "counts": 0, "also_given": [86_400]},
        {"vault": vault, "input": "timelock", "counts": 5, "also_given": [7]},
    ]);
    assert_eq!(found, told);
}

#[test]
fn a_diff_covers_answers_about_protocols_and_the_inputs_that_they_move() {
    let report = |firm: &str| json!({"firm": firm, "date": "2026-02-01", "scope": "v3"});
    let audit = protocol_row("audit", &report("Hull"), &json!({}));
    let lock = |fields: Value| protocol_row("timelock", &json!(86_400), &fields);
    let exit = protocol_row("exit", &json!("instant"), &json!({}));
    let before = read(&[audit.clone(), lock(json!({})), exit.clone()]);
    assert_eq!(before.diff(&before, NOW), EvidenceDiff::default());
    let after = read(&[
        audit,
        protocol_row("audit", &report("Keel"), &json!({})),
        lock(json!({"withdrawn_at": "2026-11-05"})),
        exit.replace("Documentation", "Manual"),
        protocol_row("bounty_usd", &json!(0), &json!({})),
    ]);
    assert_eq!((&before.faults, &after.faults), (&vec![], &vec![]));
    let diff = before.diff(&after, NOW);
    let changes: Vec<_> = diff.answers.iter().map(|one| (one.asked.to_string(), one.change)).collect();
    let expected = [
        ("audit", Change::Added),
        ("bounty_usd", Change::Added),
        ("timelock", Change::Withdrawn),
        ("exit", Change::Edited),
    ];
    assert_eq!(changes, expected.map(|(input, change)| (format!("harbor {input}"), change)));
    let moved = json!([
        {"protocol": "harbor", "input": "audit", "before": {"firms": 1, "newest": "2026-02-01"},
         "after": {"firms": 2, "newest": "2026-02-01"}},
        {"protocol": "harbor", "input": "bounty_usd", "before": null, "after": 0},
        {"protocol": "harbor", "input": "timelock", "before": 86_400, "after": null},
    ]);
    assert_eq!(json!(diff.inputs), moved);
    let gone = after.diff(&read(&[]), NOW);
    assert_eq!(gone.answers.iter().filter(|one| one.change == Change::Removed).count(), 5);
}
