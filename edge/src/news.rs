//! The origin's word on a key or on facts that were changed: acknowledged once no isolate can act upon what was before.
//!
//! To anybody whose message is not signed by the origin, these are paths like any that do not exist.

use crate::epochs::lease::LEASE_MILLIS;
use crate::guard::denials::KEY_LEASE_MILLIS;
use crate::guard::message::{KeyMessage, KeyReply};
use crate::pipeline::Walk;
use crate::ports::{Guards, Host, Inbound};
use crate::respond::Answer;
use core::time::Duration;
use rds_shared::access::link::{KEY_NEWS, KeyNews, ORIGIN, TAG_NEWS, TagNews};
use rds_shared::access::{Assertion, SignedRequest};
use rds_shared::wire::{ApiError, ErrorCode, headers};
use serde::de::DeserializeOwned;

/// Largest message that is read, in bytes; a record takes two hundred.
const MAX_BODY: usize = 4_096;
const KEY_LEASE: Duration = Duration::from_millis(KEY_LEASE_MILLIS.unsigned_abs());
const TAG_LEASE: Duration = Duration::from_millis(LEASE_MILLIS.unsigned_abs());

impl<I: Inbound, H: Host + Guards> Walk<'_, I, H> {
    /// Takes a message about a key. A replay is harmless: a record carries its version.
    pub(crate) async fn receive_key_news(&self) -> Result<Answer, ApiError> {
        let Some(KeyNews { digest, record }) = self.read_news(KEY_NEWS).await else {
            return Err(ApiError::not_found("route"));
        };
        let reply = self.host.key(&digest, &KeyMessage::News { digest, record }).await;
        if reply != Ok(KeyReply::Done) {
            self.host.log(&format!("{} news of key {} could not be written: {reply:?}", self.request_id, record.id));
            return Err(ErrorCode::ServiceUnavailable.into());
        }
        // A register that cannot be told asks the origin when the key is used.
        let listed = self.host.register(&digest, &KeyMessage::List { digest }).await;
        if listed != Ok(KeyReply::Done) {
            self.host.log(&format!("{} key {} could not be listed: {listed:?}", self.request_id, record.id));
        }
        // What some isolate remembers of the key, a refusal or a reservation, it was given before now, and holds no longer than this.
        self.host.wait(KEY_LEASE).await;
        Ok(Answer::Done)
    }

    /// Takes a message about changed facts. A replay is harmless: versions only grow. The answer says every version that is known: an
    /// origin whose database has yet to give one of them knows by that that the database was set back.
    pub(crate) async fn receive_tag_news(&self) -> Result<Answer, ApiError> {
        let Some(TagNews { versions }) = self.read_news(TAG_NEWS).await else {
            return Err(ApiError::not_found("route"));
        };
        let reply = self.host.epochs(&versions).await;
        let Some(known) = reply.as_ref().ok().filter(|known| known.covers(&versions)) else {
            self.host.log(&format!(
                "{} news of {} could not be written: {reply:?}",
                self.request_id,
                versions.to_text()
            ));
            return Err(ErrorCode::ServiceUnavailable.into());
        };
        self.isolate.epochs.borrow_mut().heard(&versions);
        // A lease that some isolate holds was given before now, and lapses within this. Who tells nothing only asks what is known.
        if !versions.is_empty() {
            self.host.wait(TAG_LEASE).await;
        }
        Ok(Answer::Known(*known))
    }

    async fn read_news<T: DeserializeOwned>(&self, target: &str) -> Option<T> {
        let header = self.inbound.header(headers::ASSERTION)?;
        let assertion = Assertion::parse(&header).ok()?;
        let principal = self.inbound.header(headers::PRINCIPAL)?;
        if principal != ORIGIN {
            return None;
        }
        let body = self.inbound.body(MAX_BODY).await.ok()?;
        let signed = SignedRequest { method: "POST", target, body: &body, principal: &principal };
        let verified = assertion.verify(&self.config.verification_keys, &signed, self.host.now().as_seconds());
        if let Err(fault) = verified {
            self.host.log(&format!("{} a message in the origin's name does not hold: {fault:?}", self.request_id));
            return None;
        }
        serde_json::from_slice(&body).ok()
    }
}
