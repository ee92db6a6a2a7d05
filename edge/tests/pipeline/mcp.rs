//! The MCP server in the pipeline: tool calls are requests of their caller, with the same cache, limits, keys and errors.

use crate::objects::*;
use crate::world::*;
use rds_edge::origin_link::signed_call::Call;
use rds_edge::respond::Reply;
use rds_shared::access::Plan;
use rds_shared::route::Method;
use serde_json::{Value, json};

const PATH: &str = "/v1/mcp";
const ROWS: &str = r#"{"data":[{"id":"a"}],"meta":{"page":1,"limit":10,"total":1,"totalPages":1}}"#;

fn world() -> World {
    World::new(|_| Ok(page(ROWS)))
}

/// A message from an address of its own.
fn post(body: &str) -> Ask {
    Ask::new("POST", PATH)
        .with("content-type", "application/json")
        .with("cf-connecting-ip", "192.0.2.7")
        .body(body.as_bytes())
}

fn request(method: &str, params: &Value) -> Ask {
    post(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string())
}

fn call(tool: &str, arguments: &Value) -> Ask {
    request("tools/call", &json!({"name": tool, "arguments": arguments}))
}

fn read(reply: &Reply) -> Value {
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    serde_json::from_str(&text(reply)).unwrap()
}

/// The structured content of a tool's answer.
fn content(world: &World, ask: &Ask) -> Value {
    let reply = world.send(ask);
    assert_eq!(reply.status, 200, "{}", text(&reply));
    read(&reply)["result"]["structuredContent"].clone()
}

#[test]
fn a_call_is_a_read_of_the_route_and_shares_its_cached_response() {
    let world = world();
    let answer = content(&world, &call("search_vaults", &json!({"asset": "USDC"})));
    assert_eq!(answer["answer"]["data"][0]["id"], "a");
    assert_eq!(answer["request"], "GET /v1/vaults?asset=USDC&limit=10");
    assert_eq!(world.last_call().target, "/v1/vaults?asset=usdc&limit=10");
    assert_eq!(world.last_call().method, Method::Get);
    let direct = world.send(&Ask::new("GET", "/v1/vaults?limit=10&asset=usdc").with("cf-connecting-ip", "192.0.2.8"));
    assert_eq!((x_cache(&direct), world.asked()), ("HIT", 1));
    let again = content(&world, &call("search_vaults", &json!({"asset": "USDC"})));
    assert_eq!((&again["age_seconds"], world.asked()), (&json!(0), 1));
}

#[test]
fn a_call_counts_like_a_request_and_other_messages_do_not() {
    let world = world();
    for _ in 0..30 {
        assert_eq!(world.send(&request("tools/list", &json!({}))).status, 200);
    }
    for left in (0..10).rev() {
        assert_eq!(content(&world, &call("overview", &json!({})))["rate_limit_remaining"], left);
    }
    let refused = content(&world, &call("overview", &json!({})));
    assert_eq!((&refused["error"]["code"], &refused["status"]), (&json!("RATE_LIMITED"), &json!(429)));
    assert!(refused["retry_after_seconds"].as_u64().unwrap() <= 60);
    let direct = world.send(&Ask::new("GET", "/v1/stats").with("cf-connecting-ip", "192.0.2.7"));
    assert_eq!(direct.status, 429, "the address has used up the same limit");
    assert_eq!(world.send(&request("tools/list", &json!({}))).status, 200);
}

#[test]
fn a_keys_limit_and_plan_count() {
    let world = world();
    world.objects.mint(1, record(Plan::Data, 3));
    let keyed = |ask: Ask| ask.with("authorization", &bearer(1));
    for left in (0..3).rev() {
        let answer = content(&world, &keyed(call("overview", &json!({}))));
        assert_eq!((&answer["rate_limit"], &answer["rate_limit_remaining"]), (&json!(3), &json!(left)));
    }
    assert_eq!(content(&world, &keyed(call("overview", &json!({}))))["error"]["code"], "RATE_LIMITED");
    world.pass_seconds(60);
    let vaults = json!({"view": "exposures", "vaults": ["1:0xc516dd999378982aac393e1de92f8eff568cc06d"]});
    assert_eq!(content(&world, &keyed(call("look_through", &vaults)))["error"]["code"], "FORBIDDEN");
    let anonymous = content(&world, &call("look_through", &vaults));
    assert_eq!((&anonymous["error"]["code"], &anonymous["status"]), (&json!("UNAUTHORIZED"), &json!(401)));
}

#[test]
fn an_invalid_key_is_refused_before_the_message_is_read() {
    let world = world();
    let reply = world.send(&request("tools/list", &json!({})).with("authorization", &bearer(9)));
    assert_eq!((reply.status, reply.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(read(&reply)["error"]["code"], "UNAUTHORIZED");
}

#[test]
fn a_check_is_sent_as_json_and_without_the_messages_own_headers() {
    let world = World::new(|_| Ok(answer(200, r#"{"data":{"verdict":"approve"}}"#)));
    world.objects.mint(1, record(Plan::Decisioning, 300));
    let portfolio = json!({"portfolioRef": "x", "positions": [{"vaultKey": "1:0xc5", "amountUsd": 1.5}]});
    let ask = call("check_portfolio", &portfolio)
        .with("authorization", &bearer(1))
        .with("idempotency-key", "of-the-message")
        .with("if-none-match", "*");
    assert_eq!(content(&world, &ask)["answer"]["data"]["verdict"], "approve");
    let sent = world.last_call();
    assert_eq!((sent.method, sent.target.as_str()), (Method::Post, "/v1/graph/check"));
    assert_eq!(serde_json::from_slice::<Value>(&sent.body).unwrap(), portfolio);
    let has = |name: &str| sent.headers.iter().any(|(known, _)| *known == name);
    assert!(has("content-type") && !has("idempotency-key") && !has("if-none-match"), "{:?}", sent.headers);
}

#[test]
fn a_misspelt_argument_or_an_unknown_name_is_an_error_and_no_empty_list() {
    let world = World::new(|_| Ok(page(ROWS).with("x-service-unknown-values", "chain=atlantis")));
    let error = content(&world, &call("search_vaults", &json!({"assets": "USDC"})));
    assert_eq!(error["error"]["code"], "INVALID_PARAMETER");
    assert!(error["error"]["message"].as_str().unwrap().ends_with("did you mean asset?"), "{error}");
    let error = content(&world, &call("search_vaults", &json!({"chain": "atlantis"})));
    assert_eq!(error["error"]["details"][0]["name"], "chain");
}

#[test]
fn an_error_of_the_origin_keeps_its_code_and_request_id() {
    let world = World::new(|call: &Call| Ok(envelope(404, "NOT_FOUND", call)));
    let result = world.send(&call("what_changed", &json!({"view": "event", "id": "evt_none"})));
    let result = read(&result)["result"].clone();
    let error = &result["structuredContent"]["error"];
    assert_eq!((&result["isError"], &error["code"]), (&json!(true), &json!("NOT_FOUND")));
    assert_eq!(error["request_id"], result["structuredContent"]["request_id"]);
}

#[test]
fn while_the_origin_is_down_a_cached_answer_is_stale_and_another_is_an_error() {
    let world = world();
    content(&world, &call("overview", &json!({})));
    world.origin_is_down();
    world.pass_seconds(120);
    assert_eq!(content(&world, &call("overview", &json!({})))["stale"], true);
    let error = content(&world, &call("curators", &json!({})));
    assert_eq!((&error["status"], &error["error"]["code"]), (&json!(503), &json!("SERVICE_UNAVAILABLE")));
}

#[test]
fn resources_are_pages_and_responses() {
    let world = World::new(|_| Ok(page(r#"{"data":{"vault":{"id":"a","tvl_usd":1,"total_score":7.5},"events":[]}}"#)));
    let contents = |uri: &str| {
        let reply = world.send(&request("resources/read", &json!({"uri": uri})));
        read(&reply)["result"]["contents"][0].clone()
    };
    let guide = contents("rds://docs/limits.md");
    assert_eq!(guide["mimeType"], "text/markdown");
    assert!(guide["text"].as_str().unwrap().starts_with("# Limits"));
    let evidence = contents("rds://vault/devnet/0xc516dd999378982aac393e1de92f8eff568cc06d/evidence");
    assert_eq!(evidence["mimeType"], "application/json");
    assert_eq!(evidence["text"], r#"{"data":{"vault":{"id":"a","total_score":7.5}}}"#);
    world.origin(|call| Ok(envelope(404, "NOT_FOUND", call)));
    let missing = read(&world.send(&request("resources/read", &json!({"uri": "rds://basket/none"}))));
    assert_eq!(missing["error"]["code"], -32_002);
    world.has_assets.set(false);
    let unread = read(&world.send(&request("resources/read", &json!({"uri": "rds://docs/limits.md"}))));
    assert_eq!(unread["error"]["data"]["error"]["code"], "SERVICE_UNAVAILABLE");
}

#[test]
fn only_posts_of_json_are_messages() {
    let world = world();
    for method in ["GET", "DELETE", "PUT", "HEAD"] {
        let reply = world.send(&Ask::new(method, PATH));
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST, OPTIONS")), "{method}");
    }
    let text = world.send(&Ask::new("POST", PATH).with("content-type", "text/plain").body(b"{}"));
    assert_eq!(text.status, 415);
    let long = world.send(&post(&"x".repeat(300 * 1_024)));
    assert_eq!((long.status, read(&long)["error"]["code"].clone()), (413, json!("PAYLOAD_TOO_LARGE")));
    for (body, code) in [("{", -32_700), ("[]", -32_600), ("{}", -32_600)] {
        let reply = world.send(&post(body));
        assert_eq!((reply.status, read(&reply)["error"]["code"].clone()), (400, json!(code)), "{body}");
    }
}

#[test]
fn pages_of_other_sites_may_send_nothing() {
    let world = world();
    let list = || request("tools/list", &json!({}));
    for origin in ["https://evil.example", "null"] {
        assert_eq!(world.send(&list().with("origin", origin)).status, 403, "{origin}");
    }
    let ours = world.send(&list().with("origin", OUR_PAGE));
    assert_eq!((ours.status, ours.header("access-control-allow-origin")), (200, Some(OUR_PAGE)));
}

#[test]
fn a_notification_is_accepted_without_a_body() {
    let reply = world().send(&post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#));
    assert_eq!((reply.status, reply.body.is_none(), reply.header("content-type")), (202, true, None));
}

#[test]
fn a_calls_response_counts_in_the_status_feed_and_its_message_does_not() {
    let world = world();
    for _ in 0..3 {
        content(&world, &call("overview", &json!({})));
    }
    let report = world.isolate.answered.borrow_mut().begin([1; 16]).unwrap();
    // The origin counted the first response; two came from the cache.
    assert_eq!(report.minutes.iter().map(|minute| minute.good).sum::<u64>(), 2);
}

#[test]
fn without_the_graph_its_tools_do_not_exist() {
    let mut world = world();
    world.config.graph = false;
    let reply = read(&world.send(&call("verify_decision", &json!({"id": "0".repeat(64)}))));
    assert_eq!(reply["error"]["code"], -32_602);
}

#[test]
fn every_tool_is_in_the_guide() {
    let guide = text(&world().get("/v1/docs/agents.md"));
    for tool in rds_edge::mcp::tool_table::TOOLS {
        assert!(guide.contains(&format!("`{}`", tool.name)), "{}", tool.name);
    }
}

#[test]
fn a_client_that_prefers_markdown_gets_a_pages_twin() {
    let world = world();
    let ask = |accept: &str| world.send(&Ask::new("GET", "/v1/docs/limits").with("accept", accept));
    let (markdown, html) = (ask("text/markdown, text/html;q=0.9"), ask("text/html,*/*;q=0.8"));
    assert_eq!(markdown.header("content-type"), Some("text/markdown; charset=utf-8"));
    assert_eq!(html.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(text(&markdown), text(&world.get("/v1/docs/limits.md")));
    assert_ne!(markdown.header("etag"), html.header("etag"));
    for reply in [markdown, html] {
        assert_eq!(reply.header("vary"), Some("Origin, Accept"));
    }
    let start = world.send(&Ask::new("GET", "/v1/docs").with("accept", "text/markdown"));
    assert_eq!(text(&start), text(&world.get("/v1/docs/index.md")));
}
