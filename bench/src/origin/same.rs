//! Compares a peer's list with the origin's: the same rows in the same order, field by field, and the same pagination.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// A field that changes with time, and its tolerance in seconds between two requests.
const AGE: (&str, f64) = ("freshness_seconds", 10.0);

/// Fails at the first difference and names it. Numbers are compared by value, so `1` equals `1.0`.
pub fn check(target: &str, ours: &[u8], theirs: &[u8]) -> Result<()> {
    let [ours, theirs]: [Value; 2] = [serde_json::from_slice(ours)?, serde_json::from_slice(theirs)?];
    same_fields(&ours, &theirs, &["data", "meta"]).context(target.to_owned())?;
    ensure!(same(&ours["meta"], &theirs["meta"]), "{target}: meta is {}, not {}", theirs["meta"], ours["meta"]);
    let rows = |answer: &Value| answer["data"].as_array().cloned().context("data is not a list");
    let (ours, theirs) = (rows(&ours)?, rows(&theirs)?);
    ensure!(ours.len() == theirs.len(), "{target}: {} rows, not {}", theirs.len(), ours.len());
    for (at, (row, other)) in ours.iter().zip(&theirs).enumerate() {
        let names: Vec<&str> = row.as_object().context("a row is not an object")?.keys().map(String::as_str).collect();
        same_fields(row, other, &names).with_context(|| format!("{target}, row {at}"))?;
        for name in names {
            let (value, told) = (&row[name], &other[name]);
            let close = name == AGE.0 && value.as_f64().zip(told.as_f64()).is_some_and(|(a, b)| (a - b).abs() <= AGE.1);
            ensure!(close || same(value, told), "{target}, row {at}: {name} is {told}, not {value}");
        }
    }
    Ok(())
}

fn same_fields(ours: &Value, theirs: &Value, names: &[&str]) -> Result<()> {
    let told = theirs.as_object().context("not an object")?;
    ensure!(told.len() == names.len() && ours.is_object(), "{} fields, not {}", told.len(), names.len());
    for name in names {
        ensure!(told.contains_key(*name), "{name} is missing");
    }
    Ok(())
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(name, value)| y.get(name).is_some_and(|other| same(value, other)))
        }
        _ => a == b || a.as_f64().zip(b.as_f64()).is_some_and(|(x, y)| x == y),
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    const OURS: &str = r#"{"data":[{"id":"a","tvl":1e6,"freshness_seconds":7},{"id":"b","tvl":null,"freshness_seconds":null}],"meta":{"page":1,"total":2}}"#;

    fn fault(theirs: &str) -> String {
        format!("{:#}", check("/list", OURS.as_bytes(), theirs.as_bytes()).unwrap_err())
    }

    #[test]
    fn numbers_are_compared_by_value_and_ages_may_differ() {
        let theirs = OURS.replace("1e6", "1000000").replace(":7}", ":9}");
        check("/list", OURS.as_bytes(), theirs.as_bytes()).unwrap();
    }

    #[test]
    fn every_difference_is_found_and_named() {
        assert_eq!(fault(&OURS.replace("1e6", "1000000.1")), "/list, row 0: tvl is 1000000.1, not 1000000.0");
        assert_eq!(fault(&OURS.replace("null,", "0,")), "/list, row 1: tvl is 0, not null");
        assert_eq!(fault(&OURS.replace(":7}", ":70}")), "/list, row 0: freshness_seconds is 70, not 7");
        assert_eq!(fault(&OURS.replace("\"b\"", "\"c\"")), "/list, row 1: id is \"c\", not \"b\"");
        assert_eq!(fault(&OURS.replace("\"tvl\":null", "\"tvl_usd\":null")), "/list, row 1: tvl is missing");
        assert_eq!(fault(&OURS.replace("\"tvl\":null,", "")), "/list, row 1: 2 fields, not 3");
        assert!(fault(&OURS.replace("\"total\":2", "\"total\":3")).contains("meta is"));
        assert_eq!(fault(r#"{"data":[],"meta":{"page":1,"total":2}}"#), "/list: 0 rows, not 2");
        assert_eq!(fault(r#"{"data":[]}"#), "/list: 1 fields, not 2");
    }
}
