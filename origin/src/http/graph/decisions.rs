//! Checks of portfolios, and the evidence of decisions.

use crate::catalog::LiveCatalog;
use crate::decisions::issue::{Unsigned, issue};
use crate::decisions::request::CheckRequest;
use crate::graph::Graph;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::{Call, RouteCall};
use crate::http::listeners::assertion::{Refusal, refusal_of};
use crate::http::listeners::replays;
use crate::metrics::Metrics;
use rds_shared::access::Principal;
use rds_shared::graph::check::check as run;
use rds_shared::graph::decision::Subject;
use rds_shared::graph::evidence::Evidence;
use rds_shared::graph::signature::DecisionKey;
use rds_shared::model::content_hash::ContentHash;
use rds_shared::model::decision::{CheckResult, IssuedDecision, PublishedSigner, SealedDecision};
use rds_shared::route::routes;
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, Data, ErrorCode};
use rds_store::Db;
use rds_store::graph::{decisions, signers};

/// `POST /v1/graph/check`.
pub async fn check(
    live: &LiveCatalog,
    db: &Db,
    graph: &Graph,
    signing_key: Option<&DecisionKey>,
    metrics: &Metrics,
    call: &Call,
) -> Result<Answer, Failure> {
    call.expect_json()?;
    let CheckRequest { portfolio_ref, portfolio, limits, issue } = CheckRequest::read(&call.body, live.namespaces())?;
    let snapshot = graph.get()?;
    let outcome = run(&portfolio, snapshot.graph.index(), &limits);
    let decision = match issue {
        true => {
            decide(
                db,
                signing_key,
                metrics,
                call,
                &Subject::of(&portfolio_ref, &portfolio, snapshot.id(), &limits, &outcome),
            )
            .await?
        }
        false => None,
    };
    let built_at = snapshot.manifest.built_at;
    Answer::value(&Data { data: CheckResult { snapshot_id: snapshot.id(), built_at, outcome: &outcome, decision } })
}

/// The caller's signed decision; `None` if this process has no key, or if the signer registry does not allow the key to sign now.
async fn decide(
    db: &Db,
    signing_key: Option<&DecisionKey>,
    metrics: &Metrics,
    call: &Call,
    subject: &Subject,
) -> Result<Option<IssuedDecision>, Failure> {
    let Some(key) = signing_key else { return Ok(None) };
    let Principal::Key { org_id, .. } = call.principal else { return Err(ErrorCode::Forbidden.into()) };
    if !replays::spend(db, &call.through).await? {
        return Err(refusal_of(metrics, Refusal::Replayed));
    }
    match issue(db, key, org_id, subject, call.now).await? {
        Ok(decision) => Ok(Some(decision)),
        Err(Unsigned::KeyNotActive) => {
            tracing::warn!(address = %key.address(), "a decision was not signed: this process's key is not a signer that may sign now");
            Ok(None)
        }
        Err(Unsigned::Failed) => Err(Failure::Internal("a decision could not be signed".to_owned())),
    }
}

/// `GET /v1/graph/decision/{id}/verify`, as the edge requests it: the stored record and the signers. The edge verifies the
/// record.
pub async fn evidence(live: &LiveCatalog, db: &Db, call: &Call) -> Result<Answer, Failure> {
    let id = id(call)?;
    let evidence = Evidence { record: decisions::record(db, id).await?, signers: signers::list(&db.pool).await? };
    let body = serde_json::to_vec(&evidence)?;
    if evidence.record.is_none() {
        // The decision may be issued in the next moment, so this response is not cacheable.
        return Ok(Answer::json(body));
    }
    Ok(cacheable(live, call, body))
}

/// `GET /v1/graph/decision/{id}`: the record itself, for independent verification.
pub async fn by_id(live: &LiveCatalog, db: &Db, call: &Call) -> Result<Answer, Failure> {
    let id = id(call)?;
    let record = decisions::record(db, id).await?.ok_or_else(|| ApiError::not_found("decision"))?;
    Ok(cacheable(live, call, serde_json::to_vec(&Data { data: SealedDecision::of(id, record) })?))
}

/// `GET /v1/graph/signers`: the whole registry.
pub async fn signers(live: &LiveCatalog, db: &Db, call: RouteCall<'_, routes::SignerList>) -> Result<Answer, Failure> {
    let rows = signers::list(&db.pool).await?;
    let data: Vec<_> = rows.into_iter().map(PublishedSigner::from).collect();
    Ok(cacheable(live, &call, serde_json::to_vec(&Data { data: call.part(&data) })?))
}

fn id(call: &Call) -> Result<ContentHash, ApiError> {
    let fault = || ApiError::parameter(Detail::new(In::Path, "id", "must be 64 hex characters"));
    ContentHash::parse(call.found.param(0)).ok_or_else(fault)
}

/// A cacheable answer whose ETag is made from its body.
fn cacheable(live: &LiveCatalog, call: &Call, body: Vec<u8>) -> Answer {
    let mut etag = call.etag();
    etag.add(&body);
    let version = live.current().map_or(0, |catalog| catalog.version);
    call.answer(etag, version, || body)
}
