//! Requests that reach an object together are answered in one step, and what they write goes to the disk in one commit.
//!
//! A commit costs more than all the rest of a request. The runtime ends it with the event that wrote, so that of requests which wait
//! in line for the object each would have one of its own. Here the first of them lets the line in before anything is answered: a timer
//! of no duration fires behind those that are there already. Who comes alone waits for nobody.

use core::cell::RefCell;
use core::time::Duration;
use std::rc::Rc;
use wasm_bindgen::JsValue;
use worker::js_sys::{Function, Promise};
use worker::{Delay, State};

/// Requests that wait at once, at most: the last of so many is answered at once, and the others with it.
const MOST: usize = 256;

/// A request that waits for its answer.
#[derive(Debug)]
pub struct Waiting<Q> {
    /// What was asked.
    pub request: Q,
    settle: Option<Function>,
}

/// Those that wait.
#[derive(Debug)]
pub struct Gather<Q>(RefCell<Vec<Waiting<Q>>>);

impl<Q> Default for Gather<Q> {
    fn default() -> Self {
        Gather(RefCell::default())
    }
}

impl<Q> Waiting<Q> {
    /// Hands over the answer, or a promise of one. Without either the caller counts the object as unreachable.
    pub fn answer(self, value: Result<JsValue, JsValue>) {
        if let Some(settle) = self.settle {
            // A promise's own function throws nothing.
            let _ = settle.call1(&JsValue::UNDEFINED, &value.unwrap_or(JsValue::UNDEFINED));
        }
    }
}

impl<Q: 'static> Gather<Q> {
    /// Adds a request, and gives the promise of its answer. `answer` is called for all that wait then; by one of them.
    pub fn join(self: &Rc<Self>, state: &State, request: Q, answer: impl FnOnce(Vec<Waiting<Q>>) + 'static) -> Promise {
        let mut settle = None;
        let promise = Promise::new(&mut |resolve, _| settle = Some(resolve));
        let number = self.add(Waiting { request, settle });
        if number >= MOST {
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
