//! A service whose doors are open and whose jobs run, and clients that read its stream byte by byte.

use crate::db::TestDb;
use crate::keys_operators::wish;
use crate::testapp::{TestApp, Wish};
use rds_origin::app::App;
use rds_origin::http::listeners::{Addresses, Listeners};
use rds_origin::jobs::Jobs;
use rds_origin::keys::{self, KeyWish, Minted};
use rds_origin::store::Db;
use rds_origin::store::push_operations::{self, OperationRow};
use rds_shared::access::Plan;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long a test waits for what must come.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// One process of the service.
pub struct Serving {
    /// The service.
    pub app: Arc<App>,
    /// Its doors.
    pub doors: Addresses,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<()>,
    jobs: Option<Jobs>,
}

impl Serving {
    /// Opens the doors of `test`, and starts its jobs.
    pub async fn of(test: &TestApp) -> Self {
        let jobs = Jobs::start(&test.app, None);
        let listeners = Listeners::bind(&test.config).await.unwrap();
        let (doors, app) = (listeners.addresses().unwrap(), test.app.clone());
        let (stop, stopped) = oneshot::channel::<()>();
        let served = tokio::spawn(async move {
            listeners
                .serve(app, async {
                    let _ = stopped.await;
                })
                .await;
        });
        let serving = Serving { app: test.app.clone(), doors, stop: Some(stop), served, jobs: Some(jobs) };
        serving.is_following().await;
        serving
    }

    /// Waits until the tailer has found its place.
    async fn is_following(&self) {
        eventually("the journal is followed", async || {
            let head = head(&self.app.db).await;
            self.app.journal.ring.tail() >= head
        })
        .await;
    }

    /// Stops as on SIGTERM, and waits for the doors to close.
    pub async fn stop(mut self) {
        let _ = self.stop.take().unwrap().send(());
        self.served.await.unwrap();
        self.jobs.take().unwrap().stop().await;
    }

    /// Stops as on SIGKILL: nothing is said to anybody.
    pub async fn kill(mut self) {
        self.served.abort();
        self.jobs.take().unwrap().stop().await;
    }
}

/// A service over a fresh database, with its doors open.
pub async fn service() -> (TestApp, Serving) {
    service_as(Vec::new()).await
}

/// The same with more variables.
pub async fn service_as(mut env: Vec<(&'static str, &'static str)>) -> (TestApp, Serving) {
    env.push(("RDS_SCORE_EVERY_SECONDS", "0"));
    let test = TestApp::with(Wish { env, ..Wish::default() }).await;
    let serving = Serving::of(&test).await;
    (test, serving)
}

/// Another process over the same database, with a clock of its own that stands at the same time.
pub async fn beside(test: &TestApp) -> (TestApp, Serving) {
    let facts = TestDb::guest(&test.facts).await;
    let env = vec![("RDS_SCORE_EVERY_SECONDS", "0")];
    let test = TestApp::over(facts, Wish { env, ..Wish::default() }).await;
    let serving = Serving::of(&test).await;
    (test, serving)
}

/// A key of plan `data` that may ask as often as a test likes.
pub async fn key(test: &TestApp) -> Minted {
    let wish = KeyWish { rpm: Some(1_000_000), ..wish("Acme", Plan::Data) };
    keys::mint(&test.app.db, &test.app.clock, &wish).await.unwrap()
}

/// A vault's id, one a number.
pub fn vault(number: u32) -> String {
    format!("aave-1-0x{number:040x}")
}

/// An operation about `vaults`, whose body says `text`.
pub fn operation(text: &str, vaults: &[String]) -> OperationRow {
    OperationRow {
        family: Some("event.published"),
        stream_op: Some("published"),
        event_id: "7".to_owned(),
        vault_ids: vaults.to_vec(),
        chain_ids: vec![1],
        body: serde_json::json!({ "id": "7", "title": text }).to_string(),
    }
}

/// Commits operations whose bodies say `texts`, about no vault.
pub async fn publish(test: &TestApp, texts: impl IntoIterator<Item = impl AsRef<str>>) {
    publish_rows(test, texts.into_iter().map(|text| operation(text.as_ref(), &[])).collect()).await;
}

/// Commits `rows` in one transaction.
pub async fn publish_rows(test: &TestApp, rows: Vec<OperationRow>) {
    let mut tx = test.app.db.pool.begin().await.unwrap();
    push_operations::append(&mut tx, test.app.clock.now().into(), &rows).await.unwrap();
    tx.commit().await.unwrap();
    test.app.journal.committed();
}

/// The journal's head.
pub async fn head(db: &Db) -> u64 {
    let head: i64 = sqlx::query_scalar("SELECT head FROM journal_state").fetch_one(&db.pool).await.unwrap();
    head.unsigned_abs()
}

/// Commits operations and waits until they have their numbers, and this process has read them.
pub async fn published(test: &TestApp, texts: impl IntoIterator<Item = impl AsRef<str>>) {
    let before = head(&test.app.db).await;
    let texts: Vec<String> = texts.into_iter().map(|text| text.as_ref().to_owned()).collect();
    let count = texts.len() as u64;
    publish(test, texts).await;
    eventually("operations are numbered", async || test.app.journal.ring.tail() >= before + count).await;
}

/// Waits until `is_so`.
pub async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waited = timeout(PATIENCE, async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "in vain: {what}");
}

/// A frame as a client understands it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// The `id` line.
    pub id: Option<String>,
    /// The `event` line; empty for a comment.
    pub event: String,
    /// The `data` lines.
    pub data: String,
    /// The `retry` line.
    pub retry: Option<String>,
    /// A comment.
    pub comment: Option<String>,
}

impl Frame {
    fn parse(block: &str) -> Self {
        let mut frame = Frame::default();
        for line in block.lines() {
            match line.split_once(": ").or_else(|| line.split_once(':')).unwrap() {
                ("", comment) => frame.comment = Some(comment.trim().to_owned()),
                ("id", value) => frame.id = Some(value.to_owned()),
                ("event", value) => frame.event = value.to_owned(),
                ("data", value) => frame.data = value.to_owned(),
                ("retry", value) => frame.retry = Some(value.to_owned()),
                (name, _) => panic!("a line of an unknown field {name:?} in {block:?}"),
            }
        }
        frame
    }

    /// The body.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// What the operation's body says.
    pub fn title(&self) -> String {
        self.json()["title"].as_str().unwrap().to_owned()
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.id.as_ref().unwrap().strip_prefix("v2:").unwrap().parse().unwrap()
    }
}

/// A connection that asked for a stream.
pub struct Client {
    stream: TcpStream,
    /// The status line and headers, lower case.
    pub head: String,
    raw: Vec<u8>,
    body: String,
    chunked: bool,
    ended: bool,
}

/// What a client asks with.
#[derive(Debug, Clone, Default)]
pub struct Ask {
    /// Behind the path, with its `?`.
    pub query: String,
    /// Header lines.
    pub headers: Vec<(String, Vec<u8>)>,
    /// How much the client's kernel takes for it; the system's default at 0.
    pub receive_buffer: u32,
    /// GET unless another is named.
    pub method: Option<&'static str>,
    /// HTTP/1.0.
    pub old: bool,
}

impl Ask {
    /// With a key.
    pub fn with(key: &Minted) -> Self {
        Ask::default().header("authorization", format!("Bearer {}", key.key))
    }

    /// And a header.
    pub fn header(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// And where to go on.
    pub fn after(self, cursor: impl Into<Vec<u8>>) -> Self {
        self.header("last-event-id", cursor)
    }

    /// And a query.
    pub fn query(mut self, query: &str) -> Self {
        self.query = format!("?{query}");
        self
    }

    /// At the relay's door.
    pub async fn at(&self, serving: &Serving) -> Client {
        let socket = TcpSocket::new_v4().unwrap();
        if self.receive_buffer > 0 {
            socket.set_recv_buffer_size(self.receive_buffer).unwrap();
        }
        let mut stream = socket.connect(serving.doors.relay).await.unwrap();
        let (method, version) = (self.method.unwrap_or("GET"), if self.old { "1.0" } else { "1.1" });
        let mut request =
            format!("{method} /v1/events/stream{} HTTP/{version}\r\nhost: relay\r\n", self.query).into_bytes();
        for (name, value) in &self.headers {
            request.extend_from_slice(format!("{name}: ").as_bytes());
            request.extend_from_slice(value);
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"\r\n");
        stream.write_all(&request).await.unwrap();
        let mut client =
            Client { stream, head: String::new(), raw: Vec::new(), body: String::new(), chunked: false, ended: false };
        client.read_head().await;
        client
    }

    /// The same, which must be admitted; the `ready` frame has been read.
    pub async fn opened(&self, serving: &Serving) -> Client {
        let mut client = self.at(serving).await;
        if client.status() != 200 {
            panic!("{} {}", client.head.clone(), client.rest().await);
        }
        assert_eq!(client.next().await.event, "ready");
        client
    }
}

impl Client {
    async fn read_head(&mut self) {
        loop {
            if let Some(end) = self.raw.windows(4).position(|four| four == b"\r\n\r\n") {
                self.head = String::from_utf8(self.raw.drain(..end + 4).collect()).unwrap().to_lowercase();
                self.chunked = self.head.contains("transfer-encoding: chunked");
                return;
            }
            assert!(self.read_some().await, "the connection ended before an answer came");
        }
    }

    /// The status.
    pub fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// A header's value, lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    async fn read_some(&mut self) -> bool {
        let mut piece = [0; 16 << 10];
        match timeout(PATIENCE, self.stream.read(&mut piece)).await.expect("something comes") {
            Ok(0) | Err(_) => {
                self.ended = true;
                false
            }
            Ok(count) => {
                self.raw.extend_from_slice(&piece[..count]);
                true
            }
        }
    }

    /// Moves whole chunks from the wire to the body.
    fn unpack(&mut self) {
        if !self.chunked {
            self.body.push_str(&String::from_utf8(std::mem::take(&mut self.raw)).unwrap());
            return;
        }
        while let Some(end) = self.raw.windows(2).position(|two| two == b"\r\n") {
            let size = usize::from_str_radix(std::str::from_utf8(&self.raw[..end]).unwrap(), 16).unwrap();
            if self.raw.len() < end + size + 4 {
                return;
            }
            let chunk: Vec<u8> = self.raw.drain(..end + size + 4).skip(end + 2).take(size).collect();
            self.body.push_str(&String::from_utf8(chunk).unwrap());
            self.ended |= size == 0;
        }
    }

    /// The next frame, comments included; `None` when the stream has ended.
    pub async fn frame(&mut self) -> Option<Frame> {
        loop {
            self.unpack();
            if let Some(end) = self.body.find("\n\n") {
                let block: String = self.body.drain(..end + 2).collect();
                return Some(Frame::parse(block.trim_end_matches('\n')));
            }
            if self.ended || !self.read_some().await {
                self.unpack();
                if !self.body.contains("\n\n") {
                    assert_eq!(self.body, "", "no frame is cut off");
                    return None;
                }
            }
        }
    }

    /// The next frame that is no comment.
    pub async fn next(&mut self) -> Frame {
        loop {
            let frame = self.frame().await.expect("the stream goes on");
            if frame.comment.is_none() {
                return frame;
            }
        }
    }

    /// The next operation frame; cursors are passed over, and nothing else may come.
    pub async fn operation(&mut self) -> Frame {
        loop {
            let frame = self.next().await;
            match frame.event.as_str() {
                "cursor" => {}
                "published" | "promoted" | "retracted" => return frame,
                _ => panic!("{frame:?}"),
            }
        }
    }

    /// The titles of the next `count` operations.
    pub async fn titles(&mut self, count: usize) -> Vec<String> {
        let mut titles = Vec::with_capacity(count);
        for _ in 0..count {
            titles.push(self.operation().await.title());
        }
        titles
    }

    /// Everything until the stream ends.
    pub async fn all(&mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.frame().await {
            frames.push(frame);
        }
        frames
    }

    /// A finite answer's body.
    pub async fn rest(&mut self) -> String {
        if self.chunked {
            return String::from("(a stream)");
        }
        let length: usize = self.header("content-length").unwrap_or("0").parse().unwrap();
        while self.raw.len() < length && self.read_some().await {}
        String::from_utf8(self.raw.clone()).unwrap()
    }

    /// Whether nothing more comes and the connection is closed.
    pub async fn has_ended(&mut self) -> bool {
        self.frame().await.is_none()
    }
}

/// The same service started anew over the same database.
pub async fn again(test: TestApp) -> (TestApp, Serving) {
    let now = test.app.clock.now();
    let again =
        TestApp::over(test.facts, Wish { env: vec![("RDS_SCORE_EVERY_SECONDS", "0")], ..Wish::default() }).await;
    again.app.clock.set(now);
    let serving = Serving::of(&again).await;
    (again, serving)
}
