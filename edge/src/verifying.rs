//! Verification of decisions, here: the origin is believed what lies in its store and nothing that follows from it.
//!
//! The evidence of a decision is kept like any other copy. So a decision that was verified once stays verifiable while the
//! origin is away, and a change of the signer registry shows on the next request. Each request hashes and recovers anew:
//! that costs less than the metering before it, and what it works on is bounded.
//!
//! A copy that stands in for the origin is marked stale, as every such answer. When the registry is known to have changed since it
//! was read, it no longer shows that the signer might sign: a key is often retired because others have it, and that is when an
//! origin is taken down. So that one answer is no until the registry can be read; the envelope and its signature are what they were.

use crate::pipeline::{Asked, Walk};
use crate::ports::{Guards, Host, Inbound};
use crate::respond::{Answer, Content};
use rds_shared::graph::evidence::Evidence;
use rds_shared::model::content_hash::ContentHash;
use rds_shared::wire::etag::EtagBuilder;
use rds_shared::wire::{Data, ErrorCode};

impl<I: Inbound, H: Host + Guards> Walk<'_, I, H> {
    /// The five answers about the decision that `id` names.
    pub(crate) async fn verified(&self, asked: &Asked, id: &str) -> Answer {
        match self.kept(asked).await {
            Answer::Content(evidence) if evidence.status == 200 => {
                match verdict(id, &evidence.body, evidence.served.is_outdated) {
                    // Its own tag, and not the evidence's: of the same evidence another answer is made once the registry is known
                    // to have changed, and nobody may be told that what they have still holds.
                    Some(body) => {
                        let headers = evidence.headers.tagged(EtagBuilder::of(&body).weak());
                        Answer::Content(Content { headers, body: body.into(), ..evidence })
                    }
                    None => {
                        self.host.log(&format!("{} the origin gave no evidence of a decision", self.request_id));
                        Answer::Error(ErrorCode::ServiceUnavailable.into())
                    }
                }
            }
            // The origin's word on what is wrong with the request, or that it gave none.
            other => other,
        }
    }
}

/// The answer's body; null when `evidence` is none. An outdated one is of before a change of the registry.
fn verdict(id: &str, evidence: &[u8], is_outdated: bool) -> Option<Vec<u8>> {
    let verification = Evidence::parse(evidence)?.verify(ContentHash::parse(id)?);
    let verification = if is_outdated { verification.under_a_former_registry() } else { verification };
    serde_json::to_vec(&Data { data: verification }).ok()
}
