//! Steps for the data that the envelope contains as hashes: the request, the findings and the snapshot.

use crate::input::ParsedEvidence;
use crate::published::{Found, Manifest, Request, written};
use crate::report::Step;
use rds_shared::graph::decision::{Envelope, Subject};
use rds_shared::model::content_hash::ContentHash;

/// Compares the given request, findings and snapshot with the hashes in the envelope.
pub fn steps(input: &ParsedEvidence<'_>, envelope: Option<&Envelope>) -> Vec<Step> {
    let subject = envelope.map(|envelope| &envelope.subject);
    let mut steps = asked(input.request, subject);
    steps.extend(found(input, subject));
    steps.push(snapshot(input.snapshot, subject));
    steps
}

const NO_ENVELOPE: &str = "There is no valid envelope to compare it with.";

fn asked(request: Option<&str>, subject: Option<&Subject>) -> Vec<Step> {
    const NAME: &str = "positions";
    const TITLE: &str = "The positions match the signed decision";
    let request = match (request, subject) {
        (None, _) => {
            return vec![Step::unchecked(
                NAME,
                TITLE,
                "The positions were not given. They are in the request body of the check.",
            )];
        }
        (_, None) => return vec![Step::unchecked(NAME, TITLE, NO_ENVELOPE)],
        (Some(text), Some(subject)) => match Request::read(text) {
            Err(why) => return vec![Step::judged(NAME, TITLE, Err(format!("The request cannot be read: {why}.")))],
            Ok(request) => (request, subject),
        },
    };
    let (request, subject) = request;
    let (hash, vaults) = (request.portfolio.hash(), request.portfolio.positions().count());
    let said =
        format!("{vaults} {} worth {} USD.", if vaults == 1 { "vault" } else { "vaults" }, request.portfolio.total());
    let mut steps = vec![compared(NAME, TITLE, ("their hash", hash), subject.positions_hash, &said, "positionsHash")];
    let terms = [
        ("portfolioRef", request.reference, subject.portfolio_ref.clone()),
        ("limits", request.limits.as_ref().map(written), written(&subject.limits)),
    ];
    let stated: Vec<_> =
        terms.into_iter().filter_map(|(name, asked, in_envelope)| Some((name, asked?, in_envelope))).collect();
    if !stated.is_empty() {
        let differing: Vec<_> = stated
            .iter()
            .filter(|(_, asked, in_envelope)| asked != in_envelope)
            .map(|(name, ..)| format!("`{name}`"))
            .collect();
        let judgement = match differing.as_slice() {
            [] => Ok("Reference and limits match the envelope; limits are in parts per million.".to_owned()),
            names => Err(format!("Values of the request differ from the signed envelope: {}.", names.join(", "))),
        };
        let step = Step::judged("terms", "Reference and limits match the request", judgement);
        steps.push(stated.into_iter().fold(step, |step, (name, asked, in_envelope)| {
            step.with_input(name, asked).with_input("in the envelope", in_envelope)
        }));
    }
    steps
}

fn found(input: &ParsedEvidence<'_>, subject: Option<&Subject>) -> Vec<Step> {
    const NAME: &str = "findings";
    const TITLE: &str = "The findings match the signed decision";
    let missing = |said: &str| vec![Step::unchecked(NAME, TITLE, said)];
    if let Some(why) = &input.found_fault {
        return vec![Step::judged(NAME, TITLE, Err(format!("The check's answer cannot be read: {why}.")))];
    }
    let Some(members) = &input.found else {
        return missing("The findings were not given. They are in the complete answer of the check.");
    };
    let found = match Found::read(members) {
        Err(why) => return vec![Step::judged(NAME, TITLE, Err(format!("The findings cannot be read: {why}.")))],
        Ok(found) => found,
    };
    let Some(subject) = subject else { return missing(NO_ENVELOPE) };
    let said = format!(
        "Findings: {}; unresolved vaults: {}. Totals and exposures in the answer are not signed.",
        found.findings, found.unresolved
    );
    let judgement = match found.verdict == subject.verdict {
        true => Ok("The findings and unresolved vaults lead to the signed verdict.".to_owned()),
        false => Err("The findings and unresolved vaults lead to another verdict than the signed one.".to_owned()),
    };
    vec![
        compared(NAME, TITLE, ("their hash", found.hash), subject.findings_hash, &said, "findingsHash"),
        Step::judged("verdict", "The verdict follows from the findings", judgement)
            .with_input("signed verdict", subject.verdict.as_str())
            .with_input("verdict from the findings", found.verdict.as_str()),
    ]
}

fn snapshot(manifest: Option<&str>, subject: Option<&Subject>) -> Step {
    const NAME: &str = "snapshot";
    const TITLE: &str = "The snapshot's manifest matches the signed decision";
    let manifest = match manifest.map(Manifest::read) {
        None => return Step::unchecked(NAME, TITLE, "The manifest was not given."),
        Some(Err(why)) => return Step::judged(NAME, TITLE, Err(format!("The manifest cannot be read: {why}."))),
        Some(Ok(manifest)) => manifest,
    };
    let Some(subject) = subject else { return Step::unchecked(NAME, TITLE, NO_ENVELOPE) };
    if manifest.said != manifest.hash {
        let said = "The manifest's hash is not the id it states: the manifest was changed.".to_owned();
        return Step::judged(NAME, TITLE, Err(said))
            .with_input("SHA-256 of the manifest", manifest.hash.to_hex())
            .with_input("snapshotId in it", manifest.said.to_hex());
    }
    let said =
        format!("It lists the hashes of {} sets of facts. The facts themselves are not public.", manifest.bodies);
    compared(NAME, TITLE, ("SHA-256 of the manifest", manifest.hash), subject.snapshot_id, &said, "snapshotId")
}

/// Compares a recomputed hash with the one in the envelope.
fn compared(
    name: &'static str,
    title: &'static str,
    made: (&'static str, ContentHash),
    in_envelope: ContentHash,
    said: &str,
    member: &str,
) -> Step {
    let judgement = match made.1 == in_envelope {
        true => Ok(said.to_owned()),
        false => Err(format!("The hash is not the envelope's `{member}`, so this is not what was signed. {said}")),
    };
    Step::judged(name, title, judgement)
        .with_input(made.0, made.1.to_hex())
        .with_input("in the envelope", in_envelope.to_hex())
}
