//! A basket of five invented dollars with scores that a test can set: assets are published immediately, without a dwell.

use crate::support::market::{address, line, registries};
use crate::support::testapp::{Reply, TestApp, TestOptions};
use rds_engine::baskets::support::{self, SupportChange, Verb};
use rds_engine::baskets::{self, Refreshed};
use rds_origin::catalog::refresh;
use rds_shared::rules::baskets::rebalance_triggers::Trigger;
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Micros;
use serde_json::{Value, json};

pub const BASKET: &str = "dollars";
/// The basket's constituents with their initial scores.
pub const MEMBERS: [(&str, f64); 5] = [("amber", 9.0), ("birch", 8.6), ("cedar", 8.2), ("dune", 7.8), ("elm", 7.4)];
/// The constituent on another chain.
pub const ELSEWHERE: &str = "elm";

/// A service with the five dollars and the basket's rules, before the first rebalance.
pub struct World {
    pub test: TestApp,
}

impl World {
    pub async fn new() -> Self {
        World::with(TestOptions::default()).await
    }

    /// Like [`World::new`], with these options.
    pub async fn with(options: TestOptions) -> Self {
        let world = World { test: TestApp::with(options).await };
        populate(&world.test).await;
        world
    }

    /// Like [`World::new`], after the first rebalance.
    pub async fn begun() -> Self {
        let world = World::new().await;
        assert_eq!(world.refresh().await, rebalanced("dollars-v1", Trigger::Inception));
        world
    }

    pub fn now(&self) -> Timestamp {
        self.test.app.clock.now()
    }

    pub fn pass(&self, seconds: i64) {
        self.test.app.clock.advance(seconds);
    }

    pub fn pass_to(&self, instant: &str) {
        assert!(self.test.app.clock.set(Timestamp::parse(instant).unwrap()));
    }

    /// Reviews an asset, with `score` in every dimension.
    pub async fn review(&self, id: &str, score: f64) {
        self.test.ingest(&review(id, &Micros(self.now()).to_string(), score)).await;
    }

    /// Repeats all reviews, so that their evidence is fresh.
    pub async fn review_all(&self) {
        for (id, score) in MEMBERS {
            self.review(id, score).await;
        }
    }

    /// Refreshes the baskets, and returns the result for this basket.
    pub async fn refresh(&self) -> Refreshed {
        let app = &self.test.app;
        let all = baskets::refresh(&app.db, &app.clock, app.signing_key.as_ref()).await.unwrap();
        refresh::refresh(&self.test.app).await.unwrap();
        let [(id, refreshed)] = <[_; 1]>::try_from(all).unwrap();
        assert_eq!(id, BASKET);
        refreshed
    }

    /// Changes one score after an hour, and returns the id of the new version.
    pub async fn next_version(&self, id: &str, score: f64) -> String {
        self.pass(3600);
        self.review(id, score).await;
        match self.refresh().await {
            Refreshed::Rebalanced { version_id, .. } => version_id,
            other => panic!("{other:?}"),
        }
    }

    pub async fn say(&self, version: &str, verb: Verb) -> SupportChange {
        let outcome = support::run(&self.test.app.db, &self.test.app.clock, version, &verb).await.unwrap();
        refresh::refresh(&self.test.app).await.unwrap();
        outcome
    }

    pub async fn retire(&self, version: &str, successor: &str) -> SupportChange {
        self.say(version, Verb::Retire { successor: successor.to_owned() }).await
    }

    /// The response at a path below the basket; `""` is the basket itself.
    pub async fn get(&self, rest: &str) -> Reply {
        self.test.get(&format!("/v1/baskets/{BASKET}{rest}")).await
    }

    /// Like [`World::get`] for a request that must succeed; returns `data`.
    pub async fn data(&self, rest: &str) -> Value {
        self.test.json(&format!("/v1/baskets/{BASKET}{rest}")).await["data"].clone()
    }

    /// Ids of the versions, newest first.
    pub async fn versions(&self) -> Vec<String> {
        let rows = self.data("/versions").await;
        rows.as_array().unwrap().iter().map(|row| row["version_id"].as_str().unwrap().to_owned()).collect()
    }

    /// The events for subscribers of baskets, in order: type and body.
    pub async fn captured_events(&self) -> Vec<(String, Value)> {
        let sql = "select family, convert_from(body, 'UTF8') from push_operation \
                   where family like 'basket.%' and stream_op is null order by id";
        let rows: Vec<(String, String)> = sqlx::query_as(sql).fetch_all(&self.test.facts.db.pool).await.unwrap();
        rows.into_iter().map(|(family, body)| (family, serde_json::from_str(&body).unwrap())).collect()
    }

    /// The chains of each operation that [`World::captured_events`] returns, in order.
    pub async fn captured_chains(&self) -> Vec<Vec<i64>> {
        let sql = "select chain_ids from push_operation where family like 'basket.%' and stream_op is null order by id";
        sqlx::query_scalar(sql).fetch_all(&self.test.facts.db.pool).await.unwrap()
    }
}

/// Ingests the five dollars and the basket's rules.
pub async fn populate(test: &TestApp) {
    test.ingest(&[registries(), definition(), rules("m1", "2026-01-01T00:00:00Z", json!({}))].concat()).await;
    test.ingest(&(0..MEMBERS.len()).map(asset).collect::<String>()).await;
    let now = Micros(test.app.clock.now()).to_string();
    test.ingest(&MEMBERS.iter().map(|(id, score)| review(id, &now, *score)).collect::<String>()).await;
}

pub fn rebalanced(version: &str, trigger: Trigger) -> Refreshed {
    Refreshed::Rebalanced { version_id: version.to_owned(), trigger }
}

/// The basket's line for ingest.
pub fn definition() -> String {
    line(
        "basket",
        "2026-01-01T00:00:00Z",
        json!({"id": BASKET, "name": "Dollars", "constituent_type": "asset", "is_basket_a": true}),
    )
}

/// The basket's rules, with the fields of `changed` replaced.
pub fn rules(version: &str, observed_at: &str, changed: Value) -> String {
    let mut fields = json!({
        "basket_id": BASKET, "version": version, "summary": "Invented dollars.", "doc_url": format!("https://rules.example/{version}"),
        "eligibility_rule": {"asset_category": ["cdp_stablecoin"], "tier": ["Core", "Prime"], "review_status": ["reviewed"]},
        "pivot": 5, "min_constituents": 3, "single_name_pct": 40, "issuer_pct": 60, "floor_pct": 2,
    });
    fields.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
    line("basket_methodology", observed_at, fields)
}

fn asset(number: usize) -> String {
    let (id, _) = MEMBERS[number];
    let chain = if id == ELSEWHERE { 8453 } else { 1 };
    let contract = address(0xb0 + u32::try_from(number).unwrap());
    line(
        "asset",
        "2026-11-01T00:00:00Z",
        json!({"id": id, "chain_id": chain, "address": contract, "symbol": id.to_uppercase(), "category": "cdp_stablecoin",
            "attestation_cadence": "monthly", "issuer": {"id": format!("{id}-trust"), "name": id}}),
    )
}

/// A review's line for ingest.
pub fn review(id: &str, observed_at: &str, score: f64) -> String {
    let dimensions: Value = [
        "peg_stability",
        "redeemability",
        "reserve_transparency",
        "governance_controls",
        "protocol_security",
        "liquidity",
        "dependency_depth",
    ]
    .into_iter()
    .map(|name| (name.to_owned(), json!(score)))
    .collect::<serde_json::Map<_, _>>()
    .into();
    line("asset_review", observed_at, json!({"asset_id": id, "review_status": "reviewed", "dimensions": dimensions}))
}
