//! Real yield: how much of a vault's net rate is interest.

/// The part of a vault's net rate that is interest and not rewards, 0 to 1.
///
/// `None` if either rate is unknown or the net rate is not positive.
pub fn real_yield_share(base_apr: Option<f64>, apr_net: Option<f64>) -> Option<f64> {
    let (base, net) = base_apr.zip(apr_net)?;
    let share = base / net;
    (net > 0.0 && share.is_finite()).then(|| share.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_interest_stays_within_the_whole() {
        assert_eq!(real_yield_share(Some(0.25), Some(0.5)), Some(0.5));
        assert_eq!(real_yield_share(Some(0.5), Some(0.25)), Some(1.0));
        assert_eq!(real_yield_share(Some(-0.5), Some(0.25)), Some(0.0));
        for (base, net) in [
            (Some(0.1), Some(0.0)),
            (Some(0.1), Some(-0.1)),
            (None, Some(0.1)),
            (Some(0.1), None),
            (Some(f64::NAN), Some(0.1)),
        ] {
            assert_eq!(real_yield_share(base, net), None);
        }
    }
}
