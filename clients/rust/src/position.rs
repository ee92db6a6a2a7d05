//! Reads a page in one pass: its rows, and what tells where the next page is.

use crate::operation::{Paging, Style};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::fmt;
use std::marker::PhantomData;

/// What a page tells about the next one.
#[derive(Debug, Default)]
pub(crate) struct Position {
    /// Number of its rows.
    pub rows: u64,
    /// `meta.hasMore`
    pub has_more: Option<bool>,
    /// `meta.has_more`, beside a cursor.
    pub goes_on: Option<bool>,
    /// `meta.totalPages`
    pub total_pages: Option<u64>,
    /// Number of all rows.
    pub total: Option<u64>,
    /// The cursor of the next page.
    pub cursor: Option<String>,
}

/// Reads the body of a page.
pub(crate) fn page<'de, R: Deserialize<'de>>(
    paging: &'static Paging,
    text: &'de str,
) -> serde_json::Result<(Vec<R>, Position)> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = Seed { paging, depth: 0, of: PhantomData }.deserialize(&mut json)?;
    json.end().map(|()| read)
}

/// An object on the way to the rows.
struct Seed<R> {
    paging: &'static Paging,
    /// How many members lead to this place.
    depth: usize,
    of: PhantomData<R>,
}

impl<R> Seed<R> {
    /// Whether the member at this depth leads to something that ends in this path.
    fn leads_to(&self, path: &[&str], name: &str) -> bool {
        path.get(self.depth) == Some(&name) && path.len() == self.depth + 1
    }
}

impl<'de, R: Deserialize<'de>> DeserializeSeed<'de> for Seed<R> {
    type Value = (Vec<R>, Position);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, R: Deserialize<'de>> Visitor<'de> for Seed<R> {
    type Value = (Vec<R>, Position);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a page")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let (mut rows, mut position) = (Vec::new(), Position::default());
        while let Some(name) = members.next_key::<String>()? {
            if self.depth == 0 && name == "meta" {
                let meta = members.next_value::<Value>()?;
                position.has_more = meta.get("hasMore").and_then(Value::as_bool);
                position.goes_on = meta.get("has_more").and_then(Value::as_bool);
                position.total_pages = meta.get("totalPages").and_then(Value::as_u64);
            } else if self.leads_to(self.paging.rows, &name) {
                rows = members.next_value::<Option<Vec<R>>>()?.unwrap_or_default();
                position.rows = rows.len() as u64;
            } else if self.depth < self.paging.rows.len() && self.paging.rows.get(self.depth) == Some(&name.as_str()) {
                let inner = Seed { paging: self.paging, depth: self.depth + 1, of: PhantomData::<R> };
                let (found, place) = members.next_value_seed(inner)?;
                rows = found;
                position = Position {
                    has_more: position.has_more,
                    goes_on: position.goes_on,
                    total_pages: position.total_pages,
                    ..place
                };
            } else {
                match &self.paging.style {
                    Style::Cursor { cursor, .. } if self.leads_to(cursor, &name) => {
                        position.cursor = members.next_value::<Value>()?.as_str().map(str::to_owned);
                    }
                    Style::Offset { total, .. } if self.leads_to(total, &name) => {
                        position.total = members.next_value::<Value>()?.as_u64();
                    }
                    _ => _ = members.next_value::<IgnoredAny>()?,
                }
            }
        }
        Ok((rows, position))
    }

    // A page that is no object has no rows and no next page.
    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok((Vec::new(), Position::default()))
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        self.visit_unit()
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        self.visit_unit()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        self.visit_unit()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        self.visit_unit()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        self.visit_unit()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        self.visit_unit()
    }
}
