//! Stream clients that read as fast or as slowly as a test requires.

use crate::support::streaming::{PATIENCE, Serving, key};
use crate::support::testapp::TestApp;
use rds_origin::keys::Minted;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// A parsed frame of a stream (server-sent events).
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
    /// The text of a comment frame.
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

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The title in the operation's body.
    pub fn title(&self) -> String {
        self.json()["title"].as_str().unwrap().to_owned()
    }

    /// The sequence number in the frame's id.
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

/// A request for a stream.
#[derive(Debug, Clone, Default)]
pub struct Ask {
    /// Query string with its `?`.
    pub query: String,
    /// Names and values of the request's headers.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Receive buffer of the client's socket in bytes; 0 is the system's default.
    pub receive_buffer: u32,
    /// `None` means GET.
    pub method: Option<&'static str>,
    /// Uses HTTP/1.0.
    pub old: bool,
}

impl Ask {
    /// A request with a key.
    pub fn with(key: &Minted) -> Self {
        Ask::default().header("authorization", format!("Bearer {}", key.key))
    }

    pub fn header(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Adds the cursor to resume after.
    pub fn after(self, cursor: impl Into<Vec<u8>>) -> Self {
        self.header("last-event-id", cursor)
    }

    /// Sets the query string, without its `?`.
    pub fn query(mut self, query: &str) -> Self {
        self.query = format!("?{query}");
        self
    }

    /// Sends the request to the relay listener and reads the head of the response.
    pub async fn at(&self, serving: &Serving) -> Client {
        let socket = TcpSocket::new_v4().unwrap();
        if self.receive_buffer > 0 {
            socket.set_recv_buffer_size(self.receive_buffer).unwrap();
        }
        let mut stream = socket.connect(serving.listeners.relay).await.unwrap();
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

    /// Like [`Ask::at`], but the stream must be admitted. Reads its `ready` frame.
    pub async fn opened(&self, serving: &Serving) -> Client {
        let mut client = self.at(serving).await;
        if client.status() != 200 {
            panic!("{} {}", client.head.clone(), client.rest().await);
        }
        assert_eq!(client.next().await.event, "ready");
        client
    }
}

/// Opens a thousand streams, as many as five keys may have.
pub async fn a_thousand(test: &TestApp, serving: &Serving) -> Vec<Client> {
    let mut clients = Vec::with_capacity(1_000);
    for _ in 0..5 {
        let key = key(test).await;
        for _ in 0..200 {
            clients.push(Ask::with(&key).opened(serving).await);
        }
    }
    clients
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

    /// The HTTP status code of the response.
    pub fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// A header's value, lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    async fn read_some(&mut self) -> bool {
        let mut piece = [0; 16 << 10];
        match timeout(PATIENCE, self.stream.read(&mut piece)).await.expect("bytes or the end within PATIENCE") {
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

    /// Moves complete chunks from `raw` to `body`.
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
                    assert_eq!(self.body, "", "the last frame is incomplete");
                    return None;
                }
            }
        }
    }

    /// The next frame that is not a comment.
    pub async fn next(&mut self) -> Frame {
        loop {
            let frame = self.frame().await.expect("the stream goes on");
            if frame.comment.is_none() {
                return frame;
            }
        }
    }

    /// The next operation frame. Skips cursor frames and fails on any other.
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

    /// The body of a response that is not a stream.
    pub async fn rest(&mut self) -> String {
        if self.chunked {
            return String::from("(a stream)");
        }
        let length: usize = self.header("content-length").unwrap_or("0").parse().unwrap();
        while self.raw.len() < length && self.read_some().await {}
        String::from_utf8(self.raw.clone()).unwrap()
    }

    /// Whether the connection is closed and no more frames arrive.
    pub async fn has_ended(&mut self) -> bool {
        self.frame().await.is_none()
    }
}
