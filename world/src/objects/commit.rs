//! Group commit: messages that reach an object together are answered together.

use std::cell::RefCell;

/// Maximum number of requests in a group, as in the edge.
const MAX_GROUP: usize = 256;

/// The requests of the next group.
pub struct Group<W>(RefCell<Vec<W>>);

/// What to do after a request joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    /// It is the first: answer the group once a commit's time has passed.
    First,
    /// The group is full: answer it now.
    Full,
    Waits,
}

impl<W> Default for Group<W> {
    fn default() -> Self {
        Group(RefCell::default())
    }
}

impl<W> Group<W> {
    pub fn join(&self, waiting: W) -> Joined {
        let mut all = self.0.borrow_mut();
        all.push(waiting);
        match all.len() {
            1 => Joined::First,
            MAX_GROUP => Joined::Full,
            _ => Joined::Waits,
        }
    }

    pub fn take(&self) -> Vec<W> {
        self.0.take()
    }
}
