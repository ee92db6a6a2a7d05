//! Reads: formats, pages, filters, errors.

use crate::run::{Ran, VAULTS, ran, rds, server, vaults};
use serde_json::{Value, json};

fn page(number: u64, pages: u64) -> Value {
    let meta = json!({"page": number, "limit": 2, "total": 4, "totalPages": pages});
    // As text, because a JSON value of this program would sort the members.
    json!({"text": format!("{{\"data\": {VAULTS}, \"meta\": {meta}}}")})
}

fn listed(arguments: &[&str]) -> Ran {
    let server = server(&[page(1, 1)]);
    let given: Vec<&str> = ["vaults", "list"].iter().chain(arguments).copied().collect();
    ran(rds(&server.address, &given), "")
}

#[test]
fn a_table_has_the_plain_columns_in_the_order_of_the_service() {
    let Ran { out, code, .. } = listed(&["--format", "table"]);
    assert_eq!(code, 0);
    let expected = "name        asset_symbol  total_score\nWillow \"A\"  USDC                  7.5\nElm, 2                             10\n";
    assert_eq!(out, expected);
}

#[test]
fn csv_quotes_what_needs_it_and_has_every_column() {
    let Ran { out, .. } = listed(&["--format", "csv"]);
    let expected = "name,asset_symbol,total_score,tags,novel\n\
                    \"Willow \"\"A\"\"\",USDC,7.5,\"[\"\"a\"\",\"\"b\"\"]\",\n\
                    \"Elm, 2\",,10,[],\n";
    assert_eq!(out, expected);
    assert_eq!(
        listed(&["--format", "csv", "--columns", "total_score,name"]).out,
        "total_score,name\n7.5,\"Willow \"\"A\"\"\"\n10,\"Elm, 2\"\n"
    );
}

#[test]
fn json_is_the_whole_answer_and_the_default_where_no_terminal_is() {
    for arguments in [&["--format", "json"][..], &[]] {
        let read: Value = serde_json::from_str(&listed(arguments).out).unwrap();
        assert_eq!(read["data"], vaults());
        assert_eq!(read["meta"]["total"], 4);
    }
}

#[test]
fn ndjson_is_a_row_per_line() {
    let Ran { out, .. } = listed(&["--format", "ndjson"]);
    let rows: Vec<Value> = out.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(json!(rows), vaults());
}

#[test]
fn all_reads_every_page_with_the_greatest_size() {
    let server = server(&[page(1, 2), page(2, 2)]);
    let Ran { out, code, .. } = ran(rds(&server.address, &["vaults", "list", "--all", "--format", "json"]), "");
    assert_eq!(code, 0);
    let rows: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 4);
    let seen = server.seen();
    assert_eq!(seen["requests"][0]["query"], json!({"limit": "100"}));
    assert_eq!(seen["requests"][1]["query"], json!({"limit": "100", "page": "2"}));
}

#[test]
fn filters_and_path_parameters_reach_the_service() {
    let server = server(&[page(1, 1), json!({"json": {"data": {"id": "x", "name": "Elm"}}})]);
    let list = ["vaults", "list", "--risk-tier", "prime,CORE", "--min-tvl", "1e6", "--stablecoin", "--limit", "5"];
    assert_eq!(ran(rds(&server.address, &list), "").code, 0);
    let get = ["vaults", "get", "a/b", "--format", "table"];
    assert_eq!(ran(rds(&server.address, &get), "").out, "id    x\nname  Elm\n");
    let seen = server.seen();
    let query = json!({"limit": "5", "minTvl": "1000000.0", "riskTier": "prime,core", "stablecoin": "true"});
    assert_eq!(seen["requests"][0]["query"], query);
    assert_eq!(seen["requests"][1]["path"], "/v1/vaults/a/b");
}

#[test]
fn an_error_names_what_is_wrong_and_the_request() {
    let error = json!({"code": "INVALID_PARAMETER", "message": "A parameter is wrong.", "request_id": "0123456789abcdef0123456789abcdef",
        "details": [{"in": "query", "name": "sortBy", "reason": "is no field", "allowed": ["name", "tvl_usd"]}]});
    let server = server(&[json!({"status": 400, "json": {"error": error}})]);
    let Ran { out, err, code } = ran(rds(&server.address, &["vaults", "list"]), "");
    assert_eq!((out.as_str(), code), ("", 1));
    let expected = "rds: INVALID_PARAMETER: A parameter is wrong. (status 400, request 0123456789abcdef0123456789abcdef)\n  \
                    query sortBy: is no field; allowed: name, tvl_usd\n";
    assert_eq!(err, expected);
}

#[test]
fn what_the_service_ignored_is_told() {
    let mut page = page(1, 1);
    page["headers"] = json!({"X-Service-Unknown-Values": "chain=mars"});
    let server = server(&[page]);
    let ran = ran(rds(&server.address, &["vaults", "list", "--chain", "mars"]), "");
    assert_eq!((ran.code, ran.err.as_str()), (0, "rds: the service does not know chain=mars\n"));
}

#[test]
fn a_wrong_command_line_is_an_error_and_names_the_right_one() {
    let wrong = ran(rds("http://127.0.0.1:9", &["vaults", "list", "--risk-teir", "prime"]), "");
    assert_eq!(wrong.code, 1);
    assert!(wrong.err.contains("--risk-tier"), "{}", wrong.err);
    let without = ran(rds("", &["vaults", "list"]), "");
    assert_eq!((without.code, without.err.contains("RDS_BASE_URL")), (1, true));
}

#[test]
fn help_completions_and_the_man_page_know_the_filters() {
    let help = ran(rds("", &["--help"]), "");
    assert_eq!(help.code, 0);
    assert!(help.out.contains("rds vaults list --risk-tier prime --limit 5"));
    let list = ran(rds("", &["vaults", "list", "--help"]), "").out;
    assert!(list.contains("--risk-tier") && list.contains("prime, core, edge"), "{list}");
    for shell in ["bash", "zsh", "fish"] {
        let script = ran(rds("", &["completions", shell]), "").out;
        assert!(script.contains("risk-tier") && script.contains("prime"), "{shell}");
    }
    let man = ran(rds("", &["man"]), "").out;
    assert!(man.starts_with(".ie") && man.contains("rds check portfolio.csv"), "{man}");
}
