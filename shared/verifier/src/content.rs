//! What the envelope seals by hash: the request, what was found, and the snapshot that it was found in.
//!
//! Source: interface, "Decisioning": a decision binds portfolio, snapshot, limits, verdict, findings, methodology and signer.

use crate::given::Given;
use crate::published::{Found, Manifest, Request, written};
use crate::report::Step;
use rds_shared::graph::decision::{Envelope, Subject};
use rds_shared::model::content_hash::ContentHash;

/// Looks at what was given of it.
pub fn steps(given: &Given<'_>, envelope: Option<&Envelope>) -> Vec<Step> {
    let subject = envelope.map(|envelope| &envelope.subject);
    let mut steps = asked(given.request, subject);
    steps.extend(found(given, subject));
    steps.push(snapshot(given.snapshot, subject));
    steps
}

const NO_ENVELOPE: &str = "There is no whole envelope to compare it with.";

fn asked(request: Option<&str>, subject: Option<&Subject>) -> Vec<Step> {
    const NAME: &str = "positions";
    const TITLE: &str = "The positions are those that were checked";
    let request = match (request, subject) {
        (None, _) => {
            return vec![Step::unchecked(
                NAME,
                TITLE,
                "The positions were not given. Whoever asked for the check has them: the body of that request will do.",
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
    let stated: Vec<_> = terms.into_iter().filter_map(|(name, asked, sealed)| Some((name, asked?, sealed))).collect();
    if !stated.is_empty() {
        let differing: Vec<_> =
            stated.iter().filter(|(_, asked, sealed)| asked != sealed).map(|(name, ..)| format!("`{name}`")).collect();
        let judgement = match differing.as_slice() {
            [] => Ok("Reference and limits are those that were asked for; limits in parts per million.".to_owned()),
            names => Err(format!("{} of the request differs from what was signed.", names.join(", "))),
        };
        let step = Step::judged("terms", "Reference and limits are those that were asked for", judgement);
        steps.push(stated.into_iter().fold(step, |step, (name, asked, sealed)| {
            step.looking_at(name, asked).looking_at("in the envelope", sealed)
        }));
    }
    steps
}

fn found(given: &Given<'_>, subject: Option<&Subject>) -> Vec<Step> {
    const NAME: &str = "findings";
    const TITLE: &str = "The findings are those that were signed";
    let missing = |said: &str| vec![Step::unchecked(NAME, TITLE, said)];
    if let Some(why) = &given.found_fault {
        return vec![Step::judged(NAME, TITLE, Err(format!("The check's answer cannot be read: {why}.")))];
    }
    let Some(members) = &given.found else {
        return missing("The findings were not given: they are in the whole answer of the check.");
    };
    let found = match Found::read(members) {
        Err(why) => return vec![Step::judged(NAME, TITLE, Err(format!("The findings cannot be read: {why}.")))],
        Ok(found) => found,
    };
    let Some(subject) = subject else { return missing(NO_ENVELOPE) };
    let said = format!(
        "Findings: {}; vaults not resolved: {}. Totals and exposures beside them are not signed.",
        found.findings, found.unresolved
    );
    let judgement = match found.verdict == subject.verdict {
        true => Ok("The worst finding leads to the verdict that was signed.".to_owned()),
        false => Err("The findings lead to another verdict than the one that was signed.".to_owned()),
    };
    vec![
        compared(NAME, TITLE, ("their hash", found.hash), subject.findings_hash, &said, "findingsHash"),
        Step::judged("verdict", "The verdict follows from the findings", judgement)
            .looking_at("verdict signed", subject.verdict.as_str())
            .looking_at("follows from the findings", found.verdict.as_str()),
    ]
}

fn snapshot(manifest: Option<&str>, subject: Option<&Subject>) -> Step {
    const NAME: &str = "snapshot";
    const TITLE: &str = "The snapshot's manifest is the one that it was checked against";
    let manifest = match manifest.map(Manifest::read) {
        None => return Step::unchecked(NAME, TITLE, "The manifest was not given."),
        Some(Err(why)) => return Step::judged(NAME, TITLE, Err(format!("The manifest cannot be read: {why}."))),
        Some(Ok(manifest)) => manifest,
    };
    let Some(subject) = subject else { return Step::unchecked(NAME, TITLE, NO_ENVELOPE) };
    if manifest.said != manifest.hash {
        let said = "The manifest does not hash to the id that it says it has: it was changed.".to_owned();
        return Step::judged(NAME, TITLE, Err(said))
            .looking_at("SHA-256 of the manifest", manifest.hash.to_hex())
            .looking_at("snapshotId in it", manifest.said.to_hex());
    }
    let said =
        format!("It names {} bodies of facts by their hashes. The bodies themselves are not public.", manifest.bodies);
    compared(NAME, TITLE, ("SHA-256 of the manifest", manifest.hash), subject.snapshot_id, &said, "snapshotId")
}

/// A hash that was made again, beside the one in the envelope.
fn compared(
    name: &'static str,
    title: &'static str,
    made: (&'static str, ContentHash),
    sealed: ContentHash,
    said: &str,
    member: &str,
) -> Step {
    let judgement = match made.1 == sealed {
        true => Ok(said.to_owned()),
        false => Err(format!("They are not what was signed: their hash is not the envelope's `{member}`. {said}")),
    };
    Step::judged(name, title, judgement)
        .looking_at(made.0, made.1.to_hex())
        .looking_at("in the envelope", sealed.to_hex())
}
