//! Signed decisions: one per check, verifiable from their evidence alone, and signed only by active signers.

use crate::graph::decisions_world::{
    OTHER_SECRET, OTHER_SIGNER, SECRET, SIGNER, World, activate, minted, portfolio, signing_with,
};
use crate::graph::world;
use crate::support::testapp::{EDGE_KEY, TestApp, TestOptions};
use axum::http::StatusCode;
use rds_origin::catalog::refresh;
use rds_origin::decisions::signer_registry::{self, Changed, Retirement};
use rds_shared::graph::decision::Envelope;
use rds_shared::graph::verification::Verification;
use rds_shared::model::content_hash::ContentHash;
use rds_shared::model::ids::{Address, Namespace};
use rds_shared::route::{Tag, TagVersions};
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};
use sqlx::Row;
use std::process::{Command, Output};

fn id(decision: &Value) -> String {
    decision["decisionId"].as_str().unwrap_or_else(|| panic!("no decision: {decision}")).to_owned()
}

async fn kept(world: &World) -> i64 {
    sqlx::query_scalar("select count(*) from decision").fetch_one(&world.test.app.db.pool).await.unwrap()
}

#[tokio::test]
async fn a_decision_binds_what_was_checked_and_verifies_by_its_evidence_alone() {
    let world = World::new().await;
    let checked = world.check(&portfolio("book-1", true)).await;
    let decision = &checked["decision"];
    assert_eq!((&decision["signerAddress"], &decision["keyId"]), (&json!(SIGNER), &json!("first")));
    assert_eq!(decision["inserted"], true);
    let envelope = decision["envelope"].as_str().unwrap();
    assert_eq!(ContentHash::of_text(envelope).to_hex(), id(decision));
    let read = Envelope::parse(envelope).unwrap();
    assert_eq!((read.subject.portfolio_ref.as_str(), read.created_at), ("book-1", world.now()));
    assert_eq!(json!(read.subject.snapshot_id), checked["snapshotId"]);
    assert_eq!(json!(read.subject.verdict), checked["verdict"]);
    let said = world.verified(&id(decision)).await;
    assert!(said.is_genuine(), "{said:?}");
    assert_eq!(said.decision.unwrap().portfolio_ref, "book-1");
    assert!(world.verified(&id(decision).to_uppercase()).await.found);
    assert_eq!(world.verified(&"0".repeat(64)).await, Verification::NOT_FOUND);
}

#[tokio::test]
async fn the_same_check_has_one_decision_for_each_organisation() {
    let world = World::new().await;
    let first = world.issued("book").await;
    world.advance(3_600);
    let mut again = portfolio("book", true);
    again["loss"] = json!({ "shockPct": 50 });
    again["positions"] =
        json!([{ "amountUsd": 250.5, "vaultKey": world::key(0) }, { "vaultKey": world::key(0), "amountUsd": 749.5 }]);
    let mut expected = first.clone();
    expected["inserted"] = json!(false);
    assert_eq!(world.check(&again).await["decision"], expected);

    let mut other = portfolio("book", true);
    other["limits"] = json!({ "maxSharePerCurator": 0.999999 });
    assert_ne!(id(&world.check(&other).await["decision"]), id(&first), "another limit is another decision");
    let stranger = minted(&world.test, "Globex").await;
    let theirs = world.ask_as(&stranger, &portfolio("book", true)).await.json()["data"]["decision"].clone();
    assert_eq!((&theirs["inserted"], id(&theirs) == id(&first)), (&json!(true), false));
    assert_eq!(kept(&world).await, 3);
}

#[tokio::test]
async fn two_organisations_may_get_one_decision_in_one_millisecond() {
    let world = World::new().await;
    let stranger = minted(&world.test, "Globex").await;
    let ours = world.issued("book").await;
    let theirs = world.ask_as(&stranger, &portfolio("book", true)).await.json()["data"]["decision"].clone();
    assert_eq!(theirs, ours, "the clock stands: the same text, and new to both");
    assert!(world.verified(&id(&ours)).await.is_genuine());
}

#[tokio::test]
async fn processes_with_keys_of_their_own_agree_on_one_decision() {
    let world = World::new().await;
    activate(&world.test, "second", OTHER_SIGNER).await;
    let other = world.another_process(signing_with(OTHER_SECRET)).await;
    for round in 0..5 {
        let name = format!("book-{round}");
        let (a, b, c, d) =
            tokio::join!(world.issued(&name), other.issued(&name), world.issued(&name), other.issued(&name));
        let all = [a, b, c, d];
        assert!(all.iter().all(|decision| id(decision) == id(&all[0])), "{all:?}");
        assert_eq!(all.iter().filter(|decision| decision["inserted"] == true).count(), 1, "{all:?}");
        assert!(other.verified(&id(&all[0])).await.is_genuine());
    }
    assert_eq!(kept(&world).await, 5);
    let theirs = other.issued("theirs").await;
    assert_eq!((&theirs["keyId"], &theirs["signerAddress"]), (&json!("second"), &json!(OTHER_SIGNER)));
}

#[tokio::test]
async fn without_a_key_that_the_registry_lets_sign_a_check_is_answered_and_nothing_is_signed() {
    let world = World::new().await;
    let first = world.issued("book").await;
    let unsigned = world.another_process(world::offered()).await;
    let unknown = world.another_process(signing_with(OTHER_SECRET)).await;
    for process in [&unsigned, &unknown] {
        let checked = process.check(&portfolio("another", true)).await;
        assert_eq!((&checked["verdict"], &checked["decision"]), (&json!("caution"), &Value::Null));
        assert!(process.verified(&id(&first)).await.is_genuine(), "what was signed is verified by anybody");
    }
    signer_registry::retire(&world.test.app.db, "first", Retirement::At(world.now().plus_seconds(60))).await.unwrap();
    assert!(world.issued("in time").await.is_object());
    world.advance(60);
    assert_eq!(world.issued("late").await, Value::Null, "retired in the meantime");
    assert_eq!(id(&world.issued("book").await), id(&first), "what was decided stays decided");
    assert!(world.verified(&id(&first)).await.is_genuine());
    assert_eq!(kept(&world).await, 2);
}

#[tokio::test]
async fn a_retirement_from_before_takes_the_signer_from_decisions_since_then() {
    let world = World::new().await;
    let early = world.issued("early").await;
    world.advance(3_600);
    let late = world.issued("late").await;
    let since = world.now().plus_seconds(-60);
    signer_registry::retire(&world.test.app.db, "first", Retirement::At(since)).await.unwrap();
    assert!(world.verified(&id(&early)).await.is_genuine());
    let said = world.verified(&id(&late)).await;
    assert_eq!((said.signature_valid, said.signer_recognized, said.signer_active_at_issuance), (true, true, false));
}

#[tokio::test]
async fn evidence_is_what_lies_there_and_is_kept_until_the_registry_changes() {
    let world = World::new().await;
    let decision = world.issued("book").await;
    let unknown = world.evidence(&"0".repeat(64)).await;
    assert_eq!(
        (unknown.status, unknown.header("cdn-cache-control")),
        (StatusCode::OK, None),
        "it may be made at any moment"
    );
    refresh::refresh(&world.test.app).await.unwrap();
    let before = world.evidence(&id(&decision)).await;
    assert_eq!(before.header("cdn-cache-control"), Some("max-age=60, stale-if-error=86400"));
    let version = |reply: &crate::support::testapp::Reply| {
        TagVersions::parse(reply.header("x-service-tags").unwrap()).of(Tag::Signers)
    };
    activate(&world.test, "second", OTHER_SIGNER).await;
    refresh::refresh(&world.test.app).await.unwrap();
    let after = world.evidence(&id(&decision)).await;
    assert!(version(&after) > version(&before));
    assert_ne!(after.header("etag"), before.header("etag"));

    sqlx::query("update decision set envelope = replace(envelope, 'caution', 'approve')")
        .execute(&world.test.app.db.pool)
        .await
        .unwrap();
    let said = world.verified(&id(&decision)).await;
    assert_eq!((said.found, said.envelope_intact, said.signature_valid, said.decision), (true, false, false, None));
}

#[tokio::test]
async fn registered_signers_are_never_removed_and_retired_ones_never_reactivated() {
    let test = TestApp::new().await;
    let (db, at) = (&test.app.db, Timestamp::from_seconds);
    let [ours, theirs] = [SIGNER, OTHER_SIGNER].map(|text| Address::parse(Namespace::Evm, text).unwrap());
    let done = signer_registry::activate(db, "a", &ours, at(1_000)).await.unwrap();
    let Changed::Done(signer) = done else { panic!("{done:?}") };
    assert_eq!(signer_registry::activate(db, "a", &ours, at(2_000)).await.unwrap(), Changed::Already(signer));
    for (name, address) in [("a", &theirs), ("b", &ours)] {
        let refused = signer_registry::activate(db, name, address, at(1_000)).await.unwrap();
        assert!(matches!(refused, Changed::Refused(_)), "{refused:?}");
    }
    assert!(matches!(signer_registry::retire(db, "b", Retirement::At(at(3_000))).await.unwrap(), Changed::Refused(_)));
    assert!(matches!(signer_registry::retire(db, "a", Retirement::At(at(999))).await.unwrap(), Changed::Refused(_)));
    assert!(matches!(signer_registry::retire(db, "a", Retirement::At(at(3_000))).await.unwrap(), Changed::Done(_)));
    assert!(
        matches!(signer_registry::retire(db, "a", Retirement::At(at(4_000))).await.unwrap(), Changed::Already(_)),
        "no later than that"
    );
    assert!(
        matches!(signer_registry::retire(db, "a", Retirement::At(at(2_000))).await.unwrap(), Changed::Done(_)),
        "it was in other hands before"
    );
    assert!(matches!(signer_registry::activate(db, "a", &ours, at(5_000)).await.unwrap(), Changed::Refused(_)));
    for statement in [
        "delete from decision_signer",
        "update decision_signer set retired_at = null",
        "update decision_signer set retired_at = retired_at + interval '1 second'",
        "update decision_signer set address = '0x0000000000000000000000000000000000000001'",
        "update decision_signer set activated_at = activated_at - interval '1 second'",
    ] {
        assert!(sqlx::query(statement).execute(&db.pool).await.is_err(), "{statement}");
    }
}

/// Runs the program with no other environment variables than `env`.
async fn program(env: Vec<(&'static str, String)>, words: &'static [&'static str]) -> Output {
    let run =
        move || Command::new(env!("CARGO_BIN_EXE_rds-origin")).env_clear().envs(env).args(words).output().unwrap();
    tokio::task::spawn_blocking(run).await.unwrap()
}

#[tokio::test]
async fn an_operator_activates_lists_and_retires_and_sees_no_secret() {
    let test = TestApp::new().await;
    let env = |secret: &str| {
        vec![
            ("DATABASE_URL", test.facts.url.clone()),
            ("RDS_ADMIN_TOKEN", "0123456789abcdef".to_owned()),
            ("RDS_EDGE_ASSERTION_KEYS", EDGE_KEY.to_owned()),
            ("RDS_MASTER_KEY", OTHER_SECRET.to_owned()),
            ("RDS_SIGNING_KEY", secret.to_owned()),
        ]
    };
    let say = async |words| {
        let output = program(env(SECRET), words).await;
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("11111111"), "{said}");
        (output.status.success(), said)
    };
    let signing =
        |(_, said): (bool, String)| said.lines().find(|line| line.contains("signing key")).unwrap().to_owned();
    assert!(signing(say(&["doctor"]).await).contains("FAIL"));
    let (ok, said) = say(&["signers", "activate", "--json"]).await;
    let value: Value = serde_json::from_str(said.trim()).unwrap();
    assert_eq!((ok, &value["address"], &value["key_id"]), (true, &json!(SIGNER), &json!("k-19e7e376")), "{value}");
    assert_eq!((&value["changed"], &value["retired_at"], &value["edge"]), (&json!(true), &Value::Null, &json!("none")));
    assert!(signing(say(&["doctor"]).await).starts_with("ok"));
    let (_, said) = say(&["signers", "retire", "k-19e7e376", "--at", "2099-01-01", "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(said.trim()).unwrap()["retired_at"], "2099-01-01T00:00:00.000Z");
    assert!(signing(say(&["doctor"]).await).starts_with("ok"), "not yet");
    assert!(say(&["signers", "retire", "k-19e7e376"]).await.0);
    assert!(signing(say(&["doctor"]).await).contains("was retired"));
    let (ok, said) = say(&["signers", "activate"]).await;
    assert!(!ok && said.contains("cannot be activated again"), "{said}");
    let (ok, said) = say(&["signers", "list", "--json"]).await;
    assert_eq!((ok, serde_json::from_str::<Value>(said.trim()).unwrap().as_array().unwrap().len()), (true, 1));
    assert!(!say(&["signers", "activate", "--key-id", "no/name"]).await.0);

    // A key that is registered to sign from a later instant on.
    assert!(say(&["signers", "activate", "--key-id", "next", "--address", OTHER_SIGNER, "--at", "2099-01-01"]).await.0);
    let early = program(env(OTHER_SECRET), &["doctor"]).await;
    let line = signing((false, String::from_utf8_lossy(&early.stdout).into_owned()));
    assert!(line.starts_with("FAIL") && line.contains("cannot sign before 2099-01-01T00:00:00.000Z"), "{line}");

    let rows =
        sqlx::query("select * from decision_signer order by activated_at").fetch_all(&test.app.db.pool).await.unwrap();
    assert_eq!(rows[0].get::<&str, _>("address"), SIGNER);
    let none = program(env(""), &["doctor"]).await;
    assert!(String::from_utf8_lossy(&none.stdout).contains("checks are answered without decisions"));
}

#[tokio::test]
async fn no_signer_may_be_named_by_a_process_that_has_no_key() {
    let test = TestApp::with(TestOptions::default()).await;
    let env = vec![("DATABASE_URL", test.facts.url.clone())];
    let output = program(env.clone(), &["signers", "activate"]).await;
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("RDS_SIGNING_KEY"));
    assert!(program(env, &["signers", "activate", "--address", SIGNER]).await.status.success());
}
