//! A connection as its requests see it: how far the latest of them is, whether it streams, and how long its client may take.

use super::connections::{Place, Standing};
use crate::clock::Stopwatch;
use crate::stream::body::Source;
use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::sleep;

/// What a door bears of its clients.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// How long a request's head may take from its first byte on, and how long a stranger may say nothing before the first.
    pub(super) head: Duration,
    /// How long a client may say nothing between two requests.
    pub(super) idle: Duration,
    /// How long an unproved connection may do either while half of its share of the door is taken.
    pub(super) crowded: Duration,
    /// How often these are looked at: a connection ends so much later than it might, and costs one timer, whatever it asks.
    pub(super) look: Duration,
    /// How long a write may wait.
    pub(super) patience: Duration,
}

/// A connection, as its requests see it.
#[derive(Debug, Clone, Default)]
pub struct Line(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Set once it streams.
    source: OnceLock<Option<Source>>,
    /// The steps that its requests have made; the last two bits say which [`Step`] was the last one.
    steps: AtomicU64,
    /// What it is at its door; none where there is no door.
    place: Option<Place>,
}

/// How far the latest request of a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// There is none, or its answer has been written.
    Idle,
    /// Something of its head has come.
    Begun,
    /// It is being answered.
    Asked,
    /// Its answer is there, and not yet written whole.
    Answered,
}

impl Step {
    const ALL: [Step; 4] = [Step::Idle, Step::Begun, Step::Asked, Step::Answered];
}

impl Line {
    /// The connection at `place`.
    pub(super) fn at(place: Place) -> Self {
        Line(Arc::new(Shared { place: Some(place), ..Shared::default() }))
    }

    pub(super) fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// A request on it showed a credential that holds.
    pub fn prove(&self) {
        self.place().inspect(|place| place.prove());
    }

    /// Whether it is a stranger's that has proved nothing.
    pub(super) fn is_strange(&self) -> bool {
        self.place().is_some_and(|place| matches!(place.standing(), Standing::Stranger { .. }))
    }

    /// Whether it waits for a request, or for the rest of one's head.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.step().0, Step::Idle | Step::Begun) && !self.is_streaming()
    }

    /// So many bytes came from the client.
    pub(super) fn came(&self, bytes: usize) {
        self.make_after(Step::Idle, Step::Begun);
        if let Some(place) = self.place()
            && self.step().0 == Step::Begun
        {
            place.head_grew(bytes);
        }
    }

    /// A request's head is there.
    pub(super) fn asked(&self) {
        self.make(Step::Asked);
        self.place().inspect(|place| place.head_came());
    }

    /// From now on it carries a stream; where its frames can be taken from, if it is to be gone on with in chunks.
    pub fn streams(&self, source: Option<Source>) {
        // A connection that streams has no request after that.
        let _ = self.0.source.set(source);
    }

    pub(super) fn is_streaming(&self) -> bool {
        self.0.source.get().is_some()
    }

    pub(super) fn source(&self) -> Option<&Source> {
        self.0.source.get()?.as_ref()
    }

    /// The latest step, and a number that is another one after the next.
    fn step(&self) -> (Step, u64) {
        let steps = self.0.steps.load(Relaxed);
        (Step::ALL[(steps & 3) as usize], steps)
    }

    /// Only the task of the connection makes steps.
    pub(super) fn make(&self, step: Step) {
        let steps = self.0.steps.load(Relaxed);
        self.0.steps.store((steps | 3).wrapping_add(1) | step as u64, Relaxed);
    }

    /// Makes `step` where the latest one is `before`.
    pub(super) fn make_after(&self, before: Step, step: Step) {
        if self.step().0 == before {
            self.make(step);
        }
    }

    /// How long a client may say nothing, or take over a head.
    fn may_wait(&self, limits: Limits, (step, steps): (Step, u64)) -> Duration {
        let standing = self.place().map_or(Standing::Proved, Place::standing);
        match (standing, step) {
            (Standing::Unproved { crowded: true } | Standing::Stranger { crowded: true }, _) => limits.crowded,
            (Standing::Stranger { .. }, Step::Idle) if steps == 0 => limits.head,
            (_, Step::Idle) => limits.idle,
            _ => limits.head,
        }
    }

    /// Ready once the client has taken longer over a request's head, or said nothing for longer, than `limits` allow.
    pub(super) async fn overdue(&self, limits: Limits) {
        let (mut seen, mut since) = (self.step(), Stopwatch::start());
        loop {
            sleep(limits.look).await;
            if self.is_streaming() {
                // A stream has bounds of its own.
                return pending().await;
            }
            let now = self.step();
            if now != seen {
                (seen, since) = (now, Stopwatch::start());
            }
            let limit = match now.0 {
                Step::Idle | Step::Begun => self.may_wait(limits, now),
                // How long an answer may take is the pipeline's affair, how long it may be written that of each write.
                Step::Asked | Step::Answered => continue,
            };
            if since.elapsed() >= limit {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_another_one_than_the_last_even_where_it_is_the_same() {
        let line = Line::default();
        assert_eq!(line.step().0, Step::Idle);
        let mut seen = vec![line.step()];
        for step in [Step::Begun, Step::Asked, Step::Answered, Step::Idle, Step::Idle, Step::Asked] {
            line.make(step);
            assert_eq!(line.step().0, step);
            assert!(!seen.contains(&line.step()));
            seen.push(line.step());
        }
        line.make_after(Step::Idle, Step::Begun);
        assert_eq!(line.step().0, Step::Asked, "what comes while it is answered begins nothing");
    }
}
