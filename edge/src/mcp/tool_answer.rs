//! The answer of a tool: the route's response, shortened, with what was left out and what to do next.

use super::excerpt::{Cut, Excerpt, excerpt};
use super::json_scan::member;
use super::tool::{Tool, View};
use super::tool_request::Request;
use super::{quoted, quoted_list};
use core::fmt::Write;
use rds_shared::route::bounds::MCP_ANSWER_BYTES;
use rds_shared::wire::headers;
use rds_shared::wire::{ApiError, RequestId};

/// A response of the pipeline.
#[derive(Clone, Copy)]
pub struct Response<'a> {
    pub status: u16,
    /// A header's value, by its name in lower case.
    pub headers: &'a dyn Fn(&str) -> Option<&'a str>,
    pub body: &'a str,
}

/// The result of a call, as the members of a JSON object.
pub fn of_response(tool: &Tool, view: &View, request: &Request, response: Response<'_>) -> String {
    let mut out = String::new();
    let mut next = Vec::new();
    let is_error = response.status >= 400;
    if is_error {
        let error = member(response.body, "error").unwrap_or("{}");
        let _ = write!(out, "\"error\":{error},\"status\":{}", response.status);
        next.push(remedy(response.status, (response.headers)("retry-after")));
    } else {
        let Excerpt { text, cuts } = excerpt(response.body, view.kept, MCP_ANSWER_BYTES);
        let _ = write!(out, "\"answer\":{text}");
        if !cuts.is_empty() {
            let listed: Vec<String> = cuts.iter().map(listed).collect();
            let _ = write!(out, ",\"omitted\":[{}]", listed.join(","));
        }
        next.extend(following(view, request, response.body, &cuts));
        next.extend(tool.next.iter().map(|text| (*text).to_owned()));
    }
    let _ = write!(out, ",\"next\":{}", quoted_list(next.iter().map(String::as_str)));
    let shown = request.target.trim_end_matches("strict=true").trim_end_matches(['?', '&']);
    let _ = write!(out, ",\"request\":{}", quoted(&format!("{} {shown}", request.method)));
    put_headers(response.headers, &mut out);
    result(&out, is_error)
}

/// The result of a call whose arguments make no request.
pub fn of_fault(error: &ApiError, request_id: RequestId) -> String {
    let body = error.to_json(request_id);
    let inner = member(&body, "error").unwrap_or("{}");
    let next = quoted_list([remedy(400, None).as_str()]);
    result(&format!("\"error\":{inner},\"status\":{},\"next\":{next}", error.status()), true)
}

/// The members of a tool's result. Clients that do not read structured content get the same as text.
fn result(members: &str, is_error: bool) -> String {
    let text = quoted(&format!("{{{members}}}"));
    format!(
        "\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\"structuredContent\":{{{members}}},\"isError\":{is_error}"
    )
}

fn listed(cut: &Cut) -> String {
    format!("{{\"path\":{},\"shown\":{},\"total\":{}}}", quoted(&cut.path), cut.shown, cut.total)
}

/// What the response's headers say about the answer.
fn put_headers<'a>(header: &dyn Fn(&str) -> Option<&'a str>, out: &mut String) {
    if let Some(id) = header(headers::REQUEST_ID) {
        let _ = write!(out, ",\"request_id\":{}", quoted(id));
    }
    let mut number = |member: &str, name: &str| {
        if let Some(value) = header(name).and_then(|text| text.parse::<u64>().ok()) {
            let _ = write!(out, ",\"{member}\":{value}");
        }
    };
    number("age_seconds", "age");
    number("retry_after_seconds", "retry-after");
    number("rate_limit", headers::RATE_LIMIT);
    number("rate_limit_remaining", headers::RATE_REMAINING);
    number("rate_limit_reset", headers::RATE_RESET);
    if header(headers::WARNING).is_some() {
        out.push_str(",\"stale\":true");
    }
    if let Some(mode) = header(headers::FAIL_SAFE_MODE) {
        let _ = write!(out, ",\"fail_safe_mode\":{}", quoted(mode));
    }
}

/// What to do about an error.
fn remedy(status: u16, retry_after: Option<&str>) -> String {
    if let Some(seconds) = retry_after {
        return format!("Try again in {seconds} seconds.");
    }
    let text = match status {
        400 => "Correct the arguments that `error` names, and call again.",
        401 => {
            "The server's operator must send a valid key as `Authorization: Bearer pk_live_…`. Other tools may work without one."
        }
        403 => {
            "The key does not include this request, or without a key only the first rows of a list can be read. Ask for less, or use a key \
                of a higher plan."
        }
        404 => "Check the id: the search and list tools give the ids that exist.",
        410 => "This version is retired. `error.successor` names the version to use.",
        _ => {
            "The service could not answer. service_status says which part is affected; quote `error.request_id` when you report it."
        }
    };
    text.to_owned()
}

/// How to get what the answer does not contain.
fn following(view: &View, request: &Request, body: &str, cuts: &[Cut]) -> Vec<String> {
    let route = view.route();
    if cuts.iter().any(|cut| cut.path.is_empty()) {
        return vec![format!(
            "The response is too long for a tool. Read it over HTTP: {} {}",
            request.method, request.target
        )];
    }
    let has = |name: &str| route.query.iter().any(|param| param.name == name);
    let number = |name: &str| value_in(&request.target, name).and_then(|text| text.parse::<usize>().ok());
    let mut all = Vec::new();
    let size = if has("limit") { Some("limit") } else { has("pageSize").then_some("pageSize") };
    let page = number("page").unwrap_or(1).max(1);
    let rows = cuts.iter().find(|cut| cut.path == "data");
    match (rows, size) {
        (Some(cut), Some(size)) if has("page") => {
            // The page with the row after the last one that is shown.
            let before = page.saturating_sub(1).saturating_mul(number(size).unwrap_or(cut.total));
            let after = before.saturating_add(cut.shown).checked_div(cut.shown).unwrap_or(0).saturating_add(1);
            all.push(format!(
                "Rows are left out. Call again with `{size}` {} and `page` {after} for the next ones.",
                cut.shown
            ));
        }
        (Some(cut), Some(size)) => all.push(format!("Rows are left out. Call again with `{size}` {}.", cut.shown)),
        (None, _) if has("page") && has_more(body, page) => {
            all.push(format!("There are more rows. Call again with `page` {}.", page.saturating_add(1)));
        }
        _ => {}
    }
    for cut in cuts.iter().filter(|cut| cut.path != "data") {
        let how = match size {
            Some(size) if cut.path.matches('.').count() == 1 => format!("Call again with `{size}` {}.", cut.shown),
            _ if has("points") => "Call again with fewer `points`.".to_owned(),
            _ => format!("All of them are in the response of {} {}.", request.method, request.target),
        };
        all.push(format!("`{}` shows {} of {}. {how}", cut.path, cut.shown, cut.total));
    }
    all
}

/// Whether rows follow the page, by the response's `meta`.
fn has_more(body: &str, page: usize) -> bool {
    let Some(meta) = member(body, "meta") else { return false };
    let pages = member(meta, "totalPages").and_then(|text| text.parse::<usize>().ok());
    pages.is_some_and(|pages| page < pages)
        || ["hasMore", "has_more"].iter().any(|name| member(meta, name) == Some("true"))
}

/// The value of a parameter in a target.
fn value_in<'a>(target: &'a str, name: &str) -> Option<&'a str> {
    let (_, query) = target.split_once('?')?;
    query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tool_request::plan;
    use crate::mcp::tool_table::TOOLS;
    use serde_json::{Value, json};

    fn answered(name: &str, arguments: &Value, status: u16, head: &[(&str, &str)], body: &Value) -> Value {
        let tool = TOOLS.iter().find(|tool| tool.name == name).unwrap();
        let planned = plan(tool, arguments.as_object().unwrap(), true).unwrap();
        let body = body.to_string();
        let find = |wanted: &str| head.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
        let response = Response { status, headers: &find, body: &body };
        read(&of_response(tool, planned.view, &planned.request, response))
    }

    fn read(members: &str) -> Value {
        let result: Value = serde_json::from_str(&format!("{{{members}}}")).unwrap();
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"], "both forms say the same");
        result
    }

    fn rows(count: usize, bytes: usize, meta: &Value) -> Value {
        json!({"data": vec![json!({"text": "x".repeat(bytes)}); count], "meta": meta})
    }

    fn first_step(result: &Value) -> &str {
        result["structuredContent"]["next"][0].as_str().unwrap()
    }

    #[test]
    fn an_answer_has_the_response_its_request_and_a_next_step() {
        let head = [("x-request-id", "0f"), ("age", "3"), ("x-ratelimit-limit", "10"), ("x-ratelimit-remaining", "9")];
        let body = json!({"data": {"vaults": 59}});
        let result = answered("overview", &json!({}), 200, &head, &body);
        let content = &result["structuredContent"];
        assert_eq!((&content["answer"], &result["isError"]), (&body, &json!(false)));
        assert_eq!(content["request"], "GET /v1/stats");
        assert_eq!(content["request_id"], "0f");
        assert_eq!((&content["age_seconds"], &content["rate_limit_remaining"]), (&json!(3), &json!(9)));
        assert!(content.get("omitted").is_none() && content.get("stale").is_none());
        assert!(first_step(&result).starts_with("search_vaults"));
    }

    #[test]
    fn a_stale_answer_says_so() {
        let result = answered("overview", &json!({}), 200, &[("warning", "111")], &json!({"data": {}}));
        assert_eq!(result["structuredContent"]["stale"], true);
    }

    #[test]
    fn a_long_list_is_cut_and_the_next_call_skips_no_row() {
        let meta = json!({"page": 1, "limit": 100, "total": 300, "totalPages": 3});
        let arguments = json!({"limit": 100, "page": 1});
        let result = answered("search_vaults", &arguments, 200, &[], &rows(100, 1_000, &meta));
        assert_eq!(result["structuredContent"]["omitted"], json!([{"path": "data", "shown": 20, "total": 100}]));
        assert_eq!(
            first_step(&result),
            "Rows are left out. Call again with `limit` 20 and `page` 2 for the next ones."
        );
        let arguments = json!({"limit": 50, "page": 2});
        let result = answered("search_vaults", &arguments, 200, &[], &rows(50, 1_000, &meta));
        // Rows 51 to 70 are shown. Page 4 of 20 rows begins at row 61, so nothing is skipped.
        assert_eq!(
            first_step(&result),
            "Rows are left out. Call again with `limit` 20 and `page` 4 for the next ones."
        );
    }

    #[test]
    fn further_pages_are_told() {
        let more = "There are more rows. Call again with `page` 2.";
        for meta in
            [json!({"page": 1, "totalPages": 2}), json!({"page": 1, "hasMore": true}), json!({"has_more": true})]
        {
            assert_eq!(first_step(&answered("search_vaults", &json!({}), 200, &[], &rows(2, 1, &meta))), more);
        }
        for meta in [json!({"page": 1, "totalPages": 1}), json!({"page": 1, "hasMore": false}), Value::Null] {
            assert_ne!(first_step(&answered("search_vaults", &json!({}), 200, &[], &rows(2, 1, &meta))), more);
        }
    }

    #[test]
    fn a_cut_list_within_an_object_is_told_with_the_way_to_the_rest() {
        let vault = "31337:0xc516dd999378982aac393e1de92f8eff568cc06d";
        let body = json!({"data": {"vault": {}, "snapshots": vec!["x".repeat(200); 400]}});
        let result = answered("get_vault", &json!({"vault": vault}), 200, &[], &body);
        assert_eq!(first_step(&result), "`data.snapshots` shows 100 of 400. Call again with fewer `points`.");
    }

    #[test]
    fn an_error_of_the_route_keeps_its_code_and_says_what_to_do() {
        let error = json!({"error": {"code": "RATE_LIMITED", "message": "m", "request_id": "0f"}});
        let head = [("retry-after", "30"), ("x-request-id", "0f")];
        let result = answered("overview", &json!({}), 429, &head, &error);
        let content = &result["structuredContent"];
        assert_eq!((&result["isError"], &content["error"]["code"]), (&json!(true), &json!("RATE_LIMITED")));
        assert_eq!((&content["status"], &content["retry_after_seconds"]), (&json!(429), &json!(30)));
        assert_eq!(first_step(&result), "Try again in 30 seconds.");
        for status in [400, 401, 403, 404, 410, 500] {
            let result = answered("overview", &json!({}), status, &[], &error);
            assert!(first_step(&result).ends_with('.'), "{status}");
        }
    }

    #[test]
    fn no_answer_is_longer_than_the_bound() {
        for (count, bytes) in [(1, 10), (1, 100_000), (5_000, 10), (40, 3_000)] {
            let result = answered("search_vaults", &json!({}), 200, &[], &rows(count, bytes, &json!({"page": 1})));
            let length = result["structuredContent"]["answer"].to_string().len();
            assert!(length <= MCP_ANSWER_BYTES, "{count} rows of {bytes}: {length}");
        }
    }

    #[test]
    fn arguments_that_make_no_request_are_an_error_like_the_services_own() {
        let tool = TOOLS.iter().find(|tool| tool.name == "explain_score").unwrap();
        let error = plan(tool, &serde_json::Map::new(), true).unwrap_err();
        let result = read(&of_fault(&error, RequestId::from_random([7; 16])));
        let content = &result["structuredContent"];
        assert_eq!((&result["isError"], &content["error"]["code"]), (&json!(true), &json!("MISSING_PARAMETER")));
        assert_eq!(content["error"]["details"][0]["name"], "vault");
        assert_eq!(content["error"]["request_id"].as_str().unwrap().len(), 32);
    }
}
