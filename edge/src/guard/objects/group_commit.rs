//! Group commit: requests that reach a Durable Object together are answered in one step and written in one commit.
//!
//! A commit costs more than all other work for a request, and the runtime commits at the end of the event that wrote. Queued requests
//! would each pay for a commit. So the first request waits for a zero-length timer, which fires after the requests
//! already queued have arrived; then all are answered. A request that arrives alone waits for no other.

use core::cell::RefCell;
use core::time::Duration;
use std::rc::Rc;
use wasm_bindgen::JsValue;
use worker::js_sys::{Function, Promise};
use worker::{Delay, State};

/// Maximum number of requests in a group; a full group is answered without waiting for the timer.
const MAX_GROUP: usize = 256;

/// A request that waits for its answer.
#[derive(Debug)]
pub struct Waiting<Q> {
    pub request: Q,
    settle: Option<Function>,
}

/// The requests that wait.
#[derive(Debug)]
pub struct GroupCommit<Q>(RefCell<Vec<Waiting<Q>>>);

impl<Q> Default for GroupCommit<Q> {
    fn default() -> Self {
        GroupCommit(RefCell::default())
    }
}

impl<Q> Waiting<Q> {
    /// Resolves the request's promise with a response or a promise of one. On an error the caller sees the Durable Object as unreachable.
    pub fn answer(self, value: Result<JsValue, JsValue>) {
        if let Some(settle) = self.settle {
            // The resolve function of a promise does not throw.
            let _ = settle.call1(&JsValue::UNDEFINED, &value.unwrap_or(JsValue::UNDEFINED));
        }
    }
}

impl<Q: 'static> GroupCommit<Q> {
    /// Adds a request and returns the promise of its answer. `answer` is called once per group, with all its requests.
    pub fn join(self: &Rc<Self>, state: &State, request: Q, answer: impl FnOnce(Vec<Waiting<Q>>) + 'static) -> Promise {
        let mut settle = None;
        let promise = Promise::new(&mut |resolve, _| settle = Some(resolve));
        let number = self.add(Waiting { request, settle });
        if number >= MAX_GROUP {
            answer(self.0.take());
        } else if number == 1 {
            let gather = Rc::clone(self);
            state.wait_until(async move {
                Delay::from(Duration::ZERO).await;
                answer(gather.0.take());
            });
        }
        promise
    }

    fn add(&self, waiting: Waiting<Q>) -> usize {
        let mut all = self.0.borrow_mut();
        all.push(waiting);
        all.len()
    }
}
