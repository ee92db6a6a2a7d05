//! Byte ranges of a complete cached response (RFC 9110, section 14). Partial responses are neither cached nor combined.

use std::ops::Range;

/// The result of a `Range` header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Unsupported or malformed: the whole body is sent.
    Whole,
    Bytes(Range<usize>),
    /// Beyond the end of the body.
    Beyond,
}

/// Evaluates `range` for a body of `length` bytes. A request for several ranges gets the whole body, as RFC 9110 permits.
pub fn part(range: &str, length: usize) -> Part {
    let Some((unit, spec)) = range.split_once('=') else { return Part::Whole };
    let Some((first, last)) = spec.trim().split_once('-').filter(|_| unit.trim().eq_ignore_ascii_case("bytes")) else {
        return Part::Whole;
    };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().unwrap_or(usize::MAX))
    };
    let bytes = match (number(first), number(last)) {
        (None, Some(count)) if first.is_empty() => length.saturating_sub(count)..length,
        (Some(start), None) if last.is_empty() => start..length,
        (Some(start), Some(end)) if start <= end => start..end.saturating_add(1).min(length),
        _ => return Part::Whole,
    };
    if bytes.start < bytes.end { Part::Bytes(bytes) } else { Part::Beyond }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_three_forms_of_a_range() {
        assert_eq!(part("bytes=0-1", 10), Part::Bytes(0..2));
        assert_eq!(part("Bytes=4-", 10), Part::Bytes(4..10));
        assert_eq!(part("bytes=-3", 10), Part::Bytes(7..10));
        assert_eq!(part("bytes=-30", 10), Part::Bytes(0..10));
        assert_eq!(part("bytes=4-99", 10), Part::Bytes(4..10));
    }

    #[test]
    fn a_range_beyond_the_end_differs_from_an_unsupported_one() {
        assert_eq!(part("bytes=10-", 10), Part::Beyond);
        assert_eq!(part("bytes=-0", 10), Part::Beyond);
        assert_eq!(part("bytes=0-", 0), Part::Beyond);
        for range in
            ["", "bytes", "bytes=", "bytes=-", "bytes=5-4", "bytes=0-1,3-4", "lines=0-1", "bytes=a-", "bytes=+1-2"]
        {
            assert_eq!(part(range, 10), Part::Whole, "{range}");
        }
    }

    proptest! {
        #[test]
        fn a_range_lies_within_the_body(range in "bytes=[0-9]{0,20}-[0-9]{0,20}", length in 0usize..100) {
            if let Part::Bytes(bytes) = part(&range, length) {
                prop_assert!(bytes.start < bytes.end && bytes.end <= length);
            }
        }
    }
}
