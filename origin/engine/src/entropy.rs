//! The only place that reads randomness from the operating system.

/// `N` unpredictable bytes, for keys, run ids and nonces.
///
/// # Panics
/// If the operating system provides no randomness; keys, run ids and nonces must not be made without it.
#[expect(clippy::disallowed_methods, reason = "the one place that asks for randomness")]
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system must provide randomness");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_draws_differ() {
        assert_ne!(random_bytes::<16>(), random_bytes::<16>());
    }
}
