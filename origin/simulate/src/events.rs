//! Simulated events other than incidents: repeated reports of one event, events of markets, a draft, and an event that is retracted.

use super::actor::Actor;
use super::markets;
use super::moment::Moment;
use super::platforms::CHAIN_ID;
use super::source::SOURCE;
use rds_engine::ingest::Observation;
use rds_engine::publication::commands::Verb;
use rds_facts::{EventRecord, Publication, event_id};
use rds_shared::model::status::{IncidentSeverity, RemediationStatus, Severity};
use rds_store::At;
use serde_json::{Map, Value, json};

/// A source that reports often, as an example for the filter `excludeSource`.
const PEG_MONITOR: &str = "peg-monitor";
/// Key of the event that is retracted.
const FALSE_ALARM: &str = "devnet-false-alarm";
/// Hours before the end of the run at which [`FALSE_ALARM`] is published, and at which it is retracted.
const ALARM: (u32, u32) = (12, 8);

/// The events observed at `moment`. Events of vaults that the run does not contain are left out.
pub fn news(moment: Moment, cast: &[Actor]) -> Vec<Observation> {
    let vault = |name: &str| cast.iter().find(|actor| actor.name() == name).map(|actor| vec![actor.id().to_owned()]);
    let mut news = Vec::new();
    if moment.before().is_none() {
        news.extend(past(moment));
        news.push(EventRecord {
            publication: Publication::Draft,
            protocol_id: Some("mothlamp".to_owned()),
            description: Some("Unconfirmed; recorded for review.".to_owned()),
            ..record(
                moment,
                "devnet-draft-audit",
                "AuditFinding",
                Severity::Warning,
                "An auditor questions the fee switch",
            )
        });
    }
    // One lost peg, reported every four hours during the last 24 hours; the feed groups the reports into one row.
    if moment.in_the_last(24) && moment.now.as_seconds() / 3_600 % 4 == 0 {
        news.push(EventRecord {
            source: PEG_MONITOR.to_owned(),
            group_key: Some("devnet-mirage-off-peg".to_owned()),
            chain_id: Some(CHAIN_ID),
            description: Some("The secondary market pays less than the issuer redeems for.".to_owned()),
            data: metrics(&[("discount_pct", json!(1.4))]),
            ..record(
                moment,
                &format!("devnet-mirage-off-peg-{}", moment.now.as_seconds()),
                "PegDeviation",
                Severity::Warning,
                "Mirage trades below its peg",
            )
        });
    }
    if moment.in_the_last(ALARM.0)
        && !moment.before().is_some_and(|before| before.in_the_last(ALARM.0))
        && let Some(vault_ids) = vault("Quillfish Penny Pool")
    {
        let alarm = record(moment, FALSE_ALARM, "Incident", Severity::Critical, "Withdrawals of the Penny Pool revert");
        let alarm = EventRecord {
            remediation_status: Some(RemediationStatus::Resolved),
            incident_severity: Some(IncidentSeverity::Minor),
            ..alarm
        };
        news.push(alarm.about(vault_ids));
    }
    news.into_iter().map(|event| Observation::Event(Box::new(event))).collect()
}

/// Editors' commands after the observations of `moment`.
pub fn edits(moment: Moment) -> Vec<(i64, Verb)> {
    let reason = Some("The reverting calls came from a broken script, not from the vault.".to_owned());
    let now = moment.in_the_last(ALARM.1) && !moment.before().is_some_and(|before| before.in_the_last(ALARM.1));
    now.then(|| (event_id(FALSE_ALARM), Verb::Retract { reason })).into_iter().collect()
}

/// Events of markets from before the run: a cascade of liquidations, an incident, and a measurement.
fn past(moment: Moment) -> Vec<EventRecord> {
    let of_market = |days: u32, key: &str, event_type: &str, severity: Severity, title: &str| EventRecord {
        occurred_at: At(moment.days_before_start(days).0),
        chain_id: Some(CHAIN_ID),
        market_address: Some(markets::address(0)),
        ..record(moment, key, event_type, severity, title)
    };
    vec![
        EventRecord {
            loss_usd: Some(86_000.0),
            data: metrics(&[("liquidations", json!(214)), ("collateral_usd", json!(1_930_000))]),
            ..of_market(
                16,
                "devnet-core-cascade",
                "LiquidationCascade",
                Severity::Warning,
                "Liquidations of an hour in Quillfish Core",
            )
        },
        EventRecord {
            remediation_status: Some(RemediationStatus::Resolved),
            incident_severity: Some(IncidentSeverity::Minor),
            ..of_market(
                41,
                "devnet-core-feed",
                "Incident",
                Severity::Info,
                "A feed of Quillfish Core was late by minutes",
            )
        },
        EventRecord {
            is_telemetry: true,
            data: metrics(&[("borrow_apr", json!(0.061))]),
            ..of_market(2, "devnet-core-rates", "RateUpdate", Severity::Info, "Quillfish Core moved its rates")
        },
    ]
}

fn record(moment: Moment, key: &str, event_type: &str, severity: Severity, title: &str) -> EventRecord {
    EventRecord::new(key.to_owned(), event_type, severity, title.to_owned(), SOURCE, moment.at())
}

fn metrics(all: &[(&str, Value)]) -> Map<String, Value> {
    all.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}
