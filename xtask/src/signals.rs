//! Ctrl-C, SIGTERM and SIGHUP as a flag that waiting loops check.
//!
//! The first signal requests an orderly stop. A second one ends the process at once, and the kernel then ends its children (see
//! [`crate::command::end_with_parent`]).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::{Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

static STOP_REQUESTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Installs the handlers. Call once, before the first child is started.
pub fn install() -> Result<()> {
    let asked = STOP_REQUESTED.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The order matters: the conditional exit must see the flag before this signal sets it.
        flag::register_conditional_shutdown(signal, 130, Arc::clone(asked))?;
        flag::register(signal, Arc::clone(asked))?;
    }
    Ok(())
}

/// Whether a stop was requested.
pub fn interrupted() -> bool {
    STOP_REQUESTED.get().is_some_and(|asked| asked.load(Ordering::Relaxed))
}

/// Returns an error if a stop was requested, so that a sequence of steps ends at the next `?`.
pub fn check() -> Result<()> {
    if interrupted() {
        bail!("interrupted");
    }
    Ok(())
}
