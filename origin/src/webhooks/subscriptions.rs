//! Subscriptions: created, enabled, tested, replayed, rotated, deleted, and disabled when their API key is revoked.

use super::Webhooks;
use super::create_request::CreateSubscription;
use super::egress_filter::TargetError;
use super::seal::Sealer;
use rds_engine::entropy;
use rds_shared::push::breaker::{Breaker, Event, KeyId, Transition};
use rds_shared::push::delivery::{Envelope, EventId, TestData};
use rds_shared::push::event_type::EventType;
use rds_shared::push::signature::Secret;
use rds_shared::push::target::Refusal;
use rds_shared::wire::error::Successor;
use rds_shared::wire::time::Micros;
use rds_shared::wire::{ApiError, ErrorCode, Timestamp};
use rds_store::baskets::{self, Availability};
use rds_store::webhooks::{self as table, CreatedAs, NewSubscription, Subscription, ToBasket};
use rds_store::webhooks::{deliveries, secrets};
use rds_store::{AsStoreError, Db, StoreError, Tx};
use std::sync::Arc;

/// Maximum subscriptions of one organisation.
pub const MAX_PER_ORGANISATION: i64 = 1_000;
/// How long the `Idempotency-Key` of a creation is remembered, in seconds.
pub const IDEMPOTENCY_SECONDS: i64 = 86_400;

/// The calling organisation and the key it uses.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    pub org: i64,
    pub key: KeyId,
}

/// Why an operation failed.
#[derive(Debug)]
pub enum Fault {
    /// A client error, or a service state that is reported to the caller.
    Api(ApiError),
    /// An error of the store.
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

/// A subscription and its first signing secret.
#[derive(Debug)]
pub struct Created {
    pub subscription: Subscription,
    pub secret: Secret,
}

/// Creates the subscription described by `request`. `name` is the idempotency key: the same request with the same key returns the same
/// subscription again.
///
/// The URL is checked and its host resolved before anything is written, with no transaction open.
pub async fn create(
    db: &Db,
    webhooks: &Webhooks,
    caller: Caller,
    request: &CreateSubscription,
    name: Option<&str>,
    now: Timestamp,
) -> Result<Created, Fault> {
    let Some(sealer) = webhooks.sealer() else {
        tracing::error!("a webhook cannot be created: RDS_MASTER_KEY is not set");
        return Err(ApiError::from(ErrorCode::ServiceUnavailable).into());
    };
    if let Some(name) = name
        && let Some(before) = repeated(db, sealer, caller, request, name, now).await?
    {
        return Ok(before);
    }
    if let Some(basket) = &request.basket {
        // The basket is checked before the host is resolved, so that a wrong basket costs no look-up, and again in the transaction below,
        // because it may change meanwhile.
        check_basket(&db.pool, basket).await?;
    }
    let (target, _) = webhooks.sender.guard().resolve_target(&request.url).await.map_err(|error| match error {
        TargetError::Refused(refusal) => ApiError::from(refusal),
        TargetError::NoAnswer => Refusal::Unresolvable.into(),
        TargetError::OurFault(why) => {
            tracing::warn!(why, "a webhook's host could not be looked up");
            ErrorCode::ServiceUnavailable.into()
        }
    })?;
    let secret = Secret::from_random(entropy::random_bytes());
    db.run_tx("create_webhook", |tx| {
        let (request, url, secret) = (request.clone(), target.as_str().to_owned(), secret.clone());
        let (name, sealer) = (name.map(str::to_owned), sealer.clone());
        Box::pin(async move {
            let there_are = table::lock_organisation(tx, caller.org).await?;
            check_live_key(tx, caller).await?;
            if let Some(name) = &name
                && let Some(before) = created_before(&mut **tx, &sealer, caller, &request, name, now).await?
            {
                return Ok(before);
            }
            if there_are >= MAX_PER_ORGANISATION {
                let message =
                    format!("an organisation may have at most {MAX_PER_ORGANISATION} webhooks; delete one first");
                return Err(ApiError::new(ErrorCode::Conflict, message).into());
            }
            if let Some(basket) = &request.basket {
                baskets::lock_support(tx, &basket.basket_id).await?;
                check_basket(&mut **tx, basket).await?;
            }
            let id = table::next_id(tx).await?;
            let sealed = sealer.seal(id, &secret).ok_or_else(|| ApiError::from(ErrorCode::InternalError))?;
            let new = NewSubscription {
                id,
                org: caller.org,
                url: &url,
                families: &request.families,
                basket: request.basket.as_ref(),
                description: request.description.as_deref(),
                secret: &sealed,
                breaker: Breaker::new(caller.key, now),
            };
            let subscription = table::insert(tx, &new, now).await?;
            if let Some(name) = &name {
                table::name_creation(tx, caller.org, name, &request.digest(), id, now).await?;
            }
            Ok(Created { subscription, secret })
        })
    })
    .await
}

/// The subscription that an earlier request with the idempotency key `name` created. Looked up before the URL is checked, so that a retry
/// succeeds even if the URL's host no longer resolves.
async fn repeated(
    db: &Db,
    sealer: &Arc<Sealer>,
    caller: Caller,
    request: &CreateSubscription,
    name: &str,
    now: Timestamp,
) -> Result<Option<Created>, Fault> {
    let (name, sealer) = (name.to_owned(), sealer.clone());
    db.run_tx("repeat_webhook", |tx| {
        let (request, name, sealer) = (request.clone(), name.clone(), sealer.clone());
        Box::pin(async move {
            check_live_key(tx, caller).await?;
            created_before(&mut **tx, &sealer, caller, &request, &name, now).await
        })
    })
    .await
}

/// The subscription that an earlier request with the idempotency key `name` created, if the request was the same. Only the API key that
/// created the subscription gets its secret, and only until the secret is rotated.
async fn created_before(
    db: impl sqlx::PgExecutor<'_>,
    sealer: &Sealer,
    caller: Caller,
    request: &CreateSubscription,
    name: &str,
    now: Timestamp,
) -> Result<Option<Created>, Fault> {
    let found = table::created_as(db, caller.org, name, now.plus_seconds(-IDEMPOTENCY_SECONDS)).await?;
    let Some(CreatedAs { request_digest: asked, by, is_rotated, subscription, secrets }) = found else {
        return Ok(None);
    };
    let reused = |message: &'static str| Err(ApiError::new(ErrorCode::IdempotencyKeyReused, message).into());
    if asked != request.digest() {
        return reused("this Idempotency-Key was used with another body; use a new one for another subscription");
    }
    if by != caller.key {
        return reused("this Idempotency-Key was used with another API key; use a new one for another subscription");
    }
    if is_rotated {
        let message = format!(
            "webhook {} was created with this Idempotency-Key; its secret has been rotated since",
            subscription.id
        );
        return Err(ApiError::new(ErrorCode::Conflict, message).into());
    }
    let secret = sealer.open(subscription.id, &secrets.current).map_err(|error| {
        tracing::error!(webhook = subscription.id, %error, "a webhook creation cannot be repeated: its secret cannot be decrypted");
        ApiError::from(ErrorCode::InternalError)
    })?;
    Ok(Some(Created { subscription, secret }))
}

/// Refuses a key that is no longer live: the edge may have admitted it just before its revocation.
async fn check_live_key(tx: &mut Tx<'_>, caller: Caller) -> Result<(), Fault> {
    if table::is_live_key(tx, caller.key, caller.org).await? {
        return Ok(());
    }
    // Not 401: between edge and origin, 401 means that the edge itself is refused.
    Err(ApiError::new(ErrorCode::Forbidden, "the API key was revoked").into())
}

/// Checks that the basket exists, and that a pinned version exists and is not retired.
async fn check_basket(db: impl sqlx::PgExecutor<'_>, to: &ToBasket) -> Result<(), Fault> {
    match baskets::availability(db, &to.basket_id, to.pinned_version_id.as_deref()).await? {
        Availability::Stands => Ok(()),
        Availability::NoBasket => Err(ApiError::not_found("basket").into()),
        Availability::NoVersion => Err(ApiError::not_found("basket version").into()),
        Availability::Retired { successor } => {
            Err(ApiError::version_retired(Successor::of_basket(&to.basket_id, successor)).into())
        }
    }
}

/// Resumes deliveries, with the caller's key if the old one was revoked. Finds only subscriptions to `basket`, or generic ones if
/// `basket` is `None`.
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
            check_live_key(tx, caller).await?;
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

/// Enqueues one test delivery of a generic subscription; returns its id.
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
            check_live_key(tx, caller).await?;
            let found = table::find_locked(tx, caller.org, None, id).await?;
            found.ok_or_else(|| ApiError::not_found("webhook"))?;
            let word = EventType::WebhookTest.as_str();
            Ok(deliveries::enqueue(tx, id, &event_id, word, &body, now).await?)
        })
    })
    .await
}

/// Enqueues again the deliveries given up from `from` to `to`; returns their number. Finds only subscriptions to `basket`, or generic
/// ones if `basket` is `None`.
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
            check_live_key(tx, caller).await?;
            let found = table::find_locked(tx, caller.org, basket.as_deref(), id).await?;
            found.ok_or_else(|| ApiError::not_found("webhook"))?;
            Ok(deliveries::replay(tx, id, from, to, now).await?)
        })
    })
    .await
}

/// Deletes a subscription and its waiting deliveries. Finds only subscriptions to `basket`, or generic ones if `basket` is `None`.
pub async fn delete(db: &Db, caller: Caller, basket: Option<&str>, id: i64) -> Result<(), Fault> {
    let basket = basket.map(str::to_owned);
    db.run_tx("delete_webhook", |tx| {
        let basket = basket.clone();
        Box::pin(async move {
            check_live_key(tx, caller).await?;
            match table::delete(tx, caller.org, basket.as_deref(), id).await? {
                true => Ok(()),
                false => Err(ApiError::not_found("webhook").into()),
            }
        })
    })
    .await
}

/// Disables the subscriptions of a key, in the transaction that revokes it.
pub async fn key_revoked(tx: &mut Tx<'_>, key: KeyId, now: Timestamp) -> Result<(), StoreError> {
    for mut subscription in table::lock_of_key(tx, key).await? {
        if subscription.breaker.apply(now, Event::KeyRevoked(key)).is_some() {
            table::save(tx, subscription.id, &subscription.breaker, Some(now)).await?;
        }
    }
    Ok(())
}

/// Gives a subscription of any organisation a new secret. The replaced secret also signs for `overlap_seconds` more. `None` if there is
/// no such subscription.
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
            if secrets::lock(tx, id).await?.is_none() {
                return Ok(None);
            }
            let Some(sealed) = sealer.seal(id, &next) else { return Ok(None) };
            secrets::rotate(tx, id, &sealed, overlap_seconds, now).await?;
            Ok(Some(next))
        })
    })
    .await
}
