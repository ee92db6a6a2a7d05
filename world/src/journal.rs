//! The log of a run: every event in order, as text. Long runs keep only its digest and length.

use crate::runtime::Runtime;
use rds_shared::wire::hex;
use sha2::{Digest, Sha256};
use std::cell::{Cell, RefCell};
use std::fmt::{Arguments, Write};
use std::rc::Rc;

pub struct Journal {
    runtime: Rc<Runtime>,
    /// Whether the whole text is kept, and with it a line for each request that an isolate admitted by itself.
    pub is_whole: bool,
    text: RefCell<String>,
    digest: RefCell<Sha256>,
    lines: Cell<u64>,
}

impl Journal {
    pub fn new(runtime: Rc<Runtime>, is_whole: bool) -> Self {
        Journal { runtime, is_whole, text: RefCell::default(), digest: RefCell::default(), lines: Cell::new(0) }
    }

    /// Appends a line, preceded by the instant in microseconds.
    pub fn line(&self, event: Arguments<'_>) {
        let mut text = self.text.borrow_mut();
        let before = if self.is_whole { text.len() } else { 0 };
        text.truncate(if self.is_whole { before } else { 0 });
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {event}", self.runtime.now());
        self.digest.borrow_mut().update(text.as_bytes().get(before..).unwrap_or_default());
        self.lines.set(self.lines.get() + 1);
    }

    pub fn lines(&self) -> u64 {
        self.lines.get()
    }

    /// The whole text; the last line only if the text is not kept.
    pub fn text(&self) -> String {
        self.text.borrow().clone()
    }

    /// SHA-256 of all lines, in hexadecimal.
    pub fn digest(&self) -> String {
        hex(&self.digest.borrow().clone().finalize())
    }
}
