//! Asking the origin for a caller, and finding out whether the origin is there when that goes wrong.
//!
//! What a caller asks for may take long or fail for reasons of its own. So nothing of that counts against the origin: it is only
//! the occasion to ask a question of the edge's own ([`Question::alive`]), whose answer opens the breaker or closes it.

use crate::answering::Failure;
use crate::breaker::{Breaker, Permit};
use crate::cache::Entry;
use crate::exchange::{Outcome, exchange};
use crate::origin::{Meaning, OriginAnswer, Question, Seal};
use crate::pipeline::{Asked, Walk};
use crate::ports::{Guards, Host, Inbound, LONG, NoAnswer};
use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::Poll;
use core::time::Duration;
use rds_shared::route::{Method, RouteId, Tag, TagVersions};
use rds_shared::wire::{RequestId, Timestamp};

/// Whether the origin is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probed {
    /// It answered.
    Alive,
    /// It could not be reached, or gave no answer in time.
    Away,
    /// Something answered that proves neither, or another request is finding out.
    Undecided,
}

/// Tells the breaker what came of a probe.
pub fn tell_breaker(breaker: &mut Breaker, now: Timestamp, outcome: &Outcome) -> Probed {
    match outcome {
        Outcome::Answered(_) | Outcome::Refused { is_signed: true } => {
            breaker.succeeded();
            Probed::Alive
        }
        Outcome::None(NoAnswer::Timeout) => {
            breaker.hung(now);
            Probed::Away
        }
        outcome if outcome.is_suspicious() => {
            breaker.failed(now);
            Probed::Away
        }
        _ => {
            breaker.undecided();
            Probed::Undecided
        }
    }
}

/// The line for the operator about a probe; none where the origin answered it.
pub fn probe_line(request_id: RequestId, outcome: &Outcome) -> Option<String> {
    Some(format!("{request_id} asked whether the origin is there: {}", outcome.log_line()?))
}

/// Whether a route asks how the service does: its caller, often a load balancer, must not be kept waiting.
const fn asks_how_the_service_does(route: RouteId) -> bool {
    matches!(route, RouteId::Status | RouteId::Ready | RouteId::Health)
}

/// Which of two futures was ready first.
enum First<L, R> {
    Left(L),
    Right(R),
}

/// Waits for whichever is ready first. The other is not lost: it was only borrowed.
async fn first<L: Future, R: Future>(mut left: Pin<&mut L>, mut right: Pin<&mut R>) -> First<L::Output, R::Output> {
    poll_fn(|cx| match left.as_mut().poll(cx) {
        Poll::Ready(left) => Poll::Ready(First::Left(left)),
        Poll::Pending => right.as_mut().poll(cx).map(First::Right),
    })
    .await
}

impl<I: Inbound, H: Host + Guards> Walk<'_, I, H> {
    /// Asks the origin for an answer that has the changes up to `known`, if the breaker lets us; with `copy` at hand, only
    /// whether that is still good, and not for long.
    pub(crate) async fn ask(
        &self,
        asked: &Asked,
        copy: Option<&Entry>,
        known: &TagVersions,
    ) -> Result<OriginAnswer, Failure> {
        let is_urgent = copy.is_some() || asks_how_the_service_does(asked.route.id);
        self.pass_breaker(is_urgent).await?;
        let etag = copy.and_then(|copy| copy.headers.get("etag"));
        let question = self.question(asked, etag, known);
        let limit = match is_urgent {
            true => self.config.origin_timeout.min(self.config.read_deadline),
            false => self.config.read_deadline,
        };
        let outcome = self.ask_while_alive(&question, limit).await;
        if let Some(line) = outcome.log_line() {
            self.host.log(&format!("{} {line}", self.request_id));
        }
        let answer = match outcome {
            Outcome::Answered(answer) => answer,
            Outcome::None(NoAnswer::Timeout) => return Err(Failure::Timeout),
            Outcome::None(NoAnswer::Unreachable(_)) | Outcome::Refused { .. } | Outcome::Foreign { .. } => {
                return Err(Failure::Unreachable);
            }
        };
        self.isolate.breaker.borrow_mut().succeeded();
        // The origin counts what it answers.
        self.uncounted.set(true);
        match answer.meaning(etag.is_some()) {
            Meaning::Word | Meaning::Unchanged => Ok(answer),
            Meaning::Unable => {
                self.host.log(&format!("{} the origin answered {}", self.request_id, answer.status));
                Err(Failure::Unable(answer))
            }
            Meaning::Unclear => {
                self.host.log(&format!(
                    "{} the origin answered {}, which means nothing here",
                    self.request_id, answer.status
                ));
                Err(Failure::Unreachable)
            }
        }
    }

    /// What the origin is asked for this caller.
    fn question(&self, asked: &Asked, etag: Option<&str>, known: &TagVersions) -> Question {
        let (method, principal) = (asked.route.method, asked.principal.to_json());
        let mut question = Question::new(method, &asked.target, asked.body.clone(), principal, self.request_id)
            .unless(etag)
            .not_older_than(&known.with(Tag::FailSafe, self.isolate.epochs.borrow().known().of(Tag::FailSafe)));
        if asked.route.streams() {
            question = question.streaming();
        }
        for (name, value) in &asked.said {
            question = question.with(name, value);
        }
        question.is_repeatable = match asked.route.id {
            // They look up and compute. A decision is named by its content, so a check that issues one issues it once.
            RouteId::VaultBatch | RouteId::GraphCheck => true,
            // Under one name the origin creates one thing, and answers with it again.
            RouteId::WebhookCreate | RouteId::BasketWebhookCreate => asked.is_named(),
            _ => method == Method::Get,
        };
        question
    }

    /// Waits its turn at the breaker. The first after its time is over asks whether the origin is back, and waits for what comes of
    /// that unless the request is urgent: then the question goes out beside it.
    async fn pass_breaker(&self, is_urgent: bool) -> Result<(), Failure> {
        let permit = self.isolate.breaker.borrow_mut().permit(self.host.now());
        let held_off = match permit {
            Permit::Call => return Ok(()),
            Permit::Refused { retry_after } => retry_after,
            Permit::Probe if is_urgent => {
                self.host.probe_later(self.request_id, self.patience().1);
                1
            }
            Permit::Probe => match self.send_probe().await {
                Probed::Alive | Probed::Undecided => return Ok(()),
                Probed::Away => match self.isolate.breaker.borrow_mut().permit(self.host.now()) {
                    Permit::Refused { retry_after } => retry_after,
                    Permit::Call | Permit::Probe => 1,
                },
            },
        };
        Err(Failure::HeldOff { retry_after: held_off })
    }

    /// Asks, and does not wait for long if the origin is away: when the answer takes its time, and when there is none.
    async fn ask_while_alive(&self, question: &Question, limit: Duration) -> Outcome {
        let (patience, _) = self.patience();
        let patience = patience.min(limit);
        let mut asking = pin!(self.exchange(question, limit));
        if let First::Left(outcome) = first(asking.as_mut(), pin!(self.host.wait(patience))).await {
            return self.with_suspicion(outcome).await;
        }
        match first(asking.as_mut(), pin!(self.probe())).await {
            First::Left(outcome) => return self.with_suspicion(outcome).await,
            First::Right(Probed::Away) => {
                return Outcome::None(NoAnswer::Unreachable("it takes calls and answers none".to_owned()));
            }
            First::Right(Probed::Alive | Probed::Undecided) => {}
        }
        // The origin is there: if this takes too long now, that is the question's own affair.
        match first(asking.as_mut(), pin!(self.host.wait(limit.saturating_sub(patience)))).await {
            First::Left(Outcome::None(NoAnswer::Timeout)) | First::Right(()) => Outcome::None(NoAnswer::Timeout),
            First::Left(outcome) => self.with_suspicion(outcome).await,
        }
    }

    /// Finds out whether the origin is there where `outcome` leaves that open and nobody else is finding out.
    async fn with_suspicion(&self, outcome: Outcome) -> Outcome {
        let (_, limit) = self.patience();
        if outcome.is_suspicious() && self.isolate.breaker.borrow_mut().begins_probe(self.host.now(), limit) {
            self.send_probe().await;
        }
        outcome
    }

    /// Asks whether the origin is there, unless another request is asking: then it waits for what came of that.
    async fn probe(&self) -> Probed {
        let (_, limit) = self.patience();
        if self.isolate.breaker.borrow_mut().begins_probe(self.host.now(), limit) {
            return self.send_probe().await;
        }
        self.host.wait(limit).await;
        if self.isolate.breaker.borrow().is_open(self.host.now()) { Probed::Away } else { Probed::Undecided }
    }

    /// Asks whether the origin is there, and tells the breaker.
    async fn send_probe(&self) -> Probed {
        let (_, limit) = self.patience();
        let outcome = self.exchange(&Question::alive(self.request_id), limit).await;
        if let Some(line) = probe_line(self.request_id, &outcome) {
            self.host.log(&line);
        }
        tell_breaker(&mut self.isolate.breaker.borrow_mut(), self.host.now(), &outcome)
    }

    async fn exchange(&self, question: &Question, limit: Duration) -> Outcome {
        let seal = || Seal { now: self.host.now(), nonce: self.host.random() };
        let send = async |call: &_, limit| self.host.call(call, limit).await;
        exchange(&self.config.assertion_key, question, limit, seal, send).await
    }

    /// How long an answer may take until it is asked whether the origin is there, and how long that may take: together the time for
    /// which a caller waits for an origin that is away.
    fn patience(&self) -> (Duration, Duration) {
        let probe = self.config.origin_timeout.checked_div(5).unwrap_or_default().saturating_mul(2).min(LONG);
        (self.config.origin_timeout.saturating_sub(probe), probe)
    }
}
