//! A vault's inputs, in the units of the methodology, each with its source.

use super::asset_side::Nested;
use super::nested;
use super::peers::Peers;
use super::platform;
use rds_facts::{ReadField, Signing};
use rds_shared::model::status::{IncidentSeverity, RemediationStatus};
use rds_shared::model::vault::Reward;
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::decimal::from_float;
use rds_shared::scoring::provenance::{ChainEvidence, InputField, Observation, Observations};
use rds_shared::scoring::rubric::ProtocolFacts;
use rds_shared::scoring::sanity_checks::RunFacts;
use rds_shared::scoring::tables::sanity_checks::READING_CADENCE_SECONDS;
use rds_shared::scoring::vault::{
    AssetRanges, ControlInput, HistoryInput, Incident, IncidentClass, Signers, Timelock, VaultInput,
};
use rds_shared::wire::Timestamp;
use rds_store::scoring::{self, IncidentRow, ProtocolRow, ScoredAsset, Signals, VaultRow, protocol_answers};
use rds_store::vaults::days;
use rds_store::vaults::rewards::{self, Rates};
use rds_store::{At, StoreError, Tx, decode_enum};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

const DAY: i64 = 86_400;

/// The data that all vaults share: protocols, assets, and the asset vectors of vaults that other vaults hold.
pub struct Market {
    pub(super) protocols: HashMap<String, ProtocolRow>,
    pub(super) assets: HashMap<String, ScoredAsset>,
    /// Asset ids by chain and contract.
    pub(super) by_deployment: HashMap<(i64, String), String>,
    pub(super) nested: HashMap<String, Nested>,
    /// The values that answers give to the inputs of protocols, and of single vaults, by id.
    pub(super) answered: HashMap<String, ProtocolFacts>,
    /// Time of the run.
    pub(super) now: Timestamp,
    peers: Peers,
}

/// A vault, ready to be evaluated.
pub struct Vault {
    pub row: VaultRow,
    pub input: VaultInput,
    /// The ranges of the assets that the input names.
    pub ranges: AssetRanges,
    /// The source and instant of each input.
    pub observations: Observations,
    /// Whether the vault's net rate is an outlier among the vaults of the same asset and chain; set by `Peers::mark`.
    pub stands_out: bool,
}

impl Vault {
    /// Counts the vault's readings, outdated readings and non-finite inputs in `facts`, for the sanity checks.
    pub fn count(&self, now: Timestamp, facts: &mut RunFacts) {
        let row = &self.row;
        if let Some(At(at)) = row.state_synced_at {
            facts.read(now.seconds_since(at), READING_CADENCE_SECONDS);
        }
        // Rates are not counted: the methodology caps a vault whose rate is not finite.
        let figures = [row.tvl_usd, row.utilization, row.bad_debt_usd];
        facts.non_finite_inputs += figures.into_iter().flatten().filter(|figure| !figure.is_finite()).count() as u64;
    }
}

impl Market {
    /// Loads the protocols and assets, and evaluates the answers about protocols and vaults as of `now`.
    pub async fn load(tx: &mut Tx<'_>, now: Timestamp) -> Result<Self, StoreError> {
        let assets = scoring::assets(tx).await?;
        let mut by_deployment = HashMap::new();
        for asset in &assets {
            if let Some(address) = &asset.address {
                // Assets are in id order; if two have the same contract, the first one counts.
                by_deployment.entry((asset.chain_id, address.clone())).or_insert_with(|| asset.id.clone());
            }
        }
        Ok(Market {
            protocols: scoring::protocols(tx).await?,
            assets: assets.into_iter().map(|asset| (asset.id.clone(), asset)).collect(),
            by_deployment,
            nested: HashMap::new(),
            answered: platform::answered(&protocol_answers::all(&mut **tx).await?, now),
            now,
            peers: Peers::default(),
        })
    }

    /// The vaults of `ids` with all inputs, in byte order of their ids.
    pub async fn vaults(&mut self, tx: &mut Tx<'_>, ids: &[String], now: Timestamp) -> Result<Vec<Vault>, StoreError> {
        let rows = scoring::vaults(tx, ids).await?;
        nested::resolve(self, tx, &rows).await?;
        let mut incidents = scoring::incidents(tx, ids).await?;
        let mut signals = days::signals(tx, ids, now.into()).await?;
        let mut running = rewards::running(&mut **tx, Some(ids)).await?;
        let mut vaults = rows
            .into_iter()
            .map(|row| {
                let facts = Facts {
                    incidents: incidents.remove(&row.id).unwrap_or_default(),
                    signals: signals.remove(&row.id).unwrap_or_default(),
                    running: running.remove(&row.id).unwrap_or_default(),
                };
                self.vault(row, &facts, now)
            })
            .collect::<Result<Vec<_>, _>>()?;
        self.peers.mark(tx, &mut vaults).await?;
        Ok(vaults)
    }

    fn vault(&self, row: VaultRow, facts: &Facts, now: Timestamp) -> Result<Vault, StoreError> {
        let mut from = Sources::default();
        let (mut input, ranges) = self.asset_side(&row, &mut from)?;
        input.platform = self.platform(&row, &mut from)?;
        input.control = self.control(&row, &mut from)?;
        input.history = history(&row, facts, now, &mut from)?;
        state(&row, &facts.running, &mut input, &mut from);
        from.read(row.readings.as_ref(), row.is_immutable == Some(true))?;
        Ok(Vault { row, input, ranges, observations: from.0, stands_out: false })
    }
}

/// The control inputs that a vault's registry row states.
pub(super) fn registered_control(row: &VaultRow, from: &mut Sources) -> Result<ControlInput, StoreError> {
    let fields = [
        ("timelock_seconds", InputField::Timelock),
        ("signers", InputField::Signers),
        ("exit", InputField::Exit),
        ("source_code", InputField::Source),
    ];
    from.derived(&fields, &row.evidence, &row.source, row.observed_at);
    let signing = match &row.signers {
        Some(json) => serde_json::from_value::<Signing>(json.clone())
            .map(Some)
            .map_err(|_| StoreError::Corrupt { column: "vault.signers", text: json.to_string() })?,
        None => None,
    };
    let immutable = row.is_immutable == Some(true);
    let seconds = row.timelock_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    Ok(ControlInput {
        timelock: if immutable { Timelock::Immutable } else { seconds.map_or(Timelock::Unknown, Timelock::Seconds) },
        signers: if immutable { Signers::Immutable } else { signing.map_or(Signers::Unknown, Signers::from) },
        exit: decode_enum("vault.exit", &row.exit)?,
        source: decode_enum("vault.source_code", &row.source_code)?,
    })
}

/// When the vault was deployed, or at the latest, and the field that says so.
pub(super) fn first_seen(row: &VaultRow) -> (&'static str, Option<At>) {
    match row.deployed_at {
        Some(at) => ("deployed_at", Some(at)),
        None => ("first_seen_at", row.first_seen_at),
    }
}

fn history(row: &VaultRow, facts: &Facts, now: Timestamp, from: &mut Sources) -> Result<HistoryInput, StoreError> {
    let (field, born) = first_seen(row);
    from.derived(&[(field, InputField::VaultAgeDays)], &row.evidence, &row.source, row.observed_at);
    if let (Some(source), Some(at)) = (&row.state_source, row.state_observed_at) {
        let source = format!("{source}: history of states");
        from.note(&[InputField::HighUtil72h, InputField::TvlHalved7d], &source, at);
        from.note(&[InputField::Drawdown], &source, facts.signals.priced_at.unwrap_or(at));
    }
    Ok(HistoryInput {
        vault_age_days: born.map(|at| days(at, now)),
        incidents: facts.incidents.iter().map(|incident| counted(incident, now)).collect::<Result<_, _>>()?,
        drawdown_bp: facts.signals.drawdown_bp.and_then(|bp| u32::try_from(bp).ok()),
        high_util_72h: facts.signals.high_util_72h,
        tvl_halved_7d: facts.signals.tvl_halved_7d,
    })
}

/// The incident as the methodology counts it. Unknown properties count against the vault: major, not recovered, not resolved.
pub(super) fn counted(incident: &IncidentRow, now: Timestamp) -> Result<Incident, StoreError> {
    let minor = match &incident.incident_severity {
        Some(text) => decode_enum::<IncidentSeverity>("event.incident_severity", text)? == IncidentSeverity::Minor,
        None => false,
    };
    let resolved = incident.remediation_status.as_deref() == Some(RemediationStatus::Resolved.as_str());
    let class = match minor {
        true => IncidentClass::Minor,
        false => {
            IncidentClass::of_major(incident.loss_usd.and_then(millionths), incident.returned_usd.and_then(millionths))
        }
    };
    Ok(Incident { class, age_days: days(incident.occurred_at, now), resolved })
}

/// An amount in millionths of a dollar; `None` if it is negative or not finite.
fn millionths(usd: f64) -> Option<u64> {
    from_float(usd, 6).ok().and_then(|micros| u64::try_from(micros).ok())
}

/// Inputs of caps and flags, from the newest state.
fn state(row: &VaultRow, running: &[Reward], input: &mut VaultInput, from: &mut Sources) {
    use InputField::{AprNet, BadDebt, BaseApr, NeedsRiskReview, TvlUsd, Utilization};
    if let (Some(source), Some(at)) = (&row.state_source, row.state_observed_at) {
        from.note(&[TvlUsd, Utilization, BadDebt, NeedsRiskReview, BaseApr, AprNet], source, at);
    }
    input.tvl_usd = row.tvl_usd.map(dollars);
    input.utilization_ppm = row.utilization.and_then(ppm);
    input.bad_debt_ppm = row.bad_debt_usd.zip(row.tvl_usd).and_then(|(debt, tvl)| bad_debt_ppm(debt, tvl));
    input.needs_risk_review = row.needs_risk_review.unwrap_or(false);
    input.base_apr_ppm = row.base_apr.and_then(ppm);
    input.apr_net_ppm = Rates::apr_net(row.base_apr, running).and_then(ppm);
}

/// Bad debt over TVL in parts per million, rounded up, so that "more than 1 percent" is decided exactly.
fn bad_debt_ppm(debt_usd: f64, tvl_usd: f64) -> Option<i64> {
    let (debt, tvl) = (i128::from(from_float(debt_usd, 6).ok()?), i128::from(from_float(tvl_usd, 6).ok()?));
    if tvl == 0 {
        return (debt > 0).then_some(1_000_000);
    }
    i64::try_from((debt * 1_000_000 + tvl - 1) / tvl).ok()
}

pub(super) fn ppm(fraction: f64) -> Option<i64> {
    from_float(fraction, 6).ok()
}

/// Whole dollars, rounded down. Ingest limits amounts to far less than 2^63.
pub(super) fn dollars(usd: f64) -> u64 {
    usd.max(0.0) as u64
}

pub(super) fn milli(stored: Option<i32>) -> Option<MilliPoints> {
    stored.and_then(MilliPoints::new)
}

/// Whole days from `at` to `now`; 0 if `at` is in the future.
pub(super) fn days(at: At, now: Timestamp) -> u32 {
    u32::try_from(now.seconds_since(at.0) / DAY).unwrap_or(0)
}

/// One vault's incidents, signals and running rewards.
struct Facts {
    incidents: Vec<IncidentRow>,
    signals: Signals,
    running: Vec<Reward>,
}

/// Collects the source and instant of each input.
#[derive(Default)]
pub(super) struct Sources(Observations);

impl Sources {
    pub(super) fn note(&mut self, fields: &[InputField], source: &str, at: At) {
        for field in fields {
            self.0.insert(*field, Observation::stated(source, at.0));
        }
    }

    pub(super) fn note_exposures(&mut self, observation: Observation) {
        self.0.insert(InputField::Exposures, observation);
    }

    /// Notes the columns that show what was read on the chain.
    fn read(&mut self, readings: Option<&Value>, is_immutable: bool) -> Result<(), StoreError> {
        let Some(readings) = readings else { return Ok(()) };
        let readings: BTreeMap<ReadField, Read> = Deserialize::deserialize(readings)
            .map_err(|_| StoreError::Corrupt { column: "vault.readings", text: readings.to_string() })?;
        for (field, Read { source, observed_at, evidence }) in readings {
            let inputs: &[InputField] = match field {
                // An immutable vault has neither a delay nor signers.
                ReadField::IsImmutable if is_immutable => &[InputField::Timelock, InputField::Signers],
                ReadField::TimelockSeconds | ReadField::Signers if is_immutable => &[],
                ReadField::TimelockSeconds => &[InputField::Timelock],
                ReadField::Signers => &[InputField::Signers],
                ReadField::DeployedAt => &[InputField::VaultAgeDays],
                ReadField::TvlUsd => &[InputField::TvlUsd],
                ReadField::Utilization => &[InputField::Utilization],
                ReadField::BadDebtUsd => &[InputField::BadDebt],
                ReadField::Exit => &[InputField::Exit],
                ReadField::BaseApr => &[InputField::BaseApr],
                ReadField::NeedsRiskReview => &[InputField::NeedsRiskReview],
                _ => &[],
            };
            for input in inputs {
                let (source, evidence) = (source.clone(), Some(evidence.clone()));
                self.0.insert(*input, Observation { source, observed_at: observed_at.0, evidence });
            }
        }
        Ok(())
    }

    /// Notes the sources of columns. For a derived column the source is what it was derived from, according to `evidence`.
    pub(super) fn derived(
        &mut self,
        fields: &[(&str, InputField)],
        evidence: &BTreeMap<String, String>,
        source: &str,
        at: At,
    ) {
        for (column, field) in fields {
            match evidence.get(*column) {
                Some(derived_from) => self.note(&[*field], derived_from, at),
                None => self.note(&[*field], source, at),
            }
        }
    }
}

/// A column that shows a reading of the chain.
#[derive(Deserialize)]
struct Read {
    source: String,
    observed_at: At,
    evidence: ChainEvidence,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_debt_of_just_over_one_percent_is_over_one_percent() {
        assert_eq!(bad_debt_ppm(1.0, 100.0), Some(10_000));
        assert_eq!(bad_debt_ppm(1.000_001, 100.0), Some(10_001));
        assert_eq!(bad_debt_ppm(5.0, 0.0), Some(1_000_000));
        assert_eq!(bad_debt_ppm(0.0, 0.0), None);
    }

    #[test]
    fn an_incident_of_which_nothing_is_known_counts_in_full() {
        let row = |severity: Option<&str>, loss, returned, status: Option<&str>| IncidentRow {
            vault_id: String::new(),
            incident_severity: severity.map(str::to_owned),
            occurred_at: At(Timestamp::from_seconds(0)),
            loss_usd: loss,
            returned_usd: returned,
            remediation_status: status.map(str::to_owned),
        };
        let class = |row| {
            let incident = counted(&row, Timestamp::from_seconds(3 * DAY)).unwrap();
            (incident.class, incident.age_days, incident.resolved)
        };
        assert_eq!(class(row(None, None, None, None)), (IncidentClass::MajorUnrecovered, 3, false));
        let recovered = row(Some("major"), Some(100.0), Some(90.0), Some("resolved"));
        assert_eq!(class(recovered), (IncidentClass::MajorRecovered, 3, true));
        // At least 90 % returned in cents, slightly less than 90 %, and a loss of 0, which the published rule treats as not recovered.
        for (loss, returned, expected) in [
            (1.15, 1.04, IncidentClass::MajorRecovered),
            (1.15, 1.03, IncidentClass::MajorUnrecovered),
            (100.0, 89.999_999, IncidentClass::MajorUnrecovered),
            (0.0, 0.0, IncidentClass::MajorUnrecovered),
        ] {
            let row = row(None, Some(loss), Some(returned), None);
            assert_eq!(class(row).0, expected, "{loss} {returned}");
        }
        assert_eq!(class(row(Some("minor"), Some(100.0), None, None)), (IncidentClass::Minor, 3, false));
    }
}
