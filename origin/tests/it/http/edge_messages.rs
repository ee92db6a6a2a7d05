//! The edge's messages to the origin: key look-ups and counted requests.

use crate::keys::operators::options;
use crate::support::testapp::{EDGE_KEY, TestApp, TestOptions, sign, signed, signed_as, signed_at};
use axum::http::StatusCode;
use rds_engine::clock::Clock;
use rds_origin::keys::{self, CreateKey, Minted};
use rds_shared::access::link::{
    EDGE, KEY_LOOKUP_PATH, KeyLookup, KeyLookupResponse, KeyLookupResult, MESSAGE_BYTES, ORIGIN, USAGE, UsageBatch,
    UsageRow,
};
use rds_shared::access::{KeyDigest, KeyRecord, Plan, Principal};
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Day;
use rds_store::keys::edge_outbox;
use serde_json::{Value, json};

const OLD_KEY: &str = "pk_live_0123456789abcdef0123456789abcdef";
/// A text with the prefix of [`OLD_KEY`].
const LIKE_IT: &str = "pk_live_0123000000000000000000000000dead";

fn question(key: &str, text: Option<&str>) -> KeyLookup {
    KeyLookup { digest: KeyDigest::of(key), shown: key[..12].to_owned(), text: text.map(str::to_owned) }
}

async fn answer(test: &TestApp, question: KeyLookup) -> KeyLookupResult {
    let reply = test.message(KEY_LOOKUP_PATH, &question).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    serde_json::from_slice(&reply.body).unwrap()
}

async fn mint(test: &TestApp, options: CreateKey) -> Minted {
    keys::mint(&test.app.db, &test.app.clock, &options).await.unwrap()
}

/// Inserts a key with a bcrypt hash and no digest, as keys were stored formerly; returns its id.
async fn old_row(test: &TestApp, text: &str) -> i64 {
    let sql = "WITH org AS (INSERT INTO organisation (name, plan, created_at) VALUES ('Old', 'data', now()) \
                            ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id) \
               INSERT INTO api_key (org_id, prefix, bcrypt_hash, plan, is_shared, created_at) \
               SELECT id, $1, $2, 'data', false, now() FROM org RETURNING id";
    let hash = bcrypt::hash(text, 4).unwrap();
    sqlx::query_scalar(sql).bind(&text[..12]).bind(hash).fetch_one(&test.app.db.pool).await.unwrap()
}

#[tokio::test]
async fn a_key_is_known_from_its_first_request_to_after_its_end() {
    let test = TestApp::new().await;
    let minted = mint(&test, CreateKey { rpm: Some(7), shared: true, ..options("Acme", Plan::Embedded) }).await;
    let KeyLookupResult::Known { record } = answer(&test, question(&minted.key, None)).await else { panic!() };
    let KeyRecord { id, plan, rpm, shared, active, version, .. } = record;
    assert_eq!((id, plan, rpm, shared, active), (minted.id, Plan::Embedded, 7, true, true));
    keys::revoke(&test.app.db, &test.app.clock, minted.id).await.unwrap();
    let KeyLookupResult::Known { record } = answer(&test, question(&minted.key, None)).await else { panic!() };
    assert!(!record.active && record.version > version);
    assert_eq!(answer(&test, question(LIKE_IT, None)).await, KeyLookupResult::Unknown);
}

#[tokio::test]
async fn the_edge_is_promised_to_hear_of_changes_only_where_somebody_tells_it() {
    let test = TestApp::new().await;
    let minted = mint(&test, options("Acme", Plan::Data)).await;
    let token = keys::mint_token(&test.app.db, &test.app.clock, "desk").await.unwrap();
    let told = async |key: &str| {
        let reply = test.message(KEY_LOOKUP_PATH, &question(key, None)).await;
        let finding: KeyLookupResponse = serde_json::from_slice(&reply.body).unwrap();
        assert!(matches!(finding.answer, KeyLookupResult::Known { .. }), "{finding:?}");
        finding.told
    };
    assert!(!told(&minted.key).await);
    edge_outbox::record_sender_alive(&test.app.db).await.unwrap();
    assert!(told(&minted.key).await);
    assert!(!told(&token.key).await, "a token's revocation is told by the command alone");
    let sql = "update edge_teller set seen_at = seen_at - interval '61 seconds'";
    sqlx::query(sql).execute(&test.app.db.pool).await.unwrap();
    assert!(!told(&minted.key).await, "it has gone away");
}

#[tokio::test]
async fn a_key_older_than_the_digests_is_proved_once_by_its_text() {
    let test = TestApp::new().await;
    let (other, id) = (old_row(&test, LIKE_IT).await, old_row(&test, OLD_KEY).await);
    assert_eq!(answer(&test, question(OLD_KEY, None)).await, KeyLookupResult::TextNeeded);
    let KeyLookupResult::Known { record } = answer(&test, question(OLD_KEY, Some(OLD_KEY))).await else { panic!() };
    assert_eq!((record.id, record.active), (id, true));
    let (digest, hash): (Option<Vec<u8>>, Option<String>) =
        sqlx::query_as("SELECT digest, bcrypt_hash FROM api_key WHERE id = $1")
            .bind(id)
            .fetch_one(&test.app.db.pool)
            .await
            .unwrap();
    assert_eq!((digest.as_deref(), hash), (Some(&KeyDigest::of(OLD_KEY).as_bytes()[..]), None));
    assert_eq!(answer(&test, question(OLD_KEY, None)).await, KeyLookupResult::Known { record }, "no text, no proof");

    let wrong = "pk_live_0123ffffffffffffffffffffffffffff";
    assert_eq!(answer(&test, question(wrong, Some(wrong))).await, KeyLookupResult::Unknown);
    keys::revoke(&test.app.db, &test.app.clock, other).await.unwrap();
    assert_eq!(
        answer(&test, question(LIKE_IT, None)).await,
        KeyLookupResult::Unknown,
        "a revoked one is not proved any more"
    );
    let scrape = test.admin("GET", "/metrics", "").await.text();
    assert!(scrape.contains("rds_bcrypt_proofs 2"), "{scrape}");
}

#[tokio::test]
async fn an_older_key_proved_by_two_at_once_is_the_same_key_for_both() {
    let test = TestApp::new().await;
    let id = old_row(&test, OLD_KEY).await;
    let ask = || answer(&test, question(OLD_KEY, Some(OLD_KEY)));
    let (one, other) = tokio::join!(ask(), ask());
    assert_eq!(one, other);
    assert!(matches!(one, KeyLookupResult::Known { record } if record.id == id));
}

#[tokio::test]
async fn a_text_that_is_not_the_questions_key_proves_nothing() {
    let test = TestApp::new().await;
    old_row(&test, OLD_KEY).await;
    for bad in [question(LIKE_IT, Some(OLD_KEY)), question("pk_live_0123", Some("pk_live_0123"))] {
        let reply = test.message(KEY_LOOKUP_PATH, &bad).await;
        assert_eq!(
            (reply.code().as_str(), &reply.json()["error"]["details"][0]["name"]),
            ("INVALID_BODY", &json!("text"))
        );
        assert!(!reply.text().contains(OLD_KEY));
    }
}

#[tokio::test]
async fn only_the_edge_itself_is_heard_and_only_here() {
    let test = TestApp::with_market().await;
    let body = serde_json::to_string(&question(OLD_KEY, None)).unwrap();
    for path in [KEY_LOOKUP_PATH, USAGE] {
        let key = Principal::Key { id: 1, org_id: 1, plan: Plan::Embedded }.to_json();
        for caller in [&Principal::Anonymous.to_json(), &key] {
            let reply = test.ask(signed_as(caller, "POST", path, &body)).await;
            assert_eq!((reply.code().as_str(), reply.message().as_str()), ("NOT_FOUND", "no such route"), "{caller}");
        }
        let own = test.ask(signed_as(ORIGIN, "POST", path, &body)).await;
        assert_eq!(own.status, StatusCode::UNAUTHORIZED, "our own word to the edge is no word of the edge");
        let get = test.ask(signed_as(EDGE, "GET", path, "")).await;
        assert_eq!((get.code().as_str(), get.header("allow")), ("METHOD_NOT_ALLOWED", Some("POST")));
        for garbage in ["", "[]", "{\"digest\":\"00\"}"] {
            assert_eq!(test.ask(signed_as(EDGE, "POST", path, garbage)).await.code(), "INVALID_BODY", "{garbage}");
        }
        let large = test.ask(signed_as(EDGE, "POST", path, &"x".repeat(MESSAGE_BYTES + 1))).await;
        assert_eq!(large.code(), "PAYLOAD_TOO_LARGE");
        let mut bare = signed("POST", path, "");
        *bare.headers_mut() = Default::default();
        assert_eq!(test.ask(bare).await.message(), "only the edge may call this listener");
    }
    for (method, target) in [("GET", "/v1/vaults"), ("GET", "/v1/me"), ("POST", "/v1/vaults/batch"), ("GET", "/__edge")]
    {
        assert_eq!(test.ask(signed_as(EDGE, method, target, "")).await.code(), "NOT_FOUND", "{target}");
    }
    let late = signed_at("POST", KEY_LOOKUP_PATH, &body, Clock::system().wall().as_seconds() - 40);
    assert_eq!(test.ask(late).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn while_keys_are_replaced_both_are_believed_and_then_only_the_next() {
    const NEXT: &str = "k2:ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    const BOTH: &str = "k2:ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff,\
                        k1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    let asked = async |keys, key| {
        let test =
            TestApp::with(TestOptions { env: vec![("RDS_EDGE_ASSERTION_KEYS", keys)], ..TestOptions::default() }).await;
        let principal = Principal::Anonymous.to_json();
        test.ask(sign(key, &principal, ("GET", "/v1/chains", ""), Clock::system().wall().as_seconds())).await.status
    };
    for (keys, key, status) in [
        (BOTH, EDGE_KEY, StatusCode::OK),
        (BOTH, NEXT, StatusCode::OK),
        (NEXT, NEXT, StatusCode::OK),
        (NEXT, EDGE_KEY, StatusCode::UNAUTHORIZED),
    ] {
        assert_eq!(asked(keys, key).await, status, "{key} of {keys}");
    }
}

/// A batch for yesterday, today and tomorrow. Today and tomorrow have the same count, so the test also passes if midnight falls into it.
fn batch(key: &str, source: &str, sequence: u64, served: u64) -> UsageBatch {
    let now = Clock::system().wall();
    let today = Day::of(now).number();
    let row = |day, endpoint: &str, served, throttled| UsageRow {
        day,
        endpoint: endpoint.to_owned(),
        served,
        throttled,
        last_seen: now.as_seconds() - 7,
    };
    let rows = vec![
        row(today - 1, "GET /v1/chains", 1, 0),
        row(today, "GET /v1/vaults", served, 2),
        row(today + 1, "GET /v1/vaults", served, 0),
        row(today, "GET /v1/me", 0, 1),
    ];
    UsageBatch { digest: KeyDigest::of(key), source: source.to_owned(), sequence, through: now.as_seconds(), rows }
}

async fn sent(test: &TestApp, batch: &UsageBatch) {
    let reply = test.message(USAGE, batch).await;
    assert_eq!((reply.status, reply.body.len()), (StatusCode::NO_CONTENT, 0), "{}", reply.text());
}

async fn usage(test: &TestApp, id: i64) -> Value {
    let reply = test.get_as(&Principal::Key { id, org_id: 1, plan: Plan::Data }, "/v1/me").await;
    reply.json()["data"]["usage"].clone()
}

/// Served and throttled requests, as the key's holder sees them.
async fn totals(test: &TestApp, id: i64) -> (u64, u64) {
    let usage = usage(test, id).await;
    (usage["total_count"].as_u64().unwrap(), usage["throttled_count"].as_u64().unwrap())
}

#[tokio::test]
async fn a_keys_usage_is_what_the_edge_counted() {
    let test = TestApp::new().await;
    let minted = mint(&test, options("Acme", Plan::Data)).await;
    let counted = batch(&minted.key, "aa", 1, 5);
    sent(&test, &counted).await;
    let usage = usage(&test, minted.id).await;
    assert_eq!((&usage["total_count"], &usage["throttled_count"]), (&json!(11), &json!(3)));
    assert!(usage["as_of_lag_seconds"].as_u64().unwrap() < 60, "{usage}");
    let last_seen = Timestamp::from_seconds(counted.rows[0].last_seen).to_string();
    assert_eq!(usage["endpoints"], json!([{ "endpoint": "GET /v1/vaults", "count": 5, "last_seen": last_seen }]));
    let rows = keys::list(&test.app.db).await.unwrap();
    assert_eq!(rows[0].last_used_at.unwrap().to_string(), last_seen);
}

#[tokio::test]
async fn a_batch_counts_once_however_often_late_or_side_by_side_it_comes() {
    let test = TestApp::new().await;
    let minted = mint(&test, options("Acme", Plan::Data)).await;
    let [first, second] = [1, 2].map(|sequence| batch(&minted.key, "aa", sequence, 5));
    sent(&test, &first).await;
    sent(&test, &first).await;
    assert_eq!(totals(&test, minted.id).await, (11, 3));
    sent(&test, &second).await;
    sent(&test, &first).await;
    assert_eq!(totals(&test, minted.id).await, (22, 6), "a late copy of the first is no third");

    let third = batch(&minted.key, "aa", 3, 5);
    tokio::join!(sent(&test, &third), sent(&test, &third), sent(&test, &third), sent(&test, &third));
    assert_eq!(totals(&test, minted.id).await, (33, 9));
    // A recreated Durable Object counts from 1 under another source id.
    sent(&test, &batch(&minted.key, "bb", 1, 5)).await;
    assert_eq!(totals(&test, minted.id).await, (44, 12));
    let scrape = test.admin("GET", "/metrics", "").await.text();
    for line in ["rds_usage_batches_total 4", "rds_usage_batches_repeated_total 5", "rds_usage_gaps_total 0"] {
        assert!(scrape.lines().any(|found| found == line), "{line}\n{scrape}");
    }
}

#[tokio::test]
async fn a_source_goes_on_after_the_database_lost_its_last_batches() {
    let test = TestApp::new().await;
    let minted = mint(&test, options("Acme", Plan::Data)).await;
    sent(&test, &batch(&minted.key, "aa", 7, 5)).await;
    sent(&test, &batch(&minted.key, "aa", 6, 5)).await;
    sent(&test, &batch(&minted.key, "aa", 8, 5)).await;
    assert_eq!(
        totals(&test, minted.id).await,
        (22, 6),
        "the sixth was acknowledged once: it does not come for the first time"
    );
    sent(&test, &batch(LIKE_IT, "aa", 1, 5)).await;
    let scrape = test.admin("GET", "/metrics", "").await.text();
    assert!(scrape.contains("rds_usage_gaps_total 2"), "{scrape}");
}

#[tokio::test]
async fn a_batch_that_cannot_be_counted_names_its_fields_and_counts_nothing() {
    let test = TestApp::new().await;
    let minted = mint(&test, options("Acme", Plan::Data)).await;
    let mut bad = batch(&minted.key, "", 0, 5);
    bad.rows[1].served = u64::MAX;
    let reply = test.message(USAGE, &bad).await;
    let details = reply.json()["error"]["details"].clone();
    let names: Vec<_> = details.as_array().unwrap().iter().map(|detail| detail["name"].as_str().unwrap()).collect();
    assert_eq!((reply.status, names), (StatusCode::BAD_REQUEST, vec!["source", "sequence", "rows[1].served"]));
    assert_eq!(totals(&test, minted.id).await, (0, 0));
}
