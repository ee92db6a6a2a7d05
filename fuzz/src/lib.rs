//! What must hold of every parser, whatever a stranger sends: each module says it of one of them.
//!
//! A property takes bytes and panics where it does not hold. libFuzzer looks for such bytes (`cargo xtask fuzz`), and the tests
//! hold every property over the corpora in `corpus/`, which are small: inputs that each lead somewhere else in the code.
//!
//! | module | parses | and holds |
//! |---|---|---|
//! | [`query`] | a route's query string | its one spelling reads back as the same query |
//! | [`target`] | path and query | what the edge asks, the origin understands as the edge did |
//! | [`credentials`] | `Authorization`, the edge's assertion | only what was minted is read, and nothing shows it |
//! | [`cursors`] | `Last-Event-ID`, `since`, change cursors | each position has one spelling |
//! | [`conditions`] | `If-None-Match` | a tag is found where it stands, and nowhere else |
//! | [`signatures`] | webhook and decision signatures | nothing made up verifies |
//! | [`addresses`] | addresses, vault keys and ids, client networks, instants | folding a second time changes nothing |
//! | [`observations`] | NDJSON of observations | a wrong line names its fault, the rest stands |
//! | [`envelopes`] | decision envelopes, evidence | one text for one envelope |
//! | [`checks`] | a check's body | a refusal names a field; what is read adds up |
//! | [`urls`] | webhook targets | an accepted target is read again as itself, and is public |

pub mod addresses;
pub mod checks;
pub mod conditions;
pub mod credentials;
pub mod cursors;
pub mod envelopes;
pub mod observations;
pub mod query;
pub mod signatures;
pub mod target;
pub mod urls;

/// Panics where it does not hold of these bytes.
pub type Property = fn(&[u8]);

/// The properties by the name of their target and corpus.
pub const PROPERTIES: &[(&str, Property)] = &[
    ("query", query::holds),
    ("target", target::holds),
    ("credentials", credentials::holds),
    ("cursors", cursors::holds),
    ("conditions", conditions::holds),
    ("signatures", signatures::holds),
    ("addresses", addresses::holds),
    ("observations", observations::holds),
    ("envelopes", envelopes::holds),
    ("checks", checks::holds),
    ("urls", urls::holds),
];

/// The first byte, which chooses among alternatives, and the text behind it; nothing when that is no text.
fn choice_and_text(data: &[u8]) -> Option<(usize, &str)> {
    let (first, rest) = data.split_first()?;
    Some((usize::from(*first), std::str::from_utf8(rest).ok()?))
}
