//! The lease of a request's isolate: renewed beside requests, and waited for where it has lapsed.

use crate::epochs::lease::State;
use crate::pipeline::Walk;
use crate::ports::{Guards, Host, Inbound};
use core::time::Duration;

/// The first pause while somebody's question is out; each next one is twice as long, up to the longest.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LONGEST_LOOK: Duration = Duration::from_millis(8);

impl<I: Inbound, H: Host + Guards> Walk<'_, I, H> {
    /// Asks for the versions beside this request, if it is time to and nobody in this isolate does.
    pub(crate) fn renew_lease(&self) {
        let now = self.host.now();
        let due = self.isolate.epochs.borrow_mut().begin(now, self.config.guard_timeout);
        if let Some(seen) = due {
            self.host.renew_lease(now, seen);
        }
    }

    /// Waits until the lease holds, or it is known that the object cannot be asked.
    ///
    /// Who asked may be another request, whose future is not ours to await: each looks again by a timer of its own.
    pub(crate) async fn hold_lease(&self) {
        let (mut look, mut waited) = (FIRST_LOOK, Duration::ZERO);
        while self.isolate.epochs.borrow().state(self.host.now()) == State::Lapsed {
            if waited >= self.config.guard_timeout {
                let now = self.host.now();
                self.isolate.epochs.borrow_mut().end(now, now, None);
                return;
            }
            self.renew_lease();
            self.host.wait(look).await;
            waited = waited.saturating_add(look);
            look = look.saturating_mul(2).min(LONGEST_LOOK);
        }
    }
}
