//! Ctrl-C and SIGTERM as a question that every waiting loop asks.
//!
//! The first signal asks for an orderly stop; a second one ends the process at once, and the
//! kernel then ends its children (see [`crate::command::end_with_parent`]).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::{Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Starts listening. Call once, before the first child is started.
pub fn install() -> Result<()> {
    let asked = ASKED.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Order matters: the conditional exit sees the flag as it was before this signal.
        flag::register_conditional_shutdown(signal, 130, Arc::clone(asked))?;
        flag::register(signal, Arc::clone(asked))?;
    }
    Ok(())
}

/// Whether the person, or a supervisor, asked for a stop.
pub fn interrupted() -> bool {
    ASKED.get().is_some_and(|asked| asked.load(Ordering::Relaxed))
}

/// An error when a stop was asked for, so that `?` leaves a sequence of steps.
pub fn check() -> Result<()> {
    if interrupted() {
        bail!("interrupted");
    }
    Ok(())
}
