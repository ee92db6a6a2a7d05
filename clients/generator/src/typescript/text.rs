//! Comments, names and literals of TypeScript.

use serde_json::Value;

/// A doc comment, indented; nothing if there is no text.
pub fn doc(text: &str, indent: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let text = text.replace("*/", "*\u{200b}/");
    let lines: Vec<&str> = text.lines().collect();
    if let [line] = lines.as_slice() {
        return format!("{indent}/** {line} */\n");
    }
    let mut out = format!("{indent}/**\n");
    for line in lines {
        out += format!("{indent} * {line}").trim_end();
        out.push('\n');
    }
    out + indent + " */\n"
}

/// A member's name, in quotes if it is no identifier.
pub fn member(name: &str) -> String {
    let is_identifier = name
        .chars()
        .enumerate()
        .all(|(at, it)| it == '_' || it == '$' || it.is_ascii_alphabetic() || (at > 0 && it.is_ascii_digit()));
    if is_identifier { name.into() } else { quoted(name) }
}

/// A string literal.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
}

/// A JSON value as a literal.
pub fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Value::Object(members) if members.is_empty() => "{}".into(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{}: {}", member(name), literal(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
