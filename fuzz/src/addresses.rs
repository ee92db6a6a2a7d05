//! Property of the parsers of addresses, vault ids, vault keys, client networks and instants.

use rds_shared::access::client_net::client_net;
use rds_shared::model::ids::{Address, VaultId, VaultKey};
use rds_shared::scoring::decimal::parse_decimal;
use rds_shared::wire::Timestamp;

/// The printed form of a parsed value parses back to the same value.
pub fn holds(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Some((namespace, address)) = Address::parse_any(text) {
        assert_eq!(Address::parse_any(address.as_str()), Some((namespace, address.clone())));
        assert!(address.as_str().eq_ignore_ascii_case(text));
    }
    if let Some(id) = VaultId::parse(text) {
        assert_eq!(VaultId::parse(id.as_str()).as_ref(), Some(&id));
    }
    if let Some(key) = VaultKey::parse(text) {
        assert_eq!(VaultKey::parse(&key.to_string()).as_ref(), Some(&key));
    }
    if let Some(net) = client_net(text) {
        assert!(!net.to_string().is_empty());
    }
    if let Some(instant) = Timestamp::parse(text) {
        assert_eq!(Timestamp::parse(&instant.to_string()).map(|again| again.to_string()), Some(instant.to_string()));
    }
    for scale in [0, 2, 6] {
        let _ = parse_decimal(text, scale);
    }
}
