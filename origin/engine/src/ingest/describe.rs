//! What the documentation of ingest states besides the types of fields: examples of each kind, and the rules that its fields are held to.
//!
//! The rules are collected while the examples are checked, so they are those of ingest. A rule inside a list or an object is found only if an
//! example of the kind has an entry there.

use super::check::{self, rule::Rule};
use super::observation;

/// Valid lines of every kind. Together they are one batch that ingest accepts at [`ACCEPTED_AT`]. The first line of a kind is its example.
pub const EXAMPLES: &str = include_str!("examples.ndjson");

/// A time at which ingest accepts the examples.
pub const ACCEPTED_AT: &str = "2026-11-20T09:10:00Z";

/// The examples of a kind.
pub fn examples(kind: &str) -> impl Iterator<Item = &'static str> {
    EXAMPLES.lines().filter(move |line| observation::kind_of(line).as_deref() == Some(kind))
}

/// The rules of a kind's fields, each with the field's path: `parts[].share` is a field of the entries of `parts`, and `evidence.*` any member
/// of `evidence`.
pub fn rules(kind: &str) -> Vec<(String, Rule)> {
    let mut all: Vec<(String, Rule)> = Vec::new();
    for mut example in examples(kind).filter_map(|line| observation::read(line).ok()) {
        for (field, rule) in check::rules(&mut example) {
            let rule = (without_positions(&field), rule);
            if !all.contains(&rule) {
                all.push(rule);
            }
        }
    }
    all
}

/// The path with `[]` for each position in a list.
fn without_positions(field: &str) -> String {
    let mut parts = field.split('[');
    let mut path = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        path.push('[');
        path.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_digit()));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::check::rule::FORMS;
    use crate::ingest::observation::KINDS;
    use crate::ingest::{Batch, check_lines};
    use proptest::prelude::*;
    use rds_shared::wire::Timestamp;
    use regex::Regex;

    #[test]
    fn every_kind_has_an_example_and_every_example_is_valid() {
        let batch = Batch::read(EXAMPLES.as_bytes()).unwrap();
        assert_eq!(batch.own_faults(), []);
        assert_eq!(batch.counts().len(), KINDS.len());
        let mut findings = Vec::new();
        let now = Timestamp::parse(ACCEPTED_AT).unwrap();
        check_lines(EXAMPLES.as_bytes(), now, &mut |finding| findings.push(finding.clone())).unwrap();
        assert_eq!(findings, []);
        for kind in KINDS {
            assert!(rules(kind).iter().any(|(field, _)| field == "observed_at"), "{kind}");
        }
    }

    #[test]
    fn rules_have_the_path_of_their_field() {
        let of = |kind: &str, field: &str| {
            let all = rules(kind);
            assert!(all.iter().any(|(known, _)| known == field), "{kind} {field}: {all:?}");
        };
        of("exposure", "parts[].bridges[].id");
        of("exposure", "evidence.calls[].answer");
        of("vault", "evidence.*");
        of("research_record", "body.bands[].losses");
    }

    #[test]
    fn the_words_of_a_form_state_its_maximum() {
        for form in FORMS {
            let max = form.max_chars.map(|max| max.to_string());
            assert!(max.is_none_or(|max| form.must.contains(&max)), "{form:?}");
        }
    }

    /// Texts that are near one of the forms.
    fn texts() -> impl Strategy<Value = String> {
        let address = "(0[xX][0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{43,44})";
        let near = [
            "[a-z0-9._-]{0,100}".to_owned(),
            "https?://[a-z.\u{85}\u{a0}\u{feff} ]{0,6}".to_owned(),
            "(eip155:)?[0-9]{0,3}:0x[0-9a-f]{40}".to_owned(),
            address.to_owned(),
            format!("[A-Za-z0-9._-]{{1,5}}-[0-9]{{1,3}}-{address}"),
            format!("[+0-9]{{1,3}}:{address}"),
            "[ -~]{0,6}".to_owned(),
            "[0-9a-f]{63,65}|[0-9a-fA-F]{64}|[0-9a-f]{128}".to_owned(),
            "0x[0-9a-fg]{0,3}|0x[0-9a-f]{40}|0x[0-9a-f]{64}".to_owned(),
            "-?[0-9]{0,3}[.]?[0-9]{0,3}|[0-9]{76,80}|[01]{998,1002}".to_owned(),
            ".{0,8}".to_owned(),
        ];
        proptest::sample::select(near.to_vec()).prop_flat_map(|near| proptest::string::string_regex(&near).unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn a_forms_expression_matches_what_the_check_accepts(text in texts()) {
            for form in FORMS {
                let is_short = form.max_chars.is_none_or(|max| text.chars().count() <= max);
                let is_match = is_short && Regex::new(form.pattern).unwrap().is_match(&text);
                prop_assert!(is_match || !form.holds(&text), "{:?} accepts {:?}", form, text);
                prop_assert!(!is_match || !form.is_exact || form.holds(&text), "{:?} refuses {:?}", form, text);
            }
        }
    }
}
