//! One vault: its page, and separate routes for its history, score history and events.
//!
//! These routes also serve vaults that are shut down or gone.

use crate::catalog::LiveCatalog;
use crate::catalog::histories::Histories;
use crate::catalog::{Catalog, Vault, row_of};
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::{Call, RouteCall};
use crate::http::exchange::encoded;
use rds_facts::ProtocolAnswer;
use rds_shared::model::EncodedRow;
use rds_shared::model::evidence::{Citation, ExposureBasis, InputAnswer, VaultEvidence};
use rds_shared::model::ids::VaultId;
use rds_shared::model::status::{AuditStatus, Breakdown, RewardSide, TvlStatus};
use rds_shared::model::vault::{Reward, VaultDetail, VaultRow};
use rds_shared::model::vault_history::{SnapshotPoint, VaultEvent};
use rds_shared::route::{Row, params, routes};
use rds_shared::rules::downsampling::downsample;
use rds_shared::rules::high_confidence::is_high_confidence;
use rds_shared::scoring::rubric::{ProtocolAnswer as EvaluatedAnswer, ProtocolInput, ProtocolPart};
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, ErrorCode, Timestamp};
use rds_store::Db;
use rds_store::vaults::detail::{self, DetailFacts};
use rds_store::vaults::score_history;
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Days of history in a vault's page: the default of the snapshots route.
const PAGE_DAYS: i64 = 90;
/// Maximum events of one vault that are served, the newest first.
const MAX_EVENTS: u32 = 500;
const DAY: i64 = 86_400;

/// `GET /v1/vaults/{id}`.
pub async fn by_id(
    live: &LiveCatalog,
    db: &Db,
    histories: &Histories,
    call: RouteCall<'_, routes::VaultById>,
) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let vault = VaultId::parse(call.found.param(0))
        .and_then(|id| catalog.vault(&id))
        .ok_or_else(|| ApiError::not_found("vault"))?;
    page(db, histories, &call, catalog.version, vault, call.get(params::Points)).await
}

/// `GET /v1/vault/{network}/{address}`.
pub async fn by_address(
    live: &LiveCatalog,
    db: &Db,
    histories: &Histories,
    call: RouteCall<'_, routes::VaultDetail>,
) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    page(db, histories, &call, catalog.version, addressed(&catalog, &call)?, call.get(params::Points)).await
}

/// `GET /v1/vault/{network}/{address}/snapshots`.
pub async fn snapshots(
    live: &LiveCatalog,
    db: &Db,
    histories: &Histories,
    call: RouteCall<'_, routes::VaultSnapshots>,
) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let vault = addressed(&catalog, &call)?;
    let from = days_before(call.now, call.get(params::Days).into());
    let stored = histories.between(db, vault, from, call.now).await?;
    let points = thinned(stored.points(), call.get(params::Points));
    encoded::data_with_body_etag(&call, catalog.version, &points)
}

/// `GET /v1/vault/{network}/{address}/score-history`.
pub async fn score_history(
    live: &LiveCatalog,
    db: &Db,
    call: RouteCall<'_, routes::VaultScoreHistory>,
) -> Result<Answer, Failure> {
    let (from, to) = range(call)?;
    let catalog = live.get()?;
    let vault = addressed(&catalog, &call)?;
    let limit = call.get(params::Limit);
    let mut points = score_history::between(db, vault.row.id.as_str(), from, to, limit).await?;
    // The query returns the newest points up to the limit, newest first; the response lists them in ascending order.
    points.reverse();
    encoded::data_with_body_etag(&call, catalog.version, &points)
}

/// `GET /v1/vault/{network}/{address}/events`.
pub async fn events(live: &LiveCatalog, db: &Db, call: RouteCall<'_, routes::VaultEvents>) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let vault = addressed(&catalog, &call)?;
    let events = detail::events(&db.pool, vault.row.id.as_str(), MAX_EVENTS).await?;
    encoded::data_with_body_etag(&call, catalog.version, &call.part(&events))
}

/// The period from `from` to `to`, both inclusive and both optional.
pub(in crate::http) fn range<R: Row>(call: RouteCall<'_, R>) -> Result<(Timestamp, Timestamp), ApiError> {
    let (from, to) = (call.get(params::HistoryFrom), call.get(params::HistoryTo));
    if let (Some(from), Some(to)) = (from, to)
        && from > to
    {
        let details = vec![
            Detail::new(In::Query, "from", "must not be after `to`"),
            Detail::new(In::Query, "to", "must not be before `from`"),
        ];
        return Err(ApiError::invalid(ErrorCode::InvalidParameter, details));
    }
    Ok((from.unwrap_or(Timestamp::from_micros(i64::MIN)), to.unwrap_or(Timestamp::from_micros(i64::MAX))))
}

/// The vault, if its protocol's vaults have this kind of breakdown; else 404.
pub(in crate::http) fn of_breakdown<'c>(
    catalog: &Catalog,
    vault: &'c Vault,
    breakdown: Breakdown,
) -> Result<&'c Vault, ApiError> {
    let protocol = catalog.rollup.protocol(&vault.row.protocol_id);
    let missing = match breakdown {
        Breakdown::Markets => "market allocation: the vault's protocol does not spread deposits over lending markets",
        Breakdown::Strategies => "strategies: the vault's protocol does not lend deposits to strategies",
        Breakdown::Strategy => "strategy: the vault's protocol does not run one strategy per vault",
    };
    let shows = protocol.is_some_and(|protocol| protocol.facts.breakdown == Some(breakdown));
    if shows { Ok(vault) } else { Err(ApiError::not_found(missing)) }
}

/// A vault's TVL; `None` if it was not read.
pub(in crate::http) fn observed_tvl(row: &VaultRow) -> Option<f64> {
    (row.tvl_status == TvlStatus::Observed).then_some(row.tvl_usd)
}

/// The vault that `{network}` and `{address}` name.
pub(in crate::http) fn addressed<'c>(catalog: &'c Catalog, call: &Call) -> Result<&'c Vault, ApiError> {
    let chain = catalog.rollup.chain(call.found.param(0)).ok_or_else(|| ApiError::not_found("network"))?;
    let address = call.address_on(&chain.facts, 1)?;
    catalog.vault_on(chain.facts.id, &address).map(AsRef::as_ref).ok_or_else(|| ApiError::not_found("vault"))
}

/// The readings, thinned to the requested number of points.
fn thinned(stored: &[SnapshotPoint], points: u32) -> Vec<&SnapshotPoint> {
    downsample(stored, points as usize, SnapshotPoint::CHARTED)
}

/// The page of one vault.
async fn page(
    db: &Db,
    histories: &Histories,
    call: &Call,
    version: i64,
    vault: &Vault,
    points: u32,
) -> Result<Answer, Failure> {
    let id = &vault.row.id;
    let mut db = db.snapshot().await?;
    let facts = detail::vault(&mut db, id.as_str()).await?.ok_or_else(|| ApiError::not_found("vault"))?;
    // The version is read from the database snapshot, because the catalog may be older.
    let of = (id, facts.vault.changed_version);
    let from = days_before(call.now, PAGE_DAYS);
    let stored = histories.between_in(&mut db, of, from, call.now).await?;
    let events = detail::events(&mut *db, id.as_str(), MAX_EVENTS).await?;
    drop(db);
    let rewards = of_side(&facts, RewardSide::Supply);
    let rest = serde_json::to_vec(&Rest { snapshots: thinned(stored.points(), points), events: &events, rewards })?;
    let vault = EncodedRow::encode(&vault_of(&facts, call.now), facts.vault.last_synced_at)?;
    let mut etag = call.etag();
    etag.add_u64(vault.version()).add(&rest);
    Ok(call.answer(etag, version, || {
        // `rest` is a JSON object; the vault is inserted before its members.
        let mut body = Vec::with_capacity(vault.max_len() + rest.len() + 32);
        body.extend_from_slice(b"{\"data\":{\"vault\":");
        vault.write(call.now, &mut body);
        body.push(b',');
        body.extend_from_slice(rest.get(1..).unwrap_or_default());
        body.push(b'}');
        body
    }))
}

/// The members of a page after `vault`.
#[derive(Serialize)]
struct Rest<'a> {
    snapshots: Vec<&'a SnapshotPoint>,
    events: &'a [VaultEvent],
    rewards: Vec<Reward>,
}

fn vault_of(facts: &DetailFacts, now: Timestamp) -> VaultDetail<&RawValue, &RawValue> {
    let vault = &facts.vault;
    VaultDetail {
        row: row_of(vault),
        borrow_rewards: of_side(facts, RewardSide::Borrow),
        risk_vectors: &facts.risk_vectors,
        audit_status: match vault.audits {
            None => AuditStatus::Unknown,
            Some(0) => AuditStatus::Unaudited,
            Some(_) => AuditStatus::Audited,
        },
        auditors: vault.auditors.clone(),
        score_provenance: Some(&facts.score_provenance),
        symbol: vault.symbol.clone(),
        asset_address: vault.asset_address.clone(),
        protocol_version: vault.protocol_version.clone(),
        protocol_website: facts.protocol_website.clone(),
        protocol_launch_date: facts.protocol_launched_at,
        audit_date: facts.newest_audit_at,
        audit_report_url: facts.audit_report_url.clone(),
        is_immutable: facts.is_immutable,
        timelock_seconds: facts.timelock_seconds,
        deployment_timestamp: facts.deployed_at,
        is_active: vault.is_active,
        needs_risk_review: vault.needs_risk_review,
        is_high_confidence: is_high_confidence(vault.score, vault.apr_net),
        score_computed_at: vault.score_computed_at,
        score_evidence: evidence_of(facts, now),
    }
}

fn evidence_of(facts: &DetailFacts, now: Timestamp) -> VaultEvidence {
    let derived = facts.exposure_basis.as_ref();
    let derived = derived.filter(|(basis, as_of)| !basis.rule.is_outdated(now.seconds_since(*as_of)));
    VaultEvidence {
        exposures: derived.map(|(basis, as_of)| ExposureBasis {
            rule: basis.rule,
            source_title: basis.source_title.clone(),
            source_url: basis.source_url.clone(),
            source_kind: basis.source_kind,
            as_of: *as_of,
        }),
        answers: input_answers(&facts.answers, now),
    }
}

/// The answers as served, without those whose stored value does not have its input's form.
fn input_answers(answers: &[ProtocolAnswer], now: Timestamp) -> Vec<InputAnswer> {
    let evaluated: Vec<_> = answers.iter().filter_map(|it| Some((it, it.evaluated()?))).collect();
    let mut about: BTreeMap<&str, Vec<EvaluatedAnswer>> = BTreeMap::new();
    for (answer, evaluated) in &evaluated {
        about.entry(&answer.subject).or_default().push(evaluated.clone());
    }
    let mut parts: BTreeMap<(&str, ProtocolInput), ProtocolPart> = BTreeMap::new();
    let served = evaluated.iter().map(|(answer, evaluated)| {
        let given = about.get(answer.subject.as_str()).map(Vec::as_slice).unwrap_or_default();
        let part = parts.entry((&answer.subject, answer.input));
        let part = part.or_insert_with(|| ProtocolPart::new(answer.input, given, now));
        input_answer(answer, evaluated, part, now)
    });
    served.collect()
}

fn input_answer(
    answer: &ProtocolAnswer,
    evaluated: &EvaluatedAnswer,
    part: &ProtocolPart,
    now: Timestamp,
) -> InputAnswer {
    InputAnswer {
        subject: answer.subject.clone(),
        input: answer.input,
        value: evaluated.value.clone(),
        counts: part.rests_on(evaluated, now),
        question_state: part.state,
        citation: Citation {
            as_of: answer.as_of.0,
            source_title: answer.source_title.clone(),
            source_url: answer.source_url.clone(),
            source_kind: answer.source_kind,
            note: answer.note.clone(),
            withdrawn_at: answer.withdrawn.then_some(answer.observed_at.0),
            given_by: answer.source.clone(),
        },
    }
}

fn of_side(facts: &DetailFacts, side: RewardSide) -> Vec<Reward> {
    facts.vault.rewards.iter().filter(|reward| reward.side == side).cloned().collect()
}

fn days_before(now: Timestamp, days: i64) -> Timestamp {
    now.plus_seconds(-days * DAY)
}
