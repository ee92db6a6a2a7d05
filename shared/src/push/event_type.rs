//! The types of pushed events, and the types that each kind of webhook subscription can receive.

use crate::scoring::named_enum;

named_enum! {
    /// The type of a delivered event.
    pub enum EventType {
        /// An event became public.
        EventPublished = "event.published",
        /// A public event was retracted or demoted.
        EventRetracted = "event.retracted",
        /// A vault's published score or tier changed.
        RatingChanged = "rating.changed",
        /// A row of the security registry (`/v1/security-events`) was published.
        SecurityEventPublished = "security_event.published",
        /// A test delivery requested by the subscription's owner.
        WebhookTest = "webhook.test",
        /// A basket got a new version.
        BasketRebalanced = "basket.rebalanced",
        /// A basket version will be retired.
        BasketVersionDeprecated = "basket.version.deprecated",
        /// A basket version was retired.
        BasketVersionRetired = "basket.version.retired",
    }
}

impl EventType {
    /// Event types that a generic subscription may list in `families`.
    pub const GENERIC: [EventType; 4] = [
        EventType::EventPublished,
        EventType::EventRetracted,
        EventType::RatingChanged,
        EventType::SecurityEventPublished,
    ];

    /// Event types that basket subscriptions receive.
    pub const BASKET: [EventType; 3] =
        [EventType::BasketRebalanced, EventType::BasketVersionDeprecated, EventType::BasketVersionRetired];
}
