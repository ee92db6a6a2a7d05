//! Codes and texts of errors, as nodes and providers write them. Texts are compared in lower case.

/// Geth's code of a revert.
pub(super) const REVERT_CODE: i64 = 3;
/// The code that nodes use for everything that has no other code, also for reverts.
pub(super) const SERVER_ERROR: i64 = -32_000;
/// Nethermind's and OpenEthereum's code of a failed execution.
pub(super) const EXECUTION_ERROR: i64 = -32_015;
/// EIP-1474: the requested resource does not exist.
pub(super) const RESOURCE_NOT_FOUND: i64 = -32_001;

/// A revert's text begins with one of these; the reason that the contract gave follows.
pub(super) const REVERT_PREFIXES: &[&str] =
    &["execution reverted", "vm exception while processing transaction: revert", "evm error revert"];

/// EIP-1474's "limit exceeded", and the codes of single providers. Used only if the text names no other cause.
pub(super) const RATE_LIMIT_CODES: &[i64] = &[-32_005, -32_007, -32_029, -32_090];

pub(super) const RATE_LIMIT: &[&str] = &[
    "rate limit",
    "ratelimit",
    "rate exceeded",
    "too many requests",
    "per second",
    "request limit",
    "requests limit",
    "daily request",
    "monthly",
    "quota",
    "throttl",
    "compute units",
    "capacity exceeded",
    "over capacity",
];

pub(super) const RANGE: &[&str] = &[
    "block range",
    "blocks range",
    "range is too",
    "range too",
    "range limit",
    "exceed maximum block",
    "exceeds max results",
    "query returned more than",
    "too many results",
    "too many logs",
    "logs matched by query exceeds",
    "number of requested blocks",
    "query exceeds",
    "limit the query",
];

pub(super) const GAS: &[&str] = &[
    "out of gas",
    "outofgas",
    "memoryoog",
    "intrinsic gas",
    "gas required exceeds",
    "gas limit",
    "gaslimit",
    "gas cap",
    "exceeds block gas",
    "not enough gas",
    "gas too low",
];

pub(super) const SIZE: &[&str] = &[
    "entity too large",
    "payload too large",
    "content too large",
    "response too large",
    "response is too",
    "response size",
    "request too large",
    "request size",
    "body size",
    "too big",
    "oversized data",
    "max code size",
    "max initcode size",
    "createcontractsizelimit",
    "createinitcodesizelimit",
];

pub(super) const UNKNOWN_BLOCK: &[&str] = &[
    "resource not found",
    "header not found",
    "unknown block",
    "block not found",
    "blockoutofrange",
    "not currently canonical",
    "missing trie node",
    "pruned",
    "state not available",
    "state is not available",
    "historical state",
    "no state found",
    "archive",
];

/// JSON-RPC 2.0: invalid request, unknown method, invalid parameters; EIP-1474: method not supported.
pub(super) const UNSUPPORTED_CODES: &[i64] = &[-32_600, -32_601, -32_602, -32_004];

pub(super) const UNSUPPORTED: &[&str] = &["method not found", "not supported", "unsupported", "too many arguments"];

pub(super) const FORBIDDEN: &[&str] =
    &["unauthorized", "forbidden", "api key", "apikey", "access denied", "not available on"];
