//! Content negotiation of the documentation's pages: HTML or Markdown, by `Accept` (RFC 9110, section 12.5.1).

/// Whether a client prefers Markdown to HTML. It must name `text/markdown` itself: browsers send `*/*`, too. If both types have the same
/// quality, the answer is Markdown, because no browser names it.
pub fn prefers_markdown(accept: &str) -> bool {
    let markdown = quality(accept, "text/markdown");
    markdown > 0 && markdown >= quality(accept, "text/html")
}

/// The quality of a media type in thousandths; 0 if the header does not name it.
fn quality(accept: &str, media_type: &str) -> u32 {
    let ranges = accept.split(',').map(|range| range.split_once(';').unwrap_or((range, "")));
    let named = ranges.filter(|(name, _)| name.trim().eq_ignore_ascii_case(media_type));
    named.map(|(_, parameters)| weight(parameters)).max().unwrap_or(0)
}

/// The weight among a range's parameters, in thousandths; 1000 without a weight, 0 if it is malformed.
fn weight(parameters: &str) -> u32 {
    let weights = parameters
        .split(';')
        .filter_map(|parameter| parameter.trim().strip_prefix(['q', 'Q'])?.trim().strip_prefix('='));
    let Some(text) = weights.map(str::trim).next() else { return 1_000 };
    match text.parse::<f32>() {
        Ok(value) if (0.0..=1.0).contains(&value) => (value * 1_000.0) as u32,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_names_markdown_gets_it_unless_it_prefers_html() {
        for accept in [
            "text/markdown",
            "Text/Markdown; charset=utf-8",
            "text/markdown, text/html, */*",
            "text/html;q=0.9, text/markdown",
            "text/html;q=0.5,text/markdown;q=0.5",
        ] {
            assert!(prefers_markdown(accept), "{accept}");
        }
        for accept in [
            "",
            "*/*",
            "text/*",
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "text/html, text/markdown;q=0.9",
            "text/markdown;q=0",
            "text/markdown;q=high",
            "text/markdownish",
        ] {
            assert!(!prefers_markdown(accept), "{accept}");
        }
    }
}
