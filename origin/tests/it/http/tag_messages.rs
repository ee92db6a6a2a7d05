//! Sending tag versions to the edge: one message is in flight at a time, and a command waits until the edge has acknowledged its changes,
//! even if another process sends them.

use crate::http::tags::{newest, touch};
use crate::support::chaos::ChaosProxy;
use crate::support::edge_peer::{EdgePeer, Mood, link};
use crate::support::streaming::eventually;
use crate::support::testapp::{EDGE_KEY, TestApp};
use rds_origin::edge_link::tags::{MAX_WAIT, Round, Visibility, send_due, until_visible};
use rds_origin::jobs::Jobs;
use rds_shared::route::{Tag, TagVersions};
use rds_store::Db;
use rds_store::service::tags;
use serde_json::Value;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

const EVENTS: &[Tag] = &[Tag::Events];
const MINUTE: Duration = Duration::from_secs(60);

async fn is_acknowledged(test: &TestApp) -> bool {
    tags::progress(&test.app.db).await.unwrap().waiting.is_empty()
}

/// Ends the lease of a message, or the retry delay of a failed one.
async fn lease_ends(test: &TestApp) {
    sqlx::query("update edge_tag_message set not_before = to_timestamp(0)").execute(&test.app.db.pool).await.unwrap();
}

#[tokio::test]
async fn changes_made_while_a_message_is_under_way_are_sent_together_in_the_next() {
    let test = TestApp::new().await;
    let db = &test.app.db;
    let claimed = tags::claim(db, MINUTE).await.unwrap().unwrap();
    for _ in 0..50 {
        touch(db, EVENTS).await;
        touch(db, &[Tag::Vaults, Tag::Security]).await;
    }
    assert_eq!(tags::claim(db, MINUTE).await.unwrap(), None, "a message is under way");
    tags::acknowledged(db, &claimed).await.unwrap();
    let next = tags::claim(db, MINUTE).await.unwrap().unwrap();
    assert_eq!(next.versions, newest(&test).await.only(&[Tag::Vaults, Tag::Events, Tag::Security]));
    tags::acknowledged(db, &next).await.unwrap();
    assert_eq!(tags::claim(db, MINUTE).await.unwrap(), None);
    assert!(is_acknowledged(&test).await);
}

#[tokio::test]
async fn a_failed_message_is_sent_again_and_an_acknowledged_one_is_not() {
    let test = TestApp::new().await;
    let edge = EdgePeer::knowing(EDGE_KEY).await;
    let to_edge = edge.link(EDGE_KEY);
    edge.is(Mood::Fails);
    let failed = send_due(&test.app.db, &to_edge).await.unwrap();
    assert!(matches!(&failed, Round::Failed(why) if why.contains("answered 503")), "{failed:?}");
    assert_eq!(
        send_due(&test.app.db, &to_edge).await.unwrap(),
        Round::Nothing,
        "a failed message is not retried at once"
    );
    edge.is(Mood::Acknowledges);
    lease_ends(&test).await;
    assert!(matches!(send_due(&test.app.db, &to_edge).await.unwrap(), Round::Acknowledged(_)));
    assert_eq!(send_due(&test.app.db, &to_edge).await.unwrap(), Round::Nothing);
    let touched = touch(&test.app.db, EVENTS).await;
    assert!(matches!(send_due(&test.app.db, &to_edge).await.unwrap(), Round::Acknowledged(_)));
    assert_eq!(edge.acknowledged_tags().last(), Some(&touched), "only the new version is sent");

    let stranger = edge.link(&EDGE_KEY.replacen("00112233", "99112233", 1));
    touch(&test.app.db, EVENTS).await;
    let unknown = send_due(&test.app.db, &stranger).await.unwrap();
    assert!(matches!(&unknown, Round::Failed(why) if why.contains("does not know the signature")), "{unknown:?}");
}

#[tokio::test]
async fn a_message_whose_sender_died_is_sent_when_its_lease_ends_and_only_its_holder_can_release_it() {
    let test = TestApp::new().await;
    let db = &test.app.db;
    let dead = tags::claim(db, MINUTE).await.unwrap().unwrap();
    assert_eq!(tags::claim(db, MINUTE).await.unwrap(), None);
    lease_ends(&test).await;
    let ours = tags::claim(db, MINUTE).await.unwrap().unwrap();
    tags::failed(db, dead.attempt, Duration::ZERO, "late").await.unwrap();
    assert_eq!(tags::claim(db, MINUTE).await.unwrap(), None, "the second sender has the lease");
    // A late acknowledgement counts, because the versions mean the same whichever process sent them.
    tags::acknowledged(db, &dead).await.unwrap();
    assert!(is_acknowledged(&test).await);
    assert_eq!(ours.versions, dead.versions);
}

#[tokio::test]
async fn two_processes_together_send_every_change_and_do_not_delay_each_other() {
    let test = TestApp::new().await;
    let edge = EdgePeer::knowing(EDGE_KEY).await;
    let process = || {
        let (url, to_edge) = (test.facts.url.clone(), edge.link(EDGE_KEY));
        tokio::spawn(async move {
            let db = Db::connect(&url, 2).await.unwrap();
            for _ in 0..20 {
                touch(&db, EVENTS).await;
                send_due(&db, &to_edge).await.unwrap();
            }
            until_visible(&db, Some(&to_edge), EVENTS, MAX_WAIT).await.unwrap()
        })
    };
    let (one, other) = (process(), process());
    assert_eq!((one.await.unwrap(), other.await.unwrap()), (Visibility::Everywhere, Visibility::Everywhere));
    let heard = edge.acknowledged_tags();
    let mut sum = TagVersions::default();
    for versions in &heard {
        sum.raise_to(versions);
    }
    assert_eq!(sum, newest(&test).await);
    assert!(heard.len() <= 41, "{} messages for 40 changes", heard.len());
}

#[tokio::test]
async fn a_command_answers_when_an_edge_that_was_unreachable_and_failing_acknowledges() {
    let test = TestApp::new().await;
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let to_edge = Arc::new(link(&format!("http://{address}"), EDGE_KEY).within(Duration::from_millis(400)));
    touch(&test.app.db, EVENTS).await;
    let shown = async |patience: Duration| until_visible(&test.app.db, Some(&to_edge), EVENTS, patience).await.unwrap();
    let Visibility::CachedFor { seconds, why } = shown(Duration::from_millis(1)).await else {
        panic!("there is no edge")
    };
    assert!((1..=60).contains(&seconds));
    assert!(why.unwrap().contains("cannot be reached"));

    let edge = EdgePeer::at(TcpListener::bind(address).await.unwrap(), EDGE_KEY).await;
    edge.is(Mood::Fails);
    lease_ends(&test).await;
    let (result, ()) = tokio::join!(shown(Duration::from_secs(60)), async {
        edge.until_told_of_tags(1).await;
        edge.is(Mood::Acknowledges);
    });
    assert_eq!(result, Visibility::Everywhere);
    assert_eq!(edge.acknowledged_tags().len(), 1);
}

#[tokio::test]
async fn a_command_that_loses_the_database_after_its_commit_continues_when_it_is_back() {
    let test = TestApp::new().await;
    let edge = EdgePeer::knowing(EDGE_KEY).await;
    touch(&test.app.db, EVENTS).await;
    let wire = ChaosProxy::before(&test.facts.url).await;
    wire.cut();
    let (db, to_edge) = (Db::connect_lazy(&wire.url(), 2).unwrap(), edge.link(EDGE_KEY));
    let shown = async |patience| until_visible(&db, Some(&to_edge), EVENTS, patience).await.unwrap();
    let Visibility::CachedFor { why, .. } = shown(Duration::from_millis(1)).await else {
        panic!("no message could be sent")
    };
    assert!(why.unwrap().starts_with("the database is unavailable"));
    wire.mend();
    assert_eq!(shown(Duration::from_secs(60)).await, Visibility::Everywhere);
}

#[tokio::test]
async fn a_command_without_an_edge_link_waits_for_the_service_that_has_one() {
    let test = TestApp::new().await;
    let shown = async || until_visible(&test.app.db, None, EVENTS, MAX_WAIT).await.unwrap();
    assert_eq!(shown().await, Visibility::NoEdge, "nothing indicates that an edge exists");

    let edge = EdgePeer::knowing(EDGE_KEY).await;
    let jobs = Jobs::start(&test.app, Some(edge.link(EDGE_KEY)));
    edge.until_told_of_tags(1).await;
    let touched = touch(&test.app.db, EVENTS).await;
    assert_eq!(shown().await, Visibility::Everywhere);
    assert_eq!(edge.acknowledged_tags().last(), Some(&touched));
    let scrape = async || test.admin("GET", "/metrics", "").await.text();
    // The counter is raised after the commit that a command waits for.
    eventually("both are counted", async || scrape().await.contains("rds_edge_tags_acknowledged_total 2")).await;
    let scrape = scrape().await;
    let lag = scrape.lines().find_map(|line| line.strip_prefix("rds_edge_tags_lag_seconds ")).unwrap();
    assert!(lag.parse::<f64>().unwrap() < 5.0, "{lag}");
    jobs.stop().await;
}

#[tokio::test]
async fn the_ingest_command_answers_when_its_changes_are_visible() {
    let test = TestApp::new().await;
    let edge = EdgePeer::knowing(EDGE_KEY).await;
    let file = std::env::temp_dir().join(format!("rds-tags-told-{}.ndjson", std::process::id()));
    std::fs::write(&file, crate::support::market::lines()).unwrap();
    let env = vec![
        ("DATABASE_URL", test.facts.url.clone()),
        ("RDS_EDGE_URL", edge.url()),
        ("RDS_EDGE_ASSERTION_KEYS", EDGE_KEY.to_owned()),
    ];
    let words = ["ingest".to_owned(), file.display().to_string(), "--json".to_owned()];
    let run =
        move || Command::new(env!("CARGO_BIN_EXE_rds-origin")).env_clear().envs(env).args(words).output().unwrap();
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    std::fs::remove_file(&file).unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&said["edge"], &said["copies_for_seconds"]), (&"acknowledged".into(), &Value::Null));
    let told = edge.acknowledged_tags();
    assert_eq!(told.last().unwrap().of(Tag::Vaults), newest(&test).await.of(Tag::Vaults));
}
