//! Parses the directives of `CDN-Cache-Control` (RFC 9213), which has the syntax of `Cache-Control` (RFC 9111, section 5.2).

/// The largest delta-seconds value; larger ones are capped to it (RFC 9111, section 1.2.2).
const MAX_SECONDS: u32 = 1 << 31;

/// A field's value, parsed anew by each look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Directives<'a>(&'a str);

impl<'a> Directives<'a> {
    /// The directives in `text`; several field lines are joined by commas.
    pub fn of(text: &'a str) -> Self {
        Directives(text)
    }

    /// Whether a directive is present, with or without an argument: `private="x"` restricts the whole response.
    pub fn has(self, name: &str) -> bool {
        self.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }

    /// Seconds of the first directive with that name; an unreadable value counts as 0, so it permits nothing.
    pub fn seconds(self, name: &str) -> Option<u32> {
        let (_, argument) = self.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(argument.and_then(seconds).unwrap_or(0))
    }

    /// Name and argument of each directive.
    fn iter(self) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            loop {
                if rest.is_empty() {
                    return None;
                }
                let end = member_end(rest);
                let (member, after) = (rest.get(..end)?, rest.get(end..)?);
                rest = after.strip_prefix(',').unwrap_or(after);
                let (name, argument) = member.split_once('=').map_or((member, None), |(name, text)| (name, Some(text)));
                // A space before `=` invalidates the argument but not the name, so a prohibition still applies.
                let argument =
                    argument.map(|text| if name.ends_with(char::is_whitespace) { "" } else { text.trim_end() });
                if !name.trim().is_empty() {
                    return Some((name.trim(), argument));
                }
            }
        })
    }
}

/// Where the list's first member ends: at a comma outside quotes, or at the end.
fn member_end(text: &str) -> usize {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => return at,
            _ => {}
        }
    }
    text.len()
}

/// `delta-seconds`, plain or in quotes: digits only; values above the maximum are capped.
fn seconds(argument: &str) -> Option<u32> {
    let plain = argument.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(argument);
    let digits = !plain.is_empty() && plain.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| plain.parse().unwrap_or(MAX_SECONDS).min(MAX_SECONDS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn max_age(text: &str) -> Option<u32> {
        Directives::of(text).seconds("max-age")
    }

    #[test]
    fn names_have_no_case_and_figures_may_be_quoted() {
        assert_eq!(max_age("public, MaX-aGe=15"), Some(15));
        assert_eq!(max_age("max-age=\"15\",private"), Some(15));
        assert_eq!(max_age("max-age=0015 , x"), Some(15));
        assert!(Directives::of("a, No-StOrE").has("no-store"));
        assert!(Directives::of("no-cache=\"set-cookie, x\"").has("no-cache"));
        assert!(!Directives::of("x-no-store").has("no-store"));
        assert_eq!(Directives::of(" , ,").iter().count(), 0);
    }

    #[test]
    fn quoted_text_is_not_a_directive() {
        assert_eq!(max_age(r#"extension="max-age=3600", max-age="1""#), Some(1));
        assert_eq!(max_age(r#"extension="a\", max-age=3600""#), None);
        assert_eq!(max_age(r#"extension="never closed, max-age=3600"#), None);
    }

    #[test]
    fn an_unreadable_number_counts_as_zero() {
        for text in ["max-age", "max-age=", "max-age=-1", "max-age=+1", "max-age='15'", "max-age=1.5", "max-age=15s"] {
            assert_eq!(max_age(text), Some(0), "{text}");
        }
        for text in ["max-age =15", "max-age= 15"] {
            assert_eq!(max_age(text), Some(0), "{text}");
        }
    }

    #[test]
    fn the_first_of_two_values_counts_and_large_values_are_capped() {
        assert_eq!(max_age("max-age=1, max-age=1800"), Some(1));
        assert_eq!(max_age("max-age=99999999999"), Some(MAX_SECONDS));
        assert_eq!(max_age("max-age=4294967295"), Some(MAX_SECONDS));
    }

    proptest! {
        #[test]
        fn any_text_can_be_parsed(text in "[ -~\t]{0,80}") {
            let directives = Directives::of(&text);
            let _ = (directives.has("no-store"), directives.seconds("max-age"));
        }

        #[test]
        fn quoted_text_never_adds_a_directive(inside in "[a-z=, ]{0,40}") {
            let text = format!("a=\"{inside}\"");
            prop_assert_eq!(Directives::of(&text).iter().count(), 1);
        }
    }
}
