//! Binary records: how values travel between hosts, and how rows lie in memory. Fixed numbers are little-endian; lengths and small numbers are
//! variable: seven bits a byte, the lowest first, and the highest bit says that another byte follows.

use super::shared_bytes::SharedBytes;
use super::time::Timestamp;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

/// Bits of one byte of a variable number.
const GROUP: u32 = 7;
/// The bit that says that another byte follows.
const MORE: u8 = 1 << GROUP;

/// Appends a number in eight bytes.
pub fn put_u64(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends a number in as few bytes as it needs, one to ten.
pub fn put_variable(mut number: u64, out: &mut Vec<u8>) {
    while number >= u64::from(MORE) {
        out.push(number as u8 | MORE);
        number >>= GROUP;
    }
    out.push(number as u8);
}

/// Appends bytes, preceded by their length.
pub fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_variable(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Appends a text or its absence.
pub fn put_optional_text(text: Option<&str>, out: &mut Vec<u8>) {
    put_variable(text.map_or(0, |text| text.len() as u64 + 1), out);
    out.extend_from_slice(text.unwrap_or_default().as_bytes());
}

/// Appends at most eight flags, in one byte.
pub fn put_flags<const N: usize>(flags: [bool; N], out: &mut Vec<u8>) {
    const { assert!(N <= 8) }
    out.push(flags.iter().rev().fold(0, |byte, flag| byte << 1 | u8::from(*flag)));
}

/// Appends at most eight numbers, any of which may be absent.
pub fn put_numbers<const N: usize>(numbers: [Option<f64>; N], out: &mut Vec<u8>) {
    put_flags(numbers.map(|number| number.is_some()), out);
    numbers.iter().flatten().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
}

/// Appends the place of a value in the list of all its values, of which there are fewer than 255, or its absence.
pub fn put_choice<T: PartialEq>(value: Option<T>, all: &[T], out: &mut Vec<u8>) {
    let place = value.and_then(|value| all.iter().position(|one| *one == value));
    out.push(place.map_or(0, |place| place as u8 + 1));
}

/// Appends whether there is an instant, and the instant.
pub fn put_instant(instant: Option<Timestamp>, out: &mut Vec<u8>) {
    out.push(u8::from(instant.is_some()));
    if let Some(instant) = instant {
        out.extend_from_slice(&instant.as_micros().to_le_bytes());
    }
}

/// Reads records. Every method returns `None` if the bytes end too early or are no such value.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// `bytes`, if they are shared.
    shared: Option<&'a Arc<[u8]>>,
}

impl<'a> Reader<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0, shared: None }
    }

    /// Reads shared bytes from `start` on; [`part`](Self::part) then copies nothing.
    pub fn of_shared(bytes: &'a Arc<[u8]>, start: usize) -> Self {
        Reader { bytes, at: start, shared: Some(bytes) }
    }

    /// Whether everything was read.
    pub const fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The bytes that were not read.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    /// A number that [`put_variable`] appended.
    pub fn variable(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..u64::BITS).step_by(GROUP as usize) {
            let [byte] = self.array()?;
            let bits = u64::from(byte & !MORE);
            let shifted = bits << shift;
            // Bits beyond the 64th are no part of a number.
            if shifted >> shift != bits {
                return None;
            }
            number |= shifted;
            if byte & MORE == 0 {
                return Some(number);
            }
        }
        None
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.variable()?;
        self.range(len).and_then(|range| self.bytes.get(range))
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let range = self.range(len as u64)?;
        self.bytes.get(range)
    }

    /// Bytes, as a part of the shared bytes that are read; a copy if they are not shared.
    pub fn part(&mut self) -> Option<SharedBytes> {
        let len = self.variable()?;
        let range = self.range(len)?;
        match self.shared {
            Some(shared) => SharedBytes::part(shared, range),
            None => self.bytes.get(range).map(SharedBytes::from),
        }
    }

    pub fn text(&mut self) -> Option<&'a str> {
        core::str::from_utf8(self.bytes()?).ok()
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    /// A text or its absence, which is `Some(None)`.
    pub fn optional_text(&mut self) -> Option<Option<&'a str>> {
        let Some(len) = self.variable()?.checked_sub(1) else { return Some(None) };
        let range = self.range(len)?;
        core::str::from_utf8(self.bytes.get(range)?).ok().map(Some)
    }

    pub fn flag(&mut self) -> Option<bool> {
        match self.array()? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    /// Flags that [`put_flags`] appended.
    pub fn flags<const N: usize>(&mut self) -> Option<[bool; N]> {
        let [byte] = self.array()?;
        (u32::from(byte) >> N == 0).then(|| core::array::from_fn(|place| byte >> place & 1 == 1))
    }

    /// Numbers that [`put_numbers`] appended.
    pub fn numbers<const N: usize>(&mut self) -> Option<[Option<f64>; N]> {
        let mut numbers = [None; N];
        for (number, is_present) in numbers.iter_mut().zip(self.flags::<N>()?) {
            if is_present {
                *number = Some(f64::from_le_bytes(self.array()?));
            }
        }
        Some(numbers)
    }

    /// A value that [`put_choice`] appended, or its absence, which is `Some(None)`.
    pub fn choice<T: Copy>(&mut self, all: &[T]) -> Option<Option<T>> {
        let [code] = self.array()?;
        match code.checked_sub(1) {
            None => Some(None),
            Some(place) => all.get(usize::from(place)).copied().map(Some),
        }
    }

    /// An instant or its absence, which is `Some(None)`.
    pub fn instant(&mut self) -> Option<Option<Timestamp>> {
        Some(if self.flag()? { Some(Timestamp::from_micros(self.i64()?)) } else { None })
    }

    /// The place of the next `len` bytes, which are then read.
    fn range(&mut self, len: u64) -> Option<Range<usize>> {
        let end = self.at.checked_add(usize::try_from(len).ok()?).filter(|end| *end <= self.bytes.len())?;
        Some(core::mem::replace(&mut self.at, end)..end)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let array = *self.rest().first_chunk()?;
        self.at += N;
        Some(array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_read_back_as_written_and_only_whole() {
        let instant = Timestamp::from_seconds(-5);
        let mut out = Vec::new();
        put_u64(u64::MAX, &mut out);
        put_bytes("é".as_bytes(), &mut out);
        put_instant(Some(instant), &mut out);
        put_instant(None, &mut out);
        let mut reader = Reader::new(&out);
        assert_eq!((reader.u64(), reader.text()), (Some(u64::MAX), Some("é")));
        assert_eq!((reader.instant(), reader.instant()), (Some(Some(instant)), Some(None)));
        assert!(reader.is_at_end() && reader.flag().is_none());
        assert_eq!(Reader::new(&[2]).flag(), None);
        assert_eq!(Reader::new(&[9, b'a']).bytes(), None, "the length exceeds the bytes");
    }

    #[test]
    fn a_number_has_at_most_64_bits() {
        let mut out = Vec::new();
        put_variable(u64::MAX, &mut out);
        assert_eq!((out.len(), Reader::new(&out).variable()), (10, Some(u64::MAX)));
        *out.last_mut().unwrap() = 2;
        assert_eq!(Reader::new(&out).variable(), None);
        assert_eq!(Reader::new(&[0x80; 11]).variable(), None);
    }

    proptest! {
        #[test]
        fn small_values_take_few_bytes_and_read_back(
            number: u64, flags: [bool; 5], numbers: [Option<u32>; 6], text in proptest::option::of(".{0,9}"),
            choice in proptest::option::of(0usize..3),
        ) {
            let (numbers, all) = (numbers.map(|number| number.map(f64::from)), ["a", "b", "c"]);
            let choice = choice.and_then(|place| all.get(place)).copied();
            let mut out = Vec::new();
            put_variable(number, &mut out);
            prop_assert_eq!(out.len(), (u64::BITS - number.leading_zeros()).div_ceil(GROUP).max(1) as usize);
            put_flags(flags, &mut out);
            put_numbers(numbers, &mut out);
            put_optional_text(text.as_deref(), &mut out);
            put_choice(choice, &all, &mut out);
            let mut reader = Reader::new(&out);
            prop_assert_eq!((reader.variable(), reader.flags()), (Some(number), Some(flags)));
            prop_assert_eq!((reader.numbers(), reader.optional_text()), (Some(numbers), Some(text.as_deref())));
            prop_assert_eq!((reader.choice(&all), reader.is_at_end()), (Some(choice), true));
            prop_assert_eq!(Reader::new(&[0b10_0000]).flags::<5>(), None);
            prop_assert_eq!(Reader::new(&[4]).choice(&all), None);
        }

        #[test]
        fn a_part_of_shared_bytes_is_not_copied(front in 0usize..9, content: Vec<u8>) {
            let mut out = alloc::vec![7; front];
            put_bytes(&content, &mut out);
            let shared: Arc<[u8]> = out.as_slice().into();
            let part = Reader::of_shared(&shared, front).part().unwrap();
            prop_assert_eq!(&*part, content.as_slice());
            prop_assert_eq!(Arc::strong_count(&shared), 2);
            prop_assert_eq!(Reader::new(out.get(front..).unwrap()).part(), Some(part));
        }
    }
}
