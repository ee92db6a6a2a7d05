//! One request to the origin and its outcome: sent, verified, and retried once where a retry is safe and likely to help.
//!
//! A retry is made after failures of one connection or one process rather than of the origin:
//! - The connection broke or could not be made: a process that is being replaced closes its connections.
//! - An intermediary answered 5xx in place of the origin.
//! - The assertion was refused (401) because one process's clock or keys are wrong. The origin closes the connection, so the retry uses another.
//!
//! Only repeatable requests are retried: reads, and writes that the origin recognises when they are repeated. A signed refusal proves that
//! nothing was done, so any request is retried after it. A timeout is never retried.
//!
//! # Invariants
//!
//! - Callers cannot open the breaker: a failed request only makes the edge probe the origin, and only probes count
//!   (`edge/tests/pipeline/what_counts.rs`, `edge/tests/anonymous.test.mjs`).

use crate::origin_link::signed_call::{Call, CallStamp, OriginAnswer, UnsignedCall};
use crate::ports::NoAnswer;
use core::time::Duration;
use rds_shared::access::{AnswerError, AssertionKey};

/// The outcome of a request to the origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallOutcome {
    /// The origin's signed answer.
    Answered(OriginAnswer),
    /// The edge assertion was refused, by the origin or by something in its place.
    Refused {
        /// Whether the refusal is signed: then the assertion was authentic but too old, so a clock is wrong.
        is_signed: bool,
    },
    /// An answer that is not verifiably the origin's answer to this request.
    Foreign {
        /// The status received.
        status: u16,
        /// Why verification failed.
        fault: AnswerError,
    },
    /// No answer.
    None(NoAnswer),
}

impl CallOutcome {
    fn of(answered: Result<OriginAnswer, NoAnswer>, key: &AssertionKey, call: &Call) -> Self {
        let answer = match answered {
            Ok(answer) => answer,
            Err(no_answer) => return CallOutcome::None(no_answer),
        };
        match answer.verify(key, call) {
            Ok(()) if answer.status == 401 => CallOutcome::Refused { is_signed: true },
            Ok(()) => CallOutcome::Answered(answer),
            Err(AnswerError::Unsigned) if answer.status == 401 => CallOutcome::Refused { is_signed: false },
            Err(fault) => CallOutcome::Foreign { status: answer.status, fault },
        }
    }

    /// Whether a retry is safe and likely to help.
    fn deserves_another(&self, question: &UnsignedCall) -> bool {
        match self {
            CallOutcome::Answered(_) | CallOutcome::None(NoAnswer::Timeout) => false,
            CallOutcome::Refused { is_signed: true } => true,
            CallOutcome::Refused { is_signed: false } | CallOutcome::None(NoAnswer::Unreachable(_)) => {
                question.is_repeatable
            }
            CallOutcome::Foreign { status, fault } => {
                question.is_repeatable && (matches!(status, 502 | 503) || *fault != AnswerError::Unsigned)
            }
        }
    }

    /// Whether the outcome suggests that the origin is down. Refusals do not, and neither do an intermediary's 4xx answers, which concern
    /// the request itself.
    pub fn is_suspicious(&self) -> bool {
        match self {
            CallOutcome::Answered(_) | CallOutcome::Refused { .. } => false,
            CallOutcome::Foreign { status, .. } => (500..600).contains(status),
            CallOutcome::None(_) => true,
        }
    }

    /// The log line; `None` for an answer of the origin.
    pub fn log_line(&self) -> Option<String> {
        Some(match self {
            CallOutcome::Answered(_) => return None,
            CallOutcome::Refused { is_signed: true } => {
                "the origin refused the edge assertion as too old: the clock of an origin process or of this edge is wrong".to_owned()
            }
            CallOutcome::Refused { is_signed: false } => {
                "401 for the edge assertion: an origin process does not have this edge's key, or a proxy changed the request".to_owned()
            }
            CallOutcome::Foreign { status, fault: AnswerError::Unsigned } => format!(
                "a {status} without the origin's signature: a proxy answered, or the origin is older than this Worker's release"
            ),
            CallOutcome::Foreign { status, fault } => format!("a {status} that failed signature verification ({fault})"),
            CallOutcome::None(NoAnswer::Timeout) => "the origin did not answer in time".to_owned(),
            CallOutcome::None(NoAnswer::Unreachable(cause)) => format!("the origin cannot be reached: {cause}"),
        })
    }
}

/// Sends `question` with timeout `limit`, which includes a retry. `seal` makes each attempt's time and nonce.
pub async fn exchange(
    key: &AssertionKey,
    question: &UnsignedCall,
    limit: Duration,
    seal: impl Fn() -> CallStamp,
    send: impl AsyncFn(&Call, Duration) -> Result<OriginAnswer, NoAnswer>,
) -> CallOutcome {
    let first = seal();
    let call = question.sign(key, first);
    let outcome = CallOutcome::of(send(&call, limit).await, key, &call);
    if !outcome.deserves_another(question) {
        return outcome;
    }
    let second = seal();
    let spent = second.now.as_millis().saturating_sub(first.now.as_millis());
    let left = limit.saturating_sub(Duration::from_millis(u64::try_from(spent).unwrap_or_default()));
    if left.is_zero() {
        return outcome;
    }
    let call = question.sign(key, second);
    CallOutcome::of(send(&call, left).await, key, &call)
}
