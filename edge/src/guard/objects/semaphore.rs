//! A fair semaphore with a bounded queue.
//!
//! Allowed only inside a Durable Object, whose requests share one context.

use core::cell::{Cell, RefCell};
use core::future::poll_fn;
use core::task::{Poll, Waker};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The semaphore.
#[derive(Debug)]
pub struct QueuedSemaphore {
    /// Number of permits.
    places: usize,
    /// Maximum number of waiters.
    most_waiting: usize,
    taken: Cell<usize>,
    /// Waiters by queue number.
    line: RefCell<BTreeMap<u64, Option<Waker>>>,
    drawn: Cell<u64>,
}

/// A permit, released when dropped.
#[derive(Debug)]
pub struct Permit(Rc<QueuedSemaphore>);

/// A position in the queue, given up when dropped.
struct Number {
    share: Rc<QueuedSemaphore>,
    number: u64,
}

impl QueuedSemaphore {
    /// A semaphore with `places` permits and at most `most_waiting` waiters.
    pub fn new(places: usize, most_waiting: usize) -> Rc<Self> {
        let (taken, line, drawn) = (Cell::new(0), RefCell::default(), Cell::new(0));
        Rc::new(QueuedSemaphore { places, most_waiting, taken, line, drawn })
    }

    /// Waits for a permit, in order of arrival. Returns `None` without waiting if the queue is full.
    pub async fn place(self: &Rc<Self>) -> Option<Permit> {
        if self.line.borrow().len() >= self.most_waiting && self.taken.get() >= self.places {
            return None;
        }
        let number = self.drawn.get();
        self.drawn.set(number.wrapping_add(1));
        self.line.borrow_mut().insert(number, None);
        let number = Number { share: Rc::clone(self), number };
        poll_fn(|context| match number.share.is_next(number.number) {
            true => Poll::Ready(()),
            false => {
                number.share.line.borrow_mut().insert(number.number, Some(context.waker().clone()));
                Poll::Pending
            }
        })
        .await;
        self.taken.set(self.taken.get().saturating_add(1));
        drop(number);
        Some(Permit(Rc::clone(self)))
    }

    fn is_next(&self, number: u64) -> bool {
        let free = self.places.saturating_sub(self.taken.get());
        self.line.borrow().keys().take(free).any(|next| *next == number)
    }

    /// Wakes the first waiters in the queue, one per free permit.
    fn call(&self) {
        let free = self.places.saturating_sub(self.taken.get());
        let next: Vec<Waker> = self.line.borrow().values().take(free).flatten().cloned().collect();
        next.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        self.share.line.borrow_mut().remove(&self.number);
        self.share.call();
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.taken.set(self.0.taken.get().saturating_sub(1));
        self.0.call();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::pin::{Pin, pin};
    use core::task::Context;

    fn poll<T>(future: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    fn is_over<T>(poll: Poll<Option<T>>) -> Option<T> {
        match poll {
            Poll::Ready(Some(place)) => Some(place),
            _ => None,
        }
    }

    #[test]
    fn waiters_get_permits_in_order_of_arrival() {
        let share = QueuedSemaphore::new(1, 8);
        let first = is_over(poll(pin!(share.place()))).unwrap();
        let (mut second, mut third) = (Box::pin(share.place()), Box::pin(share.place()));
        assert!(poll(second.as_mut()).is_pending() && poll(third.as_mut()).is_pending());
        drop(first);
        assert!(poll(third.as_mut()).is_pending(), "not before an earlier waiter");
        let second = is_over(poll(second.as_mut())).unwrap();
        assert!(poll(third.as_mut()).is_pending());
        drop(second);
        assert!(is_over(poll(third.as_mut())).is_some());
    }

    #[test]
    fn a_waiter_that_leaves_blocks_nobody_and_the_queue_is_bounded() {
        let share = QueuedSemaphore::new(1, 2);
        let first = is_over(poll(pin!(share.place()))).unwrap();
        let (mut second, mut third) = (Box::pin(share.place()), Box::pin(share.place()));
        assert!(poll(second.as_mut()).is_pending() && poll(third.as_mut()).is_pending());
        assert!(matches!(poll(pin!(share.place())), Poll::Ready(None)), "too many wait");
        drop(second);
        drop(first);
        let place = is_over(poll(third.as_mut())).unwrap();
        assert!(share.line.borrow().is_empty() && share.taken.get() == 1);
        drop(place);
        assert_eq!(share.taken.get(), 0);
    }
}
