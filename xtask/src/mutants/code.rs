//! Lines of Rust code that can be mutated, found without cargo-mutants: the gate compares both, so that a run that produced no mutant although it
//! should have is noticed.

use std::ops::RangeInclusive;

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// The lines of every function body that can be mutated, braces included.
///
/// cargo-mutants leaves tests out, functions that only construct (`new`, `Default`), unsafe ones and those without a statement. For a function
/// that returns an `impl` type it often has no other value. The rest gets at least one mutant that spans the body.
///
/// # Errors
/// If the text is not Rust.
pub fn bodies(source: &str) -> Result<Vec<RangeInclusive<usize>>> {
    let tokens: TokenStream = source.parse().map_err(|error| anyhow!("not Rust: {error}"))?;
    let mut found = Vec::new();
    walk(tokens, Place::Module, &mut found);
    Ok(found)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A file or an inline module.
    Module,
    /// The braces of an `impl` or a `trait`.
    Members,
}

/// Goes through the items of a module, or the members of an `impl` or a `trait`.
fn walk(tokens: TokenStream, place: Place, found: &mut Vec<RangeInclusive<usize>>) {
    let mut item: Vec<TokenTree> = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                enter(&item, &group, place, found);
                item.clear();
            }
            TokenTree::Punct(end) if end.as_char() == ';' => item.clear(),
            other => item.push(other),
        }
    }
}

/// Looks at an item that ends in braces. `head` are its tokens before them, with its attributes.
fn enter(head: &[TokenTree], braces: &Group, place: Place, found: &mut Vec<RangeInclusive<usize>>) {
    if is_test(head) {
        return;
    }
    let words: Vec<String> = head.iter().filter_map(word).collect();
    let has = |word: &str| words.iter().any(|own| own == word);
    if let Some(at) = words.iter().position(|word| word == "fn") {
        let name = words.get(at + 1).map(String::as_str);
        let is_constructor = place == Place::Members && name == Some("new");
        let is_unsafe = words.iter().take(at).any(|word| word == "unsafe");
        if !(is_constructor || is_unsafe || braces.stream().is_empty() || returns_impl(head)) {
            found.push(braces.span_open().start().line..=braces.span_close().end().line);
        }
    } else if has("impl") || has("trait") {
        let is_default = words
            .iter()
            .position(|word| word == "for")
            .is_some_and(|at| words.get(at.wrapping_sub(1)).is_some_and(|word| word == "Default"));
        if !is_default {
            walk(braces.stream(), Place::Members, found);
        }
    } else if has("mod") {
        walk(braces.stream(), Place::Module, found);
    }
}

fn word(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    }
}

/// Whether a function returns an `impl` type, for which there may be no other value.
fn returns_impl(head: &[TokenTree]) -> bool {
    let is = |token: &TokenTree, sign: char| matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign);
    head.windows(3).any(|it| match it {
        [first, second, third] => is(first, '-') && is(second, '>') && word(third).is_some_and(|word| word == "impl"),
        _ => false,
    })
}

/// Whether an attribute says that the item exists in tests only.
fn is_test(head: &[TokenTree]) -> bool {
    head.iter().any(|token| match token {
        TokenTree::Group(attribute) if attribute.delimiter() == Delimiter::Bracket => {
            let text = attribute.stream().to_string().replace(' ', "");
            text == "test" || text.ends_with("::test") || text.starts_with("cfg(test") || text == "mutants::skip"
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::scopes::Scope;
    use super::*;
    use crate::workspace::{self, collect};

    #[test]
    fn bodies_of_functions_and_methods_are_found() {
        let source = "fn a() -> bool {\n    true\n}\nimpl A {\n    pub fn b(&self) {\n        c();\n    }\n}\nmod m {\n    fn d() { e() }\n}\n";
        assert_eq!(bodies(source).unwrap(), [1..=3, 5..=7, 10..=10]);
    }

    #[test]
    fn every_file_of_the_scopes_can_be_read() {
        let mut files = Vec::new();
        for path in Scope::ALL.iter().flat_map(|scope| scope.judges()).flat_map(|judge| judge.files) {
            collect(&workspace::root().join(path), &mut files).unwrap();
        }
        let found: usize =
            files.iter().map(|file| bodies(&std::fs::read_to_string(file).unwrap()).unwrap().len()).sum();
        assert!(files.len() > 200 && found > 1500, "{found} bodies in {} files", files.len());
    }

    #[test]
    fn what_is_never_mutated_is_not_found() {
        for source in [
            "#[cfg(test)]\nmod tests {\n    fn a() { b() }\n}\n",
            "#[test]\nfn a() { b() }\n",
            "impl A {\n    fn new() -> A { A(1) }\n}\n",
            "impl Default for A {\n    fn default() -> A { A(1) }\n}\n",
            "unsafe fn a() { b() }\n",
            "fn a() {}\n",
            "fn a() -> impl Fn(u8) -> u8 { |it| it }\n",
            "trait A {\n    fn b();\n}\n",
            "struct A { b: u8 }\nconst C: [u8; 1] = [1];\nmacro_rules! d { () => { fn e() { f() } } }\n",
        ] {
            assert!(bodies(source).unwrap().is_empty(), "{source}");
        }
        assert!(bodies("fn a( {").is_err());
    }
}
