//! Errors: how a request failed, and what the service said about it.

use crate::generated::errors::ErrorCode;
use crate::generated::types::ErrorDetail;
use http::HeaderMap;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// How a request failed.
///
/// ```
/// # rds_recorded::run(async |client| {
/// use risk_data_client::{Error, ErrorCode, types::VaultByIdParams};
/// match client.vaults().get("no-such-vault", VaultByIdParams::default()).await {
///     Ok(answer) => println!("{:?}", answer.data),
///     Err(Error::Api(error)) if error.code == ErrorCode::NotFound => println!("no such vault"),
///     Err(error) => eprintln!("{error}, request {:?}", error.request_id()),
/// }
/// # Ok(()) })
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The service answered with an error.
    Api(Box<ApiError>),
    /// The connection failed or broke before the answer was complete. The request may have been carried out.
    Connection(Box<dyn StdError + Send + Sync>),
    /// No complete answer within the time for one try. The request may have been carried out.
    Timeout(Duration),
    /// The answer is not what the API promises.
    Decoding(String),
    /// The request was not sent: an argument is not possible.
    Argument(String),
}

/// What an error answer says.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApiError {
    /// The HTTP status.
    pub status: u16,
    /// The error code. Decide by this and not by the message.
    pub code: ErrorCode,
    /// A text for people; its wording may change.
    pub message: String,
    /// Identifies the request in the service's logs.
    pub request_id: Option<String>,
    /// The faults of the request.
    pub details: Vec<ErrorDetail>,
    /// Number of all faults, also of those that `details` leaves out.
    pub detail_count: u64,
    /// How long to wait before a retry.
    pub retry_after: Option<Duration>,
    /// The code of an earlier version of the API, if it had another.
    pub legacy_code: Option<String>,
    /// The version that replaces a retired one.
    pub successor: Option<String>,
    /// The answer's headers.
    pub headers: HeaderMap,
}

impl Error {
    /// The code, if the service answered.
    pub fn code(&self) -> Option<&ErrorCode> {
        if let Error::Api(error) = self { Some(&error.code) } else { None }
    }

    /// Identifies the request in the service's logs, if the service answered.
    pub fn request_id(&self) -> Option<&str> {
        if let Error::Api(error) = self { error.request_id.as_deref() } else { None }
    }

    /// How long the service asks to wait before a retry.
    pub fn retry_after(&self) -> Option<Duration> {
        if let Error::Api(error) = self { error.retry_after } else { None }
    }

    pub(crate) fn connection(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Error::Connection(cause.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Api(error) => error.fmt(f),
            Error::Connection(cause) => write!(f, "the connection failed: {cause}"),
            Error::Timeout(time) => write!(f, "no complete answer within {} ms", time.as_millis()),
            Error::Decoding(what) => write!(f, "the answer cannot be read: {what}"),
            Error::Argument(what) => f.write_str(what),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        if let Error::Connection(cause) = self { Some(cause.as_ref()) } else { None }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl StdError for ApiError {}
