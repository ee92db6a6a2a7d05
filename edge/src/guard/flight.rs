//! One question at a time: the first who needs the answer asks, everybody else waits for that.
//!
//! Legal only inside a Durable Object, whose requests share one context.

use core::cell::{Cell, RefCell};
use core::future::poll_fn;
use core::task::{Poll, Waker};
use std::rc::Rc;

/// Who waits for one question, at most: what comes beyond is told that there is no answer.
const MOST_WAITING: usize = 1_024;

/// Whether a question is out, and who waits for its end.
#[derive(Debug, Default)]
pub struct Flight {
    out: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
}

/// A question that is out. It ends with the value, however that comes about.
#[derive(Debug)]
pub struct Ticket(Rc<Flight>);

impl Flight {
    /// Leave to ask, unless somebody else has it.
    pub fn begin(self: &Rc<Self>) -> Option<Ticket> {
        (!self.out.replace(true)).then(|| Ticket(Rc::clone(self)))
    }

    /// Waits until no question is out. False at once where too many wait already.
    pub async fn landed(&self) -> bool {
        poll_fn(|context| {
            if !self.out.get() {
                return Poll::Ready(true);
            }
            let mut waiting = self.waiting.borrow_mut();
            if waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                return Poll::Pending;
            }
            if waiting.len() >= MOST_WAITING {
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
    fn one_asks_and_the_others_wait_until_that_is_over() {
        let flight = Rc::new(Flight::default());
        let ticket = flight.begin().unwrap();
        assert!(flight.begin().is_none());
        let mut waiting = pin!(flight.landed());
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        drop(ticket);
        assert_eq!(waiting.as_mut().poll(&mut context), Poll::Ready(true));
        assert!(flight.begin().is_some());
    }

    /// A waker of its own for each waiter, as a runtime's tasks have.
    struct Task;

    impl std::task::Wake for Task {
        fn wake(self: std::sync::Arc<Self>) {}
    }

    #[test]
    fn so_many_wait_and_no_more_however_often_they_look() {
        let flight = Rc::new(Flight::default());
        let _ticket = flight.begin().unwrap();
        let wakers: Vec<Waker> = (0..=MOST_WAITING).map(|_| std::sync::Arc::new(Task).into()).collect();
        for waker in wakers.iter().take(MOST_WAITING) {
            let mut waiting = pin!(flight.landed());
            for _ in 0..3 {
                assert!(waiting.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
            }
        }
        assert_eq!(flight.waiting.borrow().len(), MOST_WAITING);
        let mut context = Context::from_waker(wakers.last().unwrap());
        assert_eq!(pin!(flight.landed()).as_mut().poll(&mut context), Poll::Ready(false));
    }
}
