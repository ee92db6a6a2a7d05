//! Webhooks and the event stream: parameters and rows.

use crate::route::param::Param;
use crate::route::row::Body;
use crate::route::typed::kinds::*;
use crate::route::typed::params;

/// A subscription's wish: a URL of 2 KiB, a description, and room for JSON.
pub(in crate::route) const CREATION_BODY: Body = Body::Json { max_bytes: 16 * 1024 };

params! {
    /// The stream's filter. Source: interface, "Event stream".
    StreamVault: Text = Param::text("vaultId", 200, "Only operations that concern this vault; of others only the cursors come.");
    /// Where it begins. A cursor that is none is told so in the stream, with the way to go on, and not refused.
    StreamSince: Text = Param::verbatim("since", "The last cursor that was delivered. The header `Last-Event-ID` comes before it.");
    /// The window of a replay, by when deliveries were given up.
    ReplayFrom: Instant = Param::instant("from", "Deliveries given up at or after this instant; a day before `to` when it is absent.");
    ReplayTo: Until =
        Param::instant("to", "Deliveries given up at or before this instant, which takes in all of its millisecond unless it has microseconds; now when it is absent.");
}

macro_rules! push_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            WebhookCreate: Post "/v1/webhooks" {
                access: Decisioning, family: Public, cache: Cache::NEVER,
                body: CREATION_BODY,
                query: [], answers: "Data<WebhookSubscription>",
                errors: [InvalidBody, WebhookUrlRejected, Conflict, IdempotencyKeyReused, PayloadTooLarge, UnsupportedMediaType],
                about: "Subscribes a URL to families of events; the signing secret is in this answer only. Repeating it with the same Idempotency-Key makes nothing new.",
            }
            WebhookList: Get "/v1/webhooks" {
                access: Decisioning, family: Public, cache: Cache::NEVER,
                query: [Page, OptionalLimit], answers: "Data<Vec<WebhookSubscription>>", errors: [],
                about: "The organisation's subscriptions, oldest first.",
            }
            WebhookById: Get "/v1/webhooks/{id}" {
                access: Decisioning, family: Public, cache: Cache::NEVER,
                query: [], answers: "Data<WebhookSubscription>", errors: [],
                about: "One subscription of the organisation.",
            }
            WebhookDelete: Delete "/v1/webhooks/{id}" {
                access: Decisioning, family: Public, cache: Cache::NEVER,
                query: [], answers: "Data<WebhookDeleted>", errors: [],
                about: "Deletes a subscription with its deliveries; nothing more is sent, but for attempts that are under way.",
            }
            WebhookTest: Post "/v1/webhooks/{id}/test" {
                access: Decisioning, family: Public, cache: Cache::NEVER,
                query: [], answers: "Data<WebhookDelivery>", errors: [],
                about: "Enqueues one webhook.test delivery; it goes out when the subscription delivers.",
            }
            WebhookDeliveries: Get "/v1/webhooks/{id}/deliveries" {
                access: Decisioning, family: Public, cache: Cache::NEVER,
                query: [Limit(50, LIST_LIMIT as i64)], answers: "Data<Vec<WebhookDelivery>>", errors: [],
                about: "The subscription's deliveries, newest first, each with its attempts and a request that can be repeated by hand.",
            }
            WebhookReplay: Post "/v1/webhooks/{id}/replay" {
                access: Decisioning, family: Public, cache: Cache::NEVER,
                query: [ReplayFrom, ReplayTo], answers: "Data<WebhookReplayed>", errors: [],
                about: "Enqueues deliveries that were given up in the window again: the same events under the same ids, with six fresh attempts.",
            }
            WebhookEnable: Post "/v1/webhooks/{id}/enable" {
                access: Decisioning, family: Public, cache: Cache::NEVER,
                query: [], answers: "Data<WebhookSubscription>", errors: [],
                about: "Takes up deliveries again after a pause or a disablement. After key_revoked the calling key is the one that deliveries are made for.",
            }
            BasketWebhookCreate: Post "/v1/baskets/{id}/webhooks" {
                access: Decisioning, family: BasketWebhooks, cache: Cache::NEVER,
                body: CREATION_BODY,
                query: [], answers: "Data<BasketWebhook>",
                errors: [InvalidBody, WebhookUrlRejected, Conflict, IdempotencyKeyReused, VersionRetired, PayloadTooLarge, UnsupportedMediaType],
                about: "Subscribes a URL to a basket's rebalances or, pinned to a version, to what becomes of that; the signing secret is in this answer only.",
            }
            BasketWebhooksOfAll: Get "/v1/baskets/webhooks" {
                access: Decisioning, family: Public, cache: Cache::NEVER,
                query: [Page, OptionalLimit], answers: "Data<Vec<BasketWebhook>>", errors: [],
                about: "The organisation's subscriptions to baskets, whichever they are, oldest first.",
            }
            BasketWebhookList: Get "/v1/baskets/{id}/webhooks" {
                access: Decisioning, family: Public, cache: Cache::NEVER,
                query: [Page, OptionalLimit], answers: "Data<Vec<BasketWebhook>>", errors: [],
                about: "The organisation's subscriptions to one basket, oldest first.",
            }
            BasketWebhookDelete: Delete "/v1/baskets/{id}/webhooks/{whId}" {
                access: Decisioning, family: BasketWebhooks, cache: Cache::NEVER,
                query: [], answers: "Data<WebhookDeleted>", errors: [],
                about: "Deletes a basket's subscription with its deliveries.",
            }
            BasketWebhookReplay: Post "/v1/baskets/{id}/webhooks/{whId}/replay" {
                access: Decisioning, family: BasketWebhooks, cache: Cache::NEVER,
                query: [ReplayFrom, ReplayTo], answers: "Data<WebhookReplayed>", errors: [],
                about: "Enqueues deliveries of a basket's subscription that were given up in the window again, under the same ids.",
            }
            BasketWebhookEnable: Post "/v1/baskets/{id}/webhooks/{whId}/enable" {
                access: Decisioning, family: BasketWebhooks, cache: Cache::NEVER,
                query: [], answers: "Data<BasketWebhook>", errors: [],
                about: "Takes up deliveries again after a pause or a disablement. After key_revoked the calling key is the one that deliveries are made for.",
            }
            EventStream: Get "/v1/events/stream" {
                access: Data, family: Public, cache: Cache::NEVER,
                door: EdgeAndRelay,
                query: [StreamVault, StreamSince], answers: "EventStream", errors: [StreamLimitReached, ShuttingDown, AddressNamespaceMismatch],
                about: "What becomes public, is promoted or retracted, as server-sent events, with replay of the last 24 hours.",
            }
        }
    };
}

pub(in crate::route) use push_rows;
