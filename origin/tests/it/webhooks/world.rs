//! The service with subscribers: an organisation with keys, host names that resolve as a test says, and a journal that advances on command.

use crate::keys::operators::options;
use crate::support::receiver::{Receiver, authority_file};
use crate::support::testapp::{Reply, TestApp, TestOptions, signed_as};
use axum::http::StatusCode;
use rds_origin::app::App;
use rds_origin::keys;
use rds_origin::webhooks::egress_filter::{Looked, LookupError, Resolve};
use rds_origin::webhooks::{Egress, deliver, fanout};
use rds_shared::access::{Plan, Principal};
use rds_shared::push::signature::Secret;
use rds_store::push::journal;
use rds_store::push::operations::{self, OperationRow};
use rds_store::webhooks::deliveries::Capacity;
use rds_store::webhooks::fanout as webhook_fanout;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The master key that encrypts secrets in tests.
pub const MASTER_KEY: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";
/// The attempt deadline in tests about receivers that do not answer.
pub const IMPATIENT: Duration = Duration::from_millis(1_500);

/// The result of a look-up.
type Answer = Result<Vec<IpAddr>, LookupError>;

/// A resolver with scripted answers. Each look-up of a name returns the next answer; the last answer is repeated.
#[derive(Debug, Default)]
pub struct Names {
    answers: Mutex<HashMap<String, Vec<Answer>>>,
}

impl Names {
    /// From now on `name` resolves to these addresses, one list per look-up.
    pub fn lead(&self, name: &str, turns: &[&[&str]]) {
        let read = |turn: &&[&str]| Ok(turn.iter().map(|address| address.parse().unwrap()).collect());
        self.answers.lock().unwrap().insert(name.to_owned(), turns.iter().map(read).collect());
    }

    /// From now on the look-up of `name` fails.
    pub fn fail(&self, name: &str, error: LookupError) {
        self.answers.lock().unwrap().insert(name.to_owned(), vec![Err(error)]);
    }
}

impl Resolve for Names {
    fn look_up<'a>(&'a self, name: &'a str) -> Looked<'a> {
        Box::pin(async move {
            let mut answers = self.answers.lock().unwrap();
            let turns = answers.get_mut(name).ok_or(LookupError::NoAddress)?;
            if turns.len() > 1 { turns.remove(0) } else { turns[0].clone() }
        })
    }
}

/// The service under test with its resolver and a key.
pub struct World {
    pub test: TestApp,
    /// The resolver of receivers' host names; a test sets its answers.
    pub names: Arc<Names>,
    /// The key that creates the subscriptions.
    pub key: Principal,
}

impl World {
    /// A service with the documented deadline.
    pub async fn new() -> Self {
        Self::patient_for(Duration::from_secs(10)).await
    }

    /// A service with this deadline for receivers.
    pub async fn patient_for(deadline: Duration) -> Self {
        let names = Arc::new(Names::default());
        let outward = Egress { resolver: names.clone(), deadline };
        let env = vec![
            ("RDS_MASTER_KEY", MASTER_KEY),
            ("RDS_WEBHOOK_ALLOW", "127.0.0.0/8"),
            ("RDS_WEBHOOK_CA", authority_file()),
        ];
        let test = TestApp::with(TestOptions { env, outward: Some(outward), ..TestOptions::default() }).await;
        webhook_fanout::join(&test.app.db).await.unwrap();
        let key = minted(&test, "Acme", Plan::Decisioning).await;
        World { test, names, key }
    }

    pub fn app(&self) -> &Arc<App> {
        &self.test.app
    }

    /// Another key, of the organisation with this name.
    pub async fn other_key(&self, org: &str) -> Principal {
        minted(&self.test, org, Plan::Embedded).await
    }

    /// Sends a request as the holder of `key`.
    pub async fn ask_as(&self, key: &Principal, method: &str, target: &str, body: &str) -> Reply {
        self.test.ask(signed_as(&key.to_json(), method, target, body)).await
    }

    /// Sends a request as the holder of the default key, which must succeed. Returns the response's `data`.
    pub async fn ask(&self, method: &str, target: &str) -> Value {
        let reply = self.ask_as(&self.key, method, target, "").await;
        assert_eq!(reply.status, StatusCode::OK, "{target}: {}", reply.text());
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        reply.json()["data"].clone()
    }

    /// Subscribes `url` to published events. Returns the subscription's id and secret.
    pub async fn subscribe(&self, url: &str) -> (i64, Secret) {
        self.subscribe_to(url, &["event.published"]).await
    }

    /// Subscribes `url` to these event types.
    pub async fn subscribe_to(&self, url: &str, families: &[&str]) -> (i64, Secret) {
        let body = json!({ "url": url, "families": families }).to_string();
        let reply = self.ask_as(&self.key, "POST", "/v1/webhooks", &body).await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
        let data = &reply.json()["data"];
        (data["id"].as_i64().unwrap(), Secret::parse(data["secret"].as_str().unwrap()).unwrap())
    }

    /// Subscribes a receiver to published events.
    pub async fn subscribed(&self, receiver: &Receiver) -> (i64, Secret) {
        self.subscribe(&receiver.url()).await
    }

    /// Captures one operation of the event type `family` and numbers it.
    pub async fn happens(&self, family: &str, title: &str) {
        self.happens_on(&[], family, title).await;
    }

    /// Captures one operation of the event type `family` about these chains, and numbers it.
    pub async fn happens_on(&self, chains: &[i64], family: &str, title: &str) {
        self.captured_on(chains, family, title).await;
        self.number().await;
    }

    /// Captures one operation of the event type `family`, for a service that numbers by itself.
    pub async fn captured(&self, family: &str, title: &str) {
        self.captured_on(&[], family, title).await;
    }

    async fn captured_on(&self, chains: &[i64], family: &str, title: &str) {
        let row = OperationRow {
            family: Some(family.parse().unwrap()),
            stream_op: Some("published"),
            event_id: "7".to_owned(),
            vault_ids: Vec::new(),
            chain_ids: chains.to_vec(),
            body: json!({ "id": 7, "title": title }).to_string(),
        };
        let now = self.app().clock.now().into();
        self.app()
            .db
            .run_tx("capture", |tx| {
                let row = row.clone();
                Box::pin(async move { operations::append(tx, now, &[row]).await })
            })
            .await
            .unwrap();
    }

    /// Numbers the captured operations.
    pub async fn number(&self) {
        let mut connection = self.app().db.pool.acquire().await.unwrap();
        journal::tick(&mut connection, self.app().clock.now()).await.unwrap();
    }

    /// Fans out the journal's new operations. Returns the number of new deliveries.
    pub async fn fan_out(&self) -> u64 {
        fanout::step(&self.app().db, self.app().clock.now(), Capacity::whole(0)).await.unwrap().enqueued
    }

    /// Makes every attempt that is due. Returns their number.
    pub async fn deliver(&self) -> usize {
        deliver::round(self.app()).await.unwrap()
    }

    /// Captures an event, fans it out, and makes every attempt that is due. Returns the number of attempts.
    pub async fn tell(&self, title: &str) -> usize {
        self.happens("event.published", title).await;
        self.fan_out().await;
        self.deliver().await
    }

    /// The subscription, as its owner sees it.
    pub async fn subscription(&self, id: i64) -> Value {
        self.ask("GET", &format!("/v1/webhooks/{id}")).await
    }

    /// A subscription's deliveries, newest first.
    pub async fn deliveries(&self, id: i64) -> Vec<Value> {
        self.ask("GET", &format!("/v1/webhooks/{id}/deliveries")).await.as_array().unwrap().clone()
    }

    pub fn pass(&self, seconds: i64) {
        self.app().clock.advance(seconds);
    }

    /// The number that a statement returns.
    pub async fn count(&self, sql: &str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&self.app().db.pool).await.unwrap()
    }
}

async fn minted(test: &TestApp, org: &str, plan: Plan) -> Principal {
    let minted = keys::mint(&test.app.db, &test.app.clock, &options(org, plan)).await.unwrap();
    let org_id: i64 = sqlx::query_scalar("select org_id from api_key where id = $1")
        .bind(minted.id)
        .fetch_one(&test.app.db.pool)
        .await
        .unwrap();
    Principal::Key { id: minted.id, org_id, plan }
}
