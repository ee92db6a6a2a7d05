//! Bounds of bodies, headers and lists that are not part of a single parameter's definition.
//!
//! The edge and the origin enforce these constants; the OpenAPI document and the guides publish them.

/// Maximum number of different names or ids in one list parameter.
pub const LIST_NAMES: usize = 50;
/// Maximum number of items of a vault batch: ids and addresses together.
pub const BATCH_ITEMS: usize = 100;
/// Maximum length of a webhook's description, in characters.
pub const WEBHOOK_DESCRIPTION_CHARS: usize = 500;
/// Maximum length of the id of a basket version that a webhook is pinned to, in characters.
pub const VERSION_ID_CHARS: usize = 200;
/// Maximum length of `portfolioRef`, in characters. It is signed with every decision.
pub const PORTFOLIO_REF_CHARS: usize = 200;
/// Maximum length of `Idempotency-Key`, in bytes.
pub const IDEMPOTENCY_KEY_BYTES: usize = 255;
/// Maximum length of the header `X-Service-Subclient`, in bytes. Only clients of shared keys send this header.
pub const SUBCLIENT_BYTES: usize = 128;
