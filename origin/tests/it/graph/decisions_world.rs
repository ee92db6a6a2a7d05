//! A service with a graph and a signing key, and an organisation that checks portfolios.

use crate::graph::world::{self, batches};
use crate::keys::operators::options;
use crate::support::db::TestDb;
use crate::support::testapp::{Reply, TestApp, TestOptions, signed_as};
use axum::http::StatusCode;
use rds_origin::decisions::signer_registry::{self, Changed};
use rds_origin::graph::follow;
use rds_origin::keys;
use rds_shared::access::{Plan, Principal};
use rds_shared::graph::evidence::Evidence;
use rds_shared::graph::verification::Verification;
use rds_shared::model::content_hash::ContentHash;
use rds_shared::model::ids::{Address, Namespace};
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};

/// The service's signing key; [`SIGNER`] is its address.
pub const SECRET: &str = "1111111111111111111111111111111111111111111111111111111111111111";
pub const SIGNER: &str = "0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a";
/// The signing key of another process; [`OTHER_SIGNER`] is its address.
pub const OTHER_SECRET: &str = "2222222222222222222222222222222222222222222222222222222222222222";
pub const OTHER_SIGNER: &str = "0x1563915e194d8cfba1943570603f7606a3115508";

/// The service and its caller.
pub struct World {
    pub test: TestApp,
    /// The organisation's key.
    pub key: Principal,
}

impl World {
    /// A market with a graph, and a registry with the service's key.
    pub async fn new() -> Self {
        let test = TestApp::with(signing_with(SECRET)).await;
        for batch in batches() {
            test.ingest(&batch).await;
        }
        world::build(&test).await;
        activate(&test, "first", SIGNER).await;
        let key = minted(&test, "Acme").await;
        World { test, key }
    }

    /// Another process with the same database, with another key or none.
    pub async fn another_process(&self, options: TestOptions) -> Self {
        let test = TestApp::over(TestDb::guest(&self.test.facts).await, options).await;
        follow::refresh(&test.app).await.unwrap();
        World { test, key: self.key.clone() }
    }

    /// Sends a check; returns the response.
    pub async fn ask(&self, body: &Value) -> Reply {
        self.ask_as(&self.key, body).await
    }

    /// Like [`World::ask`], as another caller.
    pub async fn ask_as(&self, caller: &Principal, body: &Value) -> Reply {
        self.test.ask(signed_as(&caller.to_json(), "POST", "/v1/graph/check", &body.to_string())).await
    }

    /// Sends a check that must succeed; returns `data`.
    pub async fn check(&self, body: &Value) -> Value {
        let reply = self.ask(body).await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        reply.json()["data"].clone()
    }

    /// Checks [`portfolio`] `name` and requests a decision; returns it, or null if none was signed.
    pub async fn issued(&self, name: &str) -> Value {
        self.check(&portfolio(name, true)).await["decision"].clone()
    }

    /// The evidence of a decision as the edge gets it.
    pub async fn evidence(&self, id: &str) -> Reply {
        self.test.get(&format!("/v1/graph/decision/{id}/verify")).await
    }

    /// The result of verifying a decision's evidence.
    pub async fn verified(&self, id: &str) -> Verification {
        let reply = self.evidence(id).await;
        Evidence::parse(&reply.body).unwrap().verify(ContentHash::parse(id).unwrap())
    }

    pub fn advance(&self, seconds: i64) {
        assert!(self.test.app.clock.advance(seconds));
    }

    pub fn now(&self) -> Timestamp {
        self.test.app.clock.now()
    }
}

/// Options for a service with the graph and this signing key.
pub fn signing_with(secret: &'static str) -> TestOptions {
    TestOptions { env: vec![("RDS_GRAPH", "1"), ("RDS_SIGNING_KEY", secret)], ..TestOptions::default() }
}

/// A portfolio with this name and a thousand dollars in the market's first vault.
pub fn portfolio(name: &str, issue: bool) -> Value {
    json!({
        "portfolioRef": name,
        "positions": [{ "vaultKey": world::key(0), "amountUsd": 1000 }],
        "limits": { "maxSharePerCurator": 1 },
        "issue": issue,
    })
}

/// Activates a signing key as of the Unix epoch.
pub async fn activate(test: &TestApp, name: &str, address: &str) {
    let address = Address::parse(Namespace::Evm, address).unwrap();
    let changed = signer_registry::activate(&test.app.db, name, &address, Timestamp::from_seconds(0)).await.unwrap();
    assert!(matches!(changed, Changed::Done(_)), "{changed:?}");
}

/// A new key of an organisation.
pub async fn minted(test: &TestApp, org: &str) -> Principal {
    let plan = Plan::Decisioning;
    let minted = keys::mint(&test.app.db, &test.app.clock, &options(org, plan)).await.unwrap();
    let org_id = sqlx::query_scalar("select id from organisation where name = $1").bind(org);
    Principal::Key { id: minted.id, org_id: org_id.fetch_one(&test.app.db.pool).await.unwrap(), plan }
}
