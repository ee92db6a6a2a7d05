//! Requests of a key that is asked for very often: reserved at its object beside a request, and let through without asking it.

use crate::guard::message::{KeyAsk, ReserveAsk};
use crate::guard::reserved;
use crate::pipeline::Walk;
use crate::ports::{Guards, Host, Inbound};
use rds_shared::access::budget::Verdict;
use rds_shared::access::credential::CredentialText;
use rds_shared::access::{KeyDigest, KeyRecord};
use rds_shared::route::Route;

impl<I: Inbound, H: Host + Guards> Walk<'_, I, H> {
    /// Lets this request through, if one is reserved for it.
    pub(crate) fn spend_reserved(
        &self,
        route: &Route,
        text: CredentialText<'_>,
        digest: KeyDigest,
    ) -> Option<(KeyRecord, Verdict)> {
        let reserved = &self.isolate.guards.reserved;
        let spent = reserved.borrow_mut().spend(&digest, route.family, route.id, self.host.now())?;
        if spent.is_low {
            self.reserve(text, digest);
        }
        Some((spent.record, spent.verdict))
    }

    /// Notes that the object let this request through, and has some of the next ones reserved if there are many.
    pub(crate) fn note_asked(
        &self,
        route: &Route,
        text: CredentialText<'_>,
        digest: KeyDigest,
        (record, verdict): (KeyRecord, Verdict),
    ) {
        if record.shared || route.family != reserved::FAMILY {
            return;
        }
        let left = verdict.allowance.remaining;
        if self.isolate.guards.reserved.borrow_mut().asked(&digest, left, self.host.now()) {
            self.reserve(text, digest);
        }
    }

    fn reserve(&self, text: CredentialText<'_>, digest: KeyDigest) {
        let (now, guards) = (self.host.now(), &self.isolate.guards);
        let Some(wish) = guards.reserved.borrow_mut().begin(&digest, now, self.config.guard_timeout) else { return };
        let settled = guards.reserved.borrow_mut().over(&digest, now);
        let (shown, tally) = (text.shown().to_owned(), Vec::new());
        let ask = KeyAsk { digest, shown, text: None, take: None, tally, settled };
        let (family, want, lasts) = (reserved::FAMILY, wish.want, wish.lasts);
        self.host.reserve_later(now, ReserveAsk { ask, family, want, lasts });
    }
}
