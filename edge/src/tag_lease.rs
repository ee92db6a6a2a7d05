//! The tag-version lease of a request's isolate: renewed in the background, awaited if it has lapsed.

use crate::pipeline::RequestContext;
use crate::ports::{Guards, Host, Inbound};
use crate::tag_versions::lease::State;
use core::time::Duration;

/// Poll interval while another request renews the lease: doubled each time, up to the maximum.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(1);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(8);

impl<I: Inbound, H: Host + Guards> RequestContext<'_, I, H> {
    /// Starts a background renewal if the lease is old enough to be renewed and this isolate has no renewal in progress.
    pub(crate) fn renew_lease(&self) {
        let now = self.host.now();
        let due = self.isolate.tag_lease.borrow_mut().begin(now, self.config.guard_timeout);
        if let Some(seen) = due {
            self.host.renew_lease(now, seen);
        }
    }

    /// Waits until the lease is valid or the Durable Object has proved unavailable.
    ///
    /// Another request may be renewing the lease and its future must not be awaited, so each request polls with its own timer.
    pub(crate) async fn hold_lease(&self) {
        let (mut interval, mut waited) = (MIN_POLL_INTERVAL, Duration::ZERO);
        while self.isolate.tag_lease.borrow().state(self.host.now()) == State::Lapsed {
            if waited >= self.config.guard_timeout {
                let now = self.host.now();
                self.isolate.tag_lease.borrow_mut().end(now, now, None);
                return;
            }
            self.renew_lease();
            self.host.wait(interval).await;
            waited = waited.saturating_add(interval);
            interval = interval.saturating_mul(2).min(MAX_POLL_INTERVAL);
        }
    }
}
