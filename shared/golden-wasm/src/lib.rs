//! The golden vectors of the methodology, runnable natively and as a plain wasm module.
//!
//! Each line of `fixtures/{scoring,baskets,decisions}/*.jsonl` has an input and the reference evaluator's output in integers. The
//! same comparison runs in `cargo test` and, compiled to wasm, in any host that can instantiate a module: `golden_failures()` must
//! return 0, and `golden_cases()` returns the number of vectors.

mod asset;
mod basket;
mod decision;
mod evidence;
mod graph;
mod publication;
mod read;
mod rubric;
mod vault;

pub use rubric::questionnaire;

use read::Mismatch;
use serde_json::Value;

/// One file of vectors and the rule that must reproduce it.
struct Vectors {
    file: &'static str,
    lines: &'static str,
    check: fn(&Value) -> Result<(), Mismatch>,
}

macro_rules! vectors {
    ($file:literal, $check:path) => {
        Vectors { file: $file, lines: include_str!(concat!("../../../fixtures/", $file)), check: $check }
    };
}

const ALL: [Vectors; 21] = [
    vectors!("scoring/assets.jsonl", asset::check),
    vectors!("scoring/random_assets.jsonl", asset::check),
    vectors!("scoring/vaults.jsonl", vault::check),
    vectors!("scoring/random_vaults.jsonl", vault::check),
    vectors!("scoring/publication.jsonl", publication::check),
    vectors!("scoring/random_publication.jsonl", publication::check),
    vectors!("scoring/questionnaire.jsonl", rubric::check_questionnaire),
    vectors!("scoring/rubric.jsonl", rubric::check),
    vectors!("scoring/random_rubric.jsonl", rubric::check),
    vectors!("scoring/shares_unknown.jsonl", evidence::check),
    vectors!("scoring/vault_ranges.jsonl", evidence::check),
    vectors!("scoring/asset_ranges.jsonl", evidence::check),
    vectors!("scoring/protocol_answers.jsonl", evidence::check),
    vectors!("scoring/dependencies.jsonl", evidence::check),
    vectors!("scoring/supply.jsonl", evidence::check),
    vectors!("baskets/baskets.jsonl", basket::check),
    vectors!("baskets/random_baskets.jsonl", basket::check),
    vectors!("decisions/checks.jsonl", decision::check),
    vectors!("decisions/random_checks.jsonl", decision::check),
    vectors!("decisions/verifications.jsonl", decision::check_verification),
    vectors!("decisions/random_graphs.jsonl", graph::check),
];

/// The differing vectors: file, line and difference.
pub fn failures() -> Vec<String> {
    let met = |vectors: &'static Vectors| {
        let numbered = vectors.lines.lines().zip(1_u32..);
        numbered.filter_map(move |(line, number)| {
            let outcome = serde_json::from_str(line).map_err(|_| Mismatch::unreadable("line"));
            let mismatch = outcome.and_then(|case: Value| (vectors.check)(&case)).err()?;
            Some(format!("{}:{number}: {mismatch}", vectors.file))
        })
    };
    ALL.iter().flat_map(met).collect()
}

/// Number of differing vectors.
#[allow(unsafe_code, reason = "an unmangled name is how a plain wasm host finds the function")]
#[unsafe(no_mangle)]
pub extern "C" fn golden_failures() -> u32 {
    u32::try_from(failures().len()).unwrap_or(u32::MAX)
}

/// Number of vectors.
#[allow(unsafe_code, reason = "an unmangled name is how a plain wasm host finds the function")]
#[unsafe(no_mangle)]
pub extern "C" fn golden_cases() -> u32 {
    let lines = ALL.iter().map(|vectors| vectors.lines.lines().count()).sum::<usize>();
    u32::try_from(lines).unwrap_or(u32::MAX)
}
