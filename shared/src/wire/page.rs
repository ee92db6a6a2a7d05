//! Numbered pages: the rows that a page covers, and its `meta`.

use alloc::vec::Vec;
use serde::Serialize;

/// The rows of a list that a request selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// The page, counted from 1.
    pub number: u64,
    /// Rows per page, at least 1.
    pub size: u64,
    rows: u64,
}

impl PageRequest {
    /// A page request; a zero counts as 1.
    pub fn new(number: u64, size: u64) -> Self {
        PageRequest { number: number.max(1), size: size.max(1), rows: size.max(1) }
    }

    /// The same page, of which only the first `rows` rows are served.
    pub fn cut_to(self, rows: u64) -> Self {
        PageRequest { rows: self.rows.min(rows), ..self }
    }

    /// Rows of the page that are served: `size`, or fewer if the page was cut.
    pub fn rows(self) -> u64 {
        self.rows
    }

    /// Number of rows before this page.
    pub fn offset(self) -> u64 {
        (self.number - 1).saturating_mul(self.size)
    }

    /// Number of rows of the list up to and including the last served row of this page.
    pub fn end(self) -> u64 {
        self.offset().saturating_add(self.rows)
    }
}

/// Position of a numbered page in its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageMeta {
    /// Number of the page, from 1.
    pub page: u64,
    /// Rows per page, after the requested limit was reduced to the allowed maximum.
    pub limit: u64,
    /// Rows in the whole list.
    pub total: u64,
    /// Pages in the whole list; 0 when it is empty.
    #[serde(rename = "totalPages")]
    pub total_pages: u64,
}

impl PageMeta {
    /// The meta of `request` over a list of `total` rows.
    pub fn new(request: PageRequest, total: u64) -> Self {
        PageMeta { page: request.number, limit: request.size, total, total_pages: total.div_ceil(request.size.max(1)) }
    }

    /// Appends `"meta":{…}` as JSON, for lists that are assembled from encoded rows.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\"meta\":{\"page\":");
        write_u64(self.page, out);
        out.extend_from_slice(b",\"limit\":");
        write_u64(self.limit, out);
        out.extend_from_slice(b",\"total\":");
        write_u64(self.total, out);
        out.extend_from_slice(b",\"totalPages\":");
        write_u64(self.total_pages, out);
        out.push(b'}');
    }
}

/// Appends `value` in decimal.
pub fn write_u64(value: u64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut rest = value;
    let mut used = 0;
    for slot in digits.iter_mut().rev() {
        *slot = b'0' + (rest % 10) as u8;
        rest /= 10;
        used += 1;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(digits.len() - used..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    #[test]
    fn a_partly_filled_last_page_counts_as_a_page() {
        assert_eq!(PageMeta::new(PageRequest::new(1, 20), 41).total_pages, 3);
        assert_eq!(PageMeta::new(PageRequest::new(1, 20), 40).total_pages, 2);
        assert_eq!(PageMeta::new(PageRequest::new(7, 20), 0).total_pages, 0);
    }

    #[test]
    fn an_absurd_page_number_neither_wraps_nor_panics() {
        let page = PageRequest::new(u64::MAX, 100);
        assert_eq!(page.end(), u64::MAX);
    }

    #[test]
    fn the_hand_written_meta_equals_serdes() {
        let meta = PageMeta::new(PageRequest::new(3, 20), 12_345);
        let mut out = Vec::new();
        out.push(b'{');
        meta.write_json(&mut out);
        out.push(b'}');
        let wrapped: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(wrapped["meta"], serde_json::to_value(meta).unwrap());
    }

    #[test]
    fn numbers_are_written_in_full() {
        for value in [0, 9, 10, 99, 1_000_000, u64::MAX] {
            let mut out = Vec::new();
            write_u64(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), std::format!("{value}"));
        }
    }
}
