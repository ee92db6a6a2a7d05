//! `rds check`: a portfolio against limits. The signed decision is verified on this machine.

use crate::connection;
use crate::failure::{self, Failure};
use crate::output::{line, plain};
use crate::portfolio;
use crate::read::text_of;
use crate::signers;
use crate::verify::report;
use clap::ArgMatches;
use risk_data_client::decisions::{DecisionResult, verify};
use risk_data_client::serde_json::{self, Map, Value, json};
use risk_data_client::types::{CheckFinding, CheckResult, GraphCheckBody, Verdict};
use std::path::{Path, PathBuf};

/// Checks the portfolio and prints verdict and findings.
pub async fn run(given: &ArgMatches) -> Result<u8, Failure> {
    let file = given.get_one::<PathBuf>("portfolio").ok_or_else(|| Failure::Usage("no portfolio".into()))?;
    let name = if file == Path::new("-") { "standard input".into() } else { file.display().to_string() };
    let stem = file.file_stem().and_then(|it| it.to_str()).filter(|it| *it != "-").unwrap_or("portfolio");
    let issue = !given.get_flag("no-issue");
    let body = GraphCheckBody {
        portfolio_ref: given.get_one::<String>("ref").map_or(stem, String::as_str).to_owned(),
        positions: portfolio::read(&text_of(file)?, &name)?,
        limits: given.contains_id("max-share").then(|| limits(given)).transpose()?,
        issue: Some(issue),
        ..GraphCheckBody::default()
    };
    let answer = connection::client(given)?.graph().check(body).await?;
    let result = match &answer.data.decision {
        Some(decision) => Some(verify(decision.into(), &signers::find(given).await?)),
        None if issue => return Err(Failure::Usage("the service issued no decision".into())),
        None => None,
    };
    if let Some(file) = given.get_one::<PathBuf>("save") {
        let text = serde_json::to_string_pretty(&answer.json()?.pointer("/data/decision")).unwrap_or_default();
        std::fs::write(file, text + "\n").map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?;
    }
    if given.get_one::<String>("format").is_some_and(|it| it == "json") {
        line(&json!({"check": answer.json()?.get("data"), "verification": result.as_ref().map(report)}).to_string())?;
    } else {
        print(&answer.data, result.as_ref())?;
    }
    // A verdict that is not proved, or differs from the signed one, is none.
    if let Some(result) = &result {
        let signed = result.decision.as_ref().map(|it| &it.verdict);
        if !result.is_genuine() || signed != Some(&answer.data.verdict) {
            return Err(Failure::Usage("the signed decision does not prove this verdict".into()));
        }
    }
    match answer.data.verdict {
        Verdict::Approve => Ok(failure::OK),
        Verdict::Caution => Ok(failure::CAUTION),
        Verdict::Reject => Ok(failure::REJECT),
        _ => Err(Failure::Usage(format!("`{}` is no verdict that this version knows", answer.data.verdict))),
    }
}

/// `protocol=0.6` as `maxSharePerProtocol`.
fn limits<T: serde::de::DeserializeOwned>(given: &ArgMatches) -> Result<T, Failure> {
    let mut limits = Map::new();
    for it in given.get_many::<String>("max-share").into_iter().flatten() {
        let fault =
            || Failure::Usage(format!("--max-share {it}: write a dimension, `=` and a share, such as protocol=0.6"));
        let (dimension, share) = it.split_once('=').ok_or_else(fault)?;
        let share: f64 = share.parse().map_err(|_| fault())?;
        let mut letters = dimension.chars();
        let first = letters.next().filter(char::is_ascii_alphabetic).ok_or_else(fault)?;
        limits.insert(format!("maxSharePer{}{}", first.to_ascii_uppercase(), letters.as_str()), share.into());
    }
    known(&limits)?;
    serde_json::from_value(Value::Object(limits)).map_err(|error| Failure::Usage(format!("--max-share: {error}")))
}

/// A dimension that is not known would be left out, and the portfolio would pass without it.
fn known(limits: &Map<String, Value>) -> Result<(), Failure> {
    use risk_data_client::types::GraphCheckLimits;
    for name in limits.keys() {
        let one: Map<String, Value> = [(name.clone(), json!(0.5))].into_iter().collect();
        let read: GraphCheckLimits = serde_json::from_value(Value::Object(one)).unwrap_or_default();
        if read == GraphCheckLimits::default() {
            let dimension = name.trim_start_matches("maxSharePer");
            return Err(Failure::Usage(format!("--max-share: `{dimension}` is no dimension that this version knows")));
        }
    }
    Ok(())
}

fn print(check: &CheckResult, result: Option<&DecisionResult>) -> Result<(), Failure> {
    line(&format!("{}  {} USD", check.verdict.as_str().to_uppercase(), plain(&check.total_usd)))?;
    for it in &check.findings {
        line(&format!("  {}", finding(it)))?;
    }
    if check.findings.is_empty() {
        line("  no findings")?;
    }
    for it in &check.unresolved_vaults {
        line(&format!("  unknown vault {}", plain(it)))?;
    }
    match (&check.decision, result) {
        (Some(decision), Some(result)) => {
            let is_genuine = if result.is_genuine() { "verified on this machine" } else { "NOT GENUINE" };
            line(&format!("decision {}: signature {is_genuine}", plain(&decision.decision_id)))
        }
        _ => line("no signed decision was asked for"),
    }
}

fn finding(it: &CheckFinding) -> String {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let (key, usd) = (plain(&it.key), plain(&it.usd));
    format!(
        "{}: {} {key} {} of at most {} ({usd} USD)",
        it.kind,
        it.dimension,
        percent(it.share),
        percent(it.max_share)
    )
}
