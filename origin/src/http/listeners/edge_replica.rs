//! The edge's requests for its replica of the catalog's rows ([`crate::replica`]).
//!
//! The answers are made of documents that are compressed already, sealed or named by their content, and sent as they are.

use crate::app::App;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::signing::HashedBody;
use crate::http::listeners::edge_messages::bad_field;
use crate::replica::{Content, Fault};
use rds_shared::access::AssertionKey;
use rds_shared::access::link::{ReplicaAsk, SEGMENTS_PER_ASK, SegmentsAsk};
use rds_shared::replica::FORMAT;
use rds_shared::wire::{ApiError, ErrorCode};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// `Retry-After` in seconds while too many answers are in memory.
const RETRY_AFTER_SECONDS: u32 = 1;

/// Answers a [`ReplicaAsk`] with an [`Update`](rds_shared::replica::Update), sealed with the key that signed the request: the edge has this
/// key, also while keys are being replaced.
///
/// There is no replica of a service with a test clock: the edge tells ages and statuses by its own clock, which a test does not move.
pub async fn update(app: &App, body: &[u8], key: &AssertionKey) -> Result<Answer, Failure> {
    let mut fields = Fields::read(body)?;
    let format = fields.format()?;
    if app.clock.is_test_clock() {
        return Err(ApiError::new(ErrorCode::Conflict, "a service with a test clock has no replica").into());
    }
    let ask = ReplicaAsk {
        format,
        have: fields.take_or_default("have")?,
        covering: fields.take_or_default("covering")?,
        whole: fields.take_or_default("whole")?,
        holders: fields.take_or_default("holders")?,
    };
    // Refuses while the service is starting.
    app.catalog.get()?;
    Ok(answer(app.replica.update(&app.catalog, ask, key.clone(), app.clock.wall()).await?))
}

/// Answers a [`SegmentsAsk`].
pub async fn segments(app: &App, body: &[u8]) -> Result<Answer, Failure> {
    let mut fields = Fields::read(body)?;
    let ask = SegmentsAsk { format: fields.format()?, names: fields.take("names")? };
    if ask.names.len() > SEGMENTS_PER_ASK {
        return Err(bad_field("names", &format!("must have at most {SEGMENTS_PER_ASK} names")).into());
    }
    app.catalog.get()?;
    Ok(answer(app.replica.segments(&app.catalog, ask.names).await?))
}

fn answer(Content { bytes, sha256 }: Content) -> Answer {
    Answer::octets(HashedBody::with_digest(bytes, sha256))
}

/// The fields of a body. They are read one by one, so that an error names its field and another format is reported before anything that it
/// may contain.
struct Fields(Map<String, Value>);

impl Fields {
    fn read(body: &[u8]) -> Result<Self, ApiError> {
        serde_json::from_slice(body)
            .map(Fields)
            .map_err(|error| ApiError::new(ErrorCode::InvalidBody, format!("the body must be a JSON object: {error}")))
    }

    fn take<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<T, ApiError> {
        serde_json::from_value(self.0.remove(name).unwrap_or_default())
            .map_err(|error| bad_field(name, &error.to_string()))
    }

    /// Like [`Self::take`]; the default if the field is missing.
    fn take_or_default<T: DeserializeOwned + Default>(&mut self, name: &'static str) -> Result<T, ApiError> {
        if self.0.contains_key(name) { self.take(name) } else { Ok(T::default()) }
    }

    /// The format, which must be that of this release.
    fn format(&mut self) -> Result<u16, ApiError> {
        match self.take("format")? {
            FORMAT => Ok(FORMAT),
            other => {
                let text = format!("this origin makes replicas of format {FORMAT}, not {other}");
                Err(ApiError::new(ErrorCode::Conflict, text))
            }
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Full => ApiError::from(ErrorCode::ServiceUnavailable).retry_after(RETRY_AFTER_SECONDS).into(),
            Fault::Failed(error) => Failure::Internal(format!("{error:#}")),
        }
    }
}
