//! What operators see: a metrics page that Prometheus accepts, complete documentation of it, and alerts that use only existing metrics.

use crate::http::limits::bare;
use crate::support::chaos::ChaosProxy;
use crate::support::db::TestDb;
use crate::support::market::lines;
use crate::support::testapp::{PEER, TestApp, TestOptions, signed};
use rds_origin::listener::Listener;
use rds_origin::metrics::database_metrics::read_once;
use rds_shared::VERSION;
use rds_shared::scoring::METHODOLOGY_VERSION;
use std::collections::{BTreeMap, BTreeSet};

const OPERATING: &str = include_str!("../../../OPERATING.md");
const ALERTS: &str = concat!(include_str!("../../../alerts.yml"), include_str!("../../../slo.yml"));

/// Metrics of other exporters that the alerts use.
const EXTERNAL_METRICS: [&str; 6] = [
    "up",
    "probe_success",
    "node_filesystem_avail_bytes",
    "node_filesystem_size_bytes",
    // Of `rds-origin drill --textfile`.
    "rds_drill_ok",
    "rds_drill_ended_seconds",
];

/// A page as Prometheus reads it.
#[derive(Debug, Default)]
struct Page {
    /// Type of each metric, by name.
    types: BTreeMap<String, String>,
    /// Value of each series, by name with labels.
    samples: BTreeMap<String, f64>,
}

impl Page {
    /// Reads a page. Anything that Prometheus would reject or warn about fails the test.
    fn read(text: &str) -> Self {
        let (mut page, mut current) = (Page::default(), String::new());
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, words) = help.split_once(' ').expect(line);
                assert!(words.ends_with('.') || words.len() > 10, "HELP must be a sentence: {line}");
                assert!(!page.types.contains_key(name), "duplicate: {line}");
                current = name.to_owned();
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect(line);
                assert_eq!(name, current, "TYPE follows its HELP");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert_eq!(
                    name.ends_with("_total"),
                    kind == "counter",
                    "counters, and only counters, end in _total: {line}"
                );
                page.types.insert(name.to_owned(), kind.to_owned());
            } else {
                let (series, value) = line.rsplit_once(' ').expect(line);
                let (name, labels) =
                    series.split_once('{').map_or((series, None), |(name, labels)| (name, Some(labels)));
                assert!(metric_of(name, &page.types) == Some(current.as_str()), "a sample of another metric: {line}");
                for label in
                    labels.map(|labels| labels.strip_suffix('}').expect(line)).iter().flat_map(|all| all.split(','))
                {
                    let (name, value) = label.split_once("=\"").expect(line);
                    assert!(is_word(name) && value.ends_with('"') && !value.contains('\\'), "{line}");
                }
                assert!(is_word(name), "{line}");
                let value: f64 = value.parse().expect(line);
                assert!(value.is_finite(), "{line}");
                assert_eq!(page.samples.insert(series.to_owned(), value), None, "duplicate: {line}");
            }
        }
        page
    }

    fn value(&self, series: &str) -> f64 {
        *self.samples.get(series).unwrap_or_else(|| panic!("the page has no {series}"))
    }

    fn names(&self) -> BTreeSet<&str> {
        self.types.keys().map(String::as_str).collect()
    }
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The metric that a sample belongs to.
fn metric_of<'a>(name: &'a str, types: &BTreeMap<String, String>) -> Option<&'a str> {
    if types.contains_key(name) {
        return Some(name);
    }
    let base = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix))?;
    (types.get(base).map(String::as_str) == Some("histogram")).then_some(base)
}

/// The page of a service that has answered some requests.
async fn page() -> Page {
    let test = TestApp::with_market().await;
    test.get("/v1/vaults").await;
    test.get("/v1/vaults?page=0").await;
    test.ask(bare("GET", "/v1/vaults")).await;
    test.from(PEER, Listener::Relay, bare("GET", "/v1/health")).await;
    read_once(&test.app.db, &test.app.metrics).await;
    Page::read(&test.admin("GET", "/metrics", "").await.text())
}

#[tokio::test]
async fn a_scrape_is_a_page_that_prometheus_accepts() {
    let page = page().await;
    for (name, kind) in &page.types {
        assert!(name.starts_with("rds_") || name.starts_with("process_"), "{name}");
        if kind != "histogram" {
            continue;
        }
        let buckets = page.samples.iter().filter(|(series, _)| series.starts_with(&format!("{name}_bucket{{")));
        let mut of_labels: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for (series, count) in buckets {
            let (labels, bound) = series.split_once(",le=\"").unwrap();
            let bound = bound.trim_end_matches("\"}").replace("+Inf", "inf").parse().unwrap();
            of_labels.entry(labels).or_default().push((bound, *count));
        }
        assert!(!of_labels.is_empty(), "{name}");
        for (labels, mut buckets) in of_labels {
            buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert!(buckets.is_sorted_by_key(|(_, count)| *count), "counts add up: {labels}");
            let all = labels.replace("_bucket{", "_count{") + "}";
            assert_eq!(buckets.last().copied(), Some((f64::INFINITY, page.value(&all))), "{labels}");
        }
    }
}

#[tokio::test]
async fn a_scrape_has_separate_series_for_listeners_callers_and_the_database() {
    let page = page().await;
    for (series, expected) in [
        ("rds_calls_total{listener=\"edge\",caller=\"anonymous\"}", 2.0),
        ("rds_calls_total{listener=\"edge\",caller=\"unknown\"}", 1.0),
        ("rds_calls_total{listener=\"relay\",caller=\"anonymous\"}", 1.0),
        ("rds_calls_total{listener=\"admin\",caller=\"operator\"}", 1.0),
        ("rds_db_up", 1.0),
        ("rds_webhook_subscriptions{status=\"active\"}", 0.0),
        ("rds_vault_newest_reading_age_seconds", 600.0),
        ("rds_graph_snapshot_loaded", 0.0),
    ] {
        assert_eq!(page.value(series), expected, "{series}");
    }
    for series in
        ["rds_db_size_bytes", "rds_db_answer_seconds", "rds_db_server_connections", "process_resident_memory_bytes"]
    {
        assert!(page.value(series) > 0.0, "{series}");
    }
    assert!(page.value("rds_edge_heard_age_seconds") < 60.0);
    let build = format!("rds_build_info{{version=\"{VERSION}\",methodology=\"{METHODOLOGY_VERSION}\"}}");
    assert_eq!(page.value(&build), 1.0);
}

#[tokio::test]
async fn a_scrape_shows_an_unreachable_database_and_ages_keep_growing() {
    let facts = TestDb::new().await;
    let wire = ChaosProxy::before(&facts.url).await;
    let test = TestApp::over(facts, TestOptions { database: Some(wire.url()), ..TestOptions::default() }).await;
    test.ingest(&lines()).await;
    rds_engine::scoring_run::run_all(&test.app.db, &test.app.clock).await.unwrap();
    read_once(&test.app.db, &test.app.metrics).await;
    let scrape = async || Page::read(&test.admin("GET", "/metrics", "").await.text());
    let before = scrape().await;
    assert_eq!((before.value("rds_db_up"), before.value("rds_score_run_age_seconds")), (1.0, 0.0));
    assert_eq!(before.value("rds_score_run_vaults"), 13.0);
    wire.cut();
    test.app.clock.advance(7_200);
    read_once(&test.app.db, &test.app.metrics).await;
    let after = scrape().await;
    assert_eq!((after.value("rds_db_up"), after.value("rds_score_run_age_seconds")), (0.0, 7_200.0));
    assert_eq!(after.value("rds_db_size_bytes"), before.value("rds_db_size_bytes"));
    wire.mend();
    // Each broken connection in the pool is discovered only when it is used.
    for _ in 0..5 {
        read_once(&test.app.db, &test.app.metrics).await;
    }
    assert_eq!(scrape().await.value("rds_db_up"), 1.0);
}

#[tokio::test]
async fn the_age_of_a_score_run_that_never_ran_counts_from_the_first_scores() {
    let test = TestApp::with_market().await;
    test.app.clock.advance(7_200);
    read_once(&test.app.db, &test.app.metrics).await;
    let page = Page::read(&test.admin("GET", "/metrics", "").await.text());
    assert_eq!((page.value("rds_score_run_age_seconds"), page.value("rds_score_run_vaults")), (7_200.0, 0.0));
}

#[tokio::test]
async fn labels_come_from_closed_sets_for_any_request() {
    let test = TestApp::with_market().await;
    let series = async || Page::read(&test.admin("GET", "/metrics", "").await.text()).samples.len();
    test.get("/v1/nothing/0").await;
    test.get("/v1/vaults/0").await;
    series().await;
    let before = series().await;
    for number in 0..200 {
        test.get(&format!("/v1/nothing/{number}?x={number}")).await;
        test.get(&format!("/v1/vaults/{number}")).await;
        test.ask(signed("GET", "/metrics", "")).await;
    }
    assert_eq!(series().await, before, "requests of strangers add no series");
}

/// The metrics that the tables of `OPERATING.md` document.
fn documented() -> BTreeSet<&'static str> {
    let rows = OPERATING.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split(['`', '{']).next())
        .filter(|name| name.starts_with("rds_") || name.starts_with("process_"))
        .collect()
}

#[tokio::test]
async fn the_operating_manual_documents_every_metric_and_no_other() {
    let page = page().await;
    let (there, written) = (page.names(), documented());
    assert_eq!(there.difference(&written).collect::<Vec<_>>(), Vec::<&&str>::new(), "not documented");
    assert_eq!(written.difference(&there).collect::<Vec<_>>(), Vec::<&&str>::new(), "documented, but not on the page");
}

#[test]
fn the_page_that_starts_from_a_symptom_names_only_documented_metrics() {
    let (page, known) = (include_str!("../../../../docs/handbook/at-three.md"), documented());
    let words = page.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| word.starts_with("rds_"));
    // A pattern may be the beginning of several names.
    let unknown: Vec<_> = words
        .map(|word| word.trim_end_matches('_'))
        .filter(|word| !known.iter().any(|name| name.starts_with(word)))
        .collect();
    assert_eq!(unknown, Vec::<&str>::new());
}

/// All values of `key:` in the alert rules.
fn values_of(key: &str) -> Vec<String> {
    let mut lines = ALERTS.lines().map(str::trim).peekable();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let Some(value) = line.trim_start_matches("- ").strip_prefix(key) else { continue };
        let mut value = value.trim().trim_matches('"').to_owned();
        if value == ">-" {
            value.clear();
            while let Some(more) = lines.next_if(|line| !line.starts_with("for:") && !line.starts_with("labels:")) {
                value = format!("{value} {more}");
            }
        }
        found.push(value);
    }
    found
}

#[tokio::test]
async fn every_metric_that_an_alert_uses_is_on_the_page() {
    let page = page().await;
    let expressions = values_of("expr:");
    assert!(expressions.len() > 20, "{expressions:?}");
    for expression in expressions {
        let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let metrics: Vec<&str> = words
            .filter(|word| word.starts_with("rds_") || word.starts_with("process_") || EXTERNAL_METRICS.contains(word))
            .collect();
        // A recorded series has colons in its name; `e2e/objectives.test.mjs` checks that a rule records it.
        assert!(!metrics.is_empty() || expression.contains("rds:"), "uses no metric: {expression}");
        for metric in metrics {
            assert!(
                EXTERNAL_METRICS.contains(&metric) || metric_of(metric, &page.types).is_some(),
                "{metric} in {expression}"
            );
        }
    }
}

#[test]
fn every_alert_leads_to_a_runbook_that_names_it() {
    let headings: BTreeSet<String> = OPERATING
        .lines()
        .filter_map(|line| line.strip_prefix("### ").or_else(|| line.strip_prefix("## ")))
        .map(|heading| {
            let kept = heading.to_lowercase().replace(' ', "-");
            kept.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect()
        })
        .collect();
    let (alerts, runbooks) = (values_of("alert:"), values_of("runbook:"));
    assert_eq!(alerts.len(), runbooks.len());
    for (alert, runbook) in alerts.iter().zip(runbooks) {
        let anchor =
            runbook.strip_prefix("origin/OPERATING.md#").expect("a runbook is a section of origin/OPERATING.md");
        assert!(headings.contains(anchor), "{alert}: no heading {anchor}");
        let section = OPERATING.split("\n### ").find(|section| {
            let heading = section.lines().next().unwrap_or("").to_lowercase().replace(' ', "-");
            heading == anchor
        });
        assert!(
            section.is_some_and(|section| section.contains(&format!("`{alert}`"))),
            "{anchor} does not name {alert}"
        );
    }
}
