//! Where an operation spends its time between its commit and its subscribers: one histogram for each step.

use super::head;
use super::histogram::Histogram;

/// A step on an operation's way to its subscribers, in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushStep {
    /// From the instant at which the producer recorded the operation to the start of its numbering: the rest of the producer's
    /// transaction, and the wait until the sequencer was woken.
    Commit,
    /// Numbering, until the numbers are on disk.
    Number,
    /// Reading operations that another process numbered, or that this process could not keep.
    Read,
    /// From the ring to a stream that takes the frames.
    Wake,
    /// From taking the frames until the socket has accepted them.
    Write,
    /// From the ring until the webhook deliveries are on disk.
    FanOut,
    /// From the fan-out or the claim to the start of a delivery's attempt.
    Start,
    /// An attempt, from its start to its end.
    Attempt,
    /// From the end of an attempt until it is recorded on disk.
    Record,
}

impl PushStep {
    const ALL: [PushStep; 9] = [
        PushStep::Commit,
        PushStep::Number,
        PushStep::Read,
        PushStep::Wake,
        PushStep::Write,
        PushStep::FanOut,
        PushStep::Start,
        PushStep::Attempt,
        PushStep::Record,
    ];

    const fn name(self) -> &'static str {
        match self {
            PushStep::Commit => "commit",
            PushStep::Number => "number",
            PushStep::Read => "read",
            PushStep::Wake => "wake",
            PushStep::Write => "write",
            PushStep::FanOut => "fan_out",
            PushStep::Start => "start",
            PushStep::Attempt => "attempt",
            PushStep::Record => "record",
        }
    }
}

/// The histograms of this process.
#[derive(Debug, Default)]
pub struct PushLag([Histogram; PushStep::ALL.len()]);

impl PushLag {
    /// Records the duration of a step in microseconds.
    pub fn record(&self, step: PushStep, micros: u64) {
        if let Some(histogram) = self.0.get(step as usize) {
            histogram.record(micros);
        }
    }

    /// As [`Self::record`], with the trace that the step is part of, if it is recorded.
    pub fn record_traced(&self, step: PushStep, micros: u64, trace: Option<[u8; 16]>) {
        if let Some(histogram) = self.0.get(step as usize) {
            histogram.record_traced(micros, trace);
        }
    }

    /// Number of recorded durations of a step.
    pub fn count(&self, step: PushStep) -> u64 {
        self.0.get(step as usize).map_or(0, Histogram::count)
    }

    /// Appends the histograms as Prometheus text.
    pub fn render(&self, out: &mut String, exemplars: bool) {
        const NAME: &str = "rds_push_step_seconds";
        head(out, NAME, "Time of each step between an operation's commit and its subscribers.", "histogram");
        for (step, histogram) in PushStep::ALL.iter().zip(&self.0) {
            histogram.render(out, NAME, ("step", step.name()), exemplars);
        }
    }
}
