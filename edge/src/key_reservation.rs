//! Reservations for busy keys: made at the key's Durable Object in the background, then spent without calling it.

use crate::guard::keys::isolate_reservations;
use crate::guard::objects::message::{KeyAsk, ReserveAsk};
use crate::pipeline::RequestContext;
use crate::ports::{Guards, Host, Inbound};
use rds_shared::access::budget::Verdict;
use rds_shared::access::credential::CredentialText;
use rds_shared::access::{KeyDigest, KeyRecord};
use rds_shared::route::Route;

impl<I: Inbound, H: Host + Guards> RequestContext<'_, I, H> {
    /// Admits this request from a reservation, if there is one.
    pub(crate) fn spend_reserved(
        &self,
        route: &Route,
        text: CredentialText<'_>,
        digest: KeyDigest,
    ) -> Option<(KeyRecord, Verdict)> {
        let reserved = &self.isolate.guards.reserved;
        let spent = reserved.borrow_mut().spend(&digest, route.rate_limit_class, route.id, self.host.now())?;
        if spent.is_low {
            self.reserve(text, digest);
        }
        Some((spent.record, spent.verdict))
    }

    /// Records that the Durable Object admitted this request, and starts a reservation if the key is busy.
    pub(crate) fn note_asked(
        &self,
        route: &Route,
        text: CredentialText<'_>,
        digest: KeyDigest,
        (record, verdict): (KeyRecord, Verdict),
    ) {
        if record.shared || route.rate_limit_class != isolate_reservations::RESERVABLE_CLASS {
            return;
        }
        let left = verdict.allowance.remaining;
        if self.isolate.guards.reserved.borrow_mut().asked(&digest, left, self.host.now()) {
            self.reserve(text, digest);
        }
    }

    fn reserve(&self, text: CredentialText<'_>, digest: KeyDigest) {
        let (now, guards) = (self.host.now(), &self.isolate.guards);
        let Some(request) = guards.reserved.borrow_mut().begin(&digest, now, self.config.guard_timeout) else { return };
        let settled = guards.reserved.borrow_mut().over(&digest, now);
        let (shown, tally) = (text.shown().to_owned(), Vec::new());
        let ask = KeyAsk { digest, shown, text: None, take: None, tally, settled };
        let (class, want, lasts) = (isolate_reservations::RESERVABLE_CLASS, request.want, request.lasts);
        self.host.reserve_later(now, ReserveAsk { ask, class, want, lasts });
    }
}
