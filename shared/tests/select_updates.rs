//! The index of a changed list, made from the index before the change, against a new index of the same rows.

use proptest::prelude::*;
use rds_shared::select::{Condition, FlagColumn, Index, Renumbering, Selection, Sort, SortColumn, WordColumn};
use rds_shared::wire::page::PageRequest;

const WORDS: &[Option<&str>] = &[None, Some("Aave"), Some("aave"), Some("Morpho"), Some("ΔΕΛΤΑ"), Some("1"), Some("b")];
const NAMES: &[&str] = &["Prime USDC", "prime usdc", "Σ Vault", "σ vault", "Core", "édge", "", "Prime USDT"];
const NEEDLES: &[&str] = &["usd", "σ", "v", "a", "au", "δελτα", "prime usdc", "zzz", "RP"];

#[derive(Debug, Clone)]
struct Row {
    word: Option<&'static str>,
    flag: bool,
    number: Option<f64>,
    integer: Option<i64>,
    name: &'static str,
}

fn row() -> impl Strategy<Value = Row> {
    let number = proptest::option::of(prop_oneof![Just(0.0), Just(-0.0), Just(f64::NAN), -50.0..50.0]);
    let integer = proptest::option::of(prop_oneof![Just(i64::MIN), Just(i64::MAX), 0..5i64]);
    (proptest::sample::select(WORDS), any::<bool>(), number, integer, proptest::sample::select(NAMES))
        .prop_map(|(word, flag, number, integer, name)| Row { word, flag, number, integer, name })
}

struct Columns {
    words: WordColumn,
    searched: WordColumn,
    flag: FlagColumn,
    number: SortColumn,
    integer: SortColumn,
    name: SortColumn,
}

fn fill(index: &mut Index, rows: &[Row]) -> Columns {
    let words = index.add_words(rows.iter().map(|row| row.word), false);
    if rows.len().is_multiple_of(2) {
        index.alias(words, "1", "aave");
    }
    let columns = Columns {
        words,
        searched: index.add_words(rows.iter().map(|row| row.word), true),
        flag: index.add_flags(rows.iter().map(|row| row.flag)),
        number: index.add_numbers(rows.iter().map(|row| row.number), true),
        integer: index.add_integers(rows.iter().map(|row| row.integer)),
        name: index.add_names(rows.iter().map(|row| row.name)),
    };
    index.set_texts(rows.iter().map(|row| [row.name].into_iter().chain(row.word)));
    columns
}

/// The answers to a number of queries that use every column.
fn answers(index: &Index, columns: &Columns, size: u64) -> Vec<Selection> {
    let mut conditions: Vec<Vec<Condition<'_>>> = vec![
        vec![],
        vec![Condition::Is(columns.flag, true)],
        vec![Condition::Is(columns.flag, false), Condition::AnyOf(columns.searched, vec!["AAVE", "b"])],
        vec![Condition::Between(columns.number, Some(-10.0), Some(20.0))],
    ];
    conditions.extend(WORDS.iter().flatten().map(|word| vec![Condition::AnyOf(columns.words, vec![word])]));
    conditions.extend(NEEDLES.iter().map(|needle| vec![Condition::Contains(needle)]));
    let mut answers = Vec::new();
    for conditions in &conditions {
        for by in [columns.number, columns.integer, columns.name] {
            for descending in [false, true] {
                for page in 1..=3 {
                    let page = PageRequest::new(page, size);
                    answers.push(index.select(conditions, Sort { by, descending }, page));
                }
            }
        }
    }
    answers
}

/// What happens to one row of a list.
#[derive(Debug, Clone)]
enum Edit {
    Insert(Row),
    Remove,
    Replace(Row),
    /// The row counts as changed, but has the same values.
    Touch,
}

fn edit() -> impl Strategy<Value = (prop::sample::Index, Edit)> {
    let edit = prop_oneof![
        row().prop_map(Edit::Insert),
        Just(Edit::Remove),
        row().prop_map(Edit::Replace),
        Just(Edit::Touch),
    ];
    (any::<prop::sample::Index>(), edit)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_changed_index_answers_as_a_new_one_does(
        mut rows in proptest::collection::vec(row(), 0..300),
        steps in proptest::collection::vec((proptest::collection::vec(edit(), 0..12), any::<bool>()), 1..5),
        size in 1u64..100,
    ) {
        let mut index = Index::new(rows.len());
        fill(&mut index, &rows);
        for (edits, all) in steps {
            let old_rows = rows.len();
            // All rows may count as changed.
            let mut numbers: Vec<(Option<u32>, bool)> = (0..old_rows as u32).map(|row| (Some(row), all)).collect();
            for (at, edit) in edits {
                let at = at.index(rows.len() + 1);
                match edit {
                    Edit::Insert(row) => {
                        rows.insert(at, row);
                        numbers.insert(at, (None, true));
                    }
                    _ if at == rows.len() => {}
                    Edit::Remove => {
                        rows.remove(at);
                        numbers.remove(at);
                    }
                    Edit::Replace(row) => {
                        rows[at] = row;
                        numbers[at].1 = true;
                    }
                    Edit::Touch => numbers[at].1 = true,
                }
            }
            let renumbering = Renumbering::new(old_rows, numbers.into_iter());
            let mut changed = Index::after(&index, &renumbering);
            let columns = fill(&mut changed, &rows);
            let mut new = Index::new(rows.len());
            fill(&mut new, &rows);
            prop_assert_eq!(answers(&changed, &columns, size), answers(&new, &columns, size));
            index = changed;
        }
    }
}

#[test]
fn columns_that_the_index_before_lacks_are_built_anew() {
    let rows = [3.0, 1.0, 2.0];
    let mut before = Index::new(3);
    before.add_numbers(rows.iter().map(|row| Some(*row)), false);
    let same = Renumbering::new(3, (0..3).map(|row| (Some(row), false)));
    let other = Renumbering::new(2, (0..3).map(|row| (Some(row), false)));
    for renumbering in [same, other] {
        let mut after = Index::after(&before, &renumbering);
        after.add_numbers(rows.iter().map(|row| Some(*row)), false);
        let names = after.add_names(["b", "C", "a"].into_iter());
        let words = after.add_words([None, Some("x"), Some("y")].into_iter(), true);
        after.set_texts([["t"], ["u"], ["xt"]].into_iter());
        let select = |condition: Condition<'_>| {
            after.select(&[condition], Sort { by: names, descending: false }, PageRequest::new(1, 9)).rows
        };
        assert_eq!(select(Condition::Contains("")), [2, 0, 1]);
        assert_eq!(select(Condition::Contains("X")), [2, 1]);
        assert_eq!(select(Condition::AnyOf(words, vec!["Y"])), [2]);
    }
}
