//! What a provider's response means.
//!
//! JSON-RPC has no common error codes: providers use one code for several causes and change their texts. [`read`] therefore looks at
//! the HTTP status, the code and the text together. A revert is recognised only by exact signs, because it becomes a reading ("the
//! contract refuses this"). Everything that is not recognised is a transport failure, which never becomes one.

mod texts;

use crate::hex;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// One HTTP response to one JSON-RPC request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response<'a> {
    /// HTTP status.
    pub status: u16,
    /// The `Retry-After` header, if there is one.
    pub retry_after: Option<&'a str>,
    /// The body, as far as it arrived.
    pub body: &'a [u8],
}

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failure {
    /// The provider failed, or its response is damaged. Ask again, or ask another provider.
    Transport,
    /// The provider refuses requests for a while.
    RateLimited {
        /// Seconds to wait, if the provider said so; at most [`MAX_RETRY_AFTER`].
        retry_after: Option<u32>,
    },
    /// The logs of this block range are too many, or the range is too long. Ask for a shorter range.
    RangeTooLarge,
    /// The request needs more gas than the provider allows for one call. Ask for less at once.
    Gas,
    /// The request or its response has too many bytes. Ask for less at once.
    Size,
    /// The provider does not have the block, or no longer has its state.
    UnknownBlock,
    /// The provider does not serve this method or these parameters. Ask in another way.
    Unsupported,
    /// The provider does not serve this caller: a key is missing, wrong, or not valid for this.
    Forbidden,
    /// The called contract refused the call. `data` is its reason, and empty if it gave none. This is the only failure that is a fact
    /// about the contract.
    Reverted {
        /// The return data of the revert.
        data: Vec<u8>,
    },
}

/// Maximum waiting time that a provider can demand, in seconds: one hour.
pub const MAX_RETRY_AFTER: u32 = 3_600;

impl Failure {
    /// Whether the contract caused the failure, and not the provider or the network.
    pub fn is_of_the_contract(&self) -> bool {
        matches!(self, Failure::Reverted { .. })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::Transport => "the provider failed",
            Failure::RateLimited { .. } => "the provider limits the rate of requests",
            Failure::RangeTooLarge => "the block range is too large",
            Failure::Gas => "the request needs too much gas",
            Failure::Size => "the request or the response is too large",
            Failure::UnknownBlock => "the provider does not have the block",
            Failure::Unsupported => "the provider does not serve the request",
            Failure::Forbidden => "the provider does not serve this caller",
            Failure::Reverted { .. } => "the contract reverted",
        })
    }
}

impl core::error::Error for Failure {}

#[derive(Deserialize)]
struct Envelope<'a> {
    /// `null`, or left out, in an error that the provider did not attribute to a request.
    id: Option<u64>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    error: Option<RpcError>,
}

#[derive(Deserialize)]
struct RpcError {
    code: i64,
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: Option<serde_json::Value>,
}

/// A field that is there, also if it is `null`.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// The result in the response to the request with this id, as unparsed JSON.
///
/// A result of `null` is [`Failure::UnknownBlock`]: the methods that this service uses answer so only for a block that they do not have.
pub fn read<'a>(response: Response<'a>, id: u64) -> Result<&'a RawValue, Failure> {
    let envelope: Option<Envelope<'a>> = serde_json::from_slice(response.body).ok();
    match response.status {
        200 => read_envelope(envelope.ok_or(Failure::Transport)?, response, id),
        429 => Err(rate_limited(response)),
        413 => Err(Failure::Size),
        status => {
            let of_status = if matches!(status, 401..=403) { Failure::Forbidden } else { Failure::Transport };
            // A JSON-RPC error is more precise than the status. It is not a revert, whatever it says.
            let error = envelope.and_then(|envelope| envelope.error).map(|error| classify(&error, response));
            Err(error
                .filter(|error| !matches!(error, Failure::Reverted { .. } | Failure::Transport))
                .unwrap_or(of_status))
        }
    }
}

/// The outcomes in the response to a batch of requests with these ids, in the order of the ids. An answer that is missing or occurs twice is a
/// transport failure of that request.
///
/// Error: the batch as a whole failed. It is [`Failure::Unsupported`] if the provider answers a list of requests with something else than a
/// list, unless that names a cause for which single requests would fail as well.
pub fn read_batch<'a>(response: Response<'a>, ids: &[u64]) -> Result<Vec<Result<&'a RawValue, Failure>>, Failure> {
    let list: Option<Vec<Envelope<'a>>> = serde_json::from_slice(response.body).ok();
    match list {
        Some(list) if response.status == 200 && !is_refusal(&list, ids) => {
            let mut by_id: BTreeMap<u64, Vec<Envelope<'a>>> = BTreeMap::new();
            for envelope in list {
                if let Some(id) = envelope.id {
                    by_id.entry(id).or_default().push(envelope);
                }
            }
            let outcome = |id: &u64| match by_id.remove(id).map(<[Envelope<'a>; 1]>::try_from) {
                Some(Ok([envelope])) => read_envelope(envelope, response, *id),
                _ => Err(Failure::Transport),
            };
            Ok(ids.iter().map(outcome).collect())
        }
        list => {
            let one = serde_json::from_slice::<Envelope<'a>>(response.body).ok();
            let said = one.or_else(|| list?.into_iter().next());
            let is_json = said.is_some();
            let error = said.and_then(|envelope| envelope.error).map(|error| classify(&error, response));
            Err(match (response.status, error) {
                (429, _) => rate_limited(response),
                (413, _) => Failure::Size,
                (_, Some(error @ (Failure::RateLimited { .. } | Failure::Forbidden | Failure::Size))) => error,
                (401..=403, _) => Failure::Forbidden,
                (200, _) if is_json => Failure::Unsupported,
                (400 | 404 | 405 | 501, _) => Failure::Unsupported,
                _ => Failure::Transport,
            })
        }
    }
}

/// Whether a list is the refusal of a batch: a single error that belongs to no request.
fn is_refusal(list: &[Envelope<'_>], ids: &[u64]) -> bool {
    matches!(list, [one] if ids.len() > 1 && one.id.is_none() && one.error.is_some())
}

fn read_envelope<'a>(envelope: Envelope<'a>, response: Response<'_>, id: u64) -> Result<&'a RawValue, Failure> {
    if envelope.id.is_some_and(|other| other != id) {
        return Err(Failure::Transport);
    }
    let is_attributed = envelope.id.is_some();
    match (envelope.result, envelope.error) {
        (Some(result), None) if is_attributed && result.get() == "null" => Err(Failure::UnknownBlock),
        (Some(result), None) if is_attributed => Ok(result),
        (None, Some(error)) => match classify(&error, response) {
            Failure::Reverted { .. } if !is_attributed => Err(Failure::Transport),
            failure => Err(failure),
        },
        _ => Err(Failure::Transport),
    }
}

fn rate_limited(response: Response<'_>) -> Failure {
    Failure::RateLimited { retry_after: response.retry_after.and_then(retry_after) }
}

/// The number of seconds in a `Retry-After` header. The header's other form, a date, would need a clock and is left out.
fn retry_after(header: &str) -> Option<u32> {
    let digits = header.trim();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(u32::MAX).min(MAX_RETRY_AFTER))
}

/// Meaning of a JSON-RPC error. The order matters: a contract chooses the text of its revert, which may look like any other error; and
/// some providers use the code of a rate limit for ranges that are too large.
fn classify(error: &RpcError, response: Response<'_>) -> Failure {
    let text = error.message.trim().to_ascii_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    if let Some(data) = revert_data(error, &text) {
        return Failure::Reverted { data };
    }
    if says(texts::RATE_LIMIT) || error.code == 429 {
        rate_limited(response)
    } else if says(texts::RANGE) {
        Failure::RangeTooLarge
    } else if texts::RATE_LIMIT_CODES.contains(&error.code) {
        rate_limited(response)
    } else if says(texts::GAS) {
        Failure::Gas
    } else if says(texts::SIZE) {
        Failure::Size
    } else if says(texts::UNKNOWN_BLOCK) || error.code == texts::RESOURCE_NOT_FOUND {
        Failure::UnknownBlock
    } else if says(texts::FORBIDDEN) {
        Failure::Forbidden
    } else if says(texts::UNSUPPORTED) || texts::UNSUPPORTED_CODES.contains(&error.code) {
        Failure::Unsupported
    } else {
        Failure::Transport
    }
}

/// The reason of a revert, if the error is one.
fn revert_data(error: &RpcError, text: &str) -> Option<Vec<u8>> {
    let data = match &error.data {
        Some(serde_json::Value::String(data)) => data.trim(),
        // Some nodes wrap the data in an object.
        Some(serde_json::Value::Object(object)) => {
            object.get("data").and_then(serde_json::Value::as_str).unwrap_or_default()
        }
        _ => "",
    };
    let is_revert = match error.code {
        texts::REVERT_CODE | texts::SERVER_ERROR => {
            texts::REVERT_PREFIXES.iter().any(|prefix| text.starts_with(prefix))
        }
        // Nethermind and OpenEthereum.
        texts::EXECUTION_ERROR => {
            data.starts_with("Reverted") || texts::REVERT_PREFIXES.iter().any(|prefix| text.starts_with(prefix))
        }
        _ => false,
    };
    is_revert.then(|| hex::decode(data.trim_start_matches("Reverted").trim()).unwrap_or_default())
}

#[cfg(test)]
mod tests;
