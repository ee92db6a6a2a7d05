//! The header `traceparent` of W3C Trace Context: which trace a request belongs to, and the span that caused it.

use super::RequestId;
use super::hex::{pair, unhex_array};
use alloc::string::String;

/// The trace of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace's id, not all zero.
    pub trace_id: [u8; 16],
    /// The id of the span that caused the request, not all zero.
    pub span_id: [u8; 8],
    /// Whether the trace is recorded.
    pub sampled: bool,
}

/// Length of the text of version 00.
const LENGTH: usize = 55;

impl TraceParent {
    /// Reads a header value. As the standard demands, a later version is read by the fields of version 00.
    pub fn parse(text: &str) -> Option<Self> {
        let (known, rest) = text.split_at_checked(LENGTH)?;
        let mut parts = known.split('-');
        let [version, trace_id, span_id, flags] = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
        let is_later = match version {
            "00" => false,
            "ff" => return None,
            _ => true,
        };
        let is_complete = rest.is_empty() || (is_later && rest.starts_with('-'));
        if !is_complete || text.bytes().any(|byte| byte.is_ascii_uppercase()) || unhex_array::<1>(version).is_none() {
            return None;
        }
        let (trace_id, span_id) = (unhex_array(trace_id)?, unhex_array(span_id)?);
        let [flags] = unhex_array::<1>(flags)?;
        let is_set = trace_id != [0; 16] && span_id != [0; 8];
        is_set.then_some(TraceParent { trace_id, span_id, sampled: flags & 1 == 1 })
    }

    /// The header value.
    pub fn to_text(self) -> String {
        let mut text = String::with_capacity(LENGTH);
        text.push_str("00-");
        self.trace_id.iter().for_each(|byte| push(&mut text, *byte));
        text.push('-');
        self.span_id.iter().for_each(|byte| push(&mut text, *byte));
        text.push_str(if self.sampled { "-01" } else { "-00" });
        text
    }
}

fn push(text: &mut String, byte: u8) {
    text.extend(pair(byte).map(char::from));
}

/// The share of requests whose trace is recorded. The request's id decides, so that every host decides alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleRatio {
    /// Ids whose last four bytes are below this number are recorded.
    below: u64,
}

impl SampleRatio {
    /// Records nothing.
    pub const NONE: SampleRatio = SampleRatio { below: 0 };

    /// Records one in a hundred.
    pub const ONE_PERCENT: SampleRatio = SampleRatio { below: 42_949_672 };

    /// Reads a share from 0 to 1, such as `0.01`.
    pub fn parse(text: &str) -> Option<Self> {
        let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share))?;
        // At most 2^32, which f64 holds exactly.
        Some(SampleRatio { below: (share * 4_294_967_296.0) as u64 })
    }

    /// Whether the trace of a request is recorded.
    pub fn records(self, id: RequestId) -> bool {
        let [.., a, b, c, d] = id.to_bytes();
        u64::from(u32::from_be_bytes([a, b, c, d])) < self.below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_value_reads_back_as_written() {
        let read = TraceParent::parse(TEXT).unwrap();
        assert_eq!((read.trace_id[0], read.span_id[7], read.sampled), (0x0a, 0x31, true));
        assert_eq!(read.to_text(), TEXT);
        let unsampled = TraceParent { sampled: false, ..read };
        assert_eq!(TraceParent::parse(&unsampled.to_text()), Some(unsampled));
    }

    #[test]
    fn a_value_that_the_standard_forbids_is_not_read() {
        let zero_trace = TEXT.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32));
        let zero_span = TEXT.replace("b7ad6b7169203331", &"0".repeat(16));
        let upper = TEXT.replace('b', "B");
        let longer = alloc::format!("{TEXT}-00");
        let invalid_version = TEXT.replacen("00", "ff", 1);
        let not_hex = TEXT.replacen("0af", "0ag", 1);
        for bad in ["", "00", &TEXT[1..], &zero_trace, &zero_span, &upper, &longer, &invalid_version, &not_hex, "ü"] {
            assert_eq!(TraceParent::parse(bad), None, "{bad}");
        }
        let later = longer.replacen("00", "cc", 1);
        assert!(TraceParent::parse(&later).is_some(), "a later version may be longer");
        assert_eq!(TraceParent::parse(&later.replace("01-00", "01.00")), None);
    }

    #[test]
    fn a_share_of_ids_is_recorded_and_every_host_chooses_the_same() {
        let id = |last: u32| {
            let mut bytes = [7; 16];
            bytes[12..].copy_from_slice(&last.to_be_bytes());
            RequestId::from_random(bytes)
        };
        let half = SampleRatio::parse("0.5").unwrap();
        assert!(half.records(id(0)) && half.records(id(0x7fff_ffff)) && !half.records(id(0x8000_0000)));
        assert!(SampleRatio::parse("1").unwrap().records(id(u32::MAX)));
        assert!(!SampleRatio::parse("0").unwrap().records(id(0)) && !SampleRatio::NONE.records(id(0)));
        assert_eq!(SampleRatio::parse("0.01"), Some(SampleRatio::ONE_PERCENT));
        for bad in ["", "1.1", "-0.1", "NaN", "half"] {
            assert_eq!(SampleRatio::parse(bad), None, "{bad}");
        }
    }
}
