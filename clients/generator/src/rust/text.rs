//! Comments, names and literals of Rust.

use crate::names::camel;

/// A doc comment, indented; nothing if there is no text. Links that the text does not mean are escaped.
pub fn doc(text: &str, indent: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        out += format!("{indent}/// {}", escaped(line)).trim_end();
        out.push('\n');
    }
    out
}

/// A field, variable or method: `snake_case`, with `r#` where it is a keyword.
pub fn field(name: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for part in name.split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty()) {
        let is_capitals = !part.chars().any(char::is_lowercase);
        words.extend(if is_capitals { vec![part.to_lowercase()] } else { camel(part) });
    }
    let joined = words.join("_");
    let start = if joined.starts_with(|it: char| it.is_ascii_digit()) { "n" } else { "" };
    let name = format!("{start}{joined}");
    if KEYWORDS.contains(&name.as_str()) { format!("r#{name}") } else { name }
}

/// A variant: `UpperCamelCase`.
pub fn variant(value: &str) -> String {
    let mut out = String::new();
    for part in value.split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty()) {
        let is_capitals = part.len() > 1 && !part.chars().any(char::is_lowercase);
        let mut chars = part.chars();
        out.extend(chars.next().map(|it| it.to_ascii_uppercase()));
        out.extend(chars.map(|it| if is_capitals { it.to_ascii_lowercase() } else { it }));
    }
    if out.is_empty() || out.starts_with(|it: char| it.is_ascii_digit()) { format!("N{out}") } else { out }
}

/// Brackets and angle brackets outside of code would be links and tags.
fn escaped(line: &str) -> String {
    let mut out = String::new();
    let mut in_code = false;
    for it in line.chars() {
        match it {
            '`' => in_code = !in_code,
            '[' | ']' | '<' | '>' if !in_code => out.push('\\'),
            _ => {}
        }
        out.push(it);
    }
    out
}

const KEYWORDS: [&str; 14] =
    ["as", "async", "box", "const", "for", "gen", "in", "loop", "match", "mod", "ref", "type", "use", "where"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_a_reader_expects() {
        let fields = ["riskTier", "total_score", "type", "maxSharePerAsset", "24h"].map(field);
        assert_eq!(fields, ["risk_tier", "total_score", "r#type", "max_share_per_asset", "n24h"]);
        let variants = ["Prime", "no_data", "RATE", "oracleVendor", "30d", "a"].map(variant);
        assert_eq!(variants, ["Prime", "NoData", "Rate", "OracleVendor", "N30d", "A"]);
    }

    #[test]
    fn brackets_are_links_only_in_code() {
        assert_eq!(doc("a [b] `c[0]`", ""), "/// a \\[b\\] `c[0]`\n");
    }
}
