//! Property of the parser of webhook targets.

use rds_shared::push::target::{Host, Policy, Target};

/// An accepted target uses HTTPS and parses back to itself. If its host is an IP address, the address is public.
pub fn holds(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let policy = Policy::allowing(Vec::new());
    let Ok(target) = Target::parse(text, &policy) else { return };
    assert!(target.as_str().starts_with("https://"), "{}", target.as_str());
    assert_eq!(Target::parse(target.as_str(), &policy).as_ref(), Ok(&target));
    assert!(target.port() > 0);
    match target.host() {
        Host::Address(address) => assert!(policy.permits(*address), "{address}"),
        Host::Name(name) => assert!(!name.ends_with('.') && *name == name.to_ascii_lowercase(), "{name}"),
    }
}
