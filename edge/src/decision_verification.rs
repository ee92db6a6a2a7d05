//! Verifies decisions at the edge: the origin supplies only the stored evidence, and the edge derives every answer from it.
//!
//! Evidence is cached like any other response, so a decision verified once stays verifiable while the origin is down, and a
//! change of the signer registry shows on the next request. Each request hashes the envelope and recovers the signer again; both cost
//! less than metering, and the input is bounded.
//!
//! A stale response is marked stale as usual. If the registry is known to have changed since the evidence was read, the evidence no longer
//! proves that the signer was authorised: a key is often retired because it leaked, and the origin may be taken down for the same reason.
//! The answer about the signer's authorisation is then "no" until the registry can be read; the answers about the envelope and its
//! signature do not change.

use crate::pipeline::{OriginRequest, RequestContext};
use crate::ports::{Guards, Host, Inbound};
use crate::respond::{Answer, Content};
use rds_shared::graph::evidence::Evidence;
use rds_shared::model::content_hash::ContentHash;
use rds_shared::wire::etag::EtagBuilder;
use rds_shared::wire::{Data, ErrorCode};

impl<I: Inbound, H: Host + Guards> RequestContext<'_, I, H> {
    /// The five verification answers about decision `id`.
    pub(crate) async fn verified(&self, asked: &OriginRequest, id: &str) -> Answer {
        match self.kept(asked).await {
            Answer::Content(evidence) if evidence.status == 200 => {
                match verdict(id, &evidence.body, evidence.served.is_outdated) {
                    // The ETag is computed from this body, not from the evidence: the same evidence gives another body once the registry is
                    // known to have changed, and a 304 would hide the new body.
                    Some(body) => {
                        let headers = evidence.headers.tagged(EtagBuilder::of(&body).weak());
                        Answer::Content(Content { headers, body: body.into(), ..evidence })
                    }
                    None => {
                        self.host
                            .log(&format!("{} the origin's evidence of a decision cannot be read", self.request_id));
                        Answer::Error(ErrorCode::ServiceUnavailable.into())
                    }
                }
            }
            // The origin's own error, or the error for an unreachable origin.
            other => other,
        }
    }
}

/// The response body; `None` if `evidence` cannot be read. Outdated evidence predates a change of the registry.
fn verdict(id: &str, evidence: &[u8], is_outdated: bool) -> Option<Vec<u8>> {
    let verification = Evidence::parse(evidence)?.verify(ContentHash::parse(id)?);
    let verification = if is_outdated { verification.with_outdated_registry() } else { verification };
    serde_json::to_vec(&Data { data: verification }).ok()
}
