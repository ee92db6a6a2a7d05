//! The members of a JSON object as written. Repeated members are reported, because their meaning is ambiguous.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The members of a JSON object, each as its JSON text.
#[derive(Debug, Default)]
pub(super) struct Members<'a> {
    /// Members by name. Of a repeated member, only the first is kept.
    first: BTreeMap<String, &'a RawValue>,
    /// Names that occur more than once.
    pub(super) repeated: BTreeSet<String>,
}

impl<'a> Members<'a> {
    pub(super) fn remove(&mut self, name: &str) -> Option<&'a RawValue> {
        self.first.remove(name)
    }

    /// The members that were not removed.
    pub(super) fn rest(self) -> impl Iterator<Item = (String, &'a RawValue)> {
        self.first.into_iter()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Members::default();
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    match members.first.entry(name) {
                        Entry::Vacant(place) => {
                            place.insert(value);
                        }
                        Entry::Occupied(taken) => {
                            members.repeated.insert(taken.key().clone());
                        }
                    }
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_member_is_reported_in_any_spelling() {
        let mut members: Members<'_> = serde_json::from_str(r#"{"a":1,"b":[1e999],"\u0061":2,"c":3,"a":4}"#).unwrap();
        assert_eq!(members.repeated, BTreeSet::from(["a".to_owned()]));
        assert_eq!(members.remove("a").unwrap().get(), "1");
        assert_eq!(members.rest().map(|(name, value)| name + value.get()).collect::<Vec<_>>(), ["b[1e999]", "c3"]);
        assert!(serde_json::from_str::<Members<'_>>("[]").is_err());
    }
}
