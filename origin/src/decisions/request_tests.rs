//! Bodies of checks: which are accepted, and how faults are reported.

use super::*;

const VAULT: &str = "1:0x000000000000000000000000000000000000000a";

fn body(positions: &str, rest: &str) -> String {
    format!(r#"{{"portfolioRef":"book-1","positions":{positions}{rest}}}"#)
}

fn amount(text: &str) -> String {
    body(&format!(r#"[{{"vaultKey":"{VAULT}","amountUsd":{text}}}]"#), "")
}

/// Parses with one known chain.
fn read(body: &str) -> Result<CheckRequest, ApiError> {
    CheckRequest::read(body.as_bytes(), |chain| (chain.0 == 1).then_some(Namespace::Evm))
}

/// Each fault: its field and the message.
fn faults(body: &str) -> Vec<(String, String)> {
    let error = read(body).unwrap_err();
    error.details.into_iter().map(|detail| (detail.name.into_owned(), detail.reason)).collect()
}

fn only_fault(body: &str) -> (String, String) {
    let mut faults = faults(body);
    assert_eq!(faults.len(), 1, "{faults:?}");
    faults.remove(0)
}

#[test]
fn a_vault_named_twice_is_one_position_in_exact_dollars() {
    let upper = VAULT.to_uppercase().replace("0X", "0x");
    let positions = format!(r#"[{{"vaultKey":"{VAULT}","amountUsd":0.1}},{{"amountUsd":0.2,"vaultKey":"{upper}"}}]"#);
    let rest = r#","limits":{"maxSharePerChain":0.5},"issue":true,"loss":{"any":[1e999]}"#;
    let merged = read(&body(&positions, rest)).unwrap();
    assert_eq!(merged.portfolio.positions().count(), 1);
    assert_eq!(merged.portfolio.total().to_string(), "0.3");
    assert!(merged.issue);
    let plain = read(&body(&positions, r#","limits":null,"issue":null"#)).unwrap();
    assert_eq!((plain.limits, plain.issue), (Limits::default(), false));
}

#[test]
fn every_bad_amount_is_reported_with_its_field() {
    for (text, reason) in [
        ("-1", "must not be negative"),
        ("1e15", "must have at most 15 digits before the point"),
        ("1000000000000000.5", "must have at most 15 digits before the point"),
        ("1e999", "must have at most 15 digits before the point"),
        ("\"5\"", "must be a number"),
        ("null", "must be a number"),
        ("true", "must be a number"),
        ("NaN", "must be a finite number"),
        ("Infinity", "must be a finite number"),
        ("-Infinity", "must be a finite number"),
    ] {
        assert_eq!(only_fault(&amount(text)), ("positions[0].amountUsd".to_owned(), reason.to_owned()), "{text}");
    }
    let exact = read(&amount("999999999999999.999999")).unwrap();
    assert_eq!(exact.portfolio.total().to_string(), "999999999999999.999999", "to the last digit");
}

#[test]
fn invalid_positions_are_refused_with_a_reason() {
    assert_eq!(only_fault(&body("[]", "")), ("positions".to_owned(), "must not be empty".to_owned()));
    assert_eq!(only_fault(&amount("0")).0, "positions");
    assert_eq!(only_fault(r#"{"portfolioRef":"a"}"#), ("positions".to_owned(), "is required".to_owned()));
    assert_eq!(only_fault(&body("{}", "")).0, "positions");
    assert_eq!(only_fault(&body("[7]", "")).0, "positions[0]");
    let item = format!(r#"{{"vaultKey":"{VAULT}","amountUsd":1}}"#);
    let full = |count: usize| body(&format!("[{}]", vec![item.as_str(); count].join(",")), "");
    assert!(read(&full(1_000)).is_ok());
    let error = read(&full(1_001)).unwrap_err();
    assert_eq!((error.code, error.details[0].name.as_ref()), (ErrorCode::TooManyItems, "positions"));
}

#[test]
fn vault_keys_limits_and_everything_else_are_told_by_name() {
    for key in [
        "",
        "0xabc",
        "1:",
        "1:0xabc",
        "one:0x000000000000000000000000000000000000000a",
        "01:0x000000000000000000000000000000000000000a",
        "1:TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
    ] {
        let positions = format!(r#"[{{"vaultKey":"{key}","amountUsd":1}}]"#);
        assert_eq!(only_fault(&body(&positions, "")).0, "positions[0].vaultKey", "{key}");
    }
    let good = format!(r#"[{{"vaultKey":"{VAULT}","amountUsd":1}}]"#);
    for limit in
        ["0", "-0.1", "1.000001", "1.00000000000000001", "1e999", "-1e-400", "\"0.5\"", "null", "NaN", "-Infinity"]
    {
        let rest = format!(r#","limits":{{"maxSharePerAsset":{limit}}}"#);
        assert_eq!(only_fault(&body(&good, &rest)).0, "limits.maxSharePerAsset", "{limit}");
    }
    for (rest, name) in [
        (r#","limits":{"maxShare":0.5}"#, "limits.maxShare"),
        (r#","limits":{"maxShare":{}}"#, "limits.maxShare"),
        (r#","limits":[]"#, "limits"),
        (r#","issue":"yes""#, "issue"),
        (r#","shock":1"#, "shock"),
    ] {
        assert_eq!(only_fault(&body(&good, rest)).0, name);
    }
    for reference in ["\"\"".to_owned(), format!("\"{}\"", "x".repeat(201)), "\"a\\n\"".to_owned(), "7".to_owned()] {
        let body = format!(r#"{{"portfolioRef":{reference},"positions":{good}}}"#);
        assert_eq!(only_fault(&body).0, "portfolioRef", "{reference}");
    }
    assert_eq!(LIMIT_FIELDS.len(), 9);
}

#[test]
fn a_limit_is_rounded_down_from_what_is_written() {
    for (limit, ppm) in
        [("0.3", 300_000), ("0.29999999999999999999", 299_999), ("1e-400", 0), ("1.0000000000000000", 1_000_000)]
    {
        let rest = format!(r#","limits":{{"maxSharePerAsset":{limit}}}"#);
        let read = read(&body(&format!(r#"[{{"vaultKey":"{VAULT}","amountUsd":1}}]"#), &rest)).unwrap();
        assert_eq!(read.limits.get(Dimension::Asset).unwrap().0, ppm, "{limit}");
    }
}

#[test]
fn a_member_that_is_given_twice_is_refused_by_name() {
    let position = format!(r#"{{"vaultKey":"{VAULT}","amountUsd":1}}"#);
    let twice = |name: &str| (name.to_owned(), "is given more than once".to_owned());
    for (rest, name) in [
        (r#","portfolioRef":"book-1""#, "portfolioRef"),
        (r#","limits":null,"limits":{"maxSharePerAsset":0.1}"#, "limits"),
        (r#","issue":true,"\u0069ssue":false"#, "issue"),
        (r#","loss":1,"loss":2"#, "loss"),
        (
            r#","limits":{"maxSharePerAsset":0.1,"maxSharePerChain":1,"maxSharePerAsset":0.9}"#,
            "limits.maxSharePerAsset",
        ),
    ] {
        assert_eq!(only_fault(&body(&format!("[{position}]"), rest)), twice(name));
    }
    for (more, name) in [(r#""amountUsd":2"#, "amountUsd"), (&format!(r#""vaultKey":"{VAULT}""#), "vaultKey")] {
        let positions = format!("[{position},{},{more}}}]", position.trim_end_matches('}'));
        assert_eq!(only_fault(&body(&positions, "")), twice(&format!("positions[1].{name}")));
    }
}

#[test]
fn faults_are_reported_together_up_to_a_limit() {
    let body =
        r#"{"positions":[{"vaultKey":"x"},{"vaultKey":"1:0x","amountUsd":-1,"usd":2}],"limits":{"a":2},"issue":0}"#;
    let names: Vec<_> = faults(body).into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "portfolioRef",
            "positions[0].vaultKey",
            "positions[0].amountUsd",
            "positions[1].vaultKey",
            "positions[1].amountUsd",
            "positions[1].usd",
            "limits.a",
            "issue"
        ]
    );
    let many = format!(r#"{{"portfolioRef":"a","positions":[{}]}}"#, vec!["{}"; 1_000].join(","));
    assert_eq!(faults(&many).len(), MAX_FAULTS);
    for other in ["", "[]", "null", "{", "7", "NaN", r#"{"positions":}"#] {
        let error = read(other).unwrap_err();
        assert_eq!((error.code, error.details.len()), (ErrorCode::InvalidBody, 0), "{other}");
    }
}
