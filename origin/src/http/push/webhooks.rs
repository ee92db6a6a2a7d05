//! Management of webhook subscriptions.
//!
//! A subscription belongs to the calling key's organisation; subscriptions of other organisations are 404.

use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::{Call, RouteCall};
use crate::webhooks::Webhooks;
use crate::webhooks::create_request::{self, CreateSubscription};
use crate::webhooks::subscriptions::{self, Caller, Fault};
use rds_engine::clock::Clock;
use rds_shared::access::Principal;
use rds_shared::model::webhook::{
    WebhookDeleted, WebhookDelivery, WebhookReplayed, WebhookRequest, WebhookSubscription,
};
use rds_shared::push::breaker::{DisabledReason, Event, Status};
use rds_shared::push::delivery::attempt_headers;
use rds_shared::push::schedule::REPLAY_WINDOW_SECONDS;
use rds_shared::push::signature::SigningSecrets;
use rds_shared::route::{Row, params, routes};
use rds_shared::wire::error::{Detail, In};
use rds_shared::wire::{ApiError, Data, ErrorCode, Timestamp};
use rds_store::Db;
use rds_store::webhooks::lists::{self, Listed};
use rds_store::webhooks::{self as table, SealedSecrets, Subscription};

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Api(error) => error.into(),
            Fault::Store(error) => error.into(),
        }
    }
}

/// `POST /v1/webhooks`.
pub async fn create(db: &Db, webhooks: &Webhooks, call: &Call) -> Result<Answer, Failure> {
    let caller = caller(call)?;
    call.expect_json()?;
    let name = create_request::idempotency_key(call.idempotency_key.as_ref())?;
    let request = CreateSubscription::read(&call.body)?;
    let created = subscriptions::create(db, webhooks, caller, &request, name.as_deref(), call.now).await?;
    let secret = Some(created.secret.expose().to_owned());
    Answer::value(&Data { data: WebhookSubscription { secret, ..shown(created.subscription, call.now) } })
}

/// `GET /v1/webhooks`.
pub async fn list(db: &Db, call: RouteCall<'_, routes::WebhookList>) -> Result<Answer, Failure> {
    let rows = table::of_org(db, caller(&call)?.org, None).await?;
    let data: Vec<_> = rows.into_iter().map(|row| shown(row, call.now)).collect();
    Answer::value(&Data { data: call.part(&data) })
}

/// `GET /v1/webhooks/{id}`.
pub async fn by_id(db: &Db, call: &Call) -> Result<Answer, Failure> {
    let (subscription, _) = find(db, call).await?;
    Answer::value(&Data { data: shown(subscription, call.now) })
}

/// `DELETE /v1/webhooks/{id}`.
pub async fn delete(db: &Db, call: &Call) -> Result<Answer, Failure> {
    let id = number(call, 0)?;
    subscriptions::delete(db, caller(call)?, None, id).await?;
    Answer::value(&Data { data: WebhookDeleted { id, deleted: true } })
}

/// `POST /v1/webhooks/{id}/test`: enqueues a test delivery and returns it.
pub async fn test(db: &Db, clock: &Clock, webhooks: &Webhooks, call: &Call) -> Result<Answer, Failure> {
    let (subscription, sealed) = find(db, call).await?;
    let delivery = subscriptions::test(db, caller(call)?, subscription.id, call.now).await?;
    webhooks.due();
    let listed = lists::deliveries(db, subscription.id, Some(delivery), 1).await?;
    let signing = signing(webhooks, &subscription, &sealed, call.now)?;
    let delivery = listed.into_iter().next().ok_or_else(|| ApiError::not_found("webhook"))?;
    Answer::value(&Data { data: shown_delivery(delivery, &subscription, &signing, clock.wall()) })
}

/// `GET /v1/webhooks/{id}/deliveries`.
pub async fn deliveries(
    db: &Db,
    clock: &Clock,
    webhooks: &Webhooks,
    call: RouteCall<'_, routes::WebhookDeliveries>,
) -> Result<Answer, Failure> {
    let (subscription, sealed) = find(db, &call).await?;
    let signing = signing(webhooks, &subscription, &sealed, call.now)?;
    let listed = lists::deliveries(db, subscription.id, None, call.get(params::Limit).into()).await?;
    let now = clock.wall();
    let data: Vec<_> =
        listed.into_iter().map(|delivery| shown_delivery(delivery, &subscription, &signing, now)).collect();
    Answer::value(&Data { data })
}

/// `POST /v1/webhooks/{id}/replay`.
pub async fn replay(
    db: &Db,
    webhooks: &Webhooks,
    call: RouteCall<'_, routes::WebhookReplay>,
) -> Result<Answer, Failure> {
    let window = replay_window(call)?;
    let enqueued = subscriptions::replay(db, caller(&call)?, None, number(&call, 0)?, window, call.now).await?;
    webhooks.due();
    Answer::value(&Data { data: WebhookReplayed { enqueued } })
}

/// `POST /v1/webhooks/{id}/enable`.
pub async fn enable(db: &Db, webhooks: &Webhooks, call: &Call) -> Result<Answer, Failure> {
    let subscription = subscriptions::enable(db, caller(call)?, None, number(call, 0)?, call.now).await?;
    webhooks.due();
    Answer::value(&Data { data: shown(subscription, call.now) })
}

/// The calling organisation, and its key.
pub(in crate::http) fn caller(call: &Call) -> Result<Caller, ApiError> {
    match call.principal {
        Principal::Key { id, org_id, .. } => Ok(Caller { org: org_id, key: id }),
        // The access check admits only holders of keys.
        Principal::Anonymous | Principal::FirstParty { .. } | Principal::IndexToken { .. } => {
            Err(ErrorCode::Forbidden.into())
        }
    }
}

/// The subscription id in path parameter `place`; 404 if it is not a number.
pub(in crate::http) fn number(call: &Call, place: usize) -> Result<i64, ApiError> {
    let text = call.found.param(place);
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| ApiError::not_found("webhook"))
}

/// The window of a replay: `to` is now by default, and `from` is a day before `to`.
pub(in crate::http) fn replay_window<R: Row>(call: RouteCall<'_, R>) -> Result<(Timestamp, Timestamp), ApiError> {
    let to = call.get(params::ReplayTo).unwrap_or(call.now);
    let from = call.get(params::ReplayFrom).unwrap_or_else(|| to.plus_seconds(-REPLAY_WINDOW_SECONDS));
    if from > to {
        return Err(ApiError::parameter(Detail::new(In::Query, "from", "must not be after `to`")));
    }
    Ok((from, to))
}

async fn find(db: &Db, call: &Call) -> Result<(Subscription, SealedSecrets), Failure> {
    let found = table::find(db, caller(call)?.org, number(call, 0)?).await?;
    found.ok_or_else(|| ApiError::not_found("webhook").into())
}

fn signing(
    webhooks: &Webhooks,
    subscription: &Subscription,
    sealed: &SealedSecrets,
    now: Timestamp,
) -> Result<SigningSecrets, Failure> {
    webhooks.signing(subscription.id, sealed, now).map_err(|error| Failure::Internal(error.to_string()))
}

/// The status of a subscription, as its owner sees it.
pub(in crate::http) struct State {
    /// `active`, `paused` or `disabled`.
    pub(in crate::http) status: &'static str,
    /// Why the subscription is disabled; `None` if it is not.
    pub(in crate::http) disabled_reason: Option<DisabledReason>,
    /// When the pause ends; `None` if the subscription is not paused.
    pub(in crate::http) paused_until: Option<Timestamp>,
}

impl State {
    /// The status at `now`: an expired pause has ended, even if that has not been stored yet.
    pub(in crate::http) fn of(subscription: &Subscription, now: Timestamp) -> Self {
        let mut breaker = subscription.breaker;
        breaker.apply(now, Event::Tick);
        let (disabled_reason, paused_until) = match breaker.status {
            Status::Active => (None, None),
            Status::Paused(until) => (None, Some(until)),
            Status::Disabled(reason) => (Some(reason), None),
        };
        State { status: breaker.status.as_str(), disabled_reason, paused_until }
    }
}

/// A generic subscription as its owner sees it at `now`.
fn shown(subscription: Subscription, now: Timestamp) -> WebhookSubscription {
    let State { status, disabled_reason, paused_until } = State::of(&subscription, now);
    let breaker = subscription.breaker;
    WebhookSubscription {
        id: subscription.id,
        url: subscription.url,
        families: subscription.families,
        description: subscription.description,
        status,
        disabled_reason,
        failure_count: breaker.failures.count,
        paused_until,
        api_key_id: breaker.credential,
        created_at: subscription.created_at,
        updated_at: subscription.updated_at,
        secret: None,
    }
}

/// A delivery as its owner sees it. Its request is signed as of `wall`, because receivers compare the signature with the wall
/// clock.
fn shown_delivery(
    listed: Listed,
    subscription: &Subscription,
    signing: &SigningSecrets,
    wall: Timestamp,
) -> WebhookDelivery {
    let headers = attempt_headers(signing, &listed.event_id, listed.attempt, listed.body.as_bytes(), wall);
    WebhookDelivery {
        id: listed.id,
        event_id: listed.event_id,
        event_type: listed.event_type,
        status: listed.status,
        attempt: listed.attempt.get(),
        next_attempt_at: listed.due,
        last_attempt_at: listed.latest.map(|latest| latest.ended_at),
        response_status: listed.latest.and_then(|latest| latest.status),
        error: listed.latest.and_then(|latest| latest.failure),
        duration_ms: listed.latest.map(|latest| latest.duration_ms),
        created_at: listed.created_at,
        finished_at: listed.finished_at,
        request: WebhookRequest::new(subscription.url.clone(), headers.into_iter().collect(), &listed.body),
    }
}
