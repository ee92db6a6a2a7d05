//! Fields of an asset that callers without a key see empty.

/// Fields of a row that are emptied for callers without a key.
pub const RESTRICTED_IN_ROWS: &[&str] = &["dimensions"];
/// Fields of a detail that are emptied for callers without a key.
pub const RESTRICTED_IN_DETAIL: &[&str] = &["dimensions", "attestation_history", "risk_score_breakdown"];
