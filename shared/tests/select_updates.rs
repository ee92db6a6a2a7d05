//! The index of a changed list, made from the index before the change, against a new index of the same rows.

use proptest::prelude::*;
use rds_shared::pace::{Pace, at_once};
use rds_shared::select::{Condition, Filling, FlagColumn, Index, Renumbering, Selection, Sort, SortColumn, WordColumn};
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

/// Gives rows in blocks; the first one is empty.
fn filled(mut index: Filling, rows: &[&Row], block: usize) -> (Index, Columns) {
    let mut columns = fill(&mut index, &[]);
    for rows in rows.chunks(block) {
        columns = fill(&mut index, rows);
    }
    (at_once(index.finish(&Pace::unbroken())), columns)
}

fn fill(index: &mut Filling, rows: &[&Row]) -> Columns {
    index.block(rows.len());
    let words = index.add_words(rows.iter().map(|row| row.word), false);
    // The word of a row with it is "aave" or "Aave", as a chain has one number.
    for row in rows.iter().filter(|row| row.word.is_some_and(|word| word.eq_ignore_ascii_case("aave"))) {
        index.alias(words, "1", row.word.unwrap_or_default());
    }
    let columns = Columns {
        words,
        searched: index.add_words(rows.iter().map(|row| row.word), true),
        flag: index.add_flags(rows.iter().map(|row| row.flag)),
        number: index.add_numbers(rows.iter().map(|row| row.number), true),
        integer: index.add_integers(rows.iter().map(|row| row.integer)),
        name: index.add_names(),
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
        block in 1usize..200,
    ) {
        let all = |rows: &[Row]| filled(Filling::new(), &rows.iter().collect::<Vec<_>>(), block);
        let (mut index, _) = all(&rows);
        for (edits, every) in steps {
            let old_rows = rows.len();
            // All rows may count as changed.
            let mut numbers: Vec<(Option<u32>, bool)> = (0..old_rows as u32).map(|row| (Some(row), every)).collect();
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
            let given: Vec<&Row> = renumbering.changed_rows().map(|row| &rows[row as usize]).collect();
            let (changed, columns) = filled(Filling::after(&index, &renumbering).unwrap(), &given, block);
            let (new, _) = all(&rows);
            prop_assert_eq!(answers(&changed, &columns, size), answers(&new, &columns, size));
            index = changed;
        }
    }
}

#[test]
fn an_index_of_other_rows_is_not_continued() {
    let rows: Vec<Row> = (0..3)
        .map(|number| Row { word: None, flag: false, number: Some(f64::from(number)), integer: None, name: "" })
        .collect();
    let (index, _) = filled(Filling::new(), &rows.iter().collect::<Vec<_>>(), 2);
    let of = |old_rows: usize| Filling::after(&index, &Renumbering::new(old_rows, std::iter::empty())).is_some();
    assert_eq!([of(2), of(3), of(4)], [false, true, false]);
}
