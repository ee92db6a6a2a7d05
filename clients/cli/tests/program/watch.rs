//! The stream on the command line: it is resumed from its cursor file.

use crate::run::{Ran, folder, ran, rds, server};
use serde_json::{Value, json};
use std::fs;

fn published(id: u32) -> String {
    let data = json!({"id": id.to_string(), "title": format!("Event {id}"), "severity": "high", "event_type": "Incident", "occurred_at": "2026-11-20T00:00:00Z"});
    format!("id: v2:{id}\nevent: published\ndata: {data}\n\n")
}

#[test]
fn frames_are_lines_of_json_and_the_cursor_file_goes_on_where_it_stopped() {
    let folder = folder("watch");
    let file = folder.join("cursor");
    let gap = "event: gap\ndata: {\"reason\":\"retention\",\"from\":null,\"to\":null,\"cursor\":\"v2:9\"}\n\n";
    let server = server(&[json!({"chunks": [published(3), published(4)]}), json!({"chunks": [gap, published(10)]})]);
    let watch = |count: &str| {
        let given = ["watch", "--cursor-file", file.to_str().unwrap(), "--count", count];
        let Ran { out, code, err } = ran(rds(&server.address, &given), "");
        assert_eq!(code, 0, "{err}");
        out.lines().map(|it| serde_json::from_str(it).unwrap()).collect::<Vec<Value>>()
    };
    let first = watch("2");
    assert_eq!(first.iter().map(|it| &it["id"]).collect::<Vec<_>>(), ["v2:3", "v2:4"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "v2:4\n");
    let second = watch("2");
    assert_eq!((&second[0]["kind"], &second[1]["id"]), (&json!("gap"), &json!("v2:10")));
    assert_eq!(server.seen()["requests"][1]["headers"]["last-event-id"], "v2:4");
    assert_eq!(fs::read_to_string(&file).unwrap(), "v2:10\n");
}

#[test]
fn lines_are_for_people_and_obey_no_control_characters() {
    let data = json!({"title": "A\u{1b}[31mB", "severity": "low", "event_type": "Incident", "occurred_at": "2026-11-20T00:00:00Z"});
    let server = server(&[json!({"chunks": [format!("id: v2:3\nevent: published\ndata: {data}\n\n")]})]);
    let Ran { out, .. } = ran(rds(&server.address, &["watch", "--format", "lines", "--count", "1"]), "");
    assert_eq!(out, "2026-11-20T00:00:00Z  low  Incident  A\u{fffd}[31mB\n");
}
