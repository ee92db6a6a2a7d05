//! Checks from a customer's point of view: exposures of a portfolio, the verdict, and rejected requests.

use crate::graph::decisions_world::{World, portfolio};
use crate::graph::world::{self, key};
use crate::support::testapp::{TestApp, holder, signed_as};
use crate::vaults::lists::with_header;
use axum::http::StatusCode;
use rds_shared::access::{Plan, Principal};
use serde_json::{Value, json};

/// The exposures of a dimension as (key, dollars).
fn exposures<'a>(checked: &'a Value, dimension: &str) -> Vec<(&'a str, &'a str)> {
    let listed = checked["exposures"][dimension].as_array().unwrap();
    listed.iter().map(|it| (it["key"].as_str().unwrap(), it["usd"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn a_check_without_the_feature_without_a_snapshot_and_without_a_key() {
    let off = TestApp::new().await;
    let body = portfolio("book", false).to_string();
    let check = |caller: &Principal| signed_as(&caller.to_json(), "POST", "/v1/graph/check", &body);
    let decisioning = holder(Plan::Decisioning);
    assert_eq!(off.ask(check(&decisioning)).await.code(), "NOT_FOUND");
    assert_eq!(off.get(&format!("/v1/graph/decision/{}/verify", "0".repeat(64))).await.code(), "NOT_FOUND");

    let empty = TestApp::with(world::offered()).await;
    let reply = empty.ask(check(&decisioning)).await;
    assert_eq!(
        (reply.status, reply.code().as_str(), reply.header("retry-after")),
        (StatusCode::SERVICE_UNAVAILABLE, "MATERIALIZATION_UNAVAILABLE", Some("600"))
    );
    for (caller, status) in
        [(Principal::Anonymous, StatusCode::UNAUTHORIZED), (holder(Plan::Data), StatusCode::FORBIDDEN)]
    {
        assert_eq!(empty.ask(check(&caller)).await.status, status);
    }
    assert_eq!(empty.ask(check(&holder(Plan::Embedded))).await.status, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn a_portfolio_is_opened_down_to_what_stands_behind_it_in_dollars_that_add_up() {
    let world = World::new().await;
    let unknown = "1:0x00000000000000000000000000000000000000ff";
    let body = json!({
        "portfolioRef": "book",
        "positions": [
            { "vaultKey": key(0), "amountUsd": 999.9 },
            { "vaultKey": unknown, "amountUsd": 1000 },
            { "vaultKey": key(0), "amountUsd": 0.1 },
        ],
        "limits": { "maxSharePerBridge": 0.1, "maxSharePerChain": 1 },
        "loss": { "shockPct": 30 },
    });
    let checked = world.check(&body).await;
    assert_eq!(checked["totalUsd"], "2000");
    assert_eq!(checked["unresolvedVaults"], json!([unknown]));
    assert_eq!(exposures(&checked, "asset"), [("dollar", "700"), ("coin", "300")]);
    assert_eq!(checked["unattributedUsd"], "1000");
    assert_eq!(exposures(&checked, "bridge"), [("ferry/coin", "300")]);
    assert_eq!(exposures(&checked, "protocol"), [("harbor", "1000")]);
    let signers = exposures(&checked, "signerSet");
    assert!(signers.contains(&("council", "1000")) && signers.contains(&("keeper", "1000")), "{signers:?}");
    assert_eq!(
        checked["findings"],
        json!([{ "limit": "maxSharePerBridge", "dimension": "bridge", "key": "ferry/coin", "kind": "advisory", "maxShare": 0.1,
                 "share": 0.15, "usd": "300", "verifiedUsd": "0", "verified": false, "confidence": 0.5 }])
    );
    assert_eq!(checked["verdict"], "caution", "an unverified mapping alone never rejects");
    assert!(checked["decision"].is_null() && checked["builtAt"].is_string());

    let strict =
        json!({ "portfolioRef": "book", "positions": body["positions"], "limits": { "maxSharePerSignerSet": 0.4 } });
    let checked = world.check(&strict).await;
    let kinds: Vec<_> = checked["findings"].as_array().unwrap().iter().map(|it| (&it["key"], &it["kind"])).collect();
    assert_eq!(kinds, [(&json!("council"), &json!("breach")), (&json!("keeper"), &json!("advisory"))]);
    assert_eq!(checked["verdict"], "reject");
}

#[tokio::test]
async fn bad_input_names_its_field() {
    let world = World::new().await;
    let good = json!({ "vaultKey": key(0), "amountUsd": 1 });
    let with = |field: &str, value: Value| {
        let mut body = portfolio("book", false);
        body[field] = value;
        body
    };
    let position = |field: &str, value: Value| {
        let mut position = good.clone();
        position[field] = value;
        with("positions", json!([good, position]))
    };
    for (body, name) in [
        (position("vaultKey", json!("1:0x12")), "positions[1].vaultKey"),
        (position("vaultKey", json!("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")), "positions[1].vaultKey"),
        (position("amountUsd", json!(-0.01)), "positions[1].amountUsd"),
        (position("amountUsd", json!(1e15)), "positions[1].amountUsd"),
        (position("amountUsd", json!(null)), "positions[1].amountUsd"),
        (with("positions", json!([])), "positions"),
        (with("limits", json!({ "maxSharePerChain": 0 })), "limits.maxSharePerChain"),
        (with("limits", json!({ "maxSharePerChain": 1.01 })), "limits.maxSharePerChain"),
        (with("limits", json!({ "maxSharePerVault": 0.5 })), "limits.maxSharePerVault"),
        (with("issue", json!("yes")), "issue"),
        (with("portfolioRef", json!("")), "portfolioRef"),
    ] {
        let reply = world.ask(&body).await;
        assert_eq!((reply.status, reply.code().as_str()), (StatusCode::BAD_REQUEST, "INVALID_BODY"), "{body}");
        let details = reply.json()["error"]["details"].clone();
        assert_eq!((details.as_array().unwrap().len(), &details[0]["name"]), (1, &json!(name)), "{details}");
    }
    let reply = world.ask(&with("positions", Value::Array(vec![good.clone(); 1_001]))).await;
    assert_eq!(
        (reply.code().as_str(), &reply.json()["error"]["details"][0]["name"]),
        ("TOO_MANY_ITEMS", &json!("positions"))
    );
    assert_eq!(world.check(&with("positions", Value::Array(vec![good.clone(); 1_000]))).await["totalUsd"], "1000");
    let large = with("loss", json!("x".repeat(512 * 1024)));
    assert_eq!(world.ask(&large).await.code(), "PAYLOAD_TOO_LARGE");
    let ask = signed_as(&world.key.to_json(), "POST", "/v1/graph/check", &portfolio("book", false).to_string());
    assert_eq!(world.test.ask(with_header(ask, "content-type", "text/plain")).await.code(), "UNSUPPORTED_MEDIA_TYPE");
    for id in ["0".repeat(63), "g".repeat(64), "x".to_owned()] {
        let reply = world.evidence(&id).await;
        assert_eq!(
            (reply.code().as_str(), &reply.json()["error"]["details"][0]["name"]),
            ("INVALID_PARAMETER", &json!("id"))
        );
    }
}
