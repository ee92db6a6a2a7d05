//! The text of SQL statements.

/// The statement without the comments before it.
pub fn without_comments(text: &str) -> &str {
    let text = text.trim_start();
    let behind = match text.split_at_checked(2) {
        Some(("/*", rest)) => rest.split_once("*/").map(|(_, behind)| behind),
        Some(("--", rest)) => rest.split_once('\n').map(|(_, behind)| behind),
        _ => None,
    };
    behind.map_or(text, without_comments)
}
