//! Finds `RDS_` variables that nothing reads, so that a misspelt name is reported instead of ignored.

use super::Config;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Prefix of the service's variables.
const PREFIX: &str = "RDS_";

/// A variable that nothing reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    pub name: String,
    /// The known variable with the most similar name, if one is similar enough.
    pub nearest: Option<String>,
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.nearest {
            Some(nearest) => write!(f, "{} (did you mean {nearest}?)", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// The unknown variables among `names`, sorted. `RDS_TEST_*` and `RDS_STACK` are skipped: the repository's own tools read them.
pub fn unknown(names: impl Iterator<Item = String>) -> Vec<Unknown> {
    let known = known();
    let of_tools = |name: &str| name.starts_with("RDS_TEST_") || name == "RDS_STACK";
    let stray = names.filter(|name| name.starts_with(PREFIX) && !known.contains(name) && !of_tools(name));
    let named = |name: String| Unknown { nearest: nearest(&name, &known), name };
    stray.collect::<BTreeSet<_>>().into_iter().map(named).collect()
}

/// The unknown variables of this process.
pub fn unknown_here() -> Vec<Unknown> {
    unknown(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()))
}

/// The known names, recorded while the configuration is read: a separate list could become outdated.
fn known() -> BTreeSet<String> {
    let names = RefCell::new(BTreeSet::new());
    // The reader looks up every variable, even after a fault.
    let _ = Config::read(|name| {
        names.borrow_mut().insert(name.to_owned());
        None
    });
    names.into_inner()
}

fn nearest(name: &str, known: &BTreeSet<String>) -> Option<String> {
    let distances = known.iter().map(|other| (distance(name, other), other));
    let (steps, other) = distances.min()?;
    // A distance of more than a third of the name's length is not a misspelling.
    (steps * 3 <= name.len() - PREFIX.len()).then(|| other.clone())
}

/// Levenshtein distance: insertions, deletions and substitutions of bytes.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (line, left) in a.bytes().enumerate() {
        let mut before = line + 1;
        let mut next = vec![before];
        for (right, above) in b.bytes().zip(row.windows(2)) {
            let [corner, top] = above else { continue };
            before = (corner + usize::from(left != right)).min(top + 1).min(before + 1);
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(of: &[&str]) -> Vec<String> {
        unknown(of.iter().map(|name| (*name).to_owned())).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_misspelt_name_is_reported_with_the_most_similar_known_name() {
        assert_eq!(names(&["RDS_MASTER_KYE", "RDS_MASTER_KEY"]), ["RDS_MASTER_KYE (did you mean RDS_MASTER_KEY?)"]);
        assert_eq!(names(&["RDS_WHATEVER_ELSE", "PATH", "DATABASE_URL"]), ["RDS_WHATEVER_ELSE"]);
    }

    #[test]
    fn every_variable_that_is_read_is_known() {
        assert_eq!(
            names(&["RDS_SIGNING_KEY", "RDS_SIGNING_KEY_FILE", "RDS_EDGE_URL", "RDS_TEST_CLOCK", "RDS_DB_CONNECTIONS"]),
            [""; 0]
        );
    }

    #[test]
    fn distances_count_single_letter_edits() {
        for (a, b, steps) in [("", "abc", 3), ("kitten", "sitting", 3), ("abc", "abc", 0), ("abc", "acb", 2)] {
            assert_eq!(distance(a, b), steps, "{a} {b}");
        }
    }
}
