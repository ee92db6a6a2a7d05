//! Decisions after the retirement of their signer: valid ones stay valid, and void ones are not returned again.

use crate::graph::decisions_world::{OTHER_SECRET, OTHER_SIGNER, SECRET, SIGNER, World, activate, signing_with};
use crate::support::testapp::TestApp;
use rds_origin::decisions::signer_registry::{self, Changed, Retirement};
use rds_shared::graph::evidence::Signer;
use rds_shared::model::content_hash::ContentHash;
use rds_shared::model::decision::IssuedDecision;
use rds_shared::wire::Timestamp;
use rds_store::Db;
use rds_store::graph::decisions::{self, Signed};
use rds_store::graph::signers;
use serde_json::{Value, json};

fn id(decision: &Value) -> String {
    decision["decisionId"].as_str().unwrap_or_else(|| panic!("no decision: {decision}")).to_owned()
}

async fn retired(world: &World, name: &str, from: Retirement) -> Signer {
    match signer_registry::retire(&world.test.app.db, name, from).await.unwrap() {
        Changed::Done(signer) => signer,
        other => panic!("{other:?}"),
    }
}

fn now(world: &World) -> Retirement {
    Retirement::Now(world.test.app.clock.clone())
}

#[tokio::test]
async fn a_check_whose_decision_became_void_is_decided_afresh_by_who_may_sign() {
    let world = World::new().await;
    activate(&world.test, "second", OTHER_SIGNER).await;
    let other = world.another_process(signing_with(OTHER_SECRET)).await;
    let void = world.issued("book").await;
    retired(&world, "first", Retirement::At(world.now())).await;
    assert_eq!(
        world.issued("book").await,
        Value::Null,
        "this process's key may not, and the old decision is worth nothing"
    );

    let (a, b, c, d) =
        tokio::join!(other.issued("book"), world.issued("book"), other.issued("book"), other.issued("book"));
    let afresh: Vec<_> = [a, b, c, d].into_iter().filter(Value::is_object).collect();
    assert!(afresh.len() >= 3 && afresh.iter().all(|decision| id(decision) == id(&afresh[0])), "{afresh:?}");
    assert_eq!(afresh.iter().filter(|decision| decision["inserted"] == true).count(), 1);
    assert_ne!(id(&afresh[0]), id(&void));
    assert_eq!((&afresh[0]["keyId"], &afresh[0]["signerAddress"]), (&json!("second"), &json!(OTHER_SIGNER)));
    let again = world.issued("book").await;
    assert_eq!((id(&again), &again["inserted"]), (id(&afresh[0]), &json!(false)), "whoever is asked");

    assert!(world.verified(&id(&again)).await.is_genuine());
    let said = world.verified(&id(&void)).await;
    assert!(said.found && said.envelope_intact && said.signature_valid && said.signer_recognized);
    assert!(!said.signer_active_at_issuance, "whoever holds the old one is told why it is void");
}

#[tokio::test]
async fn a_check_is_decided_as_often_as_its_signers_turn_out_to_have_been_retired() {
    let world = World::new().await;
    activate(&world.test, "second", OTHER_SIGNER).await;
    let other = world.another_process(signing_with(OTHER_SECRET)).await;
    let first = world.issued("book").await;
    retired(&world, "first", Retirement::At(world.now())).await;
    let second = other.issued("book").await;
    retired(&world, "second", Retirement::At(world.now())).await;
    assert_eq!(other.issued("book").await, Value::Null);
    activate(&world.test, "third", "0x5cbdd86a2fa8dc4bddd8a8f69dba48572eec07fb").await;
    let another =
        world.another_process(signing_with("3333333333333333333333333333333333333333333333333333333333333333")).await;
    let third = another.issued("book").await;
    assert_eq!(third["keyId"], "third");
    for (decision, holds) in [(&first, false), (&second, false), (&third, true)] {
        assert_eq!(world.verified(&id(decision)).await.is_genuine(), holds, "{decision}");
    }
    assert_eq!(id(&world.issued("book").await), id(&third));
}

#[tokio::test]
async fn retiring_a_key_now_voids_no_decision_even_if_clocks_differ() {
    let world = World::new().await;
    let ahead = world.another_process(signing_with(SECRET)).await;
    ahead.advance(5);
    let early = world.issued("early").await;
    let late = ahead.issued("late").await;
    let signer = retired(&world, "first", now(&world)).await;
    assert_eq!(
        signer.retired_at,
        Some(Timestamp::from_millis(ahead.now().as_millis() + 1)),
        "after the last it signed"
    );
    for decision in [early, late] {
        assert!(world.verified(&id(&decision)).await.is_genuine(), "{decision}");
    }
    ahead.advance(1);
    assert_eq!(ahead.issued("after").await, Value::Null);
    let again = signer_registry::retire(&world.test.app.db, "first", now(&ahead)).await.unwrap();
    assert_eq!(again, Changed::Already(signer));
}

#[tokio::test]
async fn a_decision_that_is_being_signed_while_its_key_is_retired_now_is_good() {
    let world = World::new().await;
    let db = world.test.app.db.clone();
    let snapshot_id: String =
        sqlx::query_scalar("select snapshot_id from graph_snapshot").fetch_one(&db.pool).await.unwrap();
    let snapshot_id = ContentHash::parse(&snapshot_id).unwrap();
    let org: i64 = sqlx::query_scalar("select id from organisation").fetch_one(&db.pool).await.unwrap();

    // A transaction that is signing has locked the key's row and has not committed.
    let mut signing = db.pool.begin().await.unwrap();
    let key_id = signers::lock_active(&mut signing, SIGNER, world.now()).await.unwrap().unwrap();
    let from = now(&world);
    let waiting = {
        let db = db.clone();
        async move { signer_registry::retire(&db, "first", from).await.unwrap() }
    };
    let waiting = tokio::spawn(waiting);
    until_somebody_waits(&db).await;
    world.advance(7);
    let decision = IssuedDecision {
        decision_id: "d".repeat(64),
        signer_address: SIGNER.to_owned(),
        key_id,
        inserted: true,
        signature: format!("0x{}", "11".repeat(65)),
        envelope: "{}".to_owned(),
    };
    let created_at = world.now();
    let signed = Signed { org, subject: snapshot_id, snapshot_id, created_at, attempt: 0, decision: &decision };
    assert!(decisions::insert(&mut signing, &signed).await.unwrap());
    signing.commit().await.unwrap();

    let Changed::Done(signer) = waiting.await.unwrap() else { panic!("not retired") };
    assert!(signer.retired_at > Some(created_at), "{signer:?}");
    assert!(decisions::find(&db.pool, org, snapshot_id).await.unwrap().unwrap().in_force);
}

async fn until_somebody_waits(db: &Db) {
    let sql =
        "select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')";
    while !sqlx::query_scalar::<_, bool>(sql).fetch_one(&db.pool).await.unwrap() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_key_that_signed_nothing_is_retired_at_once() {
    let test = TestApp::new().await;
    activate(&test, "first", SIGNER).await;
    let now = Retirement::Now(test.app.clock.clone());
    let Changed::Done(signer) = signer_registry::retire(&test.app.db, "first", now.clone()).await.unwrap() else {
        panic!()
    };
    assert_eq!(signer.retired_at, Some(test.app.clock.now()));
    assert!(matches!(signer_registry::retire(&test.app.db, "nobody", now).await.unwrap(), Changed::Refused(_)));
}
