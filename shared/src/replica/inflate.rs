//! Unpacks deflate in steps.

use crate::pace::Pace;
use alloc::boxed::Box;
use alloc::vec::Vec;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// Bytes that are unpacked in one step, and about what each takes.
const STEP_BYTES: usize = 64 << 10;
const BYTE_NANOS: usize = 10;

/// The bytes that raw deflate unpacks to. `None` if it is no deflate, or if there would be more than `max` bytes.
pub(super) async fn inflate(packed: &[u8], max: usize, pace: &Pace<'_>) -> Option<Vec<u8>> {
    let mut state = Box::<DecompressorOxide>::default();
    let (mut out, mut rest) = (Vec::new(), packed);
    let mut filled = 0;
    loop {
        pace.step(STEP_BYTES * BYTE_NANOS).await;
        out.resize((filled + STEP_BYTES).min(max), 0);
        let (status, read, written) =
            decompress(&mut state, rest, &mut out, filled, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF);
        rest = rest.get(read..)?;
        filled += written;
        match status {
            TINFLStatus::Done => {
                out.truncate(filled);
                return Some(out);
            }
            TINFLStatus::HasMoreOutput if filled < max => {}
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::at_once;
    use crate::pace::tests::Counted;
    use alloc::vec;
    use miniz_oxide::deflate::compress_to_vec;
    use miniz_oxide::inflate::decompress_to_vec_with_limit;
    use proptest::prelude::*;

    fn unpacked(packed: &[u8], max: usize) -> Option<Vec<u8>> {
        at_once(inflate(packed, max, &Pace::unbroken()))
    }

    #[test]
    fn long_texts_are_unpacked_in_steps() {
        let text: Vec<u8> = (0..1_000_000u32).map(|number| (number.wrapping_mul(0x9e37_79b1) >> 29) as u8).collect();
        let (packed, host) = (compress_to_vec(&text, 6), Counted::default());
        assert!(at_once(inflate(&packed, 1 << 20, &Pace::of(&host))) == Some(text));
        assert!(host.0.get() >= 4, "{} pauses", host.0.get());
        let zeros = compress_to_vec(&vec![0; 1_000_000], 6);
        assert_eq!([999_999, 1_000_000].map(|max| unpacked(&zeros, max).is_some()), [false, true]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_unpacked_as_at_once(bytes in prop::collection::vec(any::<u8>(), 0..60), max in 0usize..400) {
            prop_assert_eq!(unpacked(&bytes, max), decompress_to_vec_with_limit(&bytes, max).ok());
            let packed = compress_to_vec(&bytes, 6);
            prop_assert_eq!(unpacked(&packed, max), decompress_to_vec_with_limit(&packed, max).ok());
        }
    }
}
