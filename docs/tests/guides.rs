//! Figures in the guides come from the service's constants, and the errors guide describes each error as the reference does.

use rds_docs::{Library, find};
use rds_shared::route::ROUTES;
use rds_shared::wire::ErrorCode;
use std::fs;
use std::path::Path;

/// Figures that are not bounds of the service: names of standards and formats, lengths of texts, scales, and examples.
const ALLOWED: &[&str] = &[
    "/v1/",
    "`v1`",
    "v1=<hex>",
    "`v2:`",
    "`sha2`",
    "HMAC-SHA-256",
    "SHA-256",
    "EIP-191",
    "ISO 8601",
    "JSON Schema of 2020-12",
    "base58",
    "`0x…`",
    "2xx",
    "4xx",
    "`111`",
    "32 hexadecimal characters",
    "64 hexadecimal characters",
    "over the 64 characters",
    "up to 64 bits",
    "0 to 10",
    "2026-07-28",
    "2025-11-25",
    "2025-06-18",
    "IPv6 /48",
    "IPv4 /24",
    "begins at 1",
    "number, from 1",
    "limit of 60 percent",
    "0.012 is 1.2 percent",
];

fn page(name: &str) -> String {
    String::from_utf8(Library::open().body(find(name).unwrap()).to_vec()).unwrap()
}

/// The text without the parts between two marks.
fn without(text: &str, opening: &str, closing: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(opening) {
        out.push_str(before);
        rest = after.split_once(closing).map_or("", |(_, after)| after);
    }
    out + rest
}

#[test]
fn guides_take_every_figure_from_the_service() {
    let statuses = ErrorCode::ALL.iter().map(|code| code.status()).chain([200, 304]).map(|status| status.to_string());
    let statuses: Vec<String> = statuses.collect();
    let mut guides = 0;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("guides")).unwrap() {
        let path = entry.unwrap().path();
        let mut text = without(&without(&fs::read_to_string(&path).unwrap(), "```", "```"), "{{", "}}");
        for allowed in ALLOWED {
            text = text.replace(allowed, "");
        }
        for line in text.lines() {
            for number in line.split(|letter: char| !letter.is_ascii_digit()).filter(|number| !number.is_empty()) {
                assert!(statuses.iter().any(|status| status == number), "{}: {number} in: {line}", path.display());
            }
        }
        guides += 1;
    }
    assert!(guides >= 9);
}

#[test]
fn the_guides_state_the_bounds_that_the_service_enforces() {
    let oldest = ROUTES.iter().map(|route| route.cache.fresh).max().unwrap();
    for (name, text) in [
        ("paging", format!("how old a cached response may be: {} minutes at most", oldest / 60)),
        ("limits", "up to 8192 bytes long".to_owned()),
        ("limits", "<code>60s</code>".to_owned()),
        ("stream", "<code>Retry-After: 10</code>".to_owned()),
        ("decisions", "<code>Retry-After: 600</code>".to_owned()),
        ("", "<code>Prime</code> from 8, <code>Core</code> from 5, <code>Edge</code> below.".to_owned()),
    ] {
        assert!(page(name).contains(&text), "{name}: {text}");
    }
}

#[test]
fn the_guide_names_both_limits_of_requests_that_count_twice() {
    let limits = page("limits");
    for kind in ["Graph reads", "Checks of a portfolio", "Changes to basket webhooks"] {
        let row = limits.split("<tr>").find(|row| row.contains(kind)).unwrap();
        assert!(row.contains("key, and also the IP address"), "{row}");
    }
}

#[test]
fn errors_are_described_alike_in_the_guide_and_in_the_reference() {
    let errors = page("errors.md");
    for code in ErrorCode::ALL {
        let row = errors.lines().find(|line| line.contains(&format!("| `{}` |", code.as_str()))).unwrap();
        assert!(row.contains(code.about()), "{row}");
    }
}
