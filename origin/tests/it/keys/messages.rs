//! Changes of keys on their way to the edge: a command answers only after the edge acknowledged them, whichever process sends them and
//! whatever fails meanwhile.

use crate::keys::operators::options;
use crate::support::chaos::ChaosProxy;
use crate::support::edge_peer::{EdgePeer, Mood, link};
use crate::support::streaming::eventually;
use crate::support::testapp::{EDGE_KEY, TestApp};
use rds_origin::edge_link::outbox::{LEASE, Settled, send_due, settle};
use rds_origin::jobs::Jobs;
use rds_origin::keys;
use rds_shared::access::{KeyDigest, Plan};
use rds_store::Db;
use rds_store::keys::edge_outbox;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;

const NEXT_KEY: &str = "k2:ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

const MINUTE: Duration = Duration::from_secs(60);

/// Expires every lease and retry delay in the edge outbox.
async fn lease_ends(test: &TestApp) {
    sqlx::query("update edge_outbox set not_before = to_timestamp(0)").execute(&test.app.db.pool).await.unwrap();
}

async fn mint(test: &TestApp) -> keys::Minted {
    keys::mint(&test.app.db, &test.app.clock, &options("Acme", Plan::Data)).await.unwrap()
}

async fn revoke(test: &TestApp, id: i64) {
    keys::revoke(&test.app.db, &test.app.clock, id).await.unwrap();
}

async fn waiting(test: &TestApp) -> u64 {
    edge_outbox::waiting(&test.app.db, None).await.unwrap().0
}

/// A port on which nothing listens yet.
async fn free_port() -> std::net::SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

#[tokio::test]
async fn a_changed_key_is_sent_once_and_in_its_present_state() {
    let test = TestApp::new().await;
    let edge = EdgePeer::knowing(EDGE_KEY).await;
    let link = edge.link(EDGE_KEY);
    let minted = mint(&test).await;
    keys::align(&test.app.db, "Acme", Plan::Embedded).await.unwrap();
    assert_eq!(send_due(&test.app.db, &link, None).await.unwrap().acknowledged, 1);
    revoke(&test, minted.id).await;
    assert_eq!(send_due(&test.app.db, &link, None).await.unwrap().acknowledged, 1);
    assert_eq!(send_due(&test.app.db, &link, None).await.unwrap().acknowledged, 0);

    let told = edge.acknowledged();
    assert!(told.iter().all(|news| news.digest == KeyDigest::of(&minted.key) && news.record.id == minted.id));
    let states: Vec<_> = told.iter().map(|news| (news.record.plan, news.record.rpm, news.record.active)).collect();
    assert_eq!(states, [(Plan::Embedded, 1_200, true), (Plan::Embedded, 1_200, false)]);
    assert!(told[1].record.supersedes(&told[0].record));
    assert_eq!(waiting(&test).await, 0);
}

#[tokio::test]
async fn a_revocation_answers_only_after_an_edge_that_was_unreachable_failed_and_hung_acknowledges_it() {
    let test = TestApp::new().await;
    let address = free_port().await;
    let link = Arc::new(link(&format!("http://{address}"), EDGE_KEY).within(Duration::from_millis(400)));
    let minted = mint(&test).await;
    revoke(&test, minted.id).await;
    let said = Arc::new(watch::Sender::new(Vec::<String>::new()));
    let (app, heard, ids) = (test.app.clone(), said.clone(), [minted.id]);
    let command = tokio::spawn(async move {
        let say = |why: &str| heard.send_modify(|all| all.push(why.to_owned()));
        settle(&app.db, Some(&link), &ids, LEASE, say).await.unwrap()
    });
    let until_said = async |wanted: &str| {
        said.subscribe().wait_for(|all| all.iter().any(|why| why.contains(wanted))).await.unwrap();
    };
    until_said("cannot be reached").await;
    let edge = EdgePeer::at(TcpListener::bind(address).await.unwrap(), EDGE_KEY).await;
    edge.is(Mood::Fails);
    until_said("answered 503").await;
    edge.is(Mood::Hangs);
    until_said("no answer within 0.4 s").await;
    assert!(!command.is_finished() && edge.acknowledged().is_empty());
    edge.is(Mood::Acknowledges);
    assert_eq!(command.await.unwrap(), Settled::Acknowledged);
    let told = edge.acknowledged();
    assert_eq!((told.len(), told[0].record.active), (1, false));
}

#[tokio::test]
async fn a_command_that_loses_the_database_after_its_commit_continues_when_it_is_back() {
    let test = TestApp::new().await;
    let edge = EdgePeer::knowing(EDGE_KEY).await;
    let minted = mint(&test).await;
    revoke(&test, minted.id).await;
    let wire = ChaosProxy::before(&test.facts.url).await;
    wire.cut();
    let db = Db::connect_lazy(&wire.url(), 2).unwrap();
    let said = Arc::new(watch::Sender::new(String::new()));
    let (link, heard) = (edge.link(EDGE_KEY), said.clone());
    let command = tokio::spawn(async move {
        let say = |why: &str| heard.send_modify(|said| why.clone_into(said));
        settle(&db, Some(&link), &[minted.id], LEASE, say).await.unwrap()
    });
    said.subscribe().wait_for(|said| said.starts_with("the database is unavailable")).await.unwrap();
    wire.mend();
    assert_eq!(command.await.unwrap(), Settled::Acknowledged);
    assert!(!edge.acknowledged()[0].record.active);
}

#[tokio::test]
async fn two_processes_that_empty_one_outbox_send_each_change_once() {
    let test = TestApp::new().await;
    let edge = EdgePeer::knowing(EDGE_KEY).await;
    let mut minted = BTreeSet::new();
    for _ in 0..40 {
        minted.insert(mint(&test).await.id);
    }
    let process = || {
        let (url, link) = (test.facts.url.clone(), edge.link(EDGE_KEY));
        tokio::spawn(async move {
            let db = Db::connect(&url, 2).await.unwrap();
            let mut told = 0;
            while edge_outbox::waiting(&db, None).await.unwrap().0 > 0 {
                told += send_due(&db, &link, None).await.unwrap().acknowledged;
            }
            told
        })
    };
    let (one, other) = (process(), process());
    assert_eq!(one.await.unwrap() + other.await.unwrap(), 40);
    let heard = edge.acknowledged();
    assert_eq!(heard.len(), 40);
    assert_eq!(heard.iter().map(|news| news.record.id).collect::<BTreeSet<_>>(), minted);
}

#[tokio::test]
async fn a_change_made_while_an_older_one_is_being_sent_is_sent_too() {
    let test = TestApp::new().await;
    let db = &test.app.db;
    let minted = mint(&test).await;
    let claimed = edge_outbox::claim(db, None, MINUTE, 9).await.unwrap().remove(0);
    assert!(edge_outbox::claim(db, None, MINUTE, 9).await.unwrap().is_empty(), "the change is leased");
    revoke(&test, minted.id).await;
    let version = claimed.update.record.version;
    edge_outbox::acknowledged(db, minted.id, version).await.unwrap();
    assert_eq!(waiting(&test).await, 1, "only the older record was acknowledged");
    edge_outbox::failed(db, minted.id, version, claimed.attempt, MINUTE, "late").await.unwrap();
    let again = edge_outbox::claim(db, None, MINUTE, 9).await.unwrap();
    assert!(!again[0].update.record.active, "a failure to send the older record delays nothing");
    let stale = claimed.attempt;
    edge_outbox::failed(db, minted.id, i64::MAX, stale, Duration::ZERO, "not mine any more").await.unwrap();
    assert!(edge_outbox::claim(db, None, MINUTE, 9).await.unwrap().is_empty(), "only its holder can end a lease");
}

#[tokio::test]
async fn a_change_whose_sender_died_is_sent_when_its_lease_ends() {
    let test = TestApp::new().await;
    let db = &test.app.db;
    mint(&test).await;
    edge_outbox::claim(db, None, MINUTE, 9).await.unwrap();
    assert!(edge_outbox::claim(db, None, MINUTE, 9).await.unwrap().is_empty());
    lease_ends(&test).await;
    assert_eq!(edge_outbox::claim(db, None, MINUTE, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_command_without_an_edge_link_waits_for_the_service_that_has_one() {
    let test = TestApp::new().await;
    let minted = mint(&test).await;
    let settled = async |id| settle(&test.app.db, None, &[id], LEASE, |_| {}).await.unwrap();
    assert_eq!(settled(minted.id).await, Settled::NoEdge, "nothing indicates that an edge exists");

    let edge = EdgePeer::knowing(EDGE_KEY).await;
    let jobs = Jobs::start(&test.app, Some(edge.link(EDGE_KEY)));
    edge.until_asked(1).await;
    revoke(&test, minted.id).await;
    assert_eq!(settled(minted.id).await, Settled::Acknowledged);
    assert!(!edge.acknowledged().last().unwrap().record.active);
    // The counter is raised after the commit that a command waits for.
    eventually("both are counted", async || {
        test.admin("GET", "/metrics", "").await.text().contains("rds_edge_news_acknowledged_total 2")
    })
    .await;
    jobs.stop().await;
}

#[tokio::test]
async fn an_edge_that_cannot_be_notified_is_waited_for_as_long_as_it_may_know_the_key() {
    let test = TestApp::new().await;
    let minted = mint(&test).await;
    test.app.edge_seen.note(&test.app.db).await.unwrap();
    revoke(&test, minted.id).await;
    let settled = async |lease| settle(&test.app.db, None, &[minted.id], lease, |_| {}).await.unwrap();
    assert!(
        timeout(Duration::from_millis(500), settled(LEASE)).await.is_err(),
        "the edge asked, so it may have a key lease"
    );
    assert_eq!(settled(Duration::from_millis(200)).await, Settled::LeaseOver);
    sqlx::query("update edge_seen set seen_at = seen_at - interval '46 seconds'")
        .execute(&test.app.db.pool)
        .await
        .unwrap();
    assert_eq!(settled(LEASE).await, Settled::NoEdge, "the edge's key lease is over");
}

#[tokio::test]
async fn an_edge_that_was_notified_recently_is_assumed_to_still_know_the_key() {
    let test = TestApp::new().await;
    let minted = mint(&test).await;
    revoke(&test, minted.id).await;
    edge_outbox::record_sender_alive(&test.app.db).await.unwrap();
    let short = Duration::from_millis(100);
    let settled =
        async || timeout(Duration::from_millis(800), settle(&test.app.db, None, &[minted.id], short, |_| {})).await;
    let ago = async |interval: &str| {
        let sql = format!("update edge_teller set seen_at = clock_timestamp() - interval '{interval}'");
        sqlx::query(&sql).execute(&test.app.db.pool).await.unwrap();
    };
    for interval in ["0 s", "2 minutes", "12 hours"] {
        ago(interval).await;
        assert!(settled().await.is_err(), "{interval}: without the origin the edge uses what it knew");
    }
    ago("12 hours 2 minutes").await;
    assert_eq!(settled().await.unwrap().unwrap(), Settled::NoEdge);
    test.app.edge_seen.note(&test.app.db).await.unwrap();
    assert_eq!(settled().await.unwrap().unwrap(), Settled::LeaseOver);
}

#[tokio::test]
async fn while_assertion_keys_are_replaced_the_edge_may_know_only_the_next_one() {
    let test = TestApp::new().await;
    let edge = EdgePeer::knowing(NEXT_KEY).await;
    mint(&test).await;
    let stranger = send_due(&test.app.db, &edge.link(EDGE_KEY), None).await.unwrap();
    assert!(stranger.failed.unwrap().contains("does not know the signature"));
    lease_ends(&test).await;
    let both = edge.link(&format!("{EDGE_KEY},{NEXT_KEY}"));
    assert_eq!(send_due(&test.app.db, &both, None).await.unwrap().acknowledged, 1);
}

/// Runs the program with only these environment variables.
async fn program(env: Vec<(&'static str, String)>, words: Vec<String>) -> Output {
    let run =
        move || Command::new(env!("CARGO_BIN_EXE_rds-origin")).env_clear().envs(env).args(words).output().unwrap();
    tokio::task::spawn_blocking(run).await.unwrap()
}

#[tokio::test]
async fn the_revoke_command_says_that_the_edge_is_away_and_answers_when_it_is_back() {
    let test = TestApp::new().await;
    let minted = mint(&test).await;
    let edge = EdgePeer::knowing(EDGE_KEY).await;
    edge.is(Mood::Fails);
    let env = vec![
        ("DATABASE_URL", test.facts.url.clone()),
        ("RDS_EDGE_URL", edge.url()),
        ("RDS_EDGE_ASSERTION_KEYS", EDGE_KEY.to_owned()),
    ];
    let words = |id: i64| ["keys", "revoke", &id.to_string(), "--json"].map(str::to_owned).to_vec();
    let running = tokio::spawn(program(env.clone(), words(minted.id)));
    edge.until_asked(2).await;
    assert!(!running.is_finished());
    edge.is(Mood::Acknowledges);
    let output = running.await.unwrap();
    let (said, told) = (String::from_utf8_lossy(&output.stderr), edge.acknowledged());
    assert!(said.contains(&format!("key {} is revoked; waiting for the edge", minted.id)), "{said}");
    assert!(said.contains("the edge answered 503"), "{said}");
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success());
    assert_eq!(
        (&value["revoked"], &value["is_active"], &value["edge"]),
        (&true.into(), &false.into(), &"acknowledged".into())
    );
    assert!(!told.last().unwrap().record.active);

    let again = program(env.clone(), words(minted.id)).await;
    assert!(again.status.success(), "revoking twice is not an error");
    assert_eq!(serde_json::from_slice::<Value>(&again.stdout).unwrap()["revoked"], false);
    assert!(!program(env, words(999)).await.status.success());
    assert_eq!(edge.acknowledged().len(), told.len(), "an acknowledged change is not sent again");
}

#[tokio::test]
async fn a_half_configured_edge_link_is_reported_before_anything_is_changed() {
    let test = TestApp::new().await;
    let minted = mint(&test).await;
    let env = vec![("DATABASE_URL", test.facts.url.clone()), ("RDS_EDGE_URL", "http://127.0.0.1:1".to_owned())];
    let output = program(env, ["keys", "revoke", &minted.id.to_string()].map(str::to_owned).to_vec()).await;
    assert!(String::from_utf8_lossy(&output.stderr).contains("RDS_EDGE_ASSERTION_KEYS"));
    assert!(!output.status.success() && keys::list(&test.app.db).await.unwrap()[0].is_active);
}
