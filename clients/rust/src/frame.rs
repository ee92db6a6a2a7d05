//! Frames of the event stream.

use crate::error::Error;
use crate::generated::types::{EventDetail, StreamGap, StreamReady};
use crate::sse::SseEvent;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;

/// One frame: what it is, and the cursor after it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Frame {
    /// The cursor after this frame. Identify operations by it: an event may be published more than once.
    pub id: Option<String>,
    /// What it is.
    pub data: FrameData,
    kind: String,
    text: String,
}

/// What a frame is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FrameData {
    /// An event became public; this is the event as it was then.
    Published(Box<EventDetail>),
    /// An event was promoted into the feed.
    Promoted(Box<EventDetail>),
    /// An event was retracted.
    Retracted(Box<EventDetail>),
    /// A connection begins.
    Ready(Box<StreamReady>),
    /// Operations that your filter hides have passed; keep the cursor like any other.
    Cursor,
    /// The service cannot deliver some operations. The reason tells whether to fetch the state again; the stream goes on by itself.
    Gap(Box<StreamGap>),
    /// The server is about to stop; the stream reconnects by itself after this time.
    Draining(Duration),
    /// A kind of a newer server: ignore it.
    Unrecognized,
}

impl Frame {
    pub(crate) fn read(event: SseEvent) -> Result<Self, Error> {
        let SseEvent { event: kind, data: text, id } = event;
        let data = match kind.as_str() {
            "published" => typed(&text).map(FrameData::Published),
            "promoted" => typed(&text).map(FrameData::Promoted),
            "retracted" => typed(&text).map(FrameData::Retracted),
            "ready" => typed(&text).map(FrameData::Ready),
            "gap" => typed(&text).map(FrameData::Gap),
            "cursor" => Some(FrameData::Cursor),
            "draining" => {
                let retry = serde_json::from_str::<Value>(&text).ok().and_then(|it| it.get("retry")?.as_u64());
                Some(FrameData::Draining(Duration::from_millis(retry.unwrap_or_default())))
            }
            _ => None,
        };
        let frame = Frame { id, data: data.unwrap_or(FrameData::Unrecognized), kind, text };
        match &frame.data {
            FrameData::Cursor | FrameData::Draining(_) | FrameData::Unrecognized => frame.json().map(drop)?,
            _ => {}
        }
        Ok(frame)
    }

    /// The name of its kind on the wire.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The data as JSON, with the members that this version of the library does not know.
    ///
    /// # Errors
    /// None for frames of this library, whose text was read before.
    pub fn json(&self) -> Result<Value, Error> {
        let read = serde_json::from_str(&self.text);
        read.map_err(|error| Error::Decoding(format!("the data of a frame `{}` is not JSON: {error}", self.kind)))
    }
}

fn typed<T: DeserializeOwned>(text: &str) -> Option<Box<T>> {
    serde_json::from_str(text).ok()
}
