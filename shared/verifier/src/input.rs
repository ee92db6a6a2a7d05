//! The accepted forms of a decision, parsed from received or pasted text.
//!
//! Values keep their original text: the envelope is hashed byte for byte, and numbers are read digit by digit.

use crate::Evidence;
use core::fmt;
use rds_shared::model::content_hash::ContentHash;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// Maximum length of an input text in bytes; larger than the largest check with its answer.
pub const MAX_TEXT: usize = 4 << 20;

/// The members of a JSON object, each with its original text.
///
/// An object with a repeated member is refused, because another reader might use the value that was not hashed.
#[derive(Debug, Default)]
pub struct Members<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Members<'a> {
    /// A member's text, if present.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.get(name).copied()
    }

    /// All members, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Once<'a>(PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for Once<'a> {
            type Value = Members<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<String, &'a RawValue>()? {
                    if members.contains_key(&name) {
                        return Err(A::Error::custom(format_args!("it has `{name}` twice")));
                    }
                    members.insert(name, value);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Once(PhantomData))
    }
}

#[derive(Debug, Default)]
pub struct ParsedEvidence<'a> {
    /// The decision's stated id.
    pub id: Option<ContentHash>,
    pub envelope: String,
    pub signature: Option<String>,
    /// Name and value of members beside the envelope. They must equal the values in the envelope.
    pub beside: Vec<(&'static str, String)>,
    pub signers: Option<&'a str>,
    /// The check's request body, or its positions alone.
    pub request: Option<&'a str>,
    /// The check's answer.
    pub found: Option<Members<'a>>,
    /// Why `found` is `None` although an answer was given.
    pub found_fault: Option<Unreadable>,
    pub snapshot: Option<&'a str>,
}

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable(pub String);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Unreadable {}

/// Returns the error [`Unreadable`] with this reason.
pub fn unreadable<T>(why: impl Into<String>) -> Result<T, Unreadable> {
    Err(Unreadable(why.into()))
}

/// Parses the value; `None` if it is not of this type.
pub fn read<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Option<T> {
    serde_json::from_str(value.get()).ok()
}

/// A member's value, if present and of this type.
pub fn member<'a, T: Deserialize<'a>>(members: &Members<'a>, name: &str) -> Option<T> {
    members.get(name).and_then(read)
}

/// The text, unless it is longer than [`MAX_TEXT`].
pub fn bounded(text: &str) -> Result<&str, Unreadable> {
    if text.len() > MAX_TEXT {
        return unreadable(format!("it is longer than {MAX_TEXT} bytes"));
    }
    Ok(text)
}

/// The members of an object.
pub fn members(text: &str) -> Result<Members<'_>, Unreadable> {
    match serde_json::from_str(bounded(text)?) {
        Ok(members) => Ok(members),
        Err(error) if !error.is_data() => unreadable(format!("it is not JSON: {error}")),
        // The text is an object, so serde's message names the faulty member.
        Err(error) if text.trim_start().starts_with('{') => unreadable(error.to_string()),
        Err(_) => unreadable("it must be a JSON object"),
    }
}

/// The members of an object, or of its `data` if it is an answer of the service.
pub fn object(text: &str) -> Result<Members<'_>, Unreadable> {
    let outer = members(text)?;
    Ok(inside(&outer, "data")?.unwrap_or(outer))
}

/// The members of a nested object; `None` if the member is missing or not an object.
pub fn inside<'a>(outer: &Members<'a>, name: &str) -> Result<Option<Members<'a>>, Unreadable> {
    outer.get(name).map(RawValue::get).filter(|text| text.starts_with('{')).map(members).transpose()
}

/// The trimmed text, unless empty.
fn filled(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

impl<'a> ParsedEvidence<'a> {
    pub fn read(evidence: &'a Evidence) -> Result<Self, Unreadable> {
        let text = evidence.decision.trim();
        let members = object(text).map_err(|why| Unreadable(format!("The decision cannot be read: {why}.")))?;
        let mut input = ParsedEvidence {
            signature: filled(evidence.signature.as_deref()).map(str::to_owned),
            signers: filled(evidence.signers.as_deref()),
            request: filled(evidence.request.as_deref()),
            snapshot: filled(evidence.snapshot.as_deref()),
            ..ParsedEvidence::default()
        };
        input.decision(text, &members)?;
        if let Some(findings) = filled(evidence.findings.as_deref()) {
            match object(findings) {
                Ok(found) => input.check(found),
                Err(why) => input.found_fault = Some(why),
            }
        } else if members.get("findings").is_some() {
            input.check(members);
        }
        if let Some(id) = filled(evidence.decision_id.as_deref()) {
            let id = ContentHash::parse(id);
            let id = id.ok_or_else(|| Unreadable("The decision's id is not 64 hex characters.".to_owned()))?;
            // The separately given id takes precedence. The id in the decision becomes one more member to compare with the envelope.
            input.beside.extend(input.id.replace(id).map(|said| ("decisionId", said.to_hex())));
        }
        Ok(input)
    }

    /// Finds the envelope in a check's answer, in a decision, or, if the text is itself an envelope, as the text.
    fn decision(&mut self, text: &str, members: &Members<'_>) -> Result<(), Unreadable> {
        if members.get("decision").is_some_and(|decision| decision.get() == "null") {
            return unreadable(
                "This check was answered without a signed decision: none was requested, or no signer was available.",
            );
        }
        let inner =
            inside(members, "decision").map_err(|why| Unreadable(format!("The decision cannot be read: {why}.")))?;
        let decision = inner.as_ref().unwrap_or(members);
        if decision.get("envelope").is_some() {
            let Some(envelope) = member(decision, "envelope") else {
                return unreadable(
                    "The envelope must be a string, exactly as it was issued, because it is hashed byte for byte.",
                );
            };
            self.envelope = envelope;
            self.signature = member(decision, "signature").or(self.signature.take());
            if let Some(id) = member::<String>(decision, "decisionId") {
                let id = ContentHash::parse(&id);
                self.id = Some(id.ok_or_else(|| Unreadable("`decisionId` is not 64 hex characters.".to_owned()))?);
            }
            self.say("signerAddress", decision);
            self.say("keyId", decision);
            return Ok(());
        }
        if ["v", "createdAt", "positionsHash"].iter().any(|name| members.get(name).is_some()) {
            // The text itself is an envelope.
            self.envelope = text.to_owned();
            return Ok(());
        }
        unreadable(
            "There is no decision in this. Give the answer of a check, the `decision` in it, or an envelope with its signature.",
        )
    }

    fn check(&mut self, found: Members<'a>) {
        self.say("verdict", &found);
        self.say("snapshotId", &found);
        self.found = Some(found);
    }

    fn say(&mut self, name: &'static str, members: &Members<'_>) {
        self.beside
            .extend(members.get(name).map(|value| (name, read(value).unwrap_or_else(|| value.get().to_owned()))));
    }
}
