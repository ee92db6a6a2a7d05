//! Counts passed and failed tests in the output of the test runners of cargo, Node and Python.

/// A count of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: usize,
    pub failed: usize,
}

impl Tally {
    /// Adds the counts in a line of output: cargo's `test result: ok. 3 passed; 1 failed; …`, Node's `ℹ pass 3` and
    /// `ℹ fail 1`, or pytest's `3 passed, 1 failed in 0.52s`.
    pub fn read(&mut self, line: &str) {
        if let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) {
            for part in counts.split(';') {
                let mut words = part.split_whitespace();
                let number = words.next().and_then(|word| word.parse().ok());
                self.count(words.next(), number, ["passed", "failed"]);
            }
            return;
        }
        if let Some(counts) = pytest_counts(line) {
            for part in counts.split(", ") {
                let mut words = part.split_whitespace();
                let number = words.next().and_then(|word| word.parse().ok());
                // An error is a test whose preparation failed.
                let kind = words.next().map(|it| if it.starts_with("error") { "failed" } else { it });
                self.count(kind, number, ["passed", "failed"]);
            }
            return;
        }
        let mut words = line.split_whitespace();
        if matches!(words.next(), Some("ℹ" | "#")) {
            let kind = words.next();
            let number = words.next().and_then(|word| word.parse().ok());
            self.count(kind, number, ["pass", "fail"]);
        }
    }

    /// Adds another count.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    fn count(&mut self, kind: Option<&str>, number: Option<usize>, names: [&str; 2]) {
        let number = number.unwrap_or(0);
        let [passed, failed] = names;
        if kind == Some(passed) {
            self.passed += number;
        } else if kind == Some(failed) {
            self.failed += number;
        }
    }
}

/// The counts of pytest's last line, `1 failed, 3 passed, 2 skipped in 0.52s`, with or without a frame of `=`.
fn pytest_counts(line: &str) -> Option<&str> {
    let (counts, time) = line.trim_matches(['=', ' ']).split_once(" in ")?;
    let is_time = time.split_whitespace().next()?.strip_suffix('s')?.parse::<f64>().is_ok();
    let is_count = |part: &str| {
        let mut words = part.split(' ');
        words.next().is_some_and(|it| it.parse::<usize>().is_ok()) && words.next().is_some() && words.next().is_none()
    };
    (is_time && counts.split(", ").all(is_count)).then_some(counts)
}

#[cfg(test)]
mod tests {
    use super::Tally;

    fn read(lines: &[&str]) -> (usize, usize) {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.read(line));
        (tally.passed, tally.failed)
    }

    #[test]
    fn several_cargo_summaries_add_up() {
        let lines = [
            "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s",
            "test a_name ... ok",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s",
        ];
        assert_eq!(read(&lines), (15, 2));
    }

    #[test]
    fn summaries_of_nodes_spec_and_tap_reporters_are_counted() {
        assert_eq!(read(&["ℹ tests 9", "ℹ pass 8", "ℹ fail 1", "ℹ skipped 0"]), (8, 1));
        assert_eq!(read(&["# pass 4", "# fail 0"]), (4, 0));
    }

    #[test]
    fn the_last_line_of_pytest_is_counted() {
        assert_eq!(read(&["1 failed, 30 passed, 2 skipped in 12.34s"]), (30, 1));
        assert_eq!(read(&["===== 5 passed, 1 warning, 2 errors in 72.01s (0:01:12) ====="]), (5, 2));
        assert_eq!(read(&["3 passed in total", "FAILED a.py::b - 3 passed, 1 failed in 2s of work"]), (0, 0));
    }
}
