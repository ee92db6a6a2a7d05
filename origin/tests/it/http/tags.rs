//! Tag versions: raised together with the facts or not at all, in the order of commits, and named in every response.

use crate::support::db::TestDb;
use crate::support::market::{self, line};
use crate::support::testapp::{NOW, Reply, TestApp, TestOptions, signed};
use axum::http::HeaderValue;
use rds_engine::clock::Clock;
use rds_engine::ingest::{self, Batch};
use rds_origin::catalog::refresh;
use rds_shared::route::{Tag, TagVersions};
use rds_shared::wire::{Timestamp, headers};
use rds_simulate::{self as simulate, Options};
use rds_store::service::tags;
use rds_store::{Db, StoreError};
use serde_json::json;
use std::collections::BTreeSet;

/// Raises the versions of `tags` in a transaction of its own and returns them.
pub async fn touch(db: &Db, tags: &'static [Tag]) -> TagVersions {
    db.run_tx("touch", |tx| Box::pin(async move { tags::touch(tx, tags).await })).await.unwrap()
}

pub async fn newest(test: &TestApp) -> TagVersions {
    tags::newest(&test.app.db).await.unwrap().1
}

/// The tags whose version was raised.
pub fn raised(before: &TagVersions, after: &TagVersions) -> Vec<Tag> {
    Tag::ALL.into_iter().filter(|tag| after.of(*tag) > before.of(*tag)).collect()
}

/// The tag versions that a response names, except the fail-safe version, which every response must name.
fn made_of(reply: &Reply) -> TagVersions {
    let named = TagVersions::parse(reply.header(headers::TAGS).unwrap());
    assert!(named.fail_safe().is_some());
    Tag::ALL.into_iter().filter(|tag| *tag != Tag::FailSafe).map(|tag| (tag, named.of(tag))).collect()
}

/// A GET by an edge that knows these versions.
async fn get_knowing(test: &TestApp, target: &str, known: &TagVersions) -> Reply {
    let mut request = signed("GET", target, "");
    request.headers_mut().insert(headers::TAGS, HeaderValue::try_from(known.to_text()).unwrap());
    test.ask(request).await
}

/// Commits a batch as another process would: the catalog of this process is not refreshed.
async fn committed_elsewhere(test: &TestApp, lines: &str) {
    ingest::commit(&test.app.db, &test.app.clock, Batch::read(lines.as_bytes()).unwrap()).await.unwrap();
}

fn renamed() -> String {
    line("curator", "2026-11-20T00:00:00Z", json!({ "id": "north", "name": "Newcomer" }))
}

#[tokio::test]
async fn a_touch_raises_its_tags_when_it_commits_and_no_others() {
    let test = TestApp::new().await;
    let before = newest(&test).await;
    assert!(
        Tag::ALL.into_iter().all(|tag| before.of(tag) > 1_795_000_000_000 / 2),
        "above the versions of an older database"
    );
    let touched = touch(&test.app.db, &[Tag::Security, Tag::Events]).await;
    let after = newest(&test).await;
    assert_eq!(raised(&before, &after), [Tag::Events, Tag::Security]);
    assert_eq!(touched, after.only(&[Tag::Events, Tag::Security]));
    let rolled_back = test.app.db.run_tx("touch", |tx| {
        Box::pin(async move {
            tags::touch(tx, &[Tag::Events]).await?;
            Err::<(), _>(StoreError::Corrupt { column: "none", text: "on purpose".to_owned() })
        })
    });
    assert!(rolled_back.await.is_err());
    assert_eq!(newest(&test).await, after);
}

#[tokio::test]
async fn platform_statistics_name_the_tags_of_everything_they_count() {
    let test = TestApp::with_market().await;
    let versions = made_of(&test.get("/v1/stats").await);
    let told: Vec<Tag> = Tag::ALL.into_iter().filter(|tag| versions.of(*tag) > 0).collect();
    assert_eq!(told, [Tag::Vaults, Tag::Markets, Tag::Feeds, Tag::Assets]);
}

#[tokio::test]
async fn the_first_batch_of_a_day_raises_the_tag_of_the_days_total() {
    let facts = TestDb::new().await;
    let clock = Clock::held(Timestamp::parse(NOW).unwrap());
    simulate::run(&facts.db, &clock, Options { seed: 1, vaults: 1, hours: 1 }, None, &mut |_: &str| ()).await.unwrap();
    let test = TestApp::over(facts, TestOptions::default()).await;
    for (seconds, id, raises) in [(60, "one", false), (86_400, "two", true), (60, "three", false)] {
        assert!(test.app.clock.advance(seconds));
        let before = newest(&test).await;
        test.ingest(&line("curator", "2026-11-20T00:00:00Z", json!({ "id": id, "name": "Newcomer" }))).await;
        let after = newest(&test).await;
        assert_eq!(raised(&before, &after).contains(&Tag::Assets), raises, "{id}");
    }
}

#[tokio::test]
async fn versions_become_visible_in_ascending_order() {
    let test = TestApp::new().await;
    let mut first = test.app.db.pool.begin().await.unwrap();
    let ours = tags::touch(&mut first, &[Tag::Events]).await.unwrap();
    let db = test.app.db.clone();
    let other = tokio::spawn(async move { touch(&db, &[Tag::Events, Tag::Signals]).await });
    let waiting =
        "select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')";
    while !sqlx::query_scalar::<_, bool>(waiting).fetch_one(&test.app.db.pool).await.unwrap() {
        tokio::task::yield_now().await;
    }
    assert!(newest(&test).await.of(Tag::Events) < ours.of(Tag::Events), "a version is not visible before its commit");
    first.commit().await.unwrap();
    let theirs = other.await.unwrap();
    assert!(theirs.of(Tag::Events) > ours.of(Tag::Events));
}

#[tokio::test]
async fn writers_that_touch_tags_in_any_order_all_succeed_with_distinct_versions() {
    let test = TestApp::new().await;
    let orders: [&[Tag]; 3] =
        [&[Tag::Events, Tag::Security, Tag::Vaults], &[Tag::Vaults, Tag::Security, Tag::Events], &[Tag::Events]];
    let writers: Vec<_> = (0..12)
        .map(|number| {
            let db = test.app.db.clone();
            tokio::spawn(async move {
                let mut versions = Vec::new();
                for _ in 0..5 {
                    versions.push(touch(&db, orders[number % 3]).await.of(Tag::Events));
                }
                versions
            })
        })
        .collect();
    let mut all = BTreeSet::new();
    for writer in writers {
        let versions = writer.await.unwrap();
        assert!(versions.is_sorted());
        all.extend(versions);
    }
    assert_eq!((all.len(), all.last().copied()), (60, Some(newest(&test).await.of(Tag::Events))));
}

#[tokio::test]
async fn a_batch_raises_the_tags_of_what_it_changed_and_a_repeated_batch_raises_none() {
    let test = TestApp::with_market().await;
    let before = newest(&test).await;
    test.ingest(&market::lines()).await;
    assert_eq!(newest(&test).await, before);
    test.ingest(&renamed()).await;
    let after = newest(&test).await;
    assert_eq!(raised(&before, &after), [Tag::Vaults, Tag::Events], "the feed shows curators by name");
    rds_engine::scoring_run::run_all(&test.app.db, &test.app.clock).await.unwrap();
    assert_eq!(raised(&after, &newest(&test).await), [Tag::Vaults, Tag::Assets]);
}

#[tokio::test]
async fn a_vault_change_that_alters_rows_of_the_feed_raises_the_feeds_tag() {
    let test = TestApp::with_market().await;
    let again = |vault: &market::Vault, at: &str| vault.identity().replace("2026-11-01T00:00:00Z", at);
    let before = newest(&test).await;
    test.ingest(&again(&market::VAULTS[1], "2026-11-02T00:00:00Z")).await;
    let same = newest(&test).await;
    assert_eq!(raised(&before, &same), [Tag::Vaults]);
    // The feed contains an incident of this vault and shows its curator.
    let handed_over = market::VAULTS[1].curated_by("tide");
    test.ingest(&again(&handed_over, "2026-11-03T00:00:00Z")).await;
    assert_eq!(raised(&same, &newest(&test).await), [Tag::Vaults, Tag::Events]);
}

#[tokio::test]
async fn a_batchs_report_names_every_tag_that_it_raised() {
    let test = TestApp::with_market().await;
    let handed_over =
        market::VAULTS[1].curated_by("tide").identity().replace("2026-11-01T00:00:00Z", "2026-11-03T00:00:00Z");
    for lines in [handed_over, renamed(), market::lines()] {
        let before = newest(&test).await;
        let batch = Batch::read(lines.as_bytes()).unwrap();
        let report = ingest::commit(&test.app.db, &test.app.clock, batch).await.unwrap();
        assert_eq!(report.tags, raised(&before, &newest(&test).await), "{lines}");
    }
}

#[tokio::test]
async fn a_response_names_the_tag_versions_it_was_made_from_even_if_the_process_lags() {
    let test = TestApp::with_market().await;
    let before = newest(&test).await;
    for (target, tags) in [
        ("/v1/vaults", &[Tag::Vaults][..]),
        ("/v1/curators", &[Tag::Vaults]),
        ("/v1/markets", &[Tag::Vaults, Tag::Markets, Tag::Assets]),
        ("/v1/oracle", &[Tag::Feeds]),
        ("/v1/assets/enriched", &[Tag::Assets]),
    ] {
        assert_eq!(made_of(&test.get(target).await), before.only(tags), "{target}");
    }
    for target in ["/v1/health", "/v1/vaults?page=0", "/v1/vaults/nobody"] {
        assert_eq!(test.get(target).await.header(headers::TAGS), None, "{target}");
    }
    let etag = test.get("/v1/vaults").await.header("etag").unwrap().to_owned();
    let mut request = signed("GET", "/v1/vaults", "");
    request.headers_mut().insert("if-none-match", HeaderValue::try_from(etag).unwrap());
    let unchanged = test.ask(request).await;
    assert_eq!((unchanged.status.as_u16(), made_of(&unchanged)), (304, before.only(&[Tag::Vaults])));

    committed_elsewhere(&test, &renamed()).await;
    assert_eq!(
        made_of(&test.get("/v1/curators").await),
        before.only(&[Tag::Vaults]),
        "the process has not refreshed yet"
    );
    refresh::refresh(&test.app).await.unwrap();
    assert_eq!(made_of(&test.get("/v1/curators").await), newest(&test).await.only(&[Tag::Vaults]));
}

#[tokio::test]
async fn a_response_waits_for_a_change_that_the_edge_already_knows() {
    let test = TestApp::with_market().await;
    committed_elsewhere(&test, &renamed()).await;
    let wanted = newest(&test).await;
    let (reply, ()) = tokio::join!(get_knowing(&test, "/v1/curators", &wanted), async {
        test.app.catalog.until_facts_change().await;
        refresh::refresh(&test.app).await.unwrap();
    });
    assert_eq!(made_of(&reply), wanted.only(&[Tag::Vaults]));
    assert!(reply.text().contains("Newcomer"));
}

#[tokio::test]
async fn a_version_that_never_existed_delays_a_response_by_only_one_refresh() {
    let test = TestApp::with_market().await;
    let (known, mut beyond) = (newest(&test).await, TagVersions::default());
    beyond.raise(Tag::Vaults, i64::MAX);
    let (reply, ()) = tokio::join!(get_knowing(&test, "/v1/vaults", &beyond), async {
        test.app.catalog.until_facts_change().await;
        refresh::refresh(&test.app).await.unwrap();
    });
    assert_eq!((reply.status.as_u16(), made_of(&reply)), (200, known.only(&[Tag::Vaults])));
    // This route does not depend on the tag with the unknown version.
    assert_eq!(get_knowing(&test, "/v1/oracle", &beyond).await.status, 200);
}
