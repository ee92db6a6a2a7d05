//! The rows of the next read model. A row that did not change stays the same in memory, and so does a list without a changed row: two models are
//! compared by addresses, not by contents.

use anyhow::Context;
use rds_shared::replica::{Family, Row, Rows};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The rows of the next model, begun with those of the previous one.
#[derive(Debug)]
pub(super) struct NextRows {
    previous: Rows,
    next: Rows,
}

impl NextRows {
    /// The rows of `previous`, none of which was replaced yet.
    pub(super) fn new(previous: Rows) -> Self {
        NextRows { next: previous.clone(), previous }
    }

    /// The previous row with the key of `row` if it is equal, else `row`.
    pub(super) fn kept(&self, family: Family, row: Row) -> Row {
        self.previous.find(family, row.key()).filter(|earlier| **earlier == row).cloned().unwrap_or(row)
    }

    /// Replaces the rows of a family, in any order. Fails if two have the same key.
    pub(super) fn set(&mut self, family: Family, mut rows: Vec<Row>) -> anyhow::Result<()> {
        rows.sort_unstable_by(|a, b| a.key().cmp(b.key()));
        let previous = self.previous.of(family);
        let mut earlier = previous.iter().peekable();
        for row in &mut rows {
            while earlier.next_if(|earlier| earlier.key() < row.key()).is_some() {}
            if let Some(equal) = earlier.next_if(|earlier| *earlier == row) {
                *row = equal.clone();
            }
        }
        let is_unchanged = rows.len() == previous.len() && rows.iter().zip(&**previous).all(|(a, b)| a.is_same(b));
        let rows = if is_unchanged { Arc::clone(previous) } else { Arc::new(rows) };
        self.next
            .set(family, rows)
            .with_context(|| format!("two rows of the family {} have the same key", family.name()))
    }

    /// Replaces some rows of a family, and adds those whose keys it does not have yet.
    pub(super) fn update(&mut self, family: Family, rows: impl IntoIterator<Item = Row>) -> anyhow::Result<()> {
        let known = self.next.of(family).iter().cloned().chain(rows);
        let by_key: BTreeMap<Vec<u8>, Row> = known.map(|row| (row.key().to_vec(), row)).collect();
        self.set(family, by_key.into_values().collect())
    }

    /// The rows as they stand.
    pub(super) fn rows(&self) -> &Rows {
        &self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(key: &str, content: &str) -> Row {
        Row::new(key.as_bytes(), content.as_bytes()).unwrap()
    }

    #[test]
    fn rows_that_did_not_change_stay_the_same_in_memory() {
        let mut first = NextRows::new(Rows::default());
        first.set(Family::Feeds, vec![row("b", "2"), row("a", "1"), row("c", "3")]).unwrap();
        let first = first.rows().clone();
        let mut second = NextRows::new(first.clone());
        second.set(Family::Feeds, vec![row("a", "1"), row("b", "2"), row("c", "3")]).unwrap();
        assert!(second.rows().shares(&first, Family::Feeds));
        second.set(Family::Feeds, vec![row("c", "3"), row("b", "changed")]).unwrap();
        let (before, after) = (first.of(Family::Feeds), second.rows().of(Family::Feeds));
        let keys: Vec<&[u8]> = after.iter().map(Row::key).collect();
        assert_eq!(keys, [b"b", b"c"]);
        assert!(after[1].is_same(&before[2]) && after[0] == row("b", "changed"));
    }

    #[test]
    fn an_update_keeps_the_other_rows() {
        let mut rows = NextRows::new(Rows::default());
        rows.set(Family::Singles, vec![row("a", "1"), row("b", "2")]).unwrap();
        rows.update(Family::Singles, [row("b", "new"), row("c", "3")]).unwrap();
        assert_eq!(**rows.rows().of(Family::Singles), [row("a", "1"), row("b", "new"), row("c", "3")]);
    }

    #[test]
    fn two_rows_with_one_key_are_refused() {
        let refused = NextRows::new(Rows::default()).set(Family::Markets, vec![row("a", "1"), row("a", "2")]);
        assert!(refused.unwrap_err().to_string().contains("markets"));
    }
}
