//! What went wrong, for people, and the exit codes.

use risk_data_client::Error;
use std::fmt;
use std::io;

/// Done, or a check's verdict `approve`.
pub const OK: u8 = 0;
/// Any error.
pub const ERROR: u8 = 1;
/// A check's verdict `caution`.
pub const CAUTION: u8 = 2;
/// A check's verdict `reject`, or a decision that is not genuine.
pub const REJECT: u8 = 3;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The command line or a file of the user.
    Usage(String),
    /// A request.
    Request(Box<Error>),
    /// The system.
    System(io::Error),
    /// Nobody reads the output any more.
    PipeClosed,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(text) => f.write_str(text),
            Failure::System(error) => write!(f, "{error}"),
            Failure::PipeClosed => f.write_str("the output was closed"),
            Failure::Request(error) => request(error, f),
        }
    }
}

fn request(error: &Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Error::Api(it) = error else { return write!(f, "{error}") };
    write!(f, "{it} (status {}", it.status)?;
    if let Some(id) = &it.request_id {
        write!(f, ", request {id}")?;
    }
    f.write_str(")")?;
    for detail in &it.details {
        write!(f, "\n  {} {}: {}", detail.r#in, detail.name, detail.reason)?;
        if let Some(allowed) = &detail.allowed {
            write!(f, "; allowed: {}", allowed.join(", "))?;
        }
    }
    match it.retry_after {
        Some(time) => write!(f, "\n  try again in {} s", time.as_secs()),
        None if it.status == 401 => {
            f.write_str("\n  give a key: RDS_API_KEY, --key-file, or the file `key` in the configuration folder")
        }
        None => Ok(()),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Request(Box::new(error))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Failure::PipeClosed } else { Failure::System(error) }
    }
}

impl From<csv::Error> for Failure {
    fn from(error: csv::Error) -> Self {
        match error.into_kind() {
            csv::ErrorKind::Io(error) => error.into(),
            other => Failure::Usage(format!("{other:?}")),
        }
    }
}
