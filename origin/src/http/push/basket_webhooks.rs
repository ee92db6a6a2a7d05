//! Management of webhook subscriptions to baskets.
//!
//! A subscription to a basket follows the same rules as a generic one. Which events it receives depends on the basket and on whether it is
//! pinned to a version.

use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::{Call, RouteCall};
use crate::http::push::webhooks::{State, caller, number, replay_window};
use crate::webhooks::Webhooks;
use crate::webhooks::create_request::{self, CreateSubscription};
use crate::webhooks::subscriptions;
use rds_shared::model::webhook::{BasketWebhook, WebhookDeleted, WebhookReplayed};
use rds_shared::route::{Row, routes};
use rds_shared::wire::{ApiError, Data, Timestamp};
use rds_store::Db;
use rds_store::baskets::{self, Availability};
use rds_store::webhooks::{self as table, Subscription};

/// `POST /v1/baskets/{id}/webhooks`.
pub async fn create(db: &Db, webhooks: &Webhooks, call: &Call) -> Result<Answer, Failure> {
    let caller = caller(call)?;
    call.expect_json()?;
    let name = create_request::idempotency_key(call.idempotency_key.as_ref())?;
    let request = CreateSubscription::read_for_basket(call.found.param(0), &call.body)?;
    let created = subscriptions::create(db, webhooks, caller, &request, name.as_deref(), call.now).await?;
    let secret = Some(created.secret.expose().to_owned());
    Answer::value(&Data { data: BasketWebhook { secret, ..shown(created.subscription, call.now) } })
}

/// `GET /v1/baskets/webhooks`.
pub async fn of_all(db: &Db, call: RouteCall<'_, routes::BasketWebhooksOfAll>) -> Result<Answer, Failure> {
    listed(call, table::of_baskets(db, caller(&call)?.org).await?)
}

/// `GET /v1/baskets/{id}/webhooks`.
pub async fn list(db: &Db, call: RouteCall<'_, routes::BasketWebhookList>) -> Result<Answer, Failure> {
    let (caller, basket) = (caller(&call)?, call.found.param(0));
    if baskets::availability(&db.pool, basket, None).await? == Availability::NoBasket {
        return Err(ApiError::not_found("basket").into());
    }
    listed(call, table::of_org(db, caller.org, Some(basket)).await?)
}

/// `DELETE /v1/baskets/{id}/webhooks/{whId}`.
pub async fn delete(db: &Db, call: &Call) -> Result<Answer, Failure> {
    let id = number(call, 1)?;
    subscriptions::delete(db, caller(call)?, Some(call.found.param(0)), id).await?;
    Answer::value(&Data { data: WebhookDeleted { id, deleted: true } })
}

/// `POST /v1/baskets/{id}/webhooks/{whId}/replay`.
pub async fn replay(
    db: &Db,
    webhooks: &Webhooks,
    call: RouteCall<'_, routes::BasketWebhookReplay>,
) -> Result<Answer, Failure> {
    let (window, basket) = (replay_window(call)?, Some(call.found.param(0)));
    let enqueued = subscriptions::replay(db, caller(&call)?, basket, number(&call, 1)?, window, call.now).await?;
    webhooks.due();
    Answer::value(&Data { data: WebhookReplayed { enqueued } })
}

/// `POST /v1/baskets/{id}/webhooks/{whId}/enable`.
pub async fn enable(db: &Db, webhooks: &Webhooks, call: &Call) -> Result<Answer, Failure> {
    let basket = Some(call.found.param(0));
    let subscription = subscriptions::enable(db, caller(call)?, basket, number(call, 1)?, call.now).await?;
    webhooks.due();
    Answer::value(&Data { data: shown(subscription, call.now) })
}

fn listed<R: Row>(call: RouteCall<'_, R>, rows: Vec<Subscription>) -> Result<Answer, Failure> {
    let data: Vec<BasketWebhook> = rows.into_iter().map(|row| shown(row, call.now)).collect();
    Answer::value(&Data { data: call.part(&data) })
}

/// A basket's subscription as its owner sees it at `now`.
fn shown(subscription: Subscription, now: Timestamp) -> BasketWebhook {
    let State { status, disabled_reason, paused_until } = State::of(&subscription, now);
    let (basket_id, pinned_version_id) =
        subscription.basket.map(|it| (it.basket_id, it.pinned_version_id)).unwrap_or_default();
    BasketWebhook {
        id: subscription.id,
        basket_id,
        url: subscription.url,
        pinned_version_id,
        status,
        disabled_reason,
        paused_until,
        created_at: subscription.created_at,
        secret: None,
    }
}
