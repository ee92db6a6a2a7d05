//! `rds verify`: whether a signed decision is genuine, found out on this machine.

use crate::failure::{self, Failure};
use crate::output::{line, plain};
use crate::read::text_of;
use crate::signers;
use clap::ArgMatches;
use risk_data_client::decisions::{DecisionResult, Evidence, verify};
use risk_data_client::serde_json::{self, Value, json};
use std::path::PathBuf;

/// Verifies the decision and prints the results.
pub async fn run(given: &ArgMatches) -> Result<u8, Failure> {
    let file = given.get_one::<PathBuf>("decision").ok_or_else(|| Failure::Usage("no decision".into()))?;
    let fault = |what: &str| Failure::Usage(format!("{}: {what}", file.display()));
    let value: Value = serde_json::from_str(&text_of(file)?).map_err(|error| fault(&error.to_string()))?;
    let sealed = sealed(&value).ok_or_else(|| fault("no member decisionId, envelope and signature"))?;
    let result = verify(sealed, &signers::find(given).await?);
    if given.get_one::<String>("format").is_some_and(|it| it == "json") {
        line(&report(&result).to_string())?;
    } else {
        print(&result)?;
    }
    Ok(if result.is_genuine() { failure::OK } else { failure::REJECT })
}

/// The results as JSON.
pub fn report(it: &DecisionResult) -> Value {
    json!({
        "genuine": it.is_genuine(),
        "envelopeIntact": it.envelope_intact,
        "signatureValid": it.signature_valid,
        "signerRecognized": it.signer_recognized,
        "signerActiveAtIssuance": it.signer_active_at_issuance,
        "decision": it.decision,
    })
}

/// The decision in an answer of a check, in an answer of a decision, or alone.
fn sealed(value: &Value) -> Option<Evidence<'_>> {
    ["", "/data", "/data/decision", "/decision"].into_iter().find_map(|place| {
        let text = |name: &str| value.pointer(place)?.get(name)?.as_str();
        Some(Evidence { decision_id: text("decisionId")?, envelope: text("envelope")?, signature: text("signature")? })
    })
}

fn print(it: &DecisionResult) -> Result<(), Failure> {
    let steps = [
        (it.envelope_intact, "the envelope is intact: its hash is the decision's id"),
        (it.signature_valid, "the signature is that of the signer whom the envelope names"),
        (it.signer_recognized, "the registry lists the signer under this key"),
        (it.signer_active_at_issuance, "the signer was active at the time of the decision"),
    ];
    line(if it.is_genuine() { "genuine" } else { "NOT genuine" })?;
    for (is_true, text) in steps {
        line(&format!("  {}  {text}", if is_true { "yes" } else { "no " }))?;
    }
    if let Some(decision) = &it.decision {
        line(&format!(
            "verdict {} for {} at {}",
            decision.verdict,
            plain(&decision.portfolio_ref),
            plain(&decision.created_at)
        ))?;
    }
    Ok(())
}
