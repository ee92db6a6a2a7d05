//! JSON whose members keep their order, so that columns and documents come out as the service wrote them.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Number;
use std::fmt;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Boolean(bool),
    Number(Number),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The member of this name.
    pub fn get(&self, name: &str) -> Option<&Json> {
        let Json::Object(members) = self else { return None };
        members.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The number, if it is a whole one.
    pub fn as_count(&self) -> Option<u64> {
        if let Json::Number(number) = self { number.as_u64() } else { None }
    }

    /// As a cell of a table: texts as they are, null as nothing, lists and objects as JSON.
    pub fn cell(&self) -> String {
        match self {
            Json::Null => String::new(),
            Json::Text(text) => text.clone(),
            other => serde_json::to_string(other).unwrap_or_default(),
        }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Boolean(it) => serializer.serialize_bool(*it),
            Json::Number(it) => it.serialize(serializer),
            Json::Text(it) => serializer.serialize_str(it),
            Json::List(items) => serializer.collect_seq(items),
            Json::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, it: bool) -> Result<Json, E> {
        Ok(Json::Boolean(it))
    }

    fn visit_i64<E: Error>(self, it: i64) -> Result<Json, E> {
        Ok(Json::Number(it.into()))
    }

    fn visit_u64<E: Error>(self, it: u64) -> Result<Json, E> {
        Ok(Json::Number(it.into()))
    }

    fn visit_f64<E: Error>(self, it: f64) -> Result<Json, E> {
        Ok(Number::from_f64(it).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E: Error>(self, it: &str) -> Result<Json, E> {
        Ok(Json::Text(it.into()))
    }

    fn visit_string<E: Error>(self, it: String) -> Result<Json, E> {
        Ok(Json::Text(it))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = all.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = all.next_entry()? {
            members.push(member);
        }
        Ok(Json::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_members_is_kept() {
        let text = r#"{"z":1,"a":[{"y":null,"b":"t"},1.5],"m":{}}"#;
        let read: Json = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
