//! The origin's messages about changed keys and tags. Each is acknowledged only after no isolate can act on the earlier state.
//!
//! For a request without a valid signature of the origin, these paths answer 404 like any unknown path.

use crate::guard::addresses::denials::KEY_LEASE_MILLIS;
use crate::guard::objects::message::{KeyMessage, KeyReply};
use crate::pipeline::RequestContext;
use crate::ports::{Guards, Host, Inbound};
use crate::respond::Answer;
use crate::tag_versions::lease::LEASE_MILLIS;
use crate::tag_versions::{TagMessage, Withheld, withheld};
use core::time::Duration;
use rds_shared::access::link::{KEY_UPDATE_PATH, KeyUpdate, ORIGIN, TAG_INVALIDATION_PATH, TagInvalidation};
use rds_shared::access::{Assertion, SignedRequest};
use rds_shared::wire::{ApiError, ErrorCode, headers};
use serde::de::DeserializeOwned;

/// Largest message accepted, in bytes; a key record takes about 200.
const MAX_BODY_BYTES: usize = 4_096;
const KEY_LEASE: Duration = Duration::from_millis(KEY_LEASE_MILLIS.unsigned_abs());
const TAG_LEASE: Duration = Duration::from_millis(LEASE_MILLIS.unsigned_abs());

impl<I: Inbound, H: Host + Guards> RequestContext<'_, I, H> {
    /// Receives a changed key. A replay is harmless, because a record carries its version.
    pub(crate) async fn receive_key_update(&self) -> Result<Answer, ApiError> {
        let Some(KeyUpdate { digest, record }) = self.read_message(KEY_UPDATE_PATH).await else {
            return Err(ApiError::not_found("route"));
        };
        let reply = self.host.key(&digest, &KeyMessage::Update { digest, record }).await;
        if reply != Ok(KeyReply::Done) {
            self.host
                .log(&format!("{} the update of key {} could not be stored: {reply:?}", self.request_id, record.id));
            return Err(ErrorCode::ServiceUnavailable.into());
        }
        // If the register cannot be reached now, it looks the key up at the origin when the key is first used.
        let listed = self.host.register(&digest, &KeyMessage::List { digest }).await;
        if listed != Ok(KeyReply::Done) {
            self.host
                .log(&format!("{} key {} could not be added to its register: {listed:?}", self.request_id, record.id));
        }
        // A refusal or reservation that an isolate remembers from before this message expires within the key lease.
        self.host.wait(KEY_LEASE).await;
        Ok(Answer::Done)
    }

    /// Receives changed tags. A replay is harmless, because versions only grow. The answer lists every version that this edge has. An origin
    /// whose database is behind one of these versions detects that the database was restored.
    pub(crate) async fn receive_tag_invalidation(&self) -> Result<Answer, ApiError> {
        let Some(TagInvalidation { versions, withheld }) = self.read_message(TAG_INVALIDATION_PATH).await else {
            return Err(ApiError::not_found("route"));
        };
        let withheld = withheld.map(|chains| Withheld::new(versions.of(withheld::TAG), chains));
        let reply = self.host.tag_versions(&TagMessage { withheld, ..TagMessage::seen(versions) }).await;
        let Some(known) = reply.as_ref().ok().filter(|known| known.versions.covers(&versions)) else {
            self.host.log(&format!(
                "{} the tag versions {} could not be stored: {reply:?}",
                self.request_id,
                versions.to_text()
            ));
            return Err(ErrorCode::ServiceUnavailable.into());
        };
        {
            let mut lease = self.isolate.tag_lease.borrow_mut();
            lease.record_withheld(&known.withheld);
            lease.record_versions(&versions);
        }
        // Every lease granted before this message lapses within `TAG_LEASE`. An empty message only requests the versions.
        if !versions.is_empty() {
            self.host.wait(TAG_LEASE).await;
        }
        Ok(Answer::Known(known.versions))
    }

    async fn read_message<T: DeserializeOwned>(&self, target: &str) -> Option<T> {
        let header = self.inbound.header(headers::ASSERTION)?;
        let assertion = Assertion::parse(&header).ok()?;
        let principal = self.inbound.header(headers::PRINCIPAL)?;
        if principal != ORIGIN {
            return None;
        }
        let body = self.inbound.body(MAX_BODY_BYTES).await.ok()?;
        let signed = SignedRequest { method: "POST", target, body: &body, principal: &principal };
        let verified = assertion.verify(&self.config.verification_keys, &signed, self.host.now().as_seconds());
        if let Err(fault) = verified {
            self.host.log(&format!(
                "{} a message that claims to be from the origin failed verification: {fault:?}",
                self.request_id
            ));
            return None;
        }
        serde_json::from_slice(&body).ok()
    }
}
