//! `POST /v1/vaults/batch`.

use crate::support::market::{BASE58, VAULTS, address};
use crate::support::testapp::{TestApp, holder, signed};
use axum::extract::Request;
use axum::http::StatusCode;
use rds_shared::access::Plan;
use serde_json::{Value, json};

async fn found(test: &TestApp, body: Value) -> Vec<String> {
    let reply = test.post("/v1/vaults/batch", &body.to_string()).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    reply.json()["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn rows_come_once_in_the_order_asked_for_and_strangers_are_left_out() {
    let test = TestApp::with_market().await;
    let (a, b, gone, solana) = (VAULTS[0].id(), VAULTS[2].id(), VAULTS[11].id(), VAULTS[12].id());
    let body = json!({ "ids": [b, "nothing", a, b, gone], "addresses": [BASE58, address(3).to_uppercase().replace("0X", "0x"), address(77)] });
    assert_eq!(found(&test, body).await, [b, a, gone, solana]);
    assert_eq!(found(&test, json!({ "addresses": [address(1)] })).await, [VAULTS[0].id()]);
    assert_eq!(found(&test, json!({ "ids": [VAULTS[0].id().replace("0x", "0X")] })).await, [VAULTS[0].id()]);
    assert!(found(&test, json!({})).await.is_empty());
    let row = &test.post("/v1/vaults/batch", &json!({ "ids": [VAULTS[0].id()] }).to_string()).await.json()["data"][0];
    assert_eq!(
        (&row["name"], &row["risk_tier"], &row["freshness_seconds"]),
        (&json!("Harbor Dollar"), &json!("Prime"), &json!(600))
    );
}

#[tokio::test]
async fn a_bad_body_is_refused_with_its_reason() {
    let test = TestApp::with_market().await;
    for (body, code, tells) in [
        ("", "INVALID_BODY", "JSON"),
        ("{\"ids\":[", "INVALID_BODY", "JSON"),
        ("[]", "INVALID_BODY", "object"),
        ("{\"ids\":\"a\"}", "INVALID_BODY", "ids"),
        ("{\"ids\":[\"a\",1],\"addresses\":[null]}", "INVALID_BODY", "addresses[0] must be a string; ids[1]"),
        ("{\"keys\":[]}", "INVALID_BODY", "keys"),
    ] {
        let refused = test.post("/v1/vaults/batch", body).await;
        assert_eq!((refused.status, refused.code().as_str()), (StatusCode::BAD_REQUEST, code), "{body}");
        assert!(refused.message().contains(tells), "{body}: {}", refused.message());
    }
    let many = |ids: usize, addresses: usize| {
        json!({ "ids": vec!["x"; ids], "addresses": vec![address(77); addresses] }).to_string()
    };
    assert_eq!(test.post("/v1/vaults/batch", &many(60, 40)).await.status, StatusCode::OK);
    let refused = test.post("/v1/vaults/batch", &many(61, 40)).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::BAD_REQUEST, "TOO_MANY_ITEMS".to_owned()));
    let large = format!("{{\"ids\":[\"{}\"]}}", "a".repeat(64 * 1024));
    let refused = test.post("/v1/vaults/batch", &large).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE".to_owned()));
}

#[tokio::test]
async fn another_media_type_or_method_is_refused() {
    let test = TestApp::with_market().await;
    let typed = |value: Option<&'static str>| -> Request {
        let mut request = signed("POST", "/v1/vaults/batch", "{}");
        request.headers_mut().remove("content-type");
        if let Some(value) = value {
            request.headers_mut().insert("content-type", value.parse().unwrap());
        }
        request
    };
    for good in ["application/json", "Application/JSON; charset=utf-8"] {
        assert_eq!(test.ask(typed(Some(good))).await.status, StatusCode::OK, "{good}");
    }
    for bad in [None, Some("text/plain"), Some("application/x-www-form-urlencoded"), Some("application/jsonp")] {
        let refused = test.ask(typed(bad)).await;
        assert_eq!(
            (refused.status, refused.code()),
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE".to_owned()),
            "{bad:?}"
        );
    }
    let refused = test.get("/v1/vaults/batch").await;
    assert_eq!((refused.status, refused.header("allow")), (StatusCode::METHOD_NOT_ALLOWED, Some("POST, OPTIONS")));
    let kept = test.post("/v1/vaults/batch", "{}").await;
    assert_eq!((kept.header("cache-control"), kept.header("etag")), (Some("no-store"), None));
}

#[tokio::test]
async fn an_address_that_no_chain_has_or_not_the_id_s_chain_is_refused_by_its_place() {
    let test = TestApp::with_market().await;
    let foreign = VAULTS[0].id().replace(&VAULTS[0].address(), BASE58);
    for (body, code, place) in [
        (json!({"addresses": [address(1), "junk"]}), "INVALID_ADDRESS", "addresses[1]"),
        (json!({"ids": [VAULTS[0].id(), foreign]}), "ADDRESS_NAMESPACE_MISMATCH", "ids[1]"),
    ] {
        let refused = test.post("/v1/vaults/batch", &body.to_string()).await;
        assert_eq!((refused.status, refused.code().as_str()), (StatusCode::BAD_REQUEST, code), "{body}");
        assert_eq!(refused.json()["error"]["details"][0]["name"], place);
    }
    let holder = holder(Plan::Embedded);
    for (target, field) in [
        (format!("/v1/signals?vault=1:{BASE58}"), "vault"),
        (format!("/v1/signals?vault=900:{}", address(1)), "vault"),
        (format!("/v1/research/predictions?vault_id={foreign}"), "vault_id"),
        (format!("/v1/events/stream?vaultId={foreign}"), "vaultId"),
    ] {
        let refused = test.get_as(&holder, &target).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (StatusCode::BAD_REQUEST, "ADDRESS_NAMESPACE_MISMATCH"),
            "{target}"
        );
        assert_eq!(refused.json()["error"]["details"][0]["name"], field);
    }
    assert_eq!(
        test.get(&format!("/v1/signals?vault=424242:{BASE58}")).await.status,
        StatusCode::OK,
        "of an unknown chain nothing is known"
    );
}
