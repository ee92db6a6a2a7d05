//! Long computations in pieces, between which the host can do other work.
//!
//! A host that answers requests on the same thread must not be busy for long. A computation announces each of its steps with an estimate of the
//! time that it takes, and pauses before a step that would make the piece too long. No clock is read: that of a Worker stands still while it
//! computes. The estimates are for a Worker on a slow machine.

use alloc::boxed::Box;
use core::cell::Cell;
use core::fmt;
use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};

/// A host that can do other work while a computation pauses.
pub trait Pause {
    /// Ready after other work was done.
    fn pause(&self) -> Pin<Box<dyn Future<Output = ()> + '_>>;
}

/// Nanoseconds between two pauses. A single step may take longer; the longest that are announced take about as long again.
const PIECE_NANOS: usize = 2_000_000;

/// The pace of a computation.
pub struct Pace<'p> {
    /// `None`: the computation does not pause.
    host: Option<&'p dyn Pause>,
    /// Nanoseconds that are left of this piece.
    left: Cell<usize>,
}

impl fmt::Debug for Pace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pace").field("pauses", &self.host.is_some()).field("left", &self.left).finish()
    }
}

impl<'p> Pace<'p> {
    /// Without pauses, for a host whose other work is on other threads.
    pub const fn unbroken() -> Self {
        Pace { host: None, left: Cell::new(PIECE_NANOS) }
    }

    /// With pauses of `host`.
    pub const fn of(host: &'p dyn Pause) -> Self {
        Pace { host: Some(host), left: Cell::new(PIECE_NANOS) }
    }

    /// Announces a step of about so many nanoseconds.
    pub async fn step(&self, nanos: usize) {
        let Some(host) = self.host else { return };
        if self.left.get() < nanos {
            host.pause().await;
            self.left.set(PIECE_NANOS);
        }
        self.left.set(self.left.get().saturating_sub(nanos));
    }
}

/// The result of a computation that does not pause.
pub fn at_once<T>(computation: impl Future<Output = T>) -> T {
    let mut computation = pin!(computation);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = computation.as_mut().poll(&mut context) {
            return result;
        }
    }
}

/// Pauses for tests.
#[cfg(test)]
pub mod tests {
    use super::*;

    /// Counts pauses, each of which is over at once.
    #[derive(Debug, Default)]
    pub struct Counted(pub Cell<usize>);

    impl Pause for Counted {
        fn pause(&self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
            self.0.set(self.0.get() + 1);
            Box::pin(core::future::ready(()))
        }
    }

    #[test]
    fn a_computation_pauses_before_a_step_that_makes_the_piece_too_long() {
        let host = Counted::default();
        let pace = Pace::of(&host);
        let step = |nanos| {
            at_once(pace.step(nanos));
            host.0.get()
        };
        assert_eq!([step(PIECE_NANOS / 2), step(PIECE_NANOS / 2), step(1), step(PIECE_NANOS - 1)], [0, 0, 1, 1]);
        assert_eq!([step(3 * PIECE_NANOS), step(0), step(1)], [2, 2, 3], "a long step is a piece by itself");
        at_once(Pace::unbroken().step(9 * PIECE_NANOS));
        assert_eq!(host.0.get(), 3);
    }
}
