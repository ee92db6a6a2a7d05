//! Steps for the envelope itself: whether it is intact, who signed it, and whether that signer was active.

use crate::input::{ParsedEvidence, Unreadable, bounded, member, members, read, unreadable};
use crate::report::Step;
use rds_shared::graph::decision::{Envelope, EnvelopeFault};
use rds_shared::graph::evidence::MAX_SIGNERS;
use rds_shared::graph::signature::{DecisionSignature, digest};
use rds_shared::graph::verification::{DecisionRecord, RegisteredSigner, StoredDecision, Verification, verify};
use rds_shared::model::content_hash::ContentHash;
use rds_shared::model::ids::{Address, Namespace};
use rds_shared::wire::hex;
use rds_shared::wire::time::Timestamp;
use serde_json::value::RawValue;

/// The results of the envelope's steps that the later steps and the report use.
pub struct EnvelopeResult {
    /// The SHA-256 of the envelope's text.
    pub hash: ContentHash,
    /// The envelope, if its text is valid.
    pub envelope: Option<Envelope>,
    /// The envelope's content, if its hash is the expected id.
    pub decision: Option<DecisionRecord>,
    /// The five results of the service's verification rule; `None` without a readable registry.
    pub verification: Option<Verification>,
}

pub fn steps(input: &ParsedEvidence<'_>) -> (Vec<Step>, EnvelopeResult) {
    let text = input.envelope.as_str();
    let hash = ContentHash::of_text(text);
    let envelope = Envelope::parse_with_reason(text);
    let registry = input.signers.map(registry);
    let mut steps = vec![
        canonical(text, &envelope),
        identity(hash, input.id),
        form(input.signature.as_deref()),
        signer(input.signature.as_deref(), hash, envelope.as_ref().ok()),
    ];
    let envelope = envelope.ok();
    steps.extend(beside(input, hash, envelope.as_ref()));
    steps.push(known(registry.as_ref(), envelope.as_ref()));
    steps.push(active(registry.as_ref(), envelope.as_ref()));
    let record = StoredDecision { envelope: text, signature: input.signature.as_deref().unwrap_or_default() };
    let registry = registry.and_then(Result::ok);
    let five = verify(input.id.unwrap_or(hash), Some(record), registry.as_deref().unwrap_or_default());
    let decision = five.decision.clone();
    (steps, EnvelopeResult { hash, envelope, decision, verification: registry.map(|_| five) })
}

fn canonical(text: &str, envelope: &Result<Envelope, EnvelopeFault>) -> Step {
    let judgement = match envelope {
        Ok(_) => Ok(format!("It has exactly the members of an envelope, in canonical form: {} bytes.", text.len())),
        Err(fault) => Err(format!("This is not a valid envelope: {fault}.")),
    };
    let step = Step::judged("envelope", "The envelope is valid", judgement).with_input("envelope", text);
    match envelope {
        Err(EnvelopeFault::NotCanonical { canonical }) => step
            .with_input("differs from byte", first_difference(text, canonical).to_string())
            .with_input("canonical form", canonical),
        _ => step,
    }
}

/// Index, from 0, of the first byte in which two texts differ.
fn first_difference(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
}

fn identity(hash: ContentHash, given: Option<ContentHash>) -> Step {
    const NAME: &str = "id";
    const TITLE: &str = "The envelope's hash is the decision's id";
    let step = match given {
        None => Step::unchecked(
            NAME,
            TITLE,
            "No id was given to compare with. The following steps use the envelope's own hash.",
        ),
        Some(id) if id == hash => Step::judged(NAME, TITLE, Ok("The SHA-256 of the envelope is the id.".to_owned())),
        Some(_) => {
            Step::judged(NAME, TITLE, Err("The envelope's hash is not the id: the envelope was changed.".to_owned()))
        }
    };
    let step = step.with_input("SHA-256 of the envelope", hash.to_hex());
    match given {
        Some(id) => step.with_input("given id", id.to_hex()),
        None => step,
    }
}

fn form(signature: Option<&str>) -> Step {
    const NAME: &str = "signature";
    const TITLE: &str = "The signature is well formed";
    let Some(text) = signature else { return Step::unchecked(NAME, TITLE, "No signature was given.") };
    let judgement = match DecisionSignature::parse(text) {
        None => Err("It must be `0x` and 130 hex characters.".to_owned()),
        Some(signature) => match signature.well_formed() {
            Err(fault) => Err(format!("It is not a valid signature: {fault}.")),
            Ok(()) => Ok("65 bytes: r, s in the lower half of the group's order, and v.".to_owned()),
        },
    };
    Step::judged(NAME, TITLE, judgement).with_input("signature", text)
}

fn signer(signature: Option<&str>, hash: ContentHash, envelope: Option<&Envelope>) -> Step {
    const NAME: &str = "signer";
    const TITLE: &str = "The signature was made by the signer that the envelope names";
    let signature = signature.and_then(DecisionSignature::parse);
    let Some(signature) = signature.filter(|signature| signature.well_formed().is_ok()) else {
        return Step::unchecked(NAME, TITLE, "There is no well-formed signature to recover a signer from.");
    };
    let traced = signature.recover_signer(hash);
    let named = envelope.map(|envelope| &envelope.signer_address);
    let step = match (&traced, named) {
        (Err(fault), _) => Step::judged(NAME, TITLE, Err(format!("No signer can be recovered: {fault}."))),
        (Ok(_), None) => Step::unchecked(NAME, TITLE, "An address was recovered from the signature, but there is no valid envelope that names one."),
        (Ok(address), Some(named)) if address == named => {
            Step::judged(NAME, TITLE, Ok("The recovered address is the one that the envelope names.".to_owned()))
        }
        _ => Step::judged(NAME, TITLE, Err("The recovered address is not the one that the envelope names: another envelope was signed, or somebody else signed this one.".to_owned())),
    };
    let step = step
        .with_input("signed text (personal_sign)", hash.to_hex())
        .with_input("its Keccak-256", format!("0x{}", hex(&digest(hash))));
    let step = match traced {
        Ok(address) => step.with_input("recovered address", address.as_str()),
        Err(_) => step,
    };
    match named {
        Some(named) => step.with_input("address in the envelope", named.as_str()),
        None => step,
    }
}

/// Fields beside the envelope are not signed, so they must equal the envelope's members.
fn beside(input: &ParsedEvidence<'_>, hash: ContentHash, envelope: Option<&Envelope>) -> Option<Step> {
    const NAME: &str = "beside";
    const TITLE: &str = "The fields beside the envelope match it";
    if input.beside.is_empty() {
        return None;
    }
    let Some(envelope) = envelope else {
        return Some(Step::unchecked(NAME, TITLE, "There is no valid envelope to compare them with."));
    };
    let in_envelope = |name: &str| match name {
        "signerAddress" => envelope.signer_address.as_str().to_owned(),
        "keyId" => envelope.key_id.clone(),
        "decisionId" => hash.to_hex(),
        "verdict" => envelope.subject.verdict.as_str().to_owned(),
        _ => envelope.subject.snapshot_id.to_hex(),
    };
    let differing: Vec<_> = input.beside.iter().filter(|(name, said)| in_envelope(name) != *said).collect();
    let judgement = match differing.as_slice() {
        [] => {
            let names: Vec<_> = input.beside.iter().map(|(name, _)| format!("`{name}`")).collect();
            Ok(format!("Same as in the envelope: {}.", names.join(", ")))
        }
        differing => {
            let names: Vec<_> = differing.iter().map(|(name, _)| format!("`{name}`")).collect();
            Err(format!("Different from the signed envelope: {}. Only the envelope is signed.", names.join(", ")))
        }
    };
    let step = Step::judged(NAME, TITLE, judgement);
    Some(differing.into_iter().fold(step, |step, (name, said)| {
        step.with_input(name, said.as_str()).with_input("in the envelope", in_envelope(name))
    }))
}

/// A registry, or why it cannot be read.
type Registry = Result<Vec<RegisteredSigner>, Unreadable>;

fn known(registry: Option<&Registry>, envelope: Option<&Envelope>) -> Step {
    const NAME: &str = "known";
    const TITLE: &str = "The registry lists the signer";
    match (registry, envelope) {
        (None, _) => Step::unchecked(NAME, TITLE, NO_REGISTRY),
        (Some(Err(why)), _) => Step::judged(NAME, TITLE, Err(format!("The registry cannot be read: {why}."))),
        (_, None) => Step::unchecked(NAME, TITLE, NO_ENVELOPE),
        (Some(Ok(rows)), Some(envelope)) => {
            let judgement = match rows.iter().find(|row| row.address == envelope.signer_address) {
                _ if rows.iter().any(|row| is_of(row, envelope)) => {
                    Ok("The registry lists this address under this key id.".to_owned())
                }
                Some(row) => Err(format!("The registry lists this address under another key id, `{}`.", row.key_id)),
                None => Err(format!("None of the registry's {} rows has this address.", rows.len())),
            };
            let step = Step::judged(NAME, TITLE, judgement);
            step.with_input("address", envelope.signer_address.as_str()).with_input("key", envelope.key_id.as_str())
        }
    }
}

fn active(registry: Option<&Registry>, envelope: Option<&Envelope>) -> Step {
    const NAME: &str = "active";
    const TITLE: &str = "The signer was active at the time of signing";
    let (rows, envelope) = match (registry, envelope) {
        (None | Some(Err(_)), _) => return Step::unchecked(NAME, TITLE, NO_REGISTRY),
        (_, None) => return Step::unchecked(NAME, TITLE, NO_ENVELOPE),
        (Some(Ok(rows)), Some(envelope)) => (rows, envelope),
    };
    let of: Vec<_> = rows.iter().filter(|row| is_of(row, envelope)).collect();
    let Some(row) = of.iter().find(|row| row.is_active_at(envelope.created_at)).or(of.first()) else {
        return Step::unchecked(NAME, TITLE, "The registry does not list this signer.");
    };
    let until = row.retired_at.map_or_else(|| "in use".to_owned(), |at| format!("retired at {at}"));
    let judgement = match row.is_active_at(envelope.created_at) {
        true => Ok("The key was active at the time that the envelope states.".to_owned()),
        false if row.activated_at > envelope.created_at => Err("The key was not active yet.".to_owned()),
        false => Err("The key was already retired.".to_owned()),
    };
    Step::judged(NAME, TITLE, judgement)
        .with_input("signed at", envelope.created_at.to_string())
        .with_input("active from", row.activated_at.to_string())
        .with_input("until", until)
}

const NO_REGISTRY: &str = "There is no readable signer registry to look the signer up in.";
const NO_ENVELOPE: &str = "There is no valid envelope that names a signer.";

fn is_of(row: &RegisteredSigner, envelope: &Envelope) -> bool {
    row.address == envelope.signer_address && row.key_id == envelope.key_id
}

/// Parses a registry: a list of rows, or an answer of the service with the rows in `data`.
fn registry(text: &str) -> Registry {
    #[derive(serde::Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        data: Vec<&'a RawValue>,
    }
    let rows = serde_json::from_str::<Vec<&RawValue>>(bounded(text)?);
    let Ok(rows) = rows.or_else(|_| serde_json::from_str::<Answer<'_>>(text).map(|answer| answer.data)) else {
        return unreadable("it must be a list of signers, or an answer with such a list in `data`");
    };
    if rows.len() > MAX_SIGNERS {
        return unreadable(format!("it must have at most {MAX_SIGNERS} rows"));
    }
    rows.into_iter().enumerate().map(|(place, row)| registered(place, row)).collect()
}

fn registered(place: usize, row: &RawValue) -> Result<RegisteredSigner, Unreadable> {
    let members = members(row.get()).map_err(|why| Unreadable(format!("row {place} cannot be read: {why}")))?;
    let fault = |name: &str| Unreadable(format!("`{name}` of row {place} is missing or invalid"));
    let address = member::<String>(&members, "address").and_then(|text| Address::parse(Namespace::Evm, &text).ok());
    let retired_at = match members.get("retiredAt") {
        // Refuse a missing `retiredAt`: it may have been removed to hide a retirement.
        None => None,
        Some(instant) => read::<Option<Timestamp>>(instant),
    };
    Ok(RegisteredSigner {
        address: address.ok_or_else(|| fault("address"))?,
        key_id: member(&members, "keyId").ok_or_else(|| fault("keyId"))?,
        activated_at: member(&members, "activatedAt").ok_or_else(|| fault("activatedAt"))?,
        retired_at: retired_at.ok_or_else(|| fault("retiredAt"))?,
    })
}
