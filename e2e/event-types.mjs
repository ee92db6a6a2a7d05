// The types of delivered events. `origin/tests/it/events/event_types.rs` compares them with the enumeration of the service.

/** Types that a generic subscription lists in `families`. */
export const FAMILIES = ['event.published', 'event.retracted', 'rating.changed', 'security_event.published'];
/** Types that subscriptions to baskets receive. */
export const BASKET = ['basket.rebalanced', 'basket.version.deprecated', 'basket.version.retired'];
/** All types. */
export const EVENT_TYPES = [...FAMILIES, ...BASKET, 'webhook.test'];
