//! One question at a time: the first who needs the answer asks, everybody else waits for that.
//!
//! Legal only inside a Durable Object, whose requests share one context.

use core::cell::{Cell, RefCell};
use core::future::poll_fn;
use core::task::{Poll, Waker};
use std::rc::Rc;

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

    /// Waits until no question is out.
    pub async fn landed(&self) {
        poll_fn(|context| {
            if !self.out.get() {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
        .await;
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
        assert!(waiting.as_mut().poll(&mut context).is_ready());
        assert!(flight.begin().is_some());
    }
}
