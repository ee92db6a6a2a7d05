//! Subscriptions: created, enabled, tested, replayed, rotated, deleted, and disabled with the key that they deliver for.

use super::Webhooks;
use super::guard::NoWay;
use super::seal::Sealer;
use super::wish::Wish;
use crate::entropy;
use crate::store::baskets::{self, Standing};
use crate::store::webhooks::{self as table, CreatedAs, NewSubscription, Subscription, ToBasket};
use crate::store::{AsStoreError, Db, StoreError, Tx, webhook_deliveries, webhook_secrets};
use rds_shared::push::breaker::{Breaker, Event, KeyId, Transition};
use rds_shared::push::signature::Secret;
use rds_shared::push::target::Refusal;
use rds_shared::push::webhook::{Envelope, EventId, EventType, TestData};
use rds_shared::wire::error::Successor;
use rds_shared::wire::time::Micros;
use rds_shared::wire::{ApiError, ErrorCode, Timestamp};
use std::sync::Arc;

/// Subscriptions of one organisation, at most.
pub const PER_ORGANISATION: i64 = 1_000;
/// How long a creation's name is remembered, in seconds.
pub const NAMED_SECONDS: i64 = 86_400;

/// The caller: an organisation, by one of its keys.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    /// The organisation.
    pub org: i64,
    /// The key.
    pub key: KeyId,
}

/// Why something was not done.
#[derive(Debug)]
pub enum Fault {
    /// The caller's, or a state that it is told about.
    Api(ApiError),
    /// The store's.
    Store(StoreError),
}

impl From<ApiError> for Fault {
    fn from(error: ApiError) -> Self {
        Fault::Api(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Fault::Store(error)
    }
}

impl AsStoreError for Fault {
    fn as_store(&self) -> Option<&StoreError> {
        match self {
            Fault::Store(error) => Some(error),
            Fault::Api(_) => None,
        }
    }
}

/// A subscription with the one secret it was created with.
#[derive(Debug)]
pub struct Created {
    /// The subscription.
    pub subscription: Subscription,
    /// Its secret.
    pub secret: Secret,
}

/// Creates the subscription that `wish` asks for. The same creation under the same `name` gives the same subscription again.
///
/// The URL is judged, and its host looked up, before anything is written and with no transaction open.
pub async fn create(
    db: &Db,
    webhooks: &Webhooks,
    caller: Caller,
    wish: &Wish,
    name: Option<&str>,
    now: Timestamp,
) -> Result<Created, Fault> {
    let Some(sealer) = webhooks.sealer() else {
        tracing::error!("a webhook cannot be created: RDS_MASTER_KEY is not set");
        return Err(ApiError::from(ErrorCode::ServiceUnavailable).into());
    };
    if let Some(name) = name
        && let Some(before) = repeated(db, sealer, caller, wish, name, now).await?
    {
        return Ok(before);
    }
    if let Some(basket) = &wish.basket {
        // Before anybody's name servers are asked; again below, where nothing can come in between.
        stands(&db.pool, basket).await?;
    }
    let (target, _) = webhooks.sender.guard().way_to(&wish.url).await.map_err(|no_way| match no_way {
        NoWay::Refused(refusal) => ApiError::from(refusal),
        NoWay::NoAnswer => Refusal::Unresolvable.into(),
        NoWay::Ours(why) => {
            tracing::warn!(why, "a webhook's host could not be looked up");
            ErrorCode::ServiceUnavailable.into()
        }
    })?;
    let secret = Secret::from_random(entropy::random_bytes());
    db.run_tx("create_webhook", |tx| {
        let (wish, url, secret) = (wish.clone(), target.as_str().to_owned(), secret.clone());
        let (name, sealer) = (name.map(str::to_owned), sealer.clone());
        Box::pin(async move {
            let there_are = table::take_turn(tx, caller.org).await?;
            let_in(tx, caller).await?;
            if let Some(name) = &name
                && let Some(before) = created_before(&mut **tx, &sealer, caller, &wish, name, now).await?
            {
                return Ok(before);
            }
            if there_are >= PER_ORGANISATION {
                let message = format!("an organisation may have at most {PER_ORGANISATION} webhooks; delete one first");
                return Err(ApiError::new(ErrorCode::Conflict, message).into());
            }
            if let Some(basket) = &wish.basket {
                baskets::hold_support(tx, &basket.basket_id).await?;
                stands(&mut **tx, basket).await?;
            }
            let id = table::next_id(tx).await?;
            let sealed = sealer.seal(id, &secret).ok_or_else(|| ApiError::from(ErrorCode::InternalError))?;
            let new = NewSubscription {
                id,
                org: caller.org,
                url: &url,
                families: &wish.families,
                basket: wish.basket.as_ref(),
                description: wish.description.as_deref(),
                secret: &sealed,
                breaker: Breaker::new(caller.key, now),
            };
            let subscription = table::insert(tx, &new, now).await?;
            if let Some(name) = &name {
                table::name_creation(tx, caller.org, name, &wish.digest(), id, now).await?;
            }
            Ok(Created { subscription, secret })
        })
    })
    .await
}

/// What was created under `name` before the URL is looked at: a creation is repeated even where its host is gone.
async fn repeated(
    db: &Db,
    sealer: &Arc<Sealer>,
    caller: Caller,
    wish: &Wish,
    name: &str,
    now: Timestamp,
) -> Result<Option<Created>, Fault> {
    let (name, sealer) = (name.to_owned(), sealer.clone());
    db.run_tx("repeat_webhook", |tx| {
        let (wish, name, sealer) = (wish.clone(), name.clone(), sealer.clone());
        Box::pin(async move {
            let_in(tx, caller).await?;
            created_before(&mut **tx, &sealer, caller, &wish, &name, now).await
        })
    })
    .await
}

/// What was created under `name` before, if it was what `wish` asks for. The secret is shown to the key that made it, and only
/// while it is the one that was made.
async fn created_before(
    db: impl sqlx::PgExecutor<'_>,
    sealer: &Sealer,
    caller: Caller,
    wish: &Wish,
    name: &str,
    now: Timestamp,
) -> Result<Option<Created>, Fault> {
    let found = table::created_as(db, caller.org, name, now.plus_seconds(-NAMED_SECONDS)).await?;
    let Some(CreatedAs { wish: asked, by, is_rotated, subscription, secrets }) = found else { return Ok(None) };
    let reused = |message: &'static str| Err(ApiError::new(ErrorCode::IdempotencyKeyReused, message).into());
    if asked != wish.digest() {
        return reused("this Idempotency-Key came with another body before; use a new one for another subscription");
    }
    if by != caller.key {
        return reused("this Idempotency-Key came with another API key before; use a new one for another subscription");
    }
    if is_rotated {
        let message =
            format!("webhook {} was created under this Idempotency-Key; its secret was rotated since", subscription.id);
        return Err(ApiError::new(ErrorCode::Conflict, message).into());
    }
    let secret = sealer.open(subscription.id, &secrets.current).map_err(|error| {
        tracing::error!(webhook = subscription.id, %error, "a creation cannot be repeated");
        ApiError::from(ErrorCode::InternalError)
    })?;
    Ok(Some(Created { subscription, secret }))
}

/// Lets a key write that is still live: the edge may have let it in a moment before its revocation.
async fn let_in(tx: &mut Tx<'_>, caller: Caller) -> Result<(), Fault> {
    if table::is_live_key(tx, caller.key, caller.org).await? {
        return Ok(());
    }
    // Not 401: between the hosts that is the refusal of the edge itself.
    Err(ApiError::new(ErrorCode::Forbidden, "the API key was revoked").into())
}

/// Says that there is such a basket, and such a version of it that may still be relied on.
async fn stands(db: impl sqlx::PgExecutor<'_>, to: &ToBasket) -> Result<(), Fault> {
    match baskets::standing(db, &to.basket_id, to.pinned_version_id.as_deref()).await? {
        Standing::Stands => Ok(()),
        Standing::NoBasket => Err(ApiError::not_found("basket").into()),
        Standing::NoVersion => Err(ApiError::not_found("basket version").into()),
        Standing::Retired { successor } => {
            Err(ApiError::version_retired(Successor::of_basket(&to.basket_id, successor)).into())
        }
    }
}

/// Takes up deliveries again, with the caller's key where the old one was revoked. The subscription is one to `basket`, or a
/// generic one.
pub async fn enable(
    db: &Db,
    caller: Caller,
    basket: Option<&str>,
    id: i64,
    now: Timestamp,
) -> Result<Subscription, Fault> {
    let basket = basket.map(str::to_owned);
    db.run_tx("enable_webhook", |tx| {
        let basket = basket.clone();
        Box::pin(async move {
            let_in(tx, caller).await?;
            let found = table::find_locked(tx, caller.org, basket.as_deref(), id).await?;
            let mut subscription = found.ok_or_else(|| ApiError::not_found("webhook"))?;
            if let Some(Transition::Enabled) = subscription.breaker.apply(now, Event::Enabled(caller.key)) {
                subscription.updated_at = now;
                table::save(tx, id, &subscription.breaker, Some(now)).await?;
            }
            Ok(subscription)
        })
    })
    .await
}

/// Enqueues one test delivery of a generic subscription; its number.
pub async fn test(db: &Db, caller: Caller, id: i64, now: Timestamp) -> Result<i64, Fault> {
    let event_id = EventId::from_random(entropy::random_bytes());
    let envelope = Envelope {
        event_id: &event_id,
        event_type: EventType::WebhookTest,
        occurred_at: Micros(now),
        data: TestData { subscription_id: id },
    };
    let body = envelope.encode().map_err(|_| ApiError::from(ErrorCode::InternalError))?;
    db.run_tx("test_webhook", |tx| {
        let (event_id, body) = (event_id.clone(), body.clone());
        Box::pin(async move {
            let_in(tx, caller).await?;
            let found = table::find_locked(tx, caller.org, None, id).await?;
            found.ok_or_else(|| ApiError::not_found("webhook"))?;
            let word = EventType::WebhookTest.as_str();
            Ok(webhook_deliveries::enqueue(tx, id, &event_id, word, &body, now).await?)
        })
    })
    .await
}

/// Enqueues what was given up from `from` to `to` again; how many deliveries. The subscription is one to `basket`, or a generic one.
pub async fn replay(
    db: &Db,
    caller: Caller,
    basket: Option<&str>,
    id: i64,
    (from, to): (Timestamp, Timestamp),
    now: Timestamp,
) -> Result<u64, Fault> {
    let basket = basket.map(str::to_owned);
    db.run_tx("replay_webhook", |tx| {
        let basket = basket.clone();
        Box::pin(async move {
            let_in(tx, caller).await?;
            let found = table::find_locked(tx, caller.org, basket.as_deref(), id).await?;
            found.ok_or_else(|| ApiError::not_found("webhook"))?;
            Ok(webhook_deliveries::replay(tx, id, from, to, now).await?)
        })
    })
    .await
}

/// Takes a subscription away, with everything that waits for it. It is one to `basket`, or a generic one.
pub async fn delete(db: &Db, caller: Caller, basket: Option<&str>, id: i64) -> Result<(), Fault> {
    let basket = basket.map(str::to_owned);
    db.run_tx("delete_webhook", |tx| {
        let basket = basket.clone();
        Box::pin(async move {
            let_in(tx, caller).await?;
            match table::delete(tx, caller.org, basket.as_deref(), id).await? {
                true => Ok(()),
                false => Err(ApiError::not_found("webhook").into()),
            }
        })
    })
    .await
}

/// Disables what delivers for a key, in the transaction that revokes it.
pub async fn key_revoked(tx: &mut Tx<'_>, key: KeyId, now: Timestamp) -> Result<(), StoreError> {
    for mut subscription in table::lock_of_key(tx, key).await? {
        if subscription.breaker.apply(now, Event::KeyRevoked(key)).is_some() {
            table::save(tx, subscription.id, &subscription.breaker, Some(now)).await?;
        }
    }
    Ok(())
}

/// Gives a subscription of either family another secret, and lets the present one sign too for `overlap_seconds`. None when
/// there is no such subscription.
pub async fn rotate(
    db: &Db,
    sealer: &Arc<Sealer>,
    id: i64,
    overlap_seconds: i32,
    now: Timestamp,
) -> Result<Option<Secret>, StoreError> {
    let next = Secret::from_random(entropy::random_bytes());
    db.run_tx("rotate_webhook_secret", |tx| {
        let (next, sealer) = (next.clone(), sealer.clone());
        Box::pin(async move {
            if webhook_secrets::lock(tx, id).await?.is_none() {
                return Ok(None);
            }
            let Some(sealed) = sealer.seal(id, &next) else { return Ok(None) };
            webhook_secrets::rotate(tx, id, &sealed, overlap_seconds, now).await?;
            Ok(Some(next))
        })
    })
    .await
}
