//! Reads a struct from an object and from nothing else. By itself serde also takes a list of the fields' values, and an empty list for a struct
//! whose fields all have defaults.

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt;
use core::marker::PhantomData;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A value that was read from an object.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members(PhantomData))
    }
}

struct Members<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(Object)
    }
}

/// Reads an object.
pub fn required<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Object::deserialize(deserializer).map(|Object(value)| value)
}

/// Reads an object or null.
pub fn optional<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::<Object<T>>::deserialize(deserializer).map(|read| read.map(|Object(value)| value))
}

/// Reads objects by name.
pub fn by_name<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    let read = BTreeMap::<String, Object<T>>::deserialize(deserializer)?;
    Ok(read.into_iter().map(|(name, Object(value))| (name, value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use serde_json::json;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Limits {
        #[serde(default)]
        most: u32,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Row {
        #[serde(default, deserialize_with = "optional")]
        limits: Option<Limits>,
        #[serde(default, deserialize_with = "by_name")]
        named: BTreeMap<String, Limits>,
    }

    #[test]
    fn a_list_is_no_object() {
        let read = |value| serde_json::from_value::<Row>(value).ok();
        let some = Row { limits: Some(Limits { most: 7 }), named: BTreeMap::new() };
        assert_eq!(read(json!({"limits": {"most": 7}})), Some(some));
        assert_eq!(read(json!({"limits": null, "named": {}})), read(json!({})));
        assert!(read(json!({})).is_some());
        for list in [json!({"limits": []}), json!({"limits": [7]}), json!({"named": {"a": []}}), json!({"named": []})] {
            assert_eq!(read(list.clone()), None, "{list}");
        }
        let error = serde_json::from_value::<Row>(json!({"limits": [7]})).unwrap_err();
        assert_eq!(error.to_string(), "invalid type: sequence, expected an object");
    }
}
