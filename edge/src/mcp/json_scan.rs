//! Splits JSON text into members and elements without parsing the values, so that they are passed on byte for byte.
//!
//! The text is a response of this service, so it is valid JSON. Text that is not gives `None` or nonsense, never a panic.

/// The members of an object: each key with its quotes, and the value's text. `None` if the text is no object.
pub fn members(object: &str) -> Option<Vec<(&str, &str)>> {
    let mut scan = Scan::inside(object, b'{')?;
    let mut all = Vec::new();
    while scan.next_byte()? != b'}' {
        let key = scan.value()?;
        scan.skip(b':')?;
        let value = scan.value()?;
        all.push((key, value));
        scan.skip_comma();
    }
    Some(all)
}

/// The elements of an array, as text. `None` if the text is no array.
pub fn elements(array: &str) -> Option<Vec<&str>> {
    let mut scan = Scan::inside(array, b'[')?;
    let mut all = Vec::new();
    while scan.next_byte()? != b']' {
        all.push(scan.value()?);
        scan.skip_comma();
    }
    Some(all)
}

/// The value of a member of an object.
pub fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let is_it = |key: &str| key.strip_prefix('"').and_then(|key| key.strip_suffix('"')) == Some(name);
    members(object)?.into_iter().find(|(key, _)| is_it(key)).map(|(_, value)| value)
}

/// A place in a text.
struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    /// The place after the opening bracket of `text`.
    fn inside(text: &'a str, opening: u8) -> Option<Self> {
        let mut scan = Scan { text, at: 0 };
        scan.skip(opening)?;
        Some(scan)
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn advance(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    /// The next byte that is no white space.
    fn next_byte(&mut self) -> Option<u8> {
        while self.byte()?.is_ascii_whitespace() {
            self.advance();
        }
        self.byte()
    }

    fn skip(&mut self, wanted: u8) -> Option<()> {
        (self.next_byte()? == wanted).then(|| self.advance())
    }

    fn skip_comma(&mut self) {
        let _ = self.skip(b',');
    }

    /// The text of the next value.
    fn value(&mut self) -> Option<&'a str> {
        let first = self.next_byte()?;
        let begin = self.at;
        match first {
            b'"' => self.pass_string()?,
            b'{' | b'[' => self.pass_nested()?,
            _ => {
                while self.byte().is_some_and(|byte| !b",]}: \t\r\n".contains(&byte)) {
                    self.advance();
                }
            }
        }
        // A value has at least one byte, so that every loop ends.
        self.text.get(begin..self.at).filter(|value| !value.is_empty())
    }

    fn pass_string(&mut self) -> Option<()> {
        self.advance();
        loop {
            match self.byte()? {
                b'"' => {
                    self.advance();
                    return Some(());
                }
                b'\\' => {
                    self.advance();
                    self.advance();
                }
                _ => self.advance(),
            }
        }
    }

    fn pass_nested(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.byte()? {
                b'"' => {
                    self.pass_string()?;
                    continue;
                }
                b'{' | b'[' => depth = depth.saturating_add(1),
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.advance();
            if depth == 0 {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[\\PC\"\\\\{}\\[\\],:\n]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map("[a-z\"\\\\]{0,5}", inner, 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_parts_are_those_that_a_parser_finds(value in json(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
            let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            match &value {
                Value::Object(expected) => {
                    let found = members(&text).unwrap();
                    let found: serde_json::Map<String, Value> =
                        found.into_iter().map(|(key, value)| (read(key).as_str().unwrap().to_owned(), read(value))).collect();
                    prop_assert_eq!(&found, expected);
                }
                Value::Array(expected) => {
                    let found: Vec<Value> = elements(&text).unwrap().into_iter().map(read).collect();
                    prop_assert_eq!(&found, expected);
                }
                _ => prop_assert!(members(&text).is_none() && elements(&text).is_none()),
            }
        }

        #[test]
        fn no_text_panics_or_hangs(text in "[\\PC{}\\[\\]\",:\\\\ ]{0,60}") {
            let _ = (members(&text), elements(&text));
        }
    }

    #[test]
    fn a_member_is_found_by_its_name() {
        assert_eq!(member(r#"{"a": 1, "b" : [2, {"c": "}"}]}"#, "b"), Some(r#"[2, {"c": "}"}]"#));
        assert_eq!(member(r#"{"a": 1}"#, "c"), None);
    }
}
