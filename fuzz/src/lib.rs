//! Properties of the parsers of untrusted input, one module per parser.
//!
//! A property takes bytes and panics if it is violated. libFuzzer searches for such bytes (`cargo xtask fuzz`). The tests replay
//! every property over the small corpora in `corpus/`, whose inputs each reach different code.
//!
//! | module | parses | property |
//! |---|---|---|
//! | [`query`] | a route's query string | the canonical spelling parses to the same query |
//! | [`target`] | path and query | the origin parses the edge's request target as the edge did |
//! | [`credentials`] | `Authorization`, the edge assertion | only well-formed credentials are accepted, and `Debug` hides them |
//! | [`cursors`] | `Last-Event-ID`, `since`, change cursors | each position has one spelling |
//! | [`conditions`] | `If-None-Match` | only `*` or a header that contains the tag matches |
//! | [`signatures`] | webhook and decision signatures | no made-up signature verifies |
//! | [`addresses`] | addresses, vault keys and ids, client networks, instants | the printed form parses to the same value |
//! | [`observations`] | NDJSON of observations | parsing never stops at a bad line and is deterministic |
//! | [`envelopes`] | decision envelopes, evidence | an envelope has exactly one serialised form |
//! | [`checks`] | a check's body | a refusal names a field; an accepted portfolio is within its bounds |
//! | [`urls`] | webhook targets | an accepted target parses back to itself and is public |
//! | [`abi`] | contracts' return data | a decoded value encodes to data that decodes to the same value |
//! | [`reader`] | answers of the chain reader | an accepted answer is of the requested block, and keeps every record |
//! | [`replica`] | the documents of the edge's replica | a delta leads to the state that it names or nowhere |
//! | [`follow`] | reported blocks | the kept blocks are a chain, and a final block never leaves it |
//! | [`logs`] | answers to `eth_getLogs` | an accepted list is what was asked for, in the order of the chain |
//! | [`adapters`] | contracts' answers as readings of a protocol | lists keep their bounds, and parts are of one whole |
//! | [`failure`] | providers' JSON-RPC responses | only a revert with status 200 is a fact about a contract |

pub mod abi;
pub mod adapters;
pub mod addresses;
pub mod checks;
pub mod conditions;
pub mod credentials;
pub mod cursors;
pub mod envelopes;
pub mod failure;
pub mod follow;
pub mod logs;
pub mod observations;
pub mod query;
pub mod reader;
pub mod replica;
pub mod signatures;
pub mod target;
pub mod urls;

/// Panics if the property is violated for these bytes.
pub type Property = fn(&[u8]);

/// The properties by name of their target and corpus.
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
    ("abi", abi::holds),
    ("reader", reader::holds),
    ("replica", replica::holds),
    ("follow", follow::holds),
    ("logs", logs::holds),
    ("adapters", adapters::holds),
    ("failure", failure::holds),
];

/// The first byte, which selects an alternative, and the remaining text; `None` if there is no byte or the text is not UTF-8.
fn choice_and_text(data: &[u8]) -> Option<(usize, &str)> {
    let (first, rest) = data.split_first()?;
    Some((usize::from(*first), std::str::from_utf8(rest).ok()?))
}
