//! Replicas of the catalog's rows: led from any state to the current one, by any process, with a stamp that claims what the rows include.

use crate::http::limits::bare;
use crate::http::tags::{newest, touch};
use crate::support::db::TestDb;
use crate::support::edge_peer::EdgePeer;
use crate::support::market::{SYNCED, VAULTS, line};
use crate::support::testapp::{EDGE_KEY, NOW, PEER, Reply, TestApp, TestOptions, holder, signed, signed_as};
use axum::http::StatusCode;
use rds_engine::clock::Clock;
use rds_engine::ingest::{self, Batch};
use rds_origin::catalog::refresh;
use rds_origin::edge_link::tags::{Round, send_due};
use rds_origin::listener::Listener;
use rds_shared::access::link::{
    EDGE, REPLICA, ReplicaAsk, ReplicaHolders, SEGMENTS, SEGMENTS_PER_ASK, SegmentsAsk, read_parts,
};
use rds_shared::access::{AssertionKey, Plan};
use rds_shared::model::ids::ChainId;
use rds_shared::read_model::chain_of;
use rds_shared::replica::{
    Change, Delta, FORMAT, Family, Kind, Manifest, Rows, Segment, SegmentName, Stamp, StateId, Step, Update, open,
};
use rds_shared::route::{Tag, TagVersions};
use rds_shared::wire::{Timestamp, headers};
use rds_simulate::{self as simulate, Options};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A replica as the edge holds it.
#[derive(Clone, Default)]
struct Holder {
    /// The state and its rows; `None` before the first update.
    held: Option<(StateId, Rows)>,
}

/// What an update consisted of.
#[derive(Debug, PartialEq)]
enum Led {
    Current,
    /// The sealed delta's size, and its changes.
    Delta(usize, Vec<Change>),
    Whole,
}

fn question(have: Option<StateId>) -> ReplicaAsk {
    ReplicaAsk { format: FORMAT, have, covering: TagVersions::default(), whole: false, holders: None }
}

/// The content of a document that the origin sealed.
fn opened(kind: Kind, sealed: &[u8]) -> &[u8] {
    open(kind, sealed, &AssertionKey::parse_list(EDGE_KEY).unwrap()).unwrap()
}

async fn update(test: &TestApp, ask: &ReplicaAsk) -> (Stamp, Step) {
    let reply = test.message(REPLICA, ask).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    assert_eq!(reply.header("content-type"), Some("application/octet-stream"));
    assert_eq!(reply.header("cache-control"), Some(headers::NO_STORE));
    let Update { stamp, step } = Update::decode(&reply.body).unwrap();
    (Stamp::decode(opened(Kind::Stamp, &stamp)).unwrap(), step)
}

/// The segments with these names that the process sends.
async fn segments(test: &TestApp, names: &[SegmentName]) -> BTreeMap<SegmentName, Vec<u8>> {
    let mut found = BTreeMap::new();
    for names in names.chunks(SEGMENTS_PER_ASK) {
        let reply = test.message(SEGMENTS, &SegmentsAsk { format: FORMAT, names: names.to_vec() }).await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
        let sent = read_parts(&reply.body).unwrap();
        assert_eq!(sent.len(), names.len());
        let sent = names.iter().zip(sent).filter(|(_, bytes)| !bytes.is_empty());
        found.extend(sent.map(|(name, bytes)| (*name, bytes.to_vec())));
    }
    found
}

impl Holder {
    /// Asks and applies what is answered.
    async fn catch_up(&mut self, test: &TestApp) -> (Stamp, Led) {
        let (stamp, step) = update(test, &question(self.held.as_ref().map(|(id, _)| *id))).await;
        let led = match step {
            Step::Current => Led::Current,
            Step::Deltas(deltas) => {
                let [delta] = deltas.as_slice() else { panic!("{} deltas", deltas.len()) };
                let (id, rows) = self.held.as_ref().unwrap();
                let read = Delta::decode(opened(Kind::Delta, delta)).unwrap();
                self.held = Some((read.to, read.apply(rows, *id).unwrap()));
                Led::Delta(delta.len(), read.changes)
            }
            Step::Whole { manifest, deltas } => {
                assert_eq!(deltas, Vec::<Vec<u8>>::new());
                let manifest = Manifest::decode(opened(Kind::Manifest, &manifest)).unwrap();
                let names: Vec<SegmentName> = manifest.names().copied().collect();
                let sent = segments(test, &names).await;
                let rows = manifest.assemble(|name| Some(Arc::new(Segment::decode(name, sent.get(name)?).unwrap())));
                self.held = Some((manifest.state, rows.unwrap()));
                Led::Whole
            }
        };
        let (id, rows) = self.held.as_ref().unwrap();
        assert_eq!((stamp.state, *id), (StateId::of(rows), stamp.state));
        (stamp, led)
    }

    fn rows(&self) -> &Rows {
        &self.held.as_ref().unwrap().1
    }
}

fn rows_of(test: &TestApp) -> Rows {
    test.app.catalog.get().unwrap().model.rows()
}

fn metric(page: &str, series: &str) -> f64 {
    let found = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("no {series}")).parse().unwrap()
}

fn chain_base(is_served: bool, observed_at: &str) -> String {
    let fields = json!({ "chain_id": 8453, "slug": "base", "name": "Base", "namespace": "evm", "is_settlement": true,
        "is_served": is_served });
    line("chain", observed_at, fields)
}

/// A service with a simulated market.
async fn simulated(vaults: u32) -> TestApp {
    let facts = TestDb::new().await;
    let clock = Clock::held(Timestamp::parse(NOW).unwrap());
    simulate::run(&facts.db, &clock, Options { seed: 5, vaults, hours: 2 }, None, &mut |_: &str| ()).await.unwrap();
    TestApp::over(facts, TestOptions::default()).await
}

/// A reading by which the vault's TVL, rate and liquidity change.
fn reading(vault_id: &str, tvl_usd: f64) -> String {
    let fields = json!({ "vault_id": vault_id, "tvl_usd": tvl_usd, "base_apr": 0.0312, "utilization": 0.5, "incentives": "checked" });
    line("vault_state", "2026-11-21T00:00:30Z", fields)
}

#[tokio::test]
async fn a_replica_is_led_from_every_earlier_state_to_exactly_the_rows_of_the_catalog() {
    let test = TestApp::with_market().await;
    let mut held = vec![Holder::default()];
    assert_eq!(held[0].catch_up(&test).await.1, Led::Whole);
    let steps = [
        VAULTS[0].state("2026-11-20T23:51:00Z", json!({ "tvl_usd": 5e6 })),
        VAULTS[4].state("2026-11-20T23:52:00Z", json!({ "tvl_usd": 7e6 })),
        line("curator", SYNCED, json!({ "id": "newcomer", "name": "Newcomer" })),
        chain_base(false, "2026-11-20T23:53:00Z"),
        VAULTS[0].state("2026-11-20T23:54:00Z", json!({ "tvl_usd": 6e6 })),
        chain_base(true, "2026-11-20T23:55:00Z"),
        line(
            "vault",
            SYNCED,
            json!({ "protocol_id": "harbor", "chain_id": 1, "address": VAULTS[0].address().replace("0x0", "0xf"),
            "name": "Late", "asset_mode": "holdings" }),
        ),
    ];
    for step in &steps {
        test.ingest(step).await;
        let mut newest = held.last().unwrap().clone();
        let (stamp, led) = newest.catch_up(&test).await;
        assert!(matches!(led, Led::Delta(..)), "{step}: {led:?}");
        assert_eq!(stamp.version, test.app.catalog.get().unwrap().version);
        assert_eq!(*newest.rows(), rows_of(&test), "{step}");
        held.push(newest);
    }
    for (number, mut earlier) in (0..).zip(held) {
        let (_, led) = earlier.catch_up(&test).await;
        assert_eq!(matches!(led, Led::Current), number == steps.len(), "{number}: {led:?}");
        assert_eq!(*earlier.rows(), rows_of(&test), "{number}");
    }
    let page = test.admin("GET", "/metrics", "").await.text();
    let count = |content: &str| metric(&page, &format!("rds_replica_updates_total{{content=\"{content}\"}}"));
    assert_eq!((count("whole"), count("delta"), count("current")), (1.0, 14.0, 1.0));
    assert_eq!(metric(&page, "rds_replica_states"), 8.0);
}

#[tokio::test]
async fn processes_over_one_database_name_the_same_states_and_send_each_others_segments() {
    let one = TestApp::with_market().await;
    let mut replica = Holder::default();
    replica.catch_up(&one).await;
    one.ingest(&VAULTS[3].state("2026-11-20T23:52:00Z", json!({ "tvl_usd": 3e6 }))).await;
    let other = TestApp::with(TestOptions { database: Some(one.facts.url.clone()), ..TestOptions::default() }).await;
    let whole = ReplicaAsk { whole: true, ..question(None) };
    let ((at_one, first), (at_other, second)) = (update(&one, &whole).await, update(&other, &whole).await);
    assert_eq!((at_one.state, at_one.version, at_one.tags), (at_other.state, at_other.version, at_other.tags));
    assert_eq!(first, second, "the same manifest under the same key");

    one.ingest(&VAULTS[4].state("2026-11-20T23:53:00Z", json!({ "tvl_usd": 4e6 }))).await;
    refresh::refresh(&other.app).await.unwrap();
    let (_, Step::Whole { manifest, .. }) = update(&one, &whole).await else { panic!("asked for the manifest") };
    let names: Vec<SegmentName> =
        Manifest::decode(opened(Kind::Manifest, &manifest)).unwrap().names().copied().collect();
    assert_eq!(segments(&other, &names).await.len(), names.iter().collect::<BTreeSet<_>>().len());
    assert!(matches!(replica.catch_up(&one).await.1, Led::Delta(..)));
}

#[tokio::test]
async fn a_state_that_is_not_remembered_is_answered_whole() {
    let test = TestApp::with_market().await;
    let unknown = StateId::from_bytes([7; 32]);
    assert!(matches!(update(&test, &question(Some(unknown))).await.1, Step::Whole { .. }));
    let mut replica = Holder { held: Some((unknown, Rows::default())) };
    assert_eq!(replica.catch_up(&test).await.1, Led::Whole);
    assert_eq!(*replica.rows(), rows_of(&test));
    assert_eq!(replica.catch_up(&test).await.1, Led::Current);
    let whole = ReplicaAsk { whole: true, ..question(Some(replica.held.as_ref().unwrap().0)) };
    assert!(matches!(update(&test, &whole).await.1, Step::Whole { .. }), "on request");
    let strange = SegmentName::of(b"nothing");
    assert!(segments(&test, &[strange]).await.is_empty());
}

#[tokio::test]
async fn the_change_of_one_vault_is_a_small_delta() {
    let test = simulated(60).await;
    let mut replica = Holder::default();
    replica.catch_up(&test).await;
    let listed = test.json("/v1/vaults?limit=20").await["data"].clone();
    let id = listed[7]["id"].as_str().unwrap();
    test.app.clock.advance(60);
    test.ingest(&reading(id, 12_345_678.0)).await;
    let (_, Led::Delta(bytes, changes)) = replica.catch_up(&test).await else { panic!("a delta was expected") };
    let mut families: BTreeMap<&str, usize> = BTreeMap::new();
    for change in &changes {
        let (Change::Put(family, _) | Change::Patch(family, _) | Change::Remove(family, _)) = change;
        *families.entry(family.name()).or_default() += 1;
    }
    // Besides the vault: the totals that its TVL and rates are part of, and its chain and protocol, which are ordered by TVL.
    assert_eq!(families.get("vaults"), Some(&1), "{families:?}");
    assert!(["chains", "protocols", "singles"].iter().all(|name| families.contains_key(name)), "{families:?}");
    assert!(changes.len() <= 8, "{families:?}");
    assert!(bytes <= 2_048, "{bytes} bytes: {changes:?}");
}

#[tokio::test]
async fn another_format_and_malformed_bodies_are_refused_by_name() {
    let test = TestApp::with_market().await;
    let ask = async |path: &str, body: Value| {
        let reply = test.message(path, &body).await;
        let error = reply.json()["error"].clone();
        (reply.status.as_u16(), error["details"][0]["name"].as_str().unwrap_or_default().to_owned(), reply.message())
    };
    for path in [REPLICA, SEGMENTS] {
        let (status, _, text) = ask(path, json!({ "format": FORMAT + 1, "names": 4, "have": 4 })).await;
        assert_eq!(status, 409);
        assert!(text.contains(&format!("format {FORMAT}, not {}", FORMAT + 1)), "{text}");
        for (body, name) in [(json!([1]), ""), (json!({}), "format"), (json!({ "format": "1" }), "format")] {
            let (status, named, text) = ask(path, body.clone()).await;
            assert_eq!((status, named.as_str()), (400, name), "{path} {body}: {text}");
        }
    }
    let one = json!("00".repeat(32));
    let many = vec![one.clone(); SEGMENTS_PER_ASK + 1];
    for (path, field, value) in [
        (REPLICA, "have", json!("12")),
        (REPLICA, "covering", json!(7)),
        (REPLICA, "whole", json!("yes")),
        (REPLICA, "holders", json!({ "object": "a" })),
        (SEGMENTS, "names", json!(["x"])),
        (SEGMENTS, "names", Value::Null),
        (SEGMENTS, "names", json!(many)),
    ] {
        let (status, named, text) = ask(path, json!({ "format": FORMAT, field: value })).await;
        assert_eq!((status, named.as_str()), (400, field), "{path}: {text}");
    }
    let unknown_field = json!({ "format": FORMAT, "names": [one], "of_a_later_release": 1 });
    assert_eq!(test.message(SEGMENTS, &unknown_field).await.status, StatusCode::OK);
    assert_eq!(test.message(REPLICA, &json!({ "format": FORMAT })).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_stamp_covers_what_the_edge_knows_and_was_committed_elsewhere() {
    let test = TestApp::with_market().await;
    let mut replica = Holder::default();
    let (before, _) = replica.catch_up(&test).await;
    let lines = VAULTS[3].state("2026-11-20T23:52:00Z", json!({ "tvl_usd": 3e6 }));
    ingest::commit(&test.app.db, &test.app.clock, Batch::read(lines.as_bytes()).unwrap()).await.unwrap();
    let known = newest(&test).await.only(&[Tag::Vaults]);
    assert!(!before.tags.covers(&known));
    let ask = ReplicaAsk { covering: known, ..question(Some(before.state)) };
    let ((stamp, step), refreshed) = tokio::join!(update(&test, &ask), refresh::refresh(&test.app));
    assert!(refreshed.unwrap() && stamp.tags.covers(&known));
    assert!(matches!(step, Step::Deltas(_)), "the rows include the change");
    assert_eq!(stamp.state, StateId::of(&rows_of(&test)));
    assert!(stamp.tags.fail_safe().is_some());
    assert_eq!(stamp.tags.of(Tag::Events), 0, "the rows contain no events");
}

#[tokio::test]
async fn the_edge_learns_of_a_withheld_chain_with_the_tags_of_its_withholding_and_by_the_stamp() {
    let test = TestApp::with_market().await;
    let edge = EdgePeer::knowing(EDGE_KEY).await;
    let to_edge = edge.link(EDGE_KEY);
    let sent = async || {
        assert!(matches!(send_due(&test.app.db, &to_edge).await.unwrap(), Round::Acknowledged(_)));
        let update = edge.acknowledged_updates().pop().unwrap();
        (update.versions, update.withheld)
    };
    assert_eq!(sent().await.1, Some(Vec::new()));
    let mut replica = Holder::default();
    let (stamp, _) = replica.catch_up(&test).await;
    assert_eq!(stamp.withheld, []);
    let on_base = |rows: &Rows| {
        let of = |family: Family| rows.of(family).iter().filter_map(move |row| chain_of(family, row));
        Family::ALL.into_iter().flat_map(of).filter(|chain| *chain == ChainId(8453)).count()
    };
    assert!(on_base(replica.rows()) > 1);

    test.ingest(&chain_base(false, "2026-11-20T23:53:00Z")).await;
    let (versions, withheld) = sent().await;
    assert_eq!(withheld, Some(vec![ChainId(8453)]));
    let (stamp, _) = replica.catch_up(&test).await;
    assert_eq!((stamp.withheld, on_base(replica.rows())), (vec![ChainId(8453)], 0));
    assert_eq!(stamp.tags.of(Tag::Vaults), versions.of(Tag::Vaults));
    touch(&test.app.db, &[Tag::Events]).await;
    assert_eq!(sent().await.1, None, "a message without the tag that every withholding raises");

    test.ingest(&chain_base(true, "2026-11-20T23:54:00Z")).await;
    assert_eq!(sent().await.1, Some(Vec::new()));
    let (stamp, _) = replica.catch_up(&test).await;
    assert_eq!(stamp.withheld, []);
    assert!(on_base(replica.rows()) > 1);
}

#[tokio::test]
async fn the_metrics_say_what_the_isolates_of_the_edge_leave_out() {
    let test = TestApp::with_market().await;
    let isolates = async |series: &str| metric(&test.admin("GET", "/metrics", "").await.text(), series);
    assert_eq!(isolates("rds_replica_isolates").await, 0.0);
    for (object, isolates, without) in [("a", 5, 1), ("b", 2, 0), ("a", 7, 3)] {
        let left_out = BTreeMap::from([("markets".to_owned(), without)]);
        let holders = Some(ReplicaHolders { object: object.to_owned(), isolates, left_out });
        update(&test, &ReplicaAsk { holders, ..question(None) }).await;
    }
    update(&test, &question(None)).await;
    assert_eq!(isolates("rds_replica_isolates").await, 9.0);
    assert_eq!(isolates("rds_replica_isolates_without{family=\"markets\"}").await, 3.0);
    assert_eq!(isolates("rds_replica_isolates_without{family=\"vaults\"}").await, 0.0);
}

#[tokio::test]
async fn nothing_is_computed_while_no_edge_asks() {
    let test = TestApp::with_market().await;
    let states = async || metric(&test.admin("GET", "/metrics", "").await.text(), "rds_replica_states");
    let follow = async || test.app.replica.follow(&test.app.catalog).await.unwrap();
    follow().await;
    assert_eq!(states().await, 0.0);
    let mut replica = Holder::default();
    replica.catch_up(&test).await;
    assert_eq!(states().await, 1.0);
    follow().await;
    assert_eq!(states().await, 1.0, "the catalog is the same");
    test.ingest(&VAULTS[3].state("2026-11-20T23:52:00Z", json!({ "tvl_usd": 3e6 }))).await;
    follow().await;
    assert_eq!(states().await, 2.0, "prepared for the next request");
}

#[tokio::test]
async fn only_the_edge_itself_can_ask() {
    let test = TestApp::with_market().await;
    let body = serde_json::to_string(&question(None)).unwrap();
    for path in [REPLICA, SEGMENTS] {
        let statuses = async |reply: Reply| (reply.status.as_u16(), reply.header(headers::ANSWER).is_some());
        assert_eq!(test.ask(signed("POST", path, &body)).await.status, StatusCode::NOT_FOUND);
        let key = signed_as(&holder(Plan::Decisioning).to_json(), "POST", path, &body);
        assert_eq!(test.ask(key).await.status, StatusCode::NOT_FOUND);
        let unsigned = test.ask(bare("POST", path)).await;
        assert_eq!(statuses(unsigned).await, (401, false));
        assert_eq!(test.from(PEER, Listener::Relay, bare("POST", path)).await.status, StatusCode::NOT_FOUND);
        assert_eq!(test.admin("POST", path, &body).await.status, StatusCode::NOT_FOUND);
        assert_eq!(test.ask(signed_as(EDGE, "GET", path, "")).await.status, StatusCode::METHOD_NOT_ALLOWED);
    }
    let page = test.admin("GET", "/metrics", "").await.text();
    assert_eq!(metric(&page, "rds_replica_states"), 0.0);
}
