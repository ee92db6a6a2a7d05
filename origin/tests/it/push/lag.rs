//! Events reach subscribers because of their commit, not because somebody polls; each process gets all of them in one order.

use crate::support::stream_client::{Ask, Client};
use crate::support::streaming::{
    PATIENCE, beside, eventually, head, key, operation, publish, publish_rows, published, service,
};
use crate::support::testapp::TestApp;
use rds_origin::metrics::lag::PushStep;
use rds_store::Db;
use rds_store::push::journal::{self, Tick};
use rds_store::push::operations;
use std::sync::atomic::Ordering::Relaxed;

/// Commits an operation like another process: only the commit tells the service.
async fn commit_elsewhere(test: &TestApp, db: &Db, text: &str) {
    let mut tx = db.pool.begin().await.unwrap();
    operations::append(&mut tx, test.app.clock.now().into(), &[operation(text, &[])]).await.unwrap();
    tx.commit().await.unwrap();
}

fn polled(test: &TestApp) -> u64 {
    test.app.journal.meters.polled.load(Relaxed)
}

/// Waits until the service listens to notifications. Returns the number of operations published meanwhile.
async fn until_listening(test: &TestApp, db: &Db, client: &mut Client) -> u64 {
    let mut published = 0;
    eventually("a commit wakes the sequencer", async || {
        let before = polled(test);
        commit_elsewhere(test, db, "warm").await;
        published += 1;
        client.operation().await;
        polled(test) == before
    })
    .await;
    published
}

#[tokio::test]
async fn an_event_of_another_process_is_delivered_because_of_its_commit_and_not_read_back() {
    let (test, serving) = service().await;
    let (key, elsewhere) = (key(&test).await, Db::connect(&test.facts.url, 1).await.unwrap());
    let mut client = Ask::with(&key).opened(&serving).await;
    let warm = until_listening(&test, &elsewhere, &mut client).await;
    let before = polled(&test);
    for number in 1..=30 {
        commit_elsewhere(&test, &elsewhere, &number.to_string()).await;
        let frame = client.operation().await;
        assert_eq!((frame.number(), frame.title()), (warm + number, number.to_string()));
    }
    // On a busy machine a poll may find an operation between its commit and its notification, but without notifications it finds every one.
    let polled = polled(&test) - before;
    assert!(polled < 30, "all were found by polling");
    let lag = &test.app.journal.lag;
    // The tailer may look in the moment between the numbers' commit and their place in the ring.
    assert!(lag.count(PushStep::Read) < 30, "all were read back");
    for step in [PushStep::Commit, PushStep::Number, PushStep::Wake, PushStep::Write] {
        assert!(lag.count(step) >= 30, "{step:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_that_number_by_turns_deliver_the_same_order() {
    const EACH: u64 = 150;
    let (test, serving) = service().await;
    let (second, other) = beside(&test).await;
    let key = key(&test).await;
    let mut clients = [Ask::with(&key).opened(&serving).await, Ask::with(&key).opened(&other).await];
    let publishing = [(&test, "a"), (&second, "b")].map(|(test, name)| async move {
        for number in 0..EACH {
            publish(test, [format!("{name}{number}")]).await;
        }
    });
    let [one, two] = publishing;
    let reading = async {
        let mut all = Vec::new();
        for client in &mut clients {
            let mut frames = Vec::new();
            for expected in 1..=2 * EACH {
                let frame = client.operation().await;
                assert_eq!(frame.number(), expected, "dense and in order");
                frames.push(frame.title());
            }
            all.push(frames);
        }
        all
    };
    let (_, _, all) = tokio::join!(one, two, reading);
    assert_eq!(all[0], all[1]);
    for name in ["a", "b"] {
        let own: Vec<_> = all[0].iter().filter(|title| title.starts_with(name)).collect();
        assert!(own.iter().zip(0..EACH).all(|(title, number)| **title == format!("{name}{number}")), "{own:?}");
    }
}

/// F5: a process numbers operations and dies before it has fed its streams.
#[tokio::test]
async fn f5_what_a_dying_process_numbered_is_read_by_the_others_before_what_they_number_themselves() {
    let (test, serving) = service().await;
    let (key, elsewhere) = (key(&test).await, Db::connect(&test.facts.url, 2).await.unwrap());
    let mut client = Ask::with(&key).opened(&serving).await;
    let (mut dying, mut numbered) = (elsewhere.pool.acquire().await.unwrap(), 0);
    for number in 1..=60 {
        commit_elsewhere(&test, &elsewhere, &number.to_string()).await;
        // Whichever of the two numbers it first.
        if let Tick::Numbered(count) = journal::tick(&mut dying, test.app.clock.now()).await.unwrap().tick {
            numbered += count;
        }
        let frame = client.operation().await;
        assert_eq!((frame.number(), frame.title()), (number, number.to_string()));
    }
    assert_eq!(numbered + test.app.journal.meters.numbered.load(Relaxed), 60, "each was numbered once");
    assert_eq!(test.app.journal.meters.broken.load(Relaxed), 0);
}

#[tokio::test]
async fn a_tick_returns_what_it_numbered_unless_it_is_too_much() {
    let test = TestApp::new().await;
    let mut turn = rds_origin::journal::connect(&test.app.db, "rds-sequencer", PATIENCE).await.unwrap();
    let now = test.app.clock.now();
    let chain = "INSERT INTO chain (chain_id, slug, name, namespace, is_settlement, source, observed_at, content_hash, is_served) \
                 VALUES (2, 'two', 'Two', 'evm', false, 'test', now(), '\\x00', false)";
    sqlx::query(chain).execute(&test.app.db.pool).await.unwrap();
    let row =
        |text: &str, chain| operations::OperationRow { chain_ids: vec![chain], ..operation(text, &["v".to_owned()]) };
    let quiet = operations::OperationRow { stream_op: None, ..row("for webhooks", 1) };
    publish_rows(&test, vec![row("shown", 1), row("withheld", 2), quiet]).await;
    let fresh = journal::tick(&mut turn, now).await.unwrap().fresh.unwrap();
    assert_eq!((fresh.count, fresh.head, fresh.withheld.len()), (3, 3, 1));
    let read = journal::read::after(&mut turn, 0, LIMITS, None).await.unwrap().entries;
    assert_eq!(fresh.entries, Some(read), "as a reader sees it");
    assert!(fresh.entries.unwrap()[1].told.is_none());
    // More operations than one statement returns, and content that is too large, are numbered all the same.
    publish_rows(&test, (0..1_001).map(|number| row(&number.to_string(), 1)).collect()).await;
    let ticked = journal::tick(&mut turn, now).await.unwrap();
    assert_eq!((ticked.tick, ticked.fresh), (Tick::Numbered(1_001), None));
    let long = "x".repeat(5 << 20);
    publish_rows(&test, vec![row(&long, 1), row(&long, 1)]).await;
    let fresh = journal::tick(&mut turn, now).await.unwrap().fresh.unwrap();
    assert_eq!((fresh.count, fresh.entries), (2, None));
    assert_eq!(head(&test.app.db).await, 1_006);
}

const LIMITS: journal::read::ReadLimits = journal::read::ReadLimits { rows: 1_000, bytes: 8 << 20 };

/// While several producers commit at the same time, none of them sends a notification, because commits that notify wait for each other.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_time_begins_with_several_producers_and_ends_with_the_last_operation() {
    const EACH: usize = 40;
    let (test, serving) = service().await;
    let key = key(&test).await;
    let mut client = Ask::with(&key).opened(&serving).await;
    let is_busy = async || -> bool {
        sqlx::query_scalar("SELECT is_busy FROM journal_state").fetch_one(&test.app.db.pool).await.unwrap()
    };
    assert!(!is_busy().await);
    let elsewhere = Db::connect(&test.facts.url, 8).await.unwrap();
    let mut turn = elsewhere.pool.acquire().await.unwrap();
    // Two transactions become visible between two ticks.
    let (mut one, mut two) = (elsewhere.pool.begin().await.unwrap(), elsewhere.pool.begin().await.unwrap());
    let now = test.app.clock.now().into();
    let mut lock = elsewhere.pool.begin().await.unwrap();
    sqlx::query("SELECT FROM journal_state FOR UPDATE").execute(&mut *lock).await.unwrap();
    for tx in [&mut one, &mut two] {
        operations::append(tx, now, &[operation("at the same time", &[])]).await.unwrap();
    }
    one.commit().await.unwrap();
    two.commit().await.unwrap();
    assert_eq!(journal::tick(&mut turn, test.app.clock.now()).await.unwrap().tick, Tick::Taken);
    lock.commit().await.unwrap();
    for _ in 0..2 {
        assert_eq!(client.operation().await.title(), "at the same time");
    }
    let mut producing = tokio::task::JoinSet::new();
    for producer in 0..4 {
        let (db, row) = (elsewhere.clone(), operation(&producer.to_string(), &[]));
        producing.spawn(async move {
            for _ in 0..EACH {
                let mut tx = db.pool.begin().await.unwrap();
                operations::append(&mut tx, now, std::slice::from_ref(&row)).await.unwrap();
                tx.commit().await.unwrap();
            }
        });
    }
    for expected in 3..=2 + 4 * EACH as u64 {
        assert_eq!(client.operation().await.number(), expected);
    }
    producing.join_all().await;
    eventually("the busy time is over", async || !is_busy().await).await;
    published(&test, ["afterwards"]).await;
    assert_eq!(client.operation().await.title(), "afterwards");
    serving.stop().await;
}
