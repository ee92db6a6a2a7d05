//! A state machine over storage: loaded at first use, and again after a storage fault, so that memory never differs from storage.

use crate::guard::DiskFault;
use core::cell::RefCell;
use worker::console_error;

/// A state machine that is dropped after a storage fault, because its state may then differ from storage.
#[derive(Debug)]
pub struct LazyState<M> {
    machine: RefCell<Option<M>>,
    /// Name of the storage, for the log.
    whose: &'static str,
}

impl<M> LazyState<M> {
    pub const fn new(whose: &'static str) -> Self {
        LazyState { machine: RefCell::new(None), whose }
    }

    /// Runs a step. After a storage fault, the next step loads the state machine from storage again.
    pub fn with<T>(
        &self,
        load: impl FnOnce() -> Result<M, DiskFault>,
        step: impl FnOnce(&mut M) -> Result<T, DiskFault>,
    ) -> Result<T, DiskFault> {
        let mut slot = self.machine.borrow_mut();
        let outcome = (|| {
            let machine = match slot.take() {
                Some(machine) => machine,
                None => load()?,
            };
            step(slot.insert(machine))
        })();
        if let Err(fault) = &outcome {
            console_error!("{}: {}", self.whose, fault.0);
            *slot = None;
        }
        outcome
    }
}
