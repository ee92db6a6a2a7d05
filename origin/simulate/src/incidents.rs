//! Simulated incidents and when they were resolved.

use super::actor::Actor;
use super::moment::Moment;
use super::source::SOURCE;
use rds_engine::ingest::Observation;
use rds_facts::fact::Kind;
use rds_facts::{IncidentLink, Reference};
use rds_shared::model::status::{IncidentSeverity, RemediationStatus, Severity};
use rds_store::At;

enum Subject {
    /// The vault of this name.
    Vault(&'static str),
    /// A protocol, and whether the incident counts against all of its vaults.
    Protocol(&'static str, bool),
}

enum Happened {
    /// Days before the run began.
    DaysBefore(u32),
    /// Hours before the end of the run at which it happens.
    InTheLast(u32),
}

struct Incident {
    key: &'static str,
    subject: Subject,
    happened: Happened,
    /// Hours before the end of the run at which it is resolved; `None` if it stays open.
    resolved_in_the_last: Option<u32>,
    severity: Severity,
    size: IncidentSeverity,
    title: &'static str,
    description: &'static str,
    loss_usd: Option<f64>,
    returned_usd: Option<f64>,
}

/// Resolved before the run began, for any length of the run.
const LONG_AGO: Option<u32> = Some(u32::MAX);

const INCIDENTS: [Incident; 6] = [
    Incident {
        key: "devnet-fourfold-drained",
        subject: Subject::Vault("Cinderloop Fourfold Ether"),
        happened: Happened::InTheLast(15),
        resolved_in_the_last: None,
        severity: Severity::Critical,
        size: IncidentSeverity::Major,
        title: "Fourfold Ether drained through its unwinding path",
        description: "A caller repaid the vault's loan inside a callback and kept the collateral. The vault is paused.",
        loss_usd: Some(4_480_000.0),
        returned_usd: None,
    },
    Incident {
        key: "devnet-penny-bitcoin-liquidations",
        subject: Subject::Vault("Brambleway Penny / Bitcoin"),
        happened: Happened::DaysBefore(48),
        resolved_in_the_last: LONG_AGO,
        severity: Severity::Critical,
        size: IncidentSeverity::Major,
        title: "Liquidations at a wrong price",
        description: "A feed repeated a stale price for eleven minutes. The protocol's fund repaid the borrowers.",
        loss_usd: Some(1_200_000.0),
        returned_usd: Some(1_180_000.0),
    },
    Incident {
        key: "devnet-tidewheel-harvest",
        subject: Subject::Protocol("tidewheel", true),
        happened: Happened::DaysBefore(131),
        resolved_in_the_last: LONG_AGO,
        severity: Severity::Critical,
        size: IncidentSeverity::Major,
        title: "Rewards of a week swept from the harvester",
        description: "An approval that was never taken back let a former keeper move unclaimed rewards.",
        loss_usd: Some(390_000.0),
        returned_usd: Some(0.0),
    },
    Incident {
        key: "devnet-brambleway-frontend",
        subject: Subject::Protocol("brambleway", false),
        happened: Happened::DaysBefore(20),
        resolved_in_the_last: LONG_AGO,
        severity: Severity::Info,
        size: IncidentSeverity::Minor,
        title: "Application unreachable for two hours",
        description: "The web application was down; contracts and vaults were not affected.",
        loss_usd: None,
        returned_usd: None,
    },
    Incident {
        key: "devnet-penny-pool-rounding",
        subject: Subject::Vault("Quillfish Penny Pool"),
        happened: Happened::DaysBefore(403),
        resolved_in_the_last: LONG_AGO,
        severity: Severity::Warning,
        size: IncidentSeverity::Minor,
        title: "Rounding in favour of the withdrawer",
        description: "Withdrawals of a few units paid one unit too much. Corrected in the release that followed.",
        loss_usd: Some(310.0),
        returned_usd: Some(310.0),
    },
    Incident {
        key: "devnet-quill-pool-keeper",
        subject: Subject::Vault("Quillfish Quill Pool"),
        happened: Happened::InTheLast(50),
        resolved_in_the_last: Some(9),
        severity: Severity::Warning,
        size: IncidentSeverity::Minor,
        title: "Liquidation keeper stopped",
        description: "The keeper ran out of gas and liquidations came late. It is funded and monitored again.",
        loss_usd: None,
        returned_usd: None,
    },
];

/// The incidents observed at `moment`. Vaults that the run does not contain are left out.
pub fn news(moment: Moment, cast: &[Actor]) -> Vec<Observation> {
    let changed = INCIDENTS.iter().filter(|incident| {
        let before = moment.before().and_then(|before| incident.stage(before));
        incident.stage(moment) != before
    });
    changed.filter_map(|incident| incident.observed(moment, cast)).collect()
}

impl Incident {
    /// `None` before the incident happened; after that, whether it is resolved.
    fn stage(&self, moment: Moment) -> Option<RemediationStatus> {
        let happened = match self.happened {
            Happened::DaysBefore(_) => true,
            Happened::InTheLast(hours) => moment.in_the_last(hours),
        };
        let resolved = self.resolved_in_the_last.is_some_and(|hours| moment.in_the_last(hours));
        let status = if resolved { RemediationStatus::Resolved } else { RemediationStatus::Unresolved };
        happened.then_some(status)
    }

    fn observed(&self, moment: Moment, cast: &[Actor]) -> Option<Observation> {
        let (vault_id, protocol_id, affects_protocol_score) = match self.subject {
            Subject::Vault(name) => {
                (Some(cast.iter().find(|actor| actor.name() == name)?.id().to_owned()), None, false)
            }
            Subject::Protocol(id, affects) => (None, Some(id.to_owned()), affects),
        };
        let occurred_at = match self.happened {
            Happened::DaysBefore(days) => moment.days_before_start(days),
            // In a run shorter than `hours`, the incident happens at the start.
            Happened::InTheLast(hours) => Ord::max(moment.start_of_the_last(hours), moment.days_before_start(0)),
        };
        Some(Observation::IncidentLink(Box::new(IncidentLink {
            kind: Kind,
            observed_at: moment.at(),
            source: SOURCE.to_owned(),
            event_key: self.key.to_owned(),
            vault_id,
            protocol_id,
            affects_protocol_score,
            event_type: "Incident".to_owned(),
            severity: self.severity,
            incident_severity: Some(self.size),
            title: self.title.to_owned(),
            description: Some(self.description.to_owned()),
            occurred_at: At(occurred_at.0),
            loss_usd: self.loss_usd,
            returned_usd: self.returned_usd,
            remediation_status: self.stage(moment),
            tx_hash: None,
            block_number: None,
            links: vec![Reference {
                label: "Post-mortem".to_owned(),
                url: format!("https://incidents.devnet.example/{}", self.key),
            }],
        })))
    }
}
