//! Writing facts: one statement for every kind, and the rule that decides which of two observations wins.

use crate::{StoreError, Tx};
use rds_facts::fact::{Fact, content_hash};
use rds_shared::wire::hex;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Maximum rows per statement: enough to amortise its cost, few enough to keep its JSON argument within a few megabytes.
const CHUNK: usize = 5_000;

/// A fact with its content hash; serialised as one element of a statement's JSON array.
struct Row {
    fact: Box<RawValue>,
    content_hash: [u8; 32],
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("fact", &self.fact)?;
        map.serialize_entry("hash", &hex(&self.content_hash))?;
        map.end()
    }
}

/// Writes facts of one kind and returns the first key column of every changed row.
///
/// Of two facts with one key the later observation wins; at the same instant, the greater content hash. This applies within the batch,
/// against the table, and regardless of which of two batches commits first.
pub async fn upsert<F: Fact>(tx: &mut Tx<'_>, facts: &[F]) -> Result<Vec<String>, StoreError> {
    let rows = winners(facts)?;
    let mut changed = Vec::new();
    for chunk in rows.chunks(CHUNK) {
        let json = json_array(chunk)?;
        let keys: Vec<String> = sqlx::query_scalar(&upsert_statement::<F>()).bind(&json).fetch_all(&mut **tx).await?;
        changed.extend(keys);
        if let Some(earliest) = F::EARLIEST {
            let moved: Vec<String> =
                sqlx::query_scalar(&earliest_statement::<F>(earliest)).bind(&json).fetch_all(&mut **tx).await?;
            changed.extend(moved);
        }
    }
    Ok(changed)
}

/// For each fact that differs from its stored row: the fact's index, and whether the stored row was observed at the same instant. Must be
/// called after [`upsert`]: only then has every stored row that differs won against the fact.
pub async fn superseded<F: Fact>(tx: &mut Tx<'_>, facts: &[F]) -> Result<Vec<(usize, bool)>, StoreError> {
    let mut passed = Vec::new();
    for (number, chunk) in facts.chunks(CHUNK).enumerate() {
        let row = |fact: &F| {
            let fact = raw(fact)?;
            Ok(Row { content_hash: content_hash(fact.get()), fact })
        };
        let rows: Vec<Row> = chunk.iter().map(row).collect::<Result<_, StoreError>>()?;
        let found: Vec<(i64, bool)> =
            sqlx::query_as(&passed_over_statement::<F>()).bind(json_array(&rows)?).fetch_all(&mut **tx).await?;
        let place = |(ordinal, same): (i64, bool)| Some((number * CHUNK + usize::try_from(ordinal - 1).ok()?, same));
        passed.extend(found.into_iter().filter_map(place));
    }
    Ok(passed)
}

/// The winning fact per key, in key order, which is also the order of locking and writing.
fn winners<F: Fact>(facts: &[F]) -> Result<Vec<Row>, StoreError> {
    let mut best: BTreeMap<String, &F> = BTreeMap::new();
    for fact in facts {
        // The instant almost always decides. The hash is the most expensive step here, so it is computed only for ties.
        let wins = |kept: &F| {
            let later = fact.observed_at().cmp(&kept.observed_at());
            later.then_with(|| fact.content_hash().cmp(&kept.content_hash())).is_gt()
        };
        match best.entry(fact.key()) {
            Entry::Vacant(place) => drop(place.insert(fact)),
            Entry::Occupied(mut kept) if wins(kept.get()) => drop(kept.insert(fact)),
            Entry::Occupied(_) => {}
        }
    }
    let row = |fact: &F| {
        let fact = raw(fact)?;
        Ok(Row { content_hash: content_hash(fact.get()), fact })
    };
    best.into_values().map(row).collect()
}

/// Serialises a value to JSON text, as it is stored and hashed.
pub fn raw(fact: &impl Serialize) -> Result<Box<RawValue>, StoreError> {
    serde_json::value::to_raw_value(fact).map_err(|error| StoreError::Internal(sqlx::Error::Encode(error.into())))
}

pub fn json_array<T: Serialize>(rows: &[T]) -> Result<String, StoreError> {
    serde_json::to_string(rows).map_err(|error| StoreError::Internal(sqlx::Error::Encode(error.into())))
}

/// The batch is one JSON array; `json_populate_record` converts it to the table's column types.
fn upsert_statement<F: Fact>() -> String {
    let (table, key, columns) = (F::TABLE, F::KEY.join(", "), F::COLUMNS.join(", "));
    let values = F::COLUMNS.iter().map(|column| format!("s.{column}")).collect::<Vec<_>>().join(", ");
    let replaced = F::COLUMNS.iter().filter(|column| !F::KEY.contains(column) && F::EARLIEST != Some(**column));
    let replaced = replaced.map(|column| format!("{column} = EXCLUDED.{column}")).collect::<Vec<_>>().join(", ");
    let separator = if replaced.is_empty() { "" } else { ", " };
    format!(
        "INSERT INTO {table} AS t ({columns}, content_hash) \
         SELECT {values}, decode(r->>'hash', 'hex') \
         FROM json_array_elements($1::json) AS r, json_populate_record(NULL::{table}, r->'fact') AS s \
         ON CONFLICT ({key}) DO UPDATE SET {replaced}{separator}content_hash = EXCLUDED.content_hash \
         WHERE (t.observed_at, t.content_hash) < (EXCLUDED.observed_at, EXCLUDED.content_hash) \
         RETURNING t.{subject}::text",
        subject = F::KEY[0],
    )
}

/// Selects the facts whose stored row has another content hash.
fn passed_over_statement<F: Fact>() -> String {
    let table = F::TABLE;
    let keys = F::KEY.iter().map(|key| format!("t.{key} = s.{key}")).collect::<Vec<_>>().join(" AND ");
    format!(
        "SELECT r.place, t.observed_at = s.observed_at FROM json_array_elements($1::json) WITH ORDINALITY AS r (line, place) \
         CROSS JOIN LATERAL json_populate_record(NULL::{table}, r.line->'fact') AS s JOIN {table} t ON {keys} \
         WHERE t.content_hash <> decode(r.line->>'hash', 'hex') ORDER BY r.place"
    )
}

/// A statement that lowers the column `earliest` when an older observation arrives late.
fn earliest_statement<F: Fact>(earliest: &str) -> String {
    let (table, key) = (F::TABLE, F::KEY[0]);
    format!(
        "UPDATE {table} AS t SET {earliest} = s.observed_at \
         FROM (SELECT s.{key}, min(s.observed_at) AS observed_at \
               FROM json_array_elements($1::json) AS r, json_populate_record(NULL::{table}, r->'fact') AS s GROUP BY 1) AS s \
         WHERE t.{key} = s.{key} AND s.observed_at < t.{earliest} \
         RETURNING t.{key}::text"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::At;
    use serde::ser::Error;

    /// A fact that cannot be serialised as JSON.
    struct Unwritable;

    impl Serialize for Unwritable {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(S::Error::custom("on purpose"))
        }
    }

    impl Fact for Unwritable {
        const TABLE: &'static str = "none";
        const KEY: &'static [&'static str] = &["id"];
        const COLUMNS: &'static [&'static str] = &["id"];

        fn observed_at(&self) -> At {
            At::default()
        }

        fn key(&self) -> String {
            "one".to_owned()
        }
    }

    #[test]
    fn a_fact_that_cannot_be_written_fails_its_batch_and_is_not_left_out_of_it() {
        assert!(matches!(winners(&[Unwritable]), Err(StoreError::Internal(_))));
    }
}
