//! Finds the answers about an asset in an answer of the service, and the evidence of those that were read on a chain.

use super::document::{Document, ReadInput};
use super::evidence::Evidence;
use crate::input::{Members, Unreadable, inside, member, members};
use serde_json::value::RawValue;

/// Accepts the answer of `/v1/assets/{slug}` and its `data`; `None` if the text is none. An answer that was withdrawn is left out: the
/// service does not stand by it any more.
pub fn read(text: &str) -> Result<Option<Document>, Unreadable> {
    find(text).map_err(|why| Unreadable(format!("The answer cannot be read: {why}.")))
}

fn find(text: &str) -> Result<Option<Document>, Unreadable> {
    let mut outer = members(text)?;
    if let Some(inner) = inside(&outer, "data")? {
        outer = inner;
    }
    // Other answers of the service have no member of this name, or another one.
    let Some(listed) = outer.get("answers").filter(|answers| answers.get().starts_with('{')) else { return Ok(None) };
    let answers = members(listed.get())?;
    let Some(answers) = member::<Vec<&RawValue>>(&answers, "answers") else { return Ok(None) };
    let address = member::<String>(&outer, "address");
    let mut document = Document { contract: address.and_then(|it| it.parse().ok()), read: Vec::new(), stated: 0 };
    for answer in answers {
        let answer = members(answer.get())?;
        if member::<String>(&answer, "withdrawn_at").is_some() {
            continue;
        }
        match answer.get("evidence").filter(|evidence| evidence.get() != "null") {
            Some(evidence) => document.read.push(input(&answer, evidence)),
            None => document.stated = document.stated.saturating_add(1),
        }
    }
    Ok(Some(document))
}

fn input(answer: &Members<'_>, evidence: &RawValue) -> ReadInput {
    let text = |name: &str| member::<String>(answer, name);
    ReadInput {
        name: format!("{}.{}", text("dimension").unwrap_or_default(), text("question").unwrap_or_default()),
        value: answer.get("answer").map_or_else(|| "null".to_owned(), |value| value.get().to_owned()),
        source: text("given_by"),
        observed_at: text("as_of"),
        evidence: Evidence::read(evidence),
    }
}
