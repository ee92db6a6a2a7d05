//! Docstrings, names and literals of Python.

use serde_json::Value;

/// Words that no variable may have as its name.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Arguments that every method has or may have.
const ARGUMENTS: [&str; 3] = ["self", "options", "body"];

/// A docstring, indented; nothing if there is no text.
pub fn docstring(text: &str, indent: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let text = text.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"");
    let lines: Vec<&str> = text.lines().collect();
    if let [line] = lines.as_slice() {
        // A quotation mark at the end would become part of the closing marks.
        let end = if line.ends_with('"') { " " } else { "" };
        return format!("{indent}\"\"\"{line}{end}\"\"\"\n");
    }
    let mut out = format!("{indent}\"\"\"");
    for (at, line) in lines.iter().enumerate() {
        out += if at == 0 || line.is_empty() { "" } else { indent };
        out += line.trim_end();
        out.push('\n');
    }
    out + indent + "\"\"\"\n"
}

/// A comment, indented; nothing if there is no text.
pub fn comment(text: &str, indent: &str) -> String {
    text.lines().map(|line| format!("{}\n", format!("{indent}# {line}").trim_end())).collect()
}

/// The name of an argument: `riskTier` as `risk_tier`, `noIL` as `no_il`, `from` as `from_`.
pub fn argument(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (at, char) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| chars.get(at));
        let after = chars.get(at + 1);
        let begins = before.is_some_and(|it| it.is_lowercase() || it.is_ascii_digit())
            || (before.is_some_and(|it| it.is_uppercase()) && after.is_some_and(|it| it.is_lowercase()));
        if char.is_uppercase() && begins {
            out.push('_');
        }
        if char.is_alphanumeric() { out.extend(char.to_lowercase()) } else { out.push('_') }
    }
    unreserved(out)
}

/// The name, with an underscore after it if the language or the library needs it itself.
pub fn unreserved(name: String) -> String {
    if KEYWORDS.contains(&name.as_str()) || ARGUMENTS.contains(&name.as_str()) { name + "_" } else { name }
}

/// Whether a field may be declared in a class.
pub fn is_identifier(name: &str) -> bool {
    let begins = name.chars().next().is_some_and(|it| it == '_' || it.is_ascii_alphabetic());
    begins && !KEYWORDS.contains(&name) && name.chars().all(|it| it == '_' || it.is_ascii_alphanumeric())
}

/// A string literal.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// A JSON value as a literal.
pub fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{}: {}", quoted(name), literal(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_named_as_python_names_them() {
        let names = ["riskTier", "noIL", "from", "model_version", "whId", "v", "affectsTrackedUniverse", "IPAddress"];
        let found: Vec<String> = names.iter().map(|it| argument(it)).collect();
        assert_eq!(
            found,
            ["risk_tier", "no_il", "from_", "model_version", "wh_id", "v", "affects_tracked_universe", "ip_address"]
        );
    }

    #[test]
    fn a_docstring_ends_where_it_should() {
        assert_eq!(docstring("Says \"no\"", ""), "\"\"\"Says \"no\" \"\"\"\n");
        assert_eq!(
            docstring("One.\n\nA \\d and \"\"\".", "  "),
            "  \"\"\"One.\n\n  A \\\\d and \\\"\\\"\\\".\n  \"\"\"\n"
        );
    }
}
