//! What an operator reads in the access log: who asked for what, under the request id of the answer, and no secret.

use crate::http::limits::bare;
use crate::support::testapp::{PEER, TestApp, TestOptions, holder};
use axum::http::StatusCode;
use rds_origin::listener::Listener;
use rds_origin::telemetry::AccessLog;
use rds_shared::access::link::{EDGE_ANSWERS, EdgeAnswers};
use rds_shared::access::{Plan, Principal};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

const OPERATING: &str = include_str!("../../../OPERATING.md");

/// A log output that the test reads.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines of requests of every kind, and the last answer's request id.
async fn lines() -> (Vec<Value>, String) {
    let written = Written::default();
    let access_log = Some(AccessLog::to(written.clone()));
    let test = TestApp::with(TestOptions { access_log, ..TestOptions::default() }).await;
    test.get("/v1/vaults?search=not-in-the-log").await;
    test.get_as(&holder(Plan::Data), "/v1/vaults").await;
    test.get_as(&Principal::IndexToken { id: 41 }, "/v1/vaults").await;
    test.get_as(&Principal::FirstParty { origin: "https://app.example".into() }, "/v1/vaults").await;
    test.get("/v1/a-secret-in-a-wrong-place").await;
    test.get("/v1/vaults/a-secret-as-an-id").await;
    test.ask(bare("GET", "/v1/vaults")).await;
    test.from(PEER, Listener::Relay, bare("GET", "/v1/health")).await;
    test.at(Listener::Admin, bare("GET", "/ready")).await;
    test.at(Listener::Admin, bare("GET", "/a-strangers-text")).await;
    test.message(EDGE_ANSWERS, &EdgeAnswers { source: 7, minutes: Vec::new() }).await;
    let last = test.admin("GET", "/clock", "").await;
    assert_eq!(last.status, StatusCode::OK);
    test.app.access_log.flush();
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    for hidden in
        ["not-in-the-log", "a-secret-in-a-wrong-place", "a-secret-as-an-id", "a-strangers-text", PEER, "app.example"]
    {
        assert!(!text.contains(hidden), "{hidden} in {text}");
    }
    let id = last.headers["x-request-id"].to_str().unwrap().to_owned();
    (text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), id)
}

/// The rows of the table of access lines: field and whether it is in every line.
fn documented() -> BTreeMap<&'static str, bool> {
    let (_, section) = OPERATING.split_once("\n### Access lines\n").unwrap();
    let section = section.split("\n### ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.flat_map(|row| {
        let names = row.split('|').nth(1).unwrap();
        names.split('`').skip(1).step_by(2).map(|name| (name, row.ends_with("| all |")))
    })
    .collect()
}

#[tokio::test]
async fn the_operating_manual_documents_every_field_of_an_access_line_and_no_other() {
    let (lines, _) = lines().await;
    let documented = documented();
    let there: BTreeSet<_> = lines.iter().flat_map(|line| line.as_object().unwrap().keys()).collect();
    let listed: BTreeSet<_> = documented.keys().copied().collect();
    assert_eq!(there.iter().map(|name| name.as_str()).collect::<BTreeSet<_>>(), listed);
    for line in &lines {
        for (field, _) in documented.iter().filter(|(_, everywhere)| **everywhere) {
            assert!(line.get(field).is_some(), "{field} is not in {line}");
        }
    }
}

#[tokio::test]
async fn a_line_names_the_key_the_path_and_the_request_id_of_the_answer() {
    let (lines, last_id) = lines().await;
    let of = |caller: &str| lines.iter().find(|line| line["caller"] == caller).unwrap();
    let Principal::Key { id, org_id, .. } = holder(Plan::Data) else { panic!("a key") };
    assert_eq!((&of("key")["key"], &of("key")["org"]), (&id.into(), &org_id.into()));
    assert_eq!((&of("key")["method"], &of("key")["path"]), (&"GET".into(), &"/v1/vaults".into()));
    assert_eq!(of("index_token")["index_token"], 41);
    assert_eq!(of("operator")["request_id"], last_id.as_str());
    assert_eq!(of("probe")["path"], "/ready");
    assert!(of("unknown").get("path").is_none(), "{}", of("unknown"));
    let refused = lines.iter().find(|line| line["route"] == "VaultById").unwrap();
    assert_eq!((&refused["status"], &refused["path"]), (&404.into(), &"/v1/vaults/{id}".into()));
}
