//! How much callers may put into bodies, headers and lists, where no parameter's own row says it.
//!
//! Hosts refuse by these constants, and the OpenAPI document and the guides tell them.

/// Different names and ids that one list parameter may hold.
pub const LIST_NAMES: usize = 50;
/// Items of a batch of vaults, ids and addresses together.
pub const BATCH_ITEMS: usize = 100;
/// The longest description of a webhook, in characters.
pub const WEBHOOK_DESCRIPTION_CHARS: usize = 500;
/// The longest id of a basket's version that a webhook may be pinned to, in characters.
pub const VERSION_ID_CHARS: usize = 200;
/// The longest customer's name for a portfolio, in characters: it is signed with every decision.
pub const PORTFOLIO_REF_CHARS: usize = 200;
/// The longest `Idempotency-Key`, in bytes.
pub const IDEMPOTENCY_KEY_BYTES: usize = 255;
/// The longest `X-Service-Subclient` of a shared key, in bytes.
pub const SUBCLIENT_BYTES: usize = 128;
