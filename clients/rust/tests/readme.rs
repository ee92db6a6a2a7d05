//! The README's first example is short.

#[test]
fn a_stranger_reads_at_most_forty_lines() {
    let readme = include_str!("../README.md");
    let example = readme.split("```rust,no_run\n").nth(1).and_then(|it| it.split("```").next()).unwrap();
    let lines = example.trim().lines().count();
    assert!(lines <= 40, "{lines} lines");
}
