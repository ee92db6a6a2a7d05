//! Response bodies in JavaScript memory, kept for reuse: a popular cached response is copied into JavaScript only once per
//! second, because its bytes stay the same for that long.

use core::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use worker::js_sys::Uint8Array;

/// Maximum number of kept bodies.
const MAX_BODIES: usize = 16;
/// Maximum size of a kept body, in bytes.
const MAX_BODY_BYTES: usize = 256 * 1024;

/// The bodies, most recent first.
#[derive(Debug, Default)]
pub struct Bodies(RefCell<VecDeque<(Rc<[u8]>, Uint8Array)>>);

impl Bodies {
    /// The body in JavaScript memory. It is never modified, so responses may share it.
    pub fn of(&self, body: &Rc<[u8]>) -> Uint8Array {
        let mut kept = self.0.borrow_mut();
        if let Some((_, handed)) = kept.iter().find(|(known, _)| Rc::ptr_eq(known, body)) {
            return handed.clone();
        }
        let handed = Uint8Array::from(&**body);
        // A body referenced nowhere else is not cached and will not be sent again.
        if Rc::strong_count(body) > 1 && body.len() <= MAX_BODY_BYTES {
            kept.truncate(MAX_BODIES - 1);
            kept.push_front((Rc::clone(body), handed.clone()));
        }
        handed
    }
}
