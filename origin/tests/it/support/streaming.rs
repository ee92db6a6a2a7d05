//! A running service with open listeners and jobs, and functions that publish operations in it.

use crate::keys::operators::options;
use crate::support::chaos::ChaosProxy;
use crate::support::db::TestDb;
use crate::support::testapp::{TestApp, TestOptions};
use rds_engine::clock::Clock;
use rds_origin::app::App;
use rds_origin::edge_link::EdgeLink;
use rds_origin::http::listeners::{Addresses, Listeners};
use rds_origin::jobs::Jobs;
use rds_origin::keys::{self, CreateKey, Minted};
use rds_shared::access::Plan;
use rds_shared::push::event_type::EventType;
use rds_shared::push::timeline::StepEntropy;
use rds_store::Db;
use rds_store::push::operations::{self, OperationRow};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The random input of a step taken now.
pub fn draw() -> StepEntropy {
    rds_origin::journal::draw(&Clock::system())
}

/// Longest time that a test waits for something that must happen.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// One process of the service.
pub struct Serving {
    pub app: Arc<App>,
    /// Addresses of the open listeners.
    pub listeners: Addresses,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<()>,
    jobs: Option<Jobs>,
}

impl Serving {
    /// Opens the listeners of `test` and starts its jobs.
    pub async fn of(test: &TestApp) -> Self {
        Self::beside_an_edge(test, None).await
    }

    /// Like [`Serving::of`], with a link to an edge.
    pub async fn beside_an_edge(test: &TestApp, link: Option<Arc<EdgeLink>>) -> Self {
        let jobs = Jobs::start(&test.app, link);
        let listeners = Listeners::bind(&test.config).await.unwrap();
        let (addresses, server) = (listeners.addresses().unwrap(), test.server.clone());
        let (stop, stopped) = oneshot::channel::<()>();
        let served = tokio::spawn(async move {
            listeners
                .serve(server, async {
                    let _ = stopped.await;
                })
                .await;
        });
        let serving =
            Serving { app: test.app.clone(), listeners: addresses, stop: Some(stop), served, jobs: Some(jobs) };
        serving.is_following().await;
        serving
    }

    /// Waits until the tailer follows the journal.
    async fn is_following(&self) {
        eventually("the journal is followed", async || {
            // The first signal means that the ring has its starting position.
            *self.app.journal.signals().borrow() > 0
        })
        .await;
    }

    /// Stops as on SIGTERM, and waits until the listeners are closed.
    pub async fn stop(mut self) {
        let _ = self.stop.take().unwrap().send(());
        self.served.await.unwrap();
        self.jobs.take().unwrap().stop().await;
    }

    /// Stops as on SIGKILL, without draining.
    pub async fn kill(mut self) {
        self.jobs.take().unwrap().stop().await;
        self.served.abort();
        assert!(self.served.await.is_err());
    }
}

/// A service over a fresh database, with open listeners.
pub async fn service() -> (TestApp, Serving) {
    service_as(Vec::new()).await
}

/// Like [`service`], with more environment variables.
pub async fn service_as(mut env: Vec<(&'static str, &'static str)>) -> (TestApp, Serving) {
    env.push(("RDS_SCORE_EVERY_SECONDS", "0"));
    let test = TestApp::with(TestOptions { env, ..TestOptions::default() }).await;
    let serving = Serving::of(&test).await;
    (test, serving)
}

/// A service whose connection to the database a test can cut.
pub async fn service_over_a_wire() -> (TestApp, Serving, ChaosProxy) {
    let facts = TestDb::new().await;
    let wire = ChaosProxy::before(&facts.url).await;
    let env = vec![("RDS_SCORE_EVERY_SECONDS", "0")];
    let test = TestApp::over(facts, TestOptions { database: Some(wire.url()), env, ..TestOptions::default() }).await;
    let serving = Serving::of(&test).await;
    (test, serving, wire)
}

/// Another process over the same database, with a clock of its own that is set to the same time.
pub async fn beside(test: &TestApp) -> (TestApp, Serving) {
    let facts = TestDb::guest(&test.facts).await;
    let env = vec![("RDS_SCORE_EVERY_SECONDS", "0")];
    let test = TestApp::over(facts, TestOptions { env, ..TestOptions::default() }).await;
    let serving = Serving::of(&test).await;
    (test, serving)
}

/// A key of plan `data` with a practically unlimited rate.
pub async fn key(test: &TestApp) -> Minted {
    let options = CreateKey { rpm: Some(1_000_000), ..options("Acme", Plan::Data) };
    keys::mint(&test.app.db, &test.app.clock, &options).await.unwrap()
}

/// A vault's id, by its number.
pub fn vault(number: u32) -> String {
    format!("aave-1-0x{number:040x}")
}

/// An operation about `vaults` with the title `text`.
pub fn operation(text: &str, vaults: &[String]) -> OperationRow {
    OperationRow {
        family: Some(EventType::EventPublished),
        stream_op: Some("published"),
        event_id: "7".to_owned(),
        vault_ids: vaults.to_vec(),
        chain_ids: vec![1],
        body: serde_json::json!({ "id": "7", "title": text }).to_string(),
    }
}

/// Commits operations about no vault, with these titles.
pub async fn publish(test: &TestApp, texts: impl IntoIterator<Item = impl AsRef<str>>) {
    publish_rows(test, texts.into_iter().map(|text| operation(text.as_ref(), &[])).collect()).await;
}

/// Commits `rows` in one transaction.
pub async fn publish_rows(test: &TestApp, rows: Vec<OperationRow>) {
    let mut tx = test.app.db.pool.begin().await.unwrap();
    operations::append(&mut tx, test.app.clock.now().into(), &rows).await.unwrap();
    tx.commit().await.unwrap();
    test.app.journal.committed();
}

/// The journal's highest sequence number.
pub async fn head(db: &Db) -> u64 {
    let head: i64 = sqlx::query_scalar("SELECT head FROM journal_state").fetch_one(&db.pool).await.unwrap();
    head.unsigned_abs()
}

/// Commits operations, and waits until they are numbered and this process has read them.
pub async fn published(test: &TestApp, texts: impl IntoIterator<Item = impl AsRef<str>>) {
    let before = head(&test.app.db).await;
    let texts: Vec<String> = texts.into_iter().map(|text| text.as_ref().to_owned()).collect();
    let count = texts.len() as u64;
    publish(test, texts).await;
    eventually("operations are numbered", async || test.app.journal.ring.tail() >= before + count).await;
}

/// Polls `is_so` until it returns true. Fails after [`PATIENCE`].
pub async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waited = timeout(PATIENCE, async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "timed out while waiting until {what}");
}

/// The same service restarted over the same database.
pub async fn again(test: TestApp) -> (TestApp, Serving) {
    let now = test.app.clock.now();
    let again = TestApp::over(
        test.facts,
        TestOptions { env: vec![("RDS_SCORE_EVERY_SECONDS", "0")], ..TestOptions::default() },
    )
    .await;
    again.app.clock.set(now);
    let serving = Serving::of(&again).await;
    (again, serving)
}
