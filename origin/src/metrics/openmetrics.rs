//! The metrics page as OpenMetrics, for scrapers that ask for it: Prometheus takes exemplars only in this format.

use std::fmt::Write;

/// The media type of the format.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Whether a scraper accepts the format, by its `Accept` header.
pub fn is_asked_for(accept: &str) -> bool {
    accept.split(',').any(|range| {
        let essence = range.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/openmetrics-text")
    })
}

/// The page, given as Prometheus text, in this format: a counter's family is named without `_total`, and the page has an end.
pub fn of(text: &str) -> String {
    let mut page = String::with_capacity(text.len() + 16);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        // The type follows the help, so both lines of a counter are recognised by the second.
        let kind = if line.starts_with("# HELP ") { lines.peek().copied().unwrap_or_default() } else { line };
        let is_counter = line.starts_with("# ") && kind.ends_with(" counter");
        let _ = match is_counter {
            true => writeln!(page, "{}", line.replacen("_total ", " ", 1)),
            false => writeln!(page, "{line}"),
        };
    }
    page.push_str("# EOF\n");
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counters_family_loses_its_suffix_and_the_page_ends() {
        let text = "# HELP a_total All a_total.\n# TYPE a_total counter\na_total{x=\"1\"} 2\n# HELP b B.\n# TYPE b gauge\nb 1\n";
        let expected =
            "# HELP a All a_total.\n# TYPE a counter\na_total{x=\"1\"} 2\n# HELP b B.\n# TYPE b gauge\nb 1\n# EOF\n";
        assert_eq!(of(text), expected);
    }

    #[test]
    fn a_scraper_that_lists_the_format_gets_it() {
        assert!(is_asked_for("application/openmetrics-text;version=1.0.0;q=0.6, text/plain;q=0.4"));
        assert!(!is_asked_for("text/plain;version=0.0.4, */*") && !is_asked_for(""));
    }
}
