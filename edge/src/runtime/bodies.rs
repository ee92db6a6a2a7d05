//! Bodies as the runtime takes them, kept for those who are given the same bytes: a copy that is asked for often crosses into
//! JavaScript once in the second for which it reads the same.

use core::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use worker::js_sys::Uint8Array;

/// Bodies that are kept, and the largest that is.
const MOST: usize = 16;
const LARGEST: usize = 256 * 1024;

/// The bodies, in the order in which they came.
#[derive(Debug, Default)]
pub struct Bodies(RefCell<VecDeque<(Rc<[u8]>, Uint8Array)>>);

impl Bodies {
    /// A body as the runtime takes it. Nobody writes to it, so that responses may share it.
    pub fn of(&self, body: &Rc<[u8]>) -> Uint8Array {
        let mut kept = self.0.borrow_mut();
        if let Some((_, handed)) = kept.iter().find(|(known, _)| Rc::ptr_eq(known, body)) {
            return handed.clone();
        }
        let handed = Uint8Array::from(&**body);
        // One that nobody else holds is of an answer that is not kept: it never comes again.
        if Rc::strong_count(body) > 1 && body.len() <= LARGEST {
            kept.truncate(MOST - 1);
            kept.push_front((Rc::clone(body), handed.clone()));
        }
        handed
    }
}
