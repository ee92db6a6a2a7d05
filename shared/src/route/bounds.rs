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
/// Maximum size of a message to the MCP server, in bytes: enough for a check of 1,000 positions.
pub const MCP_MESSAGE_BYTES: usize = 256 * 1_024;
/// Most bytes of a route's response in the answer of an MCP tool: about 8,000 tokens of a model.
pub const MCP_ANSWER_BYTES: usize = 24 * 1_024;
/// Maximum absolute value of a number that is the id of an MCP message: every JSON library keeps it exactly.
pub const MCP_MAX_ID: i64 = (1 << 53) - 1;
