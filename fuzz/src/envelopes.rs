//! Decision envelopes, and the evidence with which the origin hands them to the edge.

use rds_shared::graph::decision::Envelope;
use rds_shared::graph::evidence::Evidence;
use rds_shared::model::content_hash::ContentHash;
use rds_shared::scoring::canonical::Canonicalize;

/// An envelope has one text. Evidence proves nothing about an id that its envelope does not hash to.
pub fn holds(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Some(envelope) = Envelope::parse(text)
    {
        assert_eq!(envelope.canonical().to_string(), text);
    }
    let Some(evidence) = Evidence::parse(data) else { return };
    let written = serde_json::to_vec(&evidence).unwrap_or_default();
    // Instants are written in whole milliseconds, as the registry has them: what was written is what counts.
    let again = Evidence::parse(&written).and_then(|evidence| serde_json::to_vec(&evidence).ok());
    assert_eq!(again, Some(written));
    let said = evidence.verify(ContentHash::of_text("another decision"));
    assert!(!said.envelope_intact && !said.holds() && said.decision.is_none(), "{said:?}");
}
