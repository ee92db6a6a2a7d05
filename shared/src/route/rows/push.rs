//! Webhooks and the event stream: parameters and rows.

use crate::route::param::Param;
use crate::route::row::Body;
use crate::route::typed::kinds::*;
use crate::route::typed::params;

/// Body of a subscription: enough for a URL of 2 KiB, a description and JSON syntax.
pub(in crate::route) const CREATION_BODY: Body = Body::Json { max_bytes: 16 * 1024 };

params! {
    StreamVault: Text = Param::text("vaultId", 200, "Only operations that concern the vault with this id. For other operations only the cursor is sent.");
    /// An invalid cursor is not refused: the stream answers it with a gap frame that says how to continue.
    StreamSince: Text = Param::verbatim("since", "The last cursor that you received; the stream continues after it. The header `Last-Event-ID` takes \
        precedence. An invalid cursor is answered with a `gap` frame.");
    /// Start of the replay window. The window applies to the time at which a delivery became `failed_terminal`.
    ReplayFrom: Instant = Param::instant("from", "Start of the window, inclusive: deliveries that became `failed_terminal` at or after this instant. One day \
        before `to` when absent.");
    ReplayTo: Until =
        Param::instant("to", "End of the window, inclusive: deliveries that became `failed_terminal` at or before this instant. An instant in whole \
            milliseconds includes its whole millisecond. The current time when absent.");
}

macro_rules! push_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            WebhookCreate: Post "/v1/webhooks" {
                access: Decisioning, rate_limit_class: Public, cache: Cache::NEVER,
                body: CREATION_BODY,
                query: [], answers: "Data<WebhookSubscription>",
                errors: [InvalidBody, WebhookUrlRejected, Conflict, IdempotencyKeyReused, PayloadTooLarge, UnsupportedMediaType],
                about: "Subscribes a URL to event types. The signing secret is included in this response only. A request that is repeated with the same \
                       `Idempotency-Key` creates nothing new.",
            }
            WebhookList: Get "/v1/webhooks" {
                access: Decisioning, rate_limit_class: Public, cache: Cache::NEVER,
                query: [Page, OptionalLimit], answers: "Data<Vec<WebhookSubscription>>", errors: [],
                about: "The organisation's subscriptions, oldest first.",
            }
            WebhookById: Get "/v1/webhooks/{id}" {
                access: Decisioning, rate_limit_class: Public, cache: Cache::NEVER,
                query: [], answers: "Data<WebhookSubscription>", errors: [],
                about: "One subscription of the organisation.",
            }
            WebhookDelete: Delete "/v1/webhooks/{id}" {
                access: Decisioning, rate_limit_class: Public, cache: Cache::NEVER,
                query: [], answers: "Data<WebhookDeleted>", errors: [],
                about: "Deletes a subscription with its deliveries. Nothing more is sent, except attempts that are already in progress.",
            }
            WebhookTest: Post "/v1/webhooks/{id}/test" {
                access: Decisioning, rate_limit_class: Public, cache: Cache::NEVER,
                query: [], answers: "Data<WebhookDelivery>", errors: [],
                about: "Enqueues one test delivery. Its event type is `webhook.test`; it is sent when the subscription is active.",
            }
            WebhookDeliveries: Get "/v1/webhooks/{id}/deliveries" {
                access: Decisioning, rate_limit_class: Public, cache: Cache::NEVER,
                query: [Limit(50, LIST_LIMIT as i64)], answers: "Data<Vec<WebhookDelivery>>", errors: [],
                about: "The subscription's deliveries, newest first, each with its attempts and a request that can be repeated by hand.",
            }
            WebhookReplay: Post "/v1/webhooks/{id}/replay" {
                access: Decisioning, rate_limit_class: Public, cache: Cache::NEVER,
                query: [ReplayFrom, ReplayTo], answers: "Data<WebhookReplayed>", errors: [],
                about: "Enqueues failed deliveries again: those that became `failed_terminal` within the window, under the same ids and with six new attempts \
                       each.",
            }
            WebhookEnable: Post "/v1/webhooks/{id}/enable" {
                access: Decisioning, rate_limit_class: Public, cache: Cache::NEVER,
                query: [], answers: "Data<WebhookSubscription>", errors: [],
                about: "Resumes deliveries after the subscription was paused or disabled. If it was disabled with `key_revoked`, the calling key becomes its \
                       delivery key.",
            }
            BasketWebhookCreate: Post "/v1/baskets/{id}/webhooks" {
                access: Decisioning, rate_limit_class: BasketWebhooks, cache: Cache::NEVER,
                body: CREATION_BODY,
                query: [], answers: "Data<BasketWebhook>",
                errors: [InvalidBody, WebhookUrlRejected, Conflict, IdempotencyKeyReused, VersionRetired, PayloadTooLarge, UnsupportedMediaType],
                about: "Subscribes a URL to a basket's rebalances or, if pinned, to one version. \
                       A pinned subscription receives the deprecation and the retirement of its version. \
                       The signing secret is included in this response only.",
            }
            BasketWebhooksOfAll: Get "/v1/baskets/webhooks" {
                access: Decisioning, rate_limit_class: Public, cache: Cache::NEVER,
                query: [Page, OptionalLimit], answers: "Data<Vec<BasketWebhook>>", errors: [],
                about: "The organisation's subscriptions to all baskets, oldest first.",
            }
            BasketWebhookList: Get "/v1/baskets/{id}/webhooks" {
                access: Decisioning, rate_limit_class: Public, cache: Cache::NEVER,
                query: [Page, OptionalLimit], answers: "Data<Vec<BasketWebhook>>", errors: [],
                about: "The organisation's subscriptions to one basket, oldest first.",
            }
            BasketWebhookDelete: Delete "/v1/baskets/{id}/webhooks/{whId}" {
                access: Decisioning, rate_limit_class: BasketWebhooks, cache: Cache::NEVER,
                query: [], answers: "Data<WebhookDeleted>", errors: [],
                about: "Deletes a basket subscription with its deliveries.",
            }
            BasketWebhookReplay: Post "/v1/baskets/{id}/webhooks/{whId}/replay" {
                access: Decisioning, rate_limit_class: BasketWebhooks, cache: Cache::NEVER,
                query: [ReplayFrom, ReplayTo], answers: "Data<WebhookReplayed>", errors: [],
                about: "Enqueues failed deliveries of a basket subscription again: those that became `failed_terminal` within the window, under the same ids.",
            }
            BasketWebhookEnable: Post "/v1/baskets/{id}/webhooks/{whId}/enable" {
                access: Decisioning, rate_limit_class: BasketWebhooks, cache: Cache::NEVER,
                query: [], answers: "Data<BasketWebhook>", errors: [],
                about: "Resumes deliveries after the subscription was paused or disabled. If it was disabled with `key_revoked`, the calling key becomes its \
                       delivery key.",
            }
            EventStream: Get "/v1/events/stream" {
                access: Data, rate_limit_class: Public, cache: Cache::NEVER,
                listeners: EdgeAndRelay,
                query: [StreamVault, StreamSince], answers: "EventStream", errors: [StreamLimitReached, ShuttingDown, AddressNamespaceMismatch],
                about: "The event stream, as server-sent events: publications, promotions and retractions, with replay of the last 24 hours.",
            }
        }
    };
}

pub(in crate::route) use push_rows;
