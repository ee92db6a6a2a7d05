//! Randomness: the one place that asks the operating system for it.

/// `N` unpredictable bytes, for keys, run ids and nonces.
///
/// # Panics
/// When the operating system has no randomness to give; nothing that needs it may go on without.
#[expect(clippy::disallowed_methods, reason = "the one place that asks for randomness")]
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system's randomness");
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
