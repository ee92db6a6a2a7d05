//! Index tokens at the origin's listeners: which routes they open, what the edge learns about them, and when a revocation takes effect.

use crate::support::edge_peer::{EdgePeer, Mood, link};
use crate::support::testapp::{EDGE_KEY, TestApp, holder};
use rds_origin::edge_link::outbox::Settled;
use rds_origin::edge_link::tokens::settle;
use rds_origin::keys::{self, Minted, Revocation};
use rds_shared::access::link::{KEY_LOOKUP_PATH, KeyLookup, USAGE, UsageBatch, UsageRow};
use rds_shared::access::{KeyDigest, KeyRecord, Plan, Principal};
use rds_shared::route::{Access, ROUTES};
use serde_json::{Value, json};
use std::time::Duration;

async fn minted(test: &TestApp) -> Minted {
    keys::mint_token(&test.app.db, &test.app.clock, "Acme").await.unwrap()
}

/// The origin's answer when the edge looks up a credential.
async fn known(test: &TestApp, text: &str) -> Value {
    let question = KeyLookup { digest: KeyDigest::of(text), shown: text[..12].to_owned(), text: None };
    test.message(KEY_LOOKUP_PATH, &question).await.json()
}

#[tokio::test]
async fn only_index_tokens_open_the_private_routes_and_they_open_no_others() {
    let test = TestApp::with_market().await;
    let page = Principal::FirstParty { origin: "https://app.example".to_owned() };
    let token = Principal::IndexToken { id: 1 };
    let private: Vec<_> = ROUTES.iter().filter(|route| route.access == Access::Index).collect();
    assert_eq!(private.len(), 5);
    for route in private {
        assert!(route.path.starts_with("/v1/indices") || route.path.starts_with("/v1/rates"), "{}", route.path);
        for caller in [&Principal::Anonymous, &page, &holder(Plan::Data), &holder(Plan::Embedded)] {
            let reply = test.get_as(caller, route.path).await;
            assert_eq!((reply.status.as_u16(), reply.code().as_str()), (401, "UNAUTHORIZED"), "{}", route.path);
            assert!(reply.message().contains("index token"), "{}", reply.message());
        }
        assert_ne!(test.get_as(&token, route.path).await.status, 401, "{}", route.path);
    }
    for target in ["/v1/vaults", "/v1/vaults/scores", "/v1/me", "/v1/baskets", "/v1/webhooks"] {
        assert_eq!(test.get_as(&token, target).await.status, 401, "{target}");
    }
}

#[tokio::test]
async fn the_edge_gets_the_same_record_for_a_token_as_for_a_key() {
    let test = TestApp::new().await;
    let Minted { id, key } = minted(&test).await;
    // `told` is false, because only changes of keys are queued until the edge acknowledges them; changes of tokens are not.
    let record = |active| json!({"answer": "known", "record": KeyRecord::of_index_token(id, active), "told": false});
    assert_eq!(known(&test, &key).await, record(true));
    assert_eq!(known(&test, &format!("ix_live_{:032x}", 7)).await, json!({"answer": "unknown", "told": false}));
    let revoked = keys::revoke_token(&test.app.db, &test.app.clock, id).await.unwrap();
    assert_eq!((revoked, known(&test, &key).await), (Revocation::Revoked, record(false)));
    assert!(KeyRecord::of_index_token(id, false).supersedes(&KeyRecord::of_index_token(id, true)));
    let rows = vec![UsageRow { day: 20_000, endpoint: "GET /v1/rates".into(), served: 3, throttled: 0, last_seen: 0 }];
    let batch = |text: &str| UsageBatch {
        digest: KeyDigest::of(text),
        source: "s".into(),
        sequence: 1,
        through: 0,
        rows: rows.clone(),
    };
    for text in [key.as_str(), "nobody's"] {
        assert_eq!(test.message(USAGE, &batch(text)).await.status, 204, "{text}");
    }
    let metrics = test.admin("GET", "/metrics", "").await.text();
    assert!(metrics.contains("rds_usage_gaps_total 1"), "only usage of unknown credentials is lost: {metrics}");
}

#[tokio::test]
async fn a_revocation_is_final_when_the_edge_acknowledges_it_or_its_lease_ends() {
    let test = TestApp::new().await;
    let Minted { id, key } = minted(&test).await;
    keys::revoke_token(&test.app.db, &test.app.clock, id).await.unwrap();
    let news = keys::token_update(&test.app.db, id).await.unwrap().unwrap();
    assert_eq!((news.digest, news.record), (KeyDigest::of(&key), KeyRecord::of_index_token(id, false)));
    assert_eq!(keys::token_update(&test.app.db, id + 1).await.unwrap(), None);
    let db = &test.app.db;
    let (ignore, long) = (|_: &str| (), Duration::from_secs(35));
    assert_eq!(settle(db, None, &news, long, ignore).await.unwrap(), Settled::NoEdge);

    let edge = EdgePeer::knowing(EDGE_KEY).await;
    assert_eq!(settle(db, Some(&edge.link(EDGE_KEY)), &news, long, ignore).await.unwrap(), Settled::Acknowledged);
    assert_eq!(edge.acknowledged(), std::slice::from_ref(&news));
    // The edge fails, so the command waits until the edge's key lease ends. Without a link the command waits too, if an
    // edge has looked up a key.
    edge.is(Mood::Fails);
    let (mut said, short) = (Vec::new(), Duration::from_millis(300));
    let failing = link(&edge.url(), EDGE_KEY);
    assert_eq!(
        settle(db, Some(&failing), &news, short, |why| said.push(why.to_owned())).await.unwrap(),
        Settled::LeaseOver
    );
    assert_eq!(said, ["the edge answered 503 Service Unavailable"]);
    known(&test, &key).await;
    assert_eq!(settle(db, None, &news, short, ignore).await.unwrap(), Settled::LeaseOver);
}
