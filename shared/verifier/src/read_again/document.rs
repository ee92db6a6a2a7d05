//! Finds the inputs of a score in an answer of the service, and the evidence of those that were read on a chain.

use super::evidence::Evidence;
use crate::input::{Members, Unreadable, inside, member, members, unreadable};
use rds_chain::Address;

/// The inputs of one score, or the answers about one asset.
#[derive(Debug)]
pub struct Document {
    /// The contract of the vault or the asset; `None` if the text does not name one of an EVM chain.
    pub contract: Option<Address>,
    /// The inputs that state where they were read, in the order of their names; answers in their order.
    pub read: Vec<ReadInput>,
    /// Number of inputs or answers that a source stated. No chain can confirm them.
    pub stated: u32,
}

/// An input that was read on a chain.
#[derive(Debug)]
pub struct ReadInput {
    /// Group and name, as in `control.timelock_seconds`; dimension and question of an answer, as in `governance_controls.delay`.
    pub name: String,
    /// The value, as JSON.
    pub value: String,
    pub source: Option<String>,
    pub observed_at: Option<String>,
    /// The evidence, or why it cannot be read.
    pub evidence: Result<Evidence, Unreadable>,
}

/// The provenance of a score, and the answer that it is part of.
pub struct Provenance<'a> {
    /// The vault's detail; `None` if only its `score_provenance` was given.
    pub vault: Option<Members<'a>>,
    pub provenance: Members<'a>,
    pub inputs: Members<'a>,
}

impl<'a> Provenance<'a> {
    /// Accepts the answer of `/v1/vault/{network}/{address}`, its `vault`, and the `score_provenance` in it.
    pub fn read(text: &'a str) -> Result<Self, Unreadable> {
        let found = Self::find(text).map_err(|why| Unreadable(format!("The answer cannot be read: {why}.")))?;
        match found {
            Some(found) => Ok(found),
            None => unreadable(
                "There is no `score_provenance` in this, and there are no `answers`. Give the answer of `/v1/vault/{network}/{address}`, only its `score_provenance`, or the answer of `/v1/assets/{slug}`.",
            ),
        }
    }

    fn find(text: &'a str) -> Result<Option<Self>, Unreadable> {
        let mut outer = members(text)?;
        for envelope in ["data", "vault"] {
            if let Some(inner) = inside(&outer, envelope)? {
                outer = inner;
            }
        }
        let (vault, provenance) = match inside(&outer, "score_provenance")? {
            Some(provenance) => (Some(outer), provenance),
            None => (None, outer),
        };
        let inputs = inside(&provenance, "inputs")?;
        Ok(inputs.map(|inputs| Provenance { vault, provenance, inputs }))
    }

    /// The inputs, with the evidence of those that have some.
    pub fn document(&self) -> Result<Document, Unreadable> {
        let address = self.vault.as_ref().and_then(|vault| member::<String>(vault, "address"));
        let contract = address.and_then(|address| address.parse().ok());
        let mut document = Document { contract, read: Vec::new(), stated: 0 };
        for (group, _) in self.inputs.iter() {
            let Some(members) = inside(&self.inputs, group)? else { continue };
            for (name, _) in members.iter() {
                // Lists such as `exposures` have no evidence of their own: that of `exposures_status` covers them.
                let Some(input) = inside(&members, name)? else { continue };
                match input.get("evidence").filter(|evidence| evidence.get() != "null") {
                    Some(evidence) => document.read.push(ReadInput {
                        name: format!("{group}.{name}"),
                        value: input.get("value").map_or_else(|| "null".to_owned(), |value| value.get().to_owned()),
                        source: member(&input, "source"),
                        observed_at: member(&input, "observed_at"),
                        evidence: Evidence::read(evidence),
                    }),
                    None if input.get("value").is_some() => document.stated = document.stated.saturating_add(1),
                    None => {}
                }
            }
        }
        Ok(document)
    }
}
