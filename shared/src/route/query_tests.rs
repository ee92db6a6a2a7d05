//! Behaviour of the query parser that callers see.

use super::*;
use crate::route::typed::kinds::{self, Read};
use proptest::prelude::*;

const PARAMS: &[Param] = &[
    Param::page("page"),
    Param::size("limit", 20, 100),
    Param::names("chain", ""),
    Param::choices("riskTier", &["prime", "core", "edge"], ""),
    Param::decimal("minRiskScore", 0.0, 10.0, "").alias(&["minScore", "min_score"]),
    Param::flag("audited", ""),
    Param::text("search", 200, ""),
    Param::choice("sortOrder", &["asc", "desc"], "").default("desc"),
    Param::instant("from", ""),
    Param::int("bounded", 1, 5, 3, OnOverflow::Reject, ""),
];

/// Access to parsed values by name. Handlers use [`RowQuery`](crate::route::RowQuery) instead.
impl Query {
    fn named(&self, name: &str) -> Option<&Value> {
        self.value(self.params.iter().position(|param| param.name == name)?)
    }

    fn int(&self, name: &str) -> i64 {
        kinds::Count::read(self.named(name)).into()
    }

    fn decimal(&self, name: &str) -> Option<f64> {
        kinds::Decimal::read(self.named(name))
    }

    fn flag(&self, name: &str) -> Option<bool> {
        kinds::Flag::read(self.named(name))
    }

    fn choice(&self, name: &str) -> Option<&'static str> {
        kinds::Choice::read(self.named(name))
    }

    fn names(&self, name: &str) -> &[String] {
        kinds::Names::read(self.named(name))
    }

    fn text(&self, name: &str) -> Option<&str> {
        kinds::Text::read(self.named(name))
    }

    fn selects_nothing(&self, name: &str) -> bool {
        self.named(name) == Some(&Value::Nothing)
    }
}

fn parse(text: &str) -> Query {
    Query::parse(PARAMS, text).unwrap()
}

fn refused(text: &str) -> Vec<Detail> {
    let error = Query::parse(PARAMS, text).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidParameter);
    error.details.into_iter().collect()
}

#[test]
fn names_with_control_characters_are_refused() {
    for bad in ["%00", "base,a%00b", "%1f", "base,%7f"] {
        let faults = refused(&format!("chain={bad}"));
        assert_eq!(
            (&*faults[0].name, faults[0].reason.as_str()),
            ("chain", "must not contain control characters"),
            "{bad}"
        );
    }
    assert_eq!(parse("chain=base,%09,%20ethereum%0a").names("chain"), ["base", "ethereum"], "white space is trimmed");
}

#[test]
fn absent_parameters_have_their_defaults() {
    let query = parse("");
    assert_eq!((query.int("page"), query.int("limit"), query.choice("sortOrder")), (1, 20, Some("desc")));
    assert_eq!((query.decimal("minRiskScore"), query.flag("audited"), query.text("search")), (None, None, None));
}

#[test]
fn a_required_parameter_that_is_absent_or_empty_is_named() {
    const PARAMS: &[Param] = &[Param::text("since", 40, "").required(), Param::size("limit", 20, 100)];
    for text in ["", "since=", "limit=5"] {
        let error = Query::parse(PARAMS, text).unwrap_err();
        assert_eq!((error.code, error.message.as_ref()), (ErrorCode::MissingParameter, "since is required"), "{text}");
    }
    assert_eq!(
        Query::parse(PARAMS, "limit=0").unwrap_err().code,
        ErrorCode::InvalidParameter,
        "invalid values are reported before missing ones"
    );
    assert_eq!(Query::parse(PARAMS, "since=x").unwrap().text("since"), Some("x"));
}

#[test]
fn page_sizes_above_the_maximum_are_clamped_and_below_one_refused() {
    assert_eq!(parse("limit=5000").int("limit"), 100);
    assert_eq!(parse("limit=99999999999999999999999").int("limit"), 100);
    for bad in ["limit=0", "limit=-1", "limit=", "limit=ten", "limit=1.5", "limit=1&limit=1"] {
        let faults = refused(bad);
        assert_eq!(
            (faults[0].name.as_ref(), faults[0].minimum, faults[0].maximum),
            ("limit", Some(1.0), Some(100.0)),
            "{bad}"
        );
    }
    assert_eq!(refused("bounded=6")[0].name, "bounded");
}

#[test]
fn an_alias_sets_the_same_parameter() {
    assert_eq!(parse("min_score=7.5").decimal("minRiskScore"), Some(7.5));
    assert_eq!(parse("minScore=7.50").canonical(), parse("minRiskScore=7.5").canonical());
    assert_eq!(refused("minScore=1&minRiskScore=1")[0].name, "minRiskScore");
}

#[test]
fn bounds_of_decimals_are_inclusive_and_words_are_refused() {
    assert_eq!(parse("minRiskScore=10").decimal("minRiskScore"), Some(10.0));
    for bad in [
        "minRiskScore=10.01",
        "minRiskScore=-0.1",
        "minRiskScore=NaN",
        "minRiskScore=inf",
        "minRiskScore=0x1",
        "minRiskScore=",
    ] {
        assert_eq!(refused(bad)[0].maximum, Some(10.0), "{bad}");
    }
}

#[test]
fn an_error_lists_every_fault() {
    let names: Vec<_> =
        refused("page=x&riskTier=platinum&from=yesterday&audited=maybe").into_iter().map(|fault| fault.name).collect();
    assert_eq!(names, ["page", "riskTier", "from", "audited"]);
}

#[test]
fn unknown_parameters_are_not_in_the_canonical_form() {
    assert_eq!(parse("utm_source=x&page=2&%ff=1&cb=123").canonical(), "page=2");
}

#[test]
fn equivalent_requests_have_one_canonical_form() {
    let canonical =
        parse("riskTier=EDGE,prime,edge&chain=Base,ethereum,,base&search=%20steak%20house&sortOrder=desc&page=1")
            .canonical();
    assert_eq!(canonical, "chain=base,ethereum&riskTier=prime,edge&search=steak%20house");
    assert_eq!(parse(&canonical).canonical(), canonical);
}

#[test]
fn long_or_unprintable_searches_are_refused() {
    assert_eq!(parse(&format!("search={}", "ä".repeat(200))).text("search").unwrap().chars().count(), 200);
    assert_eq!(refused(&format!("search={}", "a".repeat(201)))[0].maximum, Some(200.0));
    assert_eq!(refused("search=a%00b")[0].name, "search");
    assert_eq!(parse("search=").text("search"), None);
}

proptest! {
    #[test]
    fn the_canonical_form_is_parsed_back_to_the_same_query(text in "[a-zA-Z0-9=&%,.+ _-]{0,80}") {
        if let Ok(query) = Query::parse(PARAMS, &text) {
            let canonical = query.canonical();
            let again = Query::parse(PARAMS, &canonical).unwrap();
            prop_assert_eq!(&again, &query);
            prop_assert_eq!(again.canonical(), canonical);
        }
    }
}

const LENIENT: &[Param] = &[
    Param::text("search", 5, "").or_nothing(),
    Param::word("severity", &["low", "info"], "").or_nothing(),
    Param::choice("sort", &["loss"], "").or_ignored(),
    Param::decimal("least", 0.0, f64::MAX, "").or_ignored(),
];

#[test]
fn an_ignored_value_counts_as_absent() {
    for text in ["sort=LOSS", "sort=x", "sort=", "least=-1", "least=many", "least=", "least=NaN", "least=1e999"] {
        assert_eq!(Query::parse(LENIENT, text).unwrap().canonical(), "", "{text}");
    }
    let query = Query::parse(LENIENT, "sort=loss&least=2.50").unwrap();
    assert_eq!((query.choice("sort"), query.decimal("least")), (Some("loss"), Some(2.5)));
}

#[test]
fn a_value_that_matches_nothing_has_one_canonical_form_that_matches_nothing() {
    for text in ["search=toolong", "search=a%00", "severity=enormous", "severity=low,info"] {
        let query = Query::parse(LENIENT, text).unwrap();
        let name = text.split('=').next().unwrap();
        assert!(query.selects_nothing(name), "{text}");
        assert_eq!((query.text("search"), query.choice("severity")), (None, None));
        let canonical = query.canonical();
        assert_eq!(canonical, alloc::format!("{name}=%00"));
        assert_eq!(Query::parse(LENIENT, &canonical).unwrap(), query);
    }
    assert!(!Query::parse(LENIENT, "search=five5&severity=").unwrap().selects_nothing("search"));
}

#[test]
fn a_word_is_accepted_in_any_letter_case_and_printed_as_listed() {
    assert_eq!(Query::parse(LENIENT, "severity=LoW").unwrap().canonical(), "severity=low");
}

#[test]
fn repeated_or_badly_encoded_values_are_refused_even_if_other_invalid_values_are_not() {
    for text in ["sort=loss&sort=loss", "severity=low&severity=x", "search=%ff"] {
        assert!(Query::parse(LENIENT, text).is_err(), "{text}");
    }
}
