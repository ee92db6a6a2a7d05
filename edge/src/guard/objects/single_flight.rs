//! Single flight: the first request makes the call, and concurrent ones wait for its end.
//!
//! Allowed only inside a Durable Object, whose requests share one context.

use core::cell::{Cell, RefCell};
use core::future::poll_fn;
use core::task::{Poll, Waker};
use std::rc::Rc;

/// Maximum number of requests that wait for one call; further ones get no answer.
const MAX_WAITING: usize = 1_024;

/// A call that may be in flight, and the requests that wait for it.
#[derive(Debug, Default)]
pub struct SingleFlight {
    out: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
}

/// A call in flight. The call ends when its ticket is dropped, for whatever reason.
#[derive(Debug)]
pub struct Ticket(Rc<SingleFlight>);

impl SingleFlight {
    /// Starts a call; `None` if one is in flight.
    pub fn begin(self: &Rc<Self>) -> Option<Ticket> {
        (!self.out.replace(true)).then(|| Ticket(Rc::clone(self)))
    }

    /// Waits until no call is in flight. Returns false without waiting if `MAX_WAITING` requests already wait.
    pub async fn done(&self) -> bool {
        poll_fn(|context| {
            if !self.out.get() {
                return Poll::Ready(true);
            }
            let mut waiting = self.waiting.borrow_mut();
            if waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                return Poll::Pending;
            }
            if waiting.len() >= MAX_WAITING {
                return Poll::Ready(false);
            }
            waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.out.set(false);
        for waker in self.0.waiting.take() {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::task::Context;
    use std::pin::pin;

    #[test]
    fn one_request_calls_and_the_others_wait_for_its_end() {
        let flight = Rc::new(SingleFlight::default());
        let ticket = flight.begin().unwrap();
        assert!(flight.begin().is_none());
        let mut waiting = pin!(flight.done());
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        drop(ticket);
        assert_eq!(waiting.as_mut().poll(&mut context), Poll::Ready(true));
        assert!(flight.begin().is_some());
    }

    /// A separate waker for each waiter, as in a runtime's tasks.
    struct Task;

    impl std::task::Wake for Task {
        fn wake(self: std::sync::Arc<Self>) {}
    }

    #[test]
    fn waiters_are_bounded_however_often_they_are_polled() {
        let flight = Rc::new(SingleFlight::default());
        let _ticket = flight.begin().unwrap();
        let wakers: Vec<Waker> = (0..=MAX_WAITING).map(|_| std::sync::Arc::new(Task).into()).collect();
        for waker in wakers.iter().take(MAX_WAITING) {
            let mut waiting = pin!(flight.done());
            for _ in 0..3 {
                assert!(waiting.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
            }
        }
        assert_eq!(flight.waiting.borrow().len(), MAX_WAITING);
        let mut context = Context::from_waker(wakers.last().unwrap());
        assert_eq!(pin!(flight.done()).as_mut().poll(&mut context), Poll::Ready(false));
    }
}
