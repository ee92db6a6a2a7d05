//! Finds the field of a value that JSON cannot express, such as `NaN`, in an invalid body: the parser reports a column, but
//! the caller needs the field.

use serde::de::IgnoredAny;
use std::fmt::Write;

/// Maximum nesting depth of a body; [`Misspelt::find`] does not search deeper ones.
const DEPTH: usize = 128;

/// The first value that is not valid JSON.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Misspelt {
    /// The path of the value's field.
    pub(super) field: String,
    /// The fault, as text for the caller.
    pub(super) reason: &'static str,
}

/// An open object or array around the current position.
enum Open {
    /// An object, with the current member's name.
    Member(String),
    /// An array, with the current item's index.
    Item(usize),
}

impl Misspelt {
    /// Finds the first value in `body` that is not valid JSON. `None` if another syntax error precedes the value, or if the value is not in
    /// a field.
    pub(super) fn find(body: &[u8]) -> Option<Self> {
        let mut text = Text(std::str::from_utf8(body).ok()?);
        let mut open = Vec::new();
        loop {
            match text.start()? {
                '{' if open.len() < DEPTH && !text.takes('}') => {
                    open.push(Open::Member(text.name()?));
                    continue;
                }
                '[' if open.len() < DEPTH && !text.takes(']') => {
                    open.push(Open::Item(0));
                    continue;
                }
                // The closing bracket of an empty object or array is already consumed.
                '{' | '[' if open.len() < DEPTH => {}
                '{' | '[' => return None,
                '"' => text.string().map(|_| ())?,
                _ => {
                    let word = text.word();
                    if serde_json::from_str::<IgnoredAny>(word).is_err() {
                        return Misspelt::of(word, &open);
                    }
                }
            }
            // A value has ended here. This loop also closes every object and array that ends with it, and stops at the next element.
            loop {
                match open.last_mut()? {
                    Open::Member(name) if text.takes(',') => *name = text.name()?,
                    Open::Item(place) if text.takes(',') => *place += 1,
                    Open::Member(_) if text.takes('}') => {
                        open.pop();
                        continue;
                    }
                    Open::Item(_) if text.takes(']') => {
                        open.pop();
                        continue;
                    }
                    _ => return None,
                }
                break;
            }
        }
    }

    fn of(word: &str, open: &[Open]) -> Option<Self> {
        let mut field = String::new();
        for around in open {
            match around {
                Open::Member(name) if field.is_empty() => field.push_str(name),
                Open::Member(name) => write!(field, ".{name}").ok()?,
                Open::Item(place) => write!(field, "[{place}]").ok()?,
            }
        }
        let bare = word.trim_start_matches(['+', '-']).to_ascii_lowercase();
        let reason = match bare.as_str() {
            "nan" | "inf" | "infinity" => "must be a finite number",
            _ => "is not spelt as JSON spells a value",
        };
        (!word.is_empty() && !field.is_empty()).then_some(Misspelt { field, reason })
    }
}

/// The unread rest of the text.
struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    fn skip_space(&mut self) {
        self.0 = self.0.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    /// The first character of a value. A bracket is consumed; anything else is not.
    fn start(&mut self) -> Option<char> {
        self.skip_space();
        let first = self.0.chars().next()?;
        if matches!(first, '{' | '[') {
            self.0 = self.0.get(1..)?;
        }
        Some(first)
    }

    fn takes(&mut self, mark: char) -> bool {
        self.skip_space();
        let rest = self.0.strip_prefix(mark);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// A member's name and the colon after it.
    fn name(&mut self) -> Option<String> {
        self.skip_space();
        let name = serde_json::from_str(self.string()?).ok()?;
        self.takes(':').then_some(name)
    }

    /// A string with its quotes.
    fn string(&mut self) -> Option<&'a str> {
        let mut escaped = false;
        let inside = self.0.strip_prefix('"')?;
        let length = inside.find(|letter| {
            let ends = letter == '"' && !escaped;
            escaped = letter == '\\' && !escaped;
            ends
        })?;
        let (string, rest) = self.0.split_at_checked(length + 2)?;
        self.0 = rest;
        Some(string)
    }

    /// Characters up to the next space or punctuation mark.
    fn word(&mut self) -> &'a str {
        let ends = |letter: char| letter.is_whitespace() || matches!(letter, ',' | ':' | '{' | '}' | '[' | ']' | '"');
        let (word, rest) = self.0.split_at(self.0.find(ends).unwrap_or(self.0.len()));
        self.0 = rest;
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn field(body: &str) -> Option<(String, &'static str)> {
        Misspelt::find(body.as_bytes()).map(|found| (found.field, found.reason))
    }

    #[test]
    fn the_field_of_what_json_cannot_spell_is_found() {
        let finite = "must be a finite number";
        let spelt = "is not spelt as JSON spells a value";
        for (body, name, reason) in [
            (r#"{"positions":NaN}"#, "positions", finite),
            (r#"{"a":"x\"}","limits" : { "maxSharePerAsset" : -Infinity }}"#, "limits.maxSharePerAsset", finite),
            (r#"{"positions":[{},[],{"vaultKey":"1:\\","amountUsd":Infinity}]}"#, "positions[2].amountUsd", finite),
            (r#"{"positions":[{"amountUsd":1e999},{"amountUsd":nan}"#, "positions[1].amountUsd", finite),
            (r#"{"limits":{"a":0.5,"b":.5}}"#, "limits.b", spelt),
            (r#"{"issue":True}"#, "issue", spelt),
            (r#"{"positions":[1, 01]}"#, "positions[1]", spelt),
            (r#"{"p\u006f":undefined}"#, "po", spelt),
        ] {
            assert_eq!(field(body), Some((name.to_owned(), reason)), "{body}");
        }
    }

    #[test]
    fn other_syntax_errors_name_no_field() {
        for body in [
            "",
            "NaN",
            "{",
            "[",
            r#"{"a"#,
            r#"{"a":1 "b":NaN}"#,
            r#"{"a":}"#,
            r#"{a:NaN}"#,
            "{}NaN",
            r#"{"a":1}"#,
            r#"{"a" NaN}"#,
        ] {
            assert_eq!(field(body), None, "{body}");
        }
        assert_eq!(Misspelt::find(b"{\"a\":\xff}"), None);
        assert_eq!(field(&format!("{}NaN", "[".repeat(100_000))), None, "too deep to be read");
    }

    proptest! {
        #[test]
        fn valid_json_has_no_misspelt_value(text in r#"[\[\]{}",:\\ aN1.é-]{0,40}"#) {
            if let Some(found) = Misspelt::find(text.as_bytes()) {
                prop_assert!(serde_json::from_str::<IgnoredAny>(&text).is_err(), "{text}: {found:?}");
            }
        }
    }
}
