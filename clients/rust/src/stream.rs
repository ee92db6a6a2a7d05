//! The event stream: it reconnects by itself, goes on after the last frame that was processed, and hands over gaps as values.

use crate::call::Call;
use crate::error::Error;
use crate::frame::{Frame, FrameData};
use crate::retry::{doubled, is_temporary};
use crate::send::{api_error, whole};
use crate::sse::{SseEvent, SseParser};
use crate::transport::Body;
use bytes::Bytes;
use futures_core::Stream;
use futures_util::{TryStreamExt as _, stream};
use http::HeaderValue;
use http::header::ACCEPT;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

/// The first wait after a failed connection, at most; it doubles with each failure in a row.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// A stream before it is opened.
///
/// ```
/// # rds_recorded::run(async |client| {
/// use risk_data_client::{FrameData, types::EventStreamParams};
/// let mut stream = client.events().stream(EventStreamParams::default()).cursor("v2:42").open();
/// while let Some(frame) = stream.try_next().await? {
///     match frame.data {
///         FrameData::Published(event) => println!("{}", event.title),
///         FrameData::Gap(gap) => eprintln!("operations were left out: {}", gap.reason),
///         _ => {}
///     }
/// #   break;
/// }
/// println!("{:?}", stream.cursor());
/// # Ok(()) })
/// ```
#[derive(Clone, Debug)]
#[must_use = "call `open`"]
pub struct Listen {
    call: Call,
    cursor: Option<String>,
    max_retries: Option<u32>,
    idle: Duration,
}

impl Listen {
    pub(crate) fn new(mut call: Call) -> Self {
        let since = call.query.remove("since");
        let cursor = since.and_then(|it| it.as_str().map(str::to_owned));
        Listen { call, cursor, max_retries: None, idle: Duration::from_secs(60) }
    }

    /// The cursor after which to begin: the `id` of the last frame that you processed. Default: new events.
    pub fn cursor(mut self, cursor: impl Into<String>) -> Self {
        self.cursor = Some(cursor.into());
        self
    }

    /// How many connections may fail in a row. Default: no bound.
    pub fn max_retries(mut self, most: u32) -> Self {
        self.max_retries = Some(most);
        self
    }

    /// Time without a byte after which the connection counts as broken. The service sends one every 20 seconds. Default: 60 seconds.
    pub fn idle_timeout(mut self, time: Duration) -> Self {
        self.idle = time;
        self
    }

    /// For relays: the IP address of the end viewer, whose streams are counted.
    pub fn client_ip(self, ip: impl fmt::Display) -> Self {
        self.header("x-service-client-ip", ip.to_string())
    }

    /// Whether unknown parameters and filter values are refused instead of ignored. Default: that of the client.
    pub fn strict(mut self, strict: bool) -> Self {
        self.call.options.strict(strict);
        self
    }

    /// One more header.
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.call.options.header(name, value.into());
        self
    }

    /// The stream. It connects when it is polled.
    pub fn open(self) -> EventStream {
        let place = Place { cursor: self.cursor.clone(), ..Place::default() };
        let place = Arc::new(Mutex::new(place));
        let state = Listening {
            listen: self,
            place: Arc::clone(&place),
            connection: None,
            events: VecDeque::new(),
            wait: None,
        };
        let frames = stream::try_unfold(state, async |mut state| Ok(Some((state.next().await?, state))));
        EventStream { inner: Box::pin(frames), place }
    }
}

/// The event stream. It ends only when you drop it, or with an error that a retry would not help.
///
/// The cursor moves when you ask for the next frame, so a frame whose processing fails is delivered again after a resume.
#[must_use = "streams do nothing unless polled"]
pub struct EventStream {
    inner: Pin<Box<dyn Stream<Item = Result<Frame, Error>> + Send>>,
    place: Arc<Mutex<Place>>,
}

impl EventStream {
    /// Your position: store it, and give it to [`Listen::cursor`] to go on after a restart.
    pub fn cursor(&self) -> Option<String> {
        locked(&self.place).cursor.clone()
    }

    /// Says that the last frame was processed, which moves the cursor at once instead of with the next frame.
    pub fn acknowledge(&self) {
        locked(&self.place).acknowledge();
    }

    /// The next frame. Dropping the future loses nothing.
    ///
    /// # Errors
    /// As [`Error`] lists, if a retry would not help. The stream then ends.
    pub async fn try_next(&mut self) -> Result<Option<Frame>, Error> {
        poll_fn(|context| self.inner.as_mut().poll_next(context)).await.transpose()
    }
}

impl Stream for EventStream {
    type Item = Result<Frame, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.inner.as_mut().poll_next(context)
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream").field("cursor", &self.cursor()).finish_non_exhaustive()
    }
}

/// Where the reader is, and what the server said about the next connection.
#[derive(Default)]
struct Place {
    cursor: Option<String>,
    /// The frame that was handed over last, until it counts as processed.
    taken: Option<Frame>,
    /// The time that the server asked to wait.
    asked: Option<Duration>,
    /// Connections that failed in a row.
    failures: u32,
}

fn locked(place: &Mutex<Place>) -> MutexGuard<'_, Place> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Place {
    /// Moves the cursor past the last frame.
    fn acknowledge(&mut self) {
        let Some(frame) = self.taken.take() else { return };
        self.failures = 0;
        match (frame.id, frame.data) {
            (Some(id), _) => self.cursor = Some(id),
            (None, FrameData::Ready(ready)) if self.cursor.is_none() && !ready.replay.cursor.is_empty() => {
                self.cursor = Some(ready.replay.cursor);
            }
            (None, FrameData::Draining(time)) => self.asked = Some(time),
            // These two go on from the last frame received; every other gap says from where.
            (None, FrameData::Gap(gap))
                if !matches!(gap.reason.as_str(), "queue_overflow" | "replay_failed") && !gap.cursor.is_empty() =>
            {
                self.cursor = Some(gap.cursor);
            }
            _ => {}
        }
    }
}

/// The state of an open stream.
struct Listening {
    listen: Listen,
    place: Arc<Mutex<Place>>,
    connection: Option<(Body, SseParser)>,
    /// Events that were received and not handed over.
    events: VecDeque<SseEvent>,
    /// Wait so long before the next connection.
    wait: Option<Duration>,
}

impl Listening {
    async fn next(&mut self) -> Result<Frame, Error> {
        locked(&self.place).acknowledge();
        loop {
            while let Some(event) = self.events.pop_front() {
                let frame = Frame::read(event)?;
                let mut place = locked(&self.place);
                let positions = frame.id.as_deref().zip(place.cursor.as_deref());
                // At least once: after a resume an operation may come again.
                if positions.is_none_or(|(id, cursor)| is_after(id, cursor)) {
                    place.taken = Some(frame.clone());
                    return Ok(frame);
                }
            }
            if let Some(time) = self.wait.take() {
                self.listen.call.client.inner.clock.sleep(time).await;
            }
            match self.receive().await {
                Ok(true) => {}
                Ok(false) => self.wait = Some(self.delay(None)),
                Err(error) => {
                    self.connection = None;
                    let failures = locked(&self.place).failures.saturating_add(1);
                    locked(&self.place).failures = failures;
                    if !is_passing(&error) || self.listen.max_retries.is_some_and(|most| failures > most) {
                        return Err(error);
                    }
                    self.wait = Some(self.delay(Some(&error)));
                }
            }
        }
    }

    /// Connects, or receives the next piece. False at the end of the connection.
    async fn receive(&mut self) -> Result<bool, Error> {
        let idle = self.listen.idle;
        let broken = |_| Error::connection(format!("no byte within {} s", idle.as_secs()));
        let Some((body, parser)) = &mut self.connection else {
            let cursor = locked(&self.place).cursor.clone();
            let body = tokio::time::timeout(idle, connect(&self.listen, cursor)).await.map_err(broken)??;
            self.connection = Some((body, SseParser::default()));
            return Ok(true);
        };
        let piece = tokio::time::timeout(idle, body.try_next()).await.map_err(broken)?;
        let Some(piece) = piece.map_err(Error::connection)? else {
            self.connection = None;
            return Ok(false);
        };
        self.events.extend(parser.push(&piece));
        let retry = parser.retry;
        let mut place = locked(&self.place);
        place.asked = retry.or(place.asked);
        Ok(true)
    }

    fn delay(&self, failure: Option<&Error>) -> Duration {
        let mut place = locked(&self.place);
        let told = place.asked.take();
        let asked = failure.and_then(Error::retry_after).or(told).unwrap_or_default();
        let spread = doubled(FIRST, LONGEST, place.failures.saturating_sub(1));
        drop(place);
        let spread = if asked.is_zero() { spread } else { FIRST / 4 };
        asked.saturating_add(spread.mul_f64(self.listen.call.client.inner.clock.random()))
    }
}

async fn connect(listen: &Listen, cursor: Option<String>) -> Result<Body, Error> {
    let inner = &listen.call.client.inner;
    let (uri, mut headers) = listen.call.target()?;
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    if let Some(cursor) = cursor {
        let value = HeaderValue::from_str(&cursor);
        headers.insert("last-event-id", value.map_err(|_| Error::Argument(format!("no cursor: {cursor}")))?);
    }
    let mut request = http::Request::new(Bytes::new());
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    let (parts, body) = inner.transport.send(request).await.map_err(Error::connection)?.into_parts();
    if parts.status.is_success() {
        return Ok(body);
    }
    Err(api_error(inner, parts.status.as_u16(), parts.headers, &whole(body).await?))
}

/// Whether a cursor lies after another.
fn is_after(id: &str, cursor: &str) -> bool {
    let number = |text: &str| text.strip_prefix("v2:").and_then(|it| it.parse::<u64>().ok());
    number(id).zip(number(cursor)).is_none_or(|(one, other)| one > other)
}

fn is_passing(error: &Error) -> bool {
    match error {
        Error::Api(error) => is_temporary(error.status) || error.status == 500,
        Error::Connection(_) => true,
        _ => false,
    }
}
