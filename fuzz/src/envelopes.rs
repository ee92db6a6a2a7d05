//! Property of the parsers of decision envelopes, and of the evidence in which the origin sends them to the edge.

use rds_shared::graph::decision::Envelope;
use rds_shared::graph::evidence::Evidence;
use rds_shared::model::content_hash::ContentHash;
use rds_shared::scoring::canonical::Canonicalize;

/// An envelope has exactly one serialised form. Evidence does not verify for an id other than the envelope's hash.
pub fn holds(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Some(envelope) = Envelope::parse(text)
    {
        assert_eq!(envelope.canonical().to_string(), text);
    }
    let Some(evidence) = Evidence::parse(data) else { return };
    let written = serde_json::to_vec(&evidence).unwrap_or_default();
    // Instants are written in whole milliseconds, so the serialised forms are compared.
    let again = Evidence::parse(&written).and_then(|evidence| serde_json::to_vec(&evidence).ok());
    assert_eq!(again, Some(written));
    let said = evidence.verify(ContentHash::of_text("another decision"));
    assert!(!said.envelope_intact && !said.is_genuine() && said.decision.is_none(), "{said:?}");
}
