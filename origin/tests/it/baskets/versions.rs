//! When a basket gets another version, when it does not, and that versions never change.

use crate::baskets::routes::fields;
use crate::baskets::world::{BASKET, MEMBERS, World, definition, rebalanced, rules};
use crate::http::tags::{newest, raised};
use crate::support::db::TestDb;
use crate::support::testapp::NOW;
use rds_engine::baskets::support::{SupportChange, Verb};
use rds_engine::baskets::{self, Refreshed};
use rds_engine::clock::Clock;
use rds_engine::ingest::{self, Batch};
use rds_origin::catalog::refresh;
use rds_shared::route::Tag;
use rds_shared::rules::baskets::rebalance_triggers::Trigger;
use rds_shared::wire::Timestamp;
use rds_simulate::{self as simulate, Options};
use rds_store::baskets as table;
use rds_store::ingest::publication;
use serde_json::{Value, json};

#[tokio::test]
async fn only_changes_that_the_rules_name_create_a_version() {
    let world = World::begun().await;
    world.pass(3600);
    world.review("amber", 8.8).await;
    world.review("birch", 9.5).await;
    assert_eq!(world.refresh().await, Refreshed::NotDue, "a fall of 0.20 and a rise of 0.90");
    world.review("amber", 8.7).await;
    world.pass(1);
    world.review("amber", 8.7).await;
    assert_eq!(world.refresh().await, rebalanced("dollars-v2", Trigger::ScoreDown));
    assert_eq!(world.refresh().await, Refreshed::NotDue, "it is measured from the new version on");
    world.pass(1);
    world.review("dune", 8.0).await;
    assert_eq!(world.refresh().await, rebalanced("dollars-v3", Trigger::TierCross));
    world.pass(1);
    world.review("cedar", 9.2).await;
    assert_eq!(world.refresh().await, rebalanced("dollars-v4", Trigger::ScoreUp));
}

#[tokio::test]
async fn a_rebalance_that_changes_nothing_makes_no_version() {
    let world = World::begun().await;
    let (before, told) = (world.data("").await, world.captured_events().await.len());
    let plain = format!("\"{}\"", before["content_hash"].as_str().unwrap());
    assert_eq!(world.get("").await.header("etag"), Some(plain.as_str()));
    world.pass_to("2026-12-31T15:59:59Z");
    world.review_all().await;
    let tags = newest(&world.test).await;
    assert_eq!(world.refresh().await, Refreshed::NotDue);
    world.pass(1);
    assert_eq!(world.refresh().await, Refreshed::Unchanged, "the quarter's day has come");
    assert_eq!(world.refresh().await, Refreshed::NotDue, "once a quarter");
    world.pass(60);
    let forced = baskets::rebalance(&world.test.app.db, &world.test.app.clock, None, BASKET).await.unwrap();
    assert_eq!(forced, Some(Refreshed::Unchanged));
    assert_eq!(baskets::rebalance(&world.test.app.db, &world.test.app.clock, None, "nothing").await.unwrap(), None);
    assert_eq!((world.versions().await, world.captured_events().await.len()), (vec!["dollars-v1".to_owned()], told));
    // Readers see no change: the address cached for a year has the same content, and no cached response is invalidated.
    for rest in ["", "/version/dollars-v1"] {
        let after = world.get(rest).await;
        assert_eq!((after.header("etag"), &after.json()["data"]), (Some(plain.as_str()), &before), "{rest}");
    }
    assert_eq!(raised(&tags, &newest(&world.test).await), []);
    assert_eq!(world.next_version("amber", 8.0).await, "dollars-v2");
    assert_eq!(world.data("/version/dollars-v1").await, before);
    assert_eq!(world.data("").await["last_rebalanced_at"], "2026-12-31T17:01:00.000Z");
}

#[tokio::test]
async fn rules_that_change_nothing_are_gone_by_once() {
    let world = World::begun().await;
    world.pass(3600);
    world.test.ingest(&rules("m2", "2026-11-21T00:30:00Z", json!({"summary": "The same in other words."}))).await;
    assert_eq!(world.refresh().await, Refreshed::Unchanged);
    assert_eq!(world.refresh().await, Refreshed::NotDue, "they were gone by, and do not ask again");
    let shown = world.data("").await;
    assert_eq!((&shown["version_id"], &shown["methodology_version"]), (&json!("dollars-v1"), &json!("m1")));
    world.pass(3600);
    world.test.ingest(&rules("m3", "2026-11-21T01:30:00Z", json!({"single_name_pct": 22.5}))).await;
    assert_eq!(world.refresh().await, rebalanced("dollars-v2", Trigger::Methodology));
}

#[tokio::test]
async fn a_basket_that_is_renamed_is_another_copy_and_its_versions_stay_what_they_were() {
    let world = World::begun().await;
    let before = world.get("/version/dollars-v1").await;
    let renamed = definition().replace("\"Dollars\"", "\"Invented dollars\"").replace("2026-01-01", "2026-02-01");
    world.test.ingest(&renamed).await;
    let current = world.get("").await;
    assert_eq!(current.json()["data"]["name"], "Invented dollars");
    assert_ne!(current.header("etag"), before.header("etag"));
    for rest in ["/version/dollars-v1", "?at=2026-11-21T00:00:00Z"] {
        let again = world.get(rest).await;
        assert_eq!(
            (again.header("etag"), again.json()["data"]["name"].as_str()),
            (before.header("etag"), Some("Dollars")),
            "{rest}"
        );
    }
    assert_eq!(world.test.json("/v1/baskets").await["data"][0]["name"], "Invented dollars");
}

#[tokio::test]
async fn of_concurrent_rebalances_one_creates_the_version() {
    let world = World::begun().await;
    world.pass(3600);
    world.review("amber", 8.0).await;
    let other = TestDb::guest(&world.test.facts).await;
    let runs = (0..8).map(|number| {
        let db = if number % 2 == 0 { world.test.app.db.clone() } else { other.db.clone() };
        let clock = world.test.app.clock.clone();
        tokio::spawn(async move { baskets::refresh(&db, &clock, None).await.unwrap().remove(0).1 })
    });
    let mut made = 0;
    for run in runs.collect::<Vec<_>>() {
        match run.await.unwrap() {
            Refreshed::Rebalanced { version_id, .. } => {
                assert_eq!(version_id, "dollars-v2");
                made += 1;
            }
            other => assert_eq!(other, Refreshed::NotDue),
        }
    }
    refresh::refresh(&world.test.app).await.unwrap();
    assert_eq!((made, world.versions().await), (1, vec!["dollars-v2".to_owned(), "dollars-v1".to_owned()]));
    assert_eq!(world.captured_events().await.len(), 2);
}

#[tokio::test]
async fn a_halted_rebalance_creates_no_version_and_one_event() {
    let world = World::begun().await;
    let events = async || world.test.json("/v1/events?eventType=BasketHalted").await["data"].as_array().unwrap().len();
    // On this day every review is older than twice its cadence, and the quarter has ended.
    world.pass_to("2027-04-01T00:00:00Z");
    for _ in 0..2 {
        assert_eq!(world.refresh().await, Refreshed::Halted { reason: "amber: evidence_overdue".to_owned() });
        assert_eq!(events().await, 1, "one event, however long it lasts");
        world.pass(3600);
    }
    let overview = table::overview(&world.test.app.db).await.unwrap();
    let (reason, since) = overview[0].halt.clone().unwrap();
    assert_eq!(
        (reason.as_str(), since.to_string()),
        ("amber: evidence_overdue", "2027-04-01T00:00:00.000Z".to_owned())
    );
    assert_eq!(world.versions().await, ["dollars-v1"], "the old one stays");
    assert_eq!(world.captured_events().await.len(), 1);

    world.review_all().await;
    assert_eq!(world.refresh().await, Refreshed::Unchanged);
    assert_eq!(table::overview(&world.test.app.db).await.unwrap()[0].halt, None);
    // Too few constituents are left: another halt, and another event.
    world.pass(3600);
    for id in ["amber", "birch", "cedar"] {
        world.review(id, 4.0).await;
    }
    let reason = "2 names can be weighted, the basket needs 3".to_owned();
    assert_eq!(world.refresh().await, Refreshed::Halted { reason });
    assert_eq!((events().await, world.versions().await), (2, vec!["dollars-v1".to_owned()]));
    let event = world.test.json("/v1/events?eventType=BasketHalted&limit=1").await["data"][0].clone();
    assert_eq!((&event["severity"], &event["title"]), (&json!("Warning"), &json!("Dollars cannot be rebalanced")));
    world.pass(1);
    world.review_all().await;
    assert_eq!(world.refresh().await, Refreshed::NotDue, "what asked for it is over");
    assert_eq!(table::overview(&world.test.app.db).await.unwrap()[0].halt, None);
}

#[tokio::test]
async fn a_clock_behind_the_version_in_force_makes_none() {
    let world = World::begun().await;
    world.pass(1);
    world.review("amber", 7.0).await;
    world.pass_to(NOW);
    assert_eq!(world.refresh().await, Refreshed::NotDue, "not twice at one instant");
    world.pass_to("2026-11-20T12:00:00Z");
    assert_eq!(world.refresh().await, Refreshed::NotDue);
    world.pass_to("2026-11-21T00:00:00.000001Z");
    assert_eq!(world.refresh().await, rebalanced("dollars-v2", Trigger::TierCross));
}

#[tokio::test]
async fn a_version_is_never_changed_by_anybody() {
    let world = World::begun().await;
    world.next_version("amber", 8.0).await;
    assert_eq!(world.retire("dollars-v1", "dollars-v2").await, SupportChange::Done);
    for sql in [
        "update basket_version set effective_from = now() where version_id = 'dollars-v1'",
        "update basket_version set content_hash = sha256('x')",
        "delete from basket_version",
        "update basket_constituent set weight = 1 where id = 'amber'",
        "delete from basket_constituent where id = 'amber'",
        "insert into basket_constituent (version_id, id, issuer, score, weight) values ('dollars-v1', 'late', 'x', 9000, 1)",
        "update basket_methodology set summary = 'other'",
        "update basket_version_support set retired_at = null",
        "update basket_version_support set successor_id = null",
        "delete from basket_version_support",
        "insert into basket_version (version_id, basket_id, number, prior_version_id, effective_from, trigger_reason, methodology_version, \
             content_hash, created_at, basket_name) values ('empty', 'dollars', 3, 'dollars-v2', now(), 'calendar', 'm1', sha256('x'), now(), 'n')",
        "insert into basket_version (version_id, basket_id, number, prior_version_id, effective_from, trigger_reason, methodology_version, \
             content_hash, created_at, basket_name) values ('fork', 'dollars', 3, 'dollars-v1', now(), 'calendar', 'm1', sha256('x'), now(), 'n')",
        "insert into basket_version_confirmed (version_id, confirmed_at, methodology_version) values ('dollars-v1', now(), 'm1')",
    ] {
        let error = sqlx::query(sql).execute(&world.test.facts.db.pool).await.unwrap_err();
        let code = error.as_database_error().unwrap().code().unwrap().into_owned();
        assert!(code.starts_with("23"), "{sql}: {error}");
    }
}

#[tokio::test]
async fn deprecation_and_retirement_each_send_one_event() {
    let world = World::begun().await;
    world.next_version("amber", 8.0).await;
    let next = || Some("dollars-v2".to_owned());
    let refused = |outcome: SupportChange| matches!(outcome, SupportChange::Refused(_));
    assert!(refused(world.retire("dollars-v2", "dollars-v1").await), "it is in force");
    assert!(refused(world.retire("dollars-v1", "dollars-v1").await));
    assert!(refused(world.retire("dollars-v1", "dollars-v9").await));
    assert_eq!(world.retire("dollars-v9", "dollars-v1").await, SupportChange::Unknown);
    assert_eq!(world.say("dollars-v9", Verb::Deprecate { successor: None }).await, SupportChange::Unknown);
    assert_eq!(world.captured_events().await.len(), 2);

    assert_eq!(world.say("dollars-v1", Verb::Deprecate { successor: next() }).await, SupportChange::Done);
    assert_eq!(world.say("dollars-v1", Verb::Deprecate { successor: next() }).await, SupportChange::Already);
    assert_eq!(world.retire("dollars-v1", "dollars-v2").await, SupportChange::Done);
    assert_eq!(world.retire("dollars-v1", "dollars-v2").await, SupportChange::Already);
    assert_eq!(world.say("dollars-v1", Verb::Deprecate { successor: None }).await, SupportChange::Already);
    assert_eq!(world.captured_events().await.len(), 4);
    // Retiring a version that is not deprecated deprecates it in the same step. A retired version cannot be changed again.
    world.next_version("amber", 9.5).await;
    assert!(refused(world.retire("dollars-v2", "dollars-v1").await));
    assert_eq!(world.retire("dollars-v2", "dollars-v3").await, SupportChange::Done);
    let families: Vec<String> = world.captured_events().await.into_iter().skip(5).map(|(family, _)| family).collect();
    assert_eq!(families, ["basket.version.deprecated", "basket.version.retired"]);
}

/// The demo market's baskets follow from its observations, so equal markets have equal baskets.
#[tokio::test]
async fn a_simulated_market_has_baskets_and_repeating_it_makes_no_more() {
    let facts = TestDb::new().await;
    let clock = Clock::held(Timestamp::parse(NOW).unwrap());
    let options = Options { seed: 1, vaults: 60, hours: 24 };
    simulate::run(&facts.db, &clock, options, None, &mut |_: &str| ()).await.unwrap();
    let published = table::current(&facts.db).await.unwrap();
    let names: Vec<&str> = published.iter().map(|it| it.row.basket_id.as_str()).collect();
    assert_eq!(names, ["prime-vaults", "stable-vaults", "treasury-assets"]);
    for version in &published {
        let id = version.row.version_id.as_str();
        let members = table::members(&facts.db.pool, &[id]).await.unwrap().remove(id).unwrap();
        assert_eq!(version.row.content(members.constituents).content_hash(), version.row.content_hash, "{id}");
    }
    let before = publication::version(&facts.db).await.unwrap();
    simulate::run(&facts.db, &clock, options, None, &mut |_: &str| ()).await.unwrap();
    assert_eq!(publication::version(&facts.db).await.unwrap(), before);
    assert_eq!(table::current(&facts.db).await.unwrap(), published);
}

#[tokio::test]
async fn a_basket_without_rules_waits_for_them() {
    let facts = TestDb::new().await;
    let clock = Clock::held(Timestamp::parse(NOW).unwrap());
    let batch = Batch::read(definition().as_bytes()).unwrap();
    ingest::commit(&facts.db, &clock, batch).await.unwrap();
    let all = baskets::refresh(&facts.db, &clock, None).await.unwrap();
    assert_eq!(all, [(BASKET.to_owned(), Refreshed::NoRules)]);
    assert_eq!(MEMBERS.len(), 5);
}

#[tokio::test]
async fn methodology_versions_show_one_active_and_the_retired_ones() {
    let world = World::begun().await;
    world.pass(3600);
    let second = rules("m2", "2026-11-21T00:30:00Z", json!({"single_name_pct": 22.5}));
    let before = newest(&world.test).await;
    world.test.ingest(&second).await;
    assert_eq!(raised(&before, &newest(&world.test).await), [Tag::Baskets]);
    world.refresh().await;
    let rows = world.data("/methodology/versions").await;
    assert_eq!(fields(&rows[0]), ["activated_at", "content_hash", "doc_url", "is_active", "retired_at", "version"]);
    let stands = |row: &Value| (row["version"].clone(), row["retired_at"].clone(), row["is_active"].clone());
    assert_eq!(stands(&rows[0]), (json!("m2"), Value::Null, json!(true)));
    assert_eq!(stands(&rows[1]), (json!("m1"), json!("2026-11-21T00:30:00.000Z"), json!(false)));
    assert_ne!(rows[0]["content_hash"], rows[1]["content_hash"]);
    let version = world.data("").await;
    assert_eq!((&version["trigger_reason"], &version["methodology_version"]), (&json!("methodology"), &json!("m2")));
    assert_eq!(version["methodology"]["caps"]["single_name_pct"], 22.5);
    assert_eq!(world.data("?at=2026-11-21T00:00:00Z").await["methodology"]["caps"]["single_name_pct"], 40);
}
