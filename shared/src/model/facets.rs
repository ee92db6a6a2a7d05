//! Facets: the number of assets per value of a field, over all assets.

use alloc::string::{String, ToString};
use alloc::{collections::BTreeMap, vec::Vec};
use core::cmp::Reverse;
use serde::{Serialize, Serializer};

use super::ids::ChainId;

/// The value under which unknown values are counted.
pub const UNKNOWN: &str = "(unknown)";
/// The value under which unscored assets are counted in `risk_tiers`.
pub const UNKNOWN_TIER: &str = "unknown";

/// Counts of one field: `[{<field>: value, "count": n}]`, most frequent first, then by value.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts<T> {
    field: &'static str,
    counts: Vec<(T, u64)>,
}

impl<T: Ord> Counts<T> {
    /// Counts `values`; each entry has its value in the field `field`.
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
    /// Counts texts; unknown values count as `(unknown)`.
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

/// `data` of the facet routes: the number of assets per value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AssetFacets {
    /// Number of assets per chain.
    pub chains: Counts<ChainId>,
    /// Number of assets per category.
    pub categories: Counts<String>,
    /// Number of assets per review status.
    pub review_statuses: Counts<String>,
    /// Number of assets per tier; unscored assets count as `unknown`.
    pub risk_tiers: Counts<String>,
    /// Number of assets per legal form.
    pub regulatory_wrappers: Counts<String>,
    /// Number of assets per rule on who may hold them.
    pub kyc_gates: Counts<String>,
    /// Number of assets per jurisdiction.
    pub jurisdictions: Counts<String>,
    /// Number of assets per custodian.
    pub custodians: Counts<String>,
    /// Number of assets per auditor.
    pub auditors: Counts<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_value_comes_first_and_unknown_values_are_counted() {
        let counts = Counts::of_texts("auditor", [Some("b"), None, Some("a"), None].into_iter());
        let json = serde_json::to_string(&counts).unwrap();
        assert_eq!(json, r#"[{"auditor":"(unknown)","count":2},{"auditor":"a","count":1},{"auditor":"b","count":1}]"#);
    }
}
