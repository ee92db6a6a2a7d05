//! Facets: how many assets carry each value, over the whole universe.
//!
//! Source: interface, "RWA item", facet objects.

use alloc::string::{String, ToString};
use alloc::{collections::BTreeMap, vec::Vec};
use core::cmp::Reverse;
use serde::{Serialize, Serializer};

use super::ids::ChainId;

/// What stands for a value that is not known.
pub const UNKNOWN: &str = "(unknown)";
/// The tier bucket of unscored assets.
pub const UNKNOWN_TIER: &str = "unknown";

/// Counts of one field: `[{<field>: value, "count": n}]`, most frequent first, then by value.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts<T> {
    field: &'static str,
    counts: Vec<(T, u64)>,
}

impl<T: Ord> Counts<T> {
    /// Counts `values` under `field`.
    pub fn of(field: &'static str, values: impl Iterator<Item = T>) -> Self {
        let mut by_value: BTreeMap<T, u64> = BTreeMap::new();
        values.for_each(|value| *by_value.entry(value).or_default() += 1);
        let mut counts: Vec<(T, u64)> = by_value.into_iter().collect();
        // The sort is stable: equal counts stay in the order of their values.
        counts.sort_by_key(|(_, count)| Reverse(*count));
        Counts { field, counts }
    }
}

impl<'a> Counts<String> {
    /// Counts texts; what is not known counts as `(unknown)`.
    pub fn of_texts(field: &'static str, values: impl Iterator<Item = Option<&'a str>>) -> Self {
        Self::of(field, values.map(|value| value.unwrap_or(UNKNOWN).to_string()))
    }
}

impl<T: Serialize> Serialize for Counts<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct One<'a, T>(&'static str, &'a T, u64);
        impl<T: Serialize> Serialize for One<'_, T> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry(self.0, self.1)?;
                map.serialize_entry("count", &self.2)?;
                map.end()
            }
        }
        serializer.collect_seq(self.counts.iter().map(|(value, count)| One(self.field, value, *count)))
    }
}

/// `data` of the facet routes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AssetFacets {
    /// By chain.
    pub chains: Counts<ChainId>,
    /// By category.
    pub categories: Counts<String>,
    /// By review status.
    pub review_statuses: Counts<String>,
    /// By tier; unscored assets count as `unknown`.
    pub risk_tiers: Counts<String>,
    /// By legal form.
    pub regulatory_wrappers: Counts<String>,
    /// By who may hold it.
    pub kyc_gates: Counts<String>,
    /// By jurisdiction.
    pub jurisdictions: Counts<String>,
    /// By custodian.
    pub custodians: Counts<String>,
    /// By auditor.
    pub auditors: Counts<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_value_comes_first_and_the_unknown_is_counted() {
        let counts = Counts::of_texts("auditor", [Some("b"), None, Some("a"), None].into_iter());
        let json = serde_json::to_string(&counts).unwrap();
        assert_eq!(json, r#"[{"auditor":"(unknown)","count":2},{"auditor":"a","count":1},{"auditor":"b","count":1}]"#);
    }
}
