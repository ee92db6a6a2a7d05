//! One question to the origin and what came of it: sent, verified, and sent once more where that is safe and may fare better.
//!
//! A second attempt is made where the first says more of one connection or one process than of the origin:
//! - The connection broke or could not be made: a process that is being replaced closes its connections.
//! - An intermediary answered 5xx in the origin's place.
//! - The assertion was refused (401): one process's clock or keys are off. It hangs up, so that the next attempt takes another connection.
//!
//! Only questions that may be asked twice are asked twice: reads, and writes that the origin recognises when they come again. A
//! signed refusal says that nothing was done, so after that every question is asked again. A timeout is never followed by a second attempt.
//!
//! # Invariants
//!
//! - No caller can open the breaker: a request that fails makes the edge ask the origin whether it is ready, and only that question counts
//!   (`edge/tests/pipeline/what_counts.rs`, `edge/tests/anonymous.test.mjs`).

use crate::origin::{Call, OriginAnswer, Question, Seal};
use crate::ports::NoAnswer;
use core::time::Duration;
use rds_shared::access::{AnswerError, AssertionKey};

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The origin's answer, signed.
    Answered(OriginAnswer),
    /// The origin, or something in its place, does not take our assertion.
    Refused {
        /// Whether it said so with its signature: then the assertion was authentic and too old, so one of the clocks is off.
        is_signed: bool,
    },
    /// Something that is not the origin's answer to this question.
    Foreign {
        /// The status that came.
        status: u16,
        /// Why it is not.
        fault: AnswerError,
    },
    /// No answer.
    None(NoAnswer),
}

impl Outcome {
    fn of(answered: Result<OriginAnswer, NoAnswer>, key: &AssertionKey, call: &Call) -> Self {
        let answer = match answered {
            Ok(answer) => answer,
            Err(no_answer) => return Outcome::None(no_answer),
        };
        match answer.verify(key, call) {
            Ok(()) if answer.status == 401 => Outcome::Refused { is_signed: true },
            Ok(()) => Outcome::Answered(answer),
            Err(AnswerError::Unsigned) if answer.status == 401 => Outcome::Refused { is_signed: false },
            Err(fault) => Outcome::Foreign { status: answer.status, fault },
        }
    }

    /// Whether another attempt is safe and may fare better.
    fn deserves_another(&self, question: &Question) -> bool {
        match self {
            Outcome::Answered(_) | Outcome::None(NoAnswer::Timeout) => false,
            Outcome::Refused { is_signed: true } => true,
            Outcome::Refused { is_signed: false } | Outcome::None(NoAnswer::Unreachable(_)) => question.is_repeatable,
            Outcome::Foreign { status, fault } => {
                question.is_repeatable && (matches!(status, 502 | 503) || *fault != AnswerError::Unsigned)
            }
        }
    }

    /// Whether it may mean that the origin cannot be reached. What an intermediary says of the request itself (4xx) does not, and
    /// neither does a refusal.
    pub fn is_suspicious(&self) -> bool {
        match self {
            Outcome::Answered(_) | Outcome::Refused { .. } => false,
            Outcome::Foreign { status, .. } => (500..600).contains(status),
            Outcome::None(_) => true,
        }
    }

    /// The line for the operator; none for an answer of the origin's.
    pub fn log_line(&self) -> Option<String> {
        Some(match self {
            Outcome::Answered(_) => return None,
            Outcome::Refused { is_signed: true } => {
                "the origin refused our assertion as too old: the clock of an origin or of this edge is off".to_owned()
            }
            Outcome::Refused { is_signed: false } => {
                "401 for our assertion: an origin does not know our key, or a proxy changed the request".to_owned()
            }
            Outcome::Foreign { status, fault: AnswerError::Unsigned } => format!(
                "a {status} that is not the origin's word (no signature): a proxy's answer, or an origin of an older release than this Worker"
            ),
            Outcome::Foreign { status, fault } => format!("a {status} that is not the origin's word ({fault})"),
            Outcome::None(NoAnswer::Timeout) => "the origin did not answer in time".to_owned(),
            Outcome::None(NoAnswer::Unreachable(cause)) => format!("the origin cannot be reached: {cause}"),
        })
    }
}

/// Asks `question` and gives up after `limit`, which covers a second attempt. `seal` makes each attempt's time and nonce.
pub async fn exchange(
    key: &AssertionKey,
    question: &Question,
    limit: Duration,
    seal: impl Fn() -> Seal,
    send: impl AsyncFn(&Call, Duration) -> Result<OriginAnswer, NoAnswer>,
) -> Outcome {
    let first = seal();
    let call = question.sign(key, first);
    let outcome = Outcome::of(send(&call, limit).await, key, &call);
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
    Outcome::of(send(&call, left).await, key, &call)
}
