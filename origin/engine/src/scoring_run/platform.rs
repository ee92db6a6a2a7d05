//! The inputs of the platform vector, and what answers add to those of the control vector.
//!
//! A vault's own answer counts before its registry row, that before an answer about its protocol, and that before the protocol's registry
//! row.

use super::inputs::{Market, Sources, days, dollars, first_seen};
use rds_facts::ProtocolAnswer;
use rds_shared::rules::tiers::Tier;
use rds_shared::scoring::provenance::InputField;
use rds_shared::scoring::rubric::{Dated, ProtocolFacts};
use rds_shared::scoring::vault::{
    ControlInput, Exit, PlatformInput, Signers, Source, Timelock, WorstDependency, platform_sum_tier,
};
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Day;
use rds_store::scoring::{ProtocolRow, VaultRow};
use rds_store::{At, StoreError, decode_enum};
use std::collections::HashMap;

/// The values that answers give, by protocol or vault. An answer whose stored value does not have its input's form is left out.
pub(super) fn answered(
    answers: &HashMap<String, Vec<ProtocolAnswer>>,
    now: Timestamp,
) -> HashMap<String, ProtocolFacts> {
    let facts = |given: &Vec<ProtocolAnswer>| {
        let evaluated: Vec<_> = given.iter().filter_map(ProtocolAnswer::evaluated).collect();
        ProtocolFacts::new(&evaluated, now)
    };
    answers.iter().map(|(subject, given)| (subject.clone(), facts(given))).collect()
}

impl Market {
    /// The inputs of the vault's platform vector.
    pub(super) fn platform(&self, row: &VaultRow, from: &mut Sources) -> Result<PlatformInput, StoreError> {
        let Some(protocol) = self.protocols.get(&row.protocol_id) else { return Ok(PlatformInput::default()) };
        let mut input = registered(protocol, self.now)?;
        let fields = [
            ("version_deployed_at", InputField::VersionAgeDays),
            ("audits", InputField::Audits),
            ("newest_audit_at", InputField::NewestAuditDays),
            ("bounty_usd", InputField::BountyUsd),
            ("strategy", InputField::Strategy),
            ("tvl_usd", InputField::ProtocolTvlUsd),
            ("dependencies", InputField::WorstDependency),
            ("dependencies", InputField::Dependencies),
        ];
        from.derived(&fields, &protocol.evidence, &protocol.source, protocol.observed_at);
        let mut dependencies = protocol.dependencies.clone();
        if let Some(facts) = self.answered.get(&row.protocol_id) {
            self.answer(facts, &row.protocol_id, &mut input, &mut dependencies, from);
        }
        if let Some(strategy) = &row.strategy {
            input.strategy = Some(decode_enum("vault.strategy", strategy)?);
            from.derived(&[("strategy", InputField::Strategy)], &row.evidence, &row.source, row.observed_at);
        }
        if let Some(facts) = self.answered.get(&row.id) {
            self.answer(facts, &row.id, &mut input, &mut dependencies, from);
        }
        if input.version_age_days.is_none() {
            // A version is at least as old as a vault that runs it.
            let (field, born) = first_seen(row);
            input.version_age_days = born.map(|at| days(at, self.now));
            let source = row.evidence.get(field).unwrap_or(&row.source);
            from.note(
                &[InputField::VersionAgeDays],
                &format!("{source}: age of the vault, a lower bound"),
                row.observed_at,
            );
        }
        let Some(dependencies) = dependencies else { return Ok(input) };
        input.dependencies = u32::try_from(dependencies.len()).unwrap_or(u32::MAX);
        let mut tiers = Vec::new();
        for dependency in dependencies.iter().filter_map(|id| self.protocols.get(id)) {
            let mut inner = registered(dependency, self.now)?;
            if let Some(facts) = self.answered.get(&dependency.id) {
                self.answer(facts, &dependency.id, &mut inner, &mut None, &mut Sources::default());
            }
            tiers.push(platform_sum_tier(&inner));
        }
        input.worst_dependency = worst(&tiers);
        Ok(input)
    }

    /// Replaces inputs of the platform vector by the values that answers about `subject` give.
    fn answer(
        &self,
        facts: &ProtocolFacts,
        subject: &str,
        input: &mut PlatformInput,
        dependencies: &mut Option<Vec<String>>,
        from: &mut Sources,
    ) {
        let age = |day: Day| days(At(day.start()), self.now);
        let mut note = |fields: &[InputField], at: Timestamp| from.note(fields, &cited(subject), At(at));
        if let Some(Dated { value, observed_at }) = facts.version_first_seen {
            input.version_age_days = Some(age(value));
            note(&[InputField::VersionAgeDays], observed_at);
        }
        if let Some(Dated { value, observed_at }) = facts.audits {
            input.audits = Some(value.firms);
            input.newest_audit_days = Some(age(value.newest));
            note(&[InputField::Audits, InputField::NewestAuditDays], observed_at);
        }
        if let Some(Dated { value, observed_at }) = facts.bounty_usd {
            input.bounty_usd = Some(value);
            note(&[InputField::BountyUsd], observed_at);
        }
        if let Some(Dated { value, observed_at }) = facts.strategy {
            input.strategy = Some(value);
            note(&[InputField::Strategy], observed_at);
        }
        if let Some(Dated { value, observed_at }) = facts.protocol_tvl_usd {
            input.protocol_tvl_usd = Some(value);
            note(&[InputField::ProtocolTvlUsd], observed_at);
        }
        if let Some(Dated { value, observed_at }) = &facts.dependencies {
            *dependencies = Some(value.clone());
            note(&[InputField::WorstDependency, InputField::Dependencies], *observed_at);
        }
    }

    /// Fills inputs of the control vector from answers: an answer about the vault replaces its registry row, and an answer about its
    /// protocol fills what the row leaves unknown.
    pub(super) fn answer_control(&self, row: &VaultRow, input: &mut ControlInput, from: &mut Sources) {
        for (subject, replaces) in [(&row.id, true), (&row.protocol_id, false)] {
            let Some(facts) = self.answered.get(subject) else { continue };
            let mut note = |field: InputField, at: Timestamp| from.note(&[field], &cited(subject), At(at));
            if let Some(Dated { value, observed_at }) = facts.timelock
                && (replaces || input.timelock == Timelock::Unknown)
            {
                input.timelock = value;
                note(InputField::Timelock, observed_at);
            }
            if let Some(Dated { value, observed_at }) = facts.signers
                && (replaces || input.signers == Signers::Unknown)
            {
                input.signers = value;
                note(InputField::Signers, observed_at);
            }
            if let Some(Dated { value, observed_at }) = facts.exit
                && (replaces || input.exit == Exit::Unknown)
            {
                input.exit = value;
                note(InputField::Exit, observed_at);
            }
            if let Some(Dated { value, observed_at }) = facts.source
                && (replaces || input.source == Source::Unknown)
            {
                input.source = value;
                note(InputField::Source, observed_at);
            }
        }
    }
}

/// The source of an input that follows from answers; `score_evidence` lists them.
fn cited(subject: &str) -> String {
    format!("answers about {subject}")
}

/// The worst of the dependencies' tiers; `None` is an unknown tier. From worst to best: Edge, unknown, Core, Prime.
fn worst(tiers: &[Option<Tier>]) -> WorstDependency {
    match tiers.iter().flatten().min() {
        None if tiers.is_empty() => WorstDependency::None,
        Some(Tier::Edge) => WorstDependency::Known(Tier::Edge),
        _ if tiers.contains(&None) => WorstDependency::Unknown,
        Some(tier) => WorstDependency::Known(*tier),
        None => WorstDependency::Unknown,
    }
}

/// The inputs that a protocol's registry row states, without its dependencies.
fn registered(protocol: &ProtocolRow, now: Timestamp) -> Result<PlatformInput, StoreError> {
    let strategy = protocol.strategy.as_deref().map(|text| decode_enum("protocol.strategy", text)).transpose()?;
    Ok(PlatformInput {
        version_age_days: protocol.version_deployed_at.map(|at| days(at, now)),
        audits: protocol.audits.and_then(|audits| u32::try_from(audits).ok()),
        newest_audit_days: protocol.newest_audit_at.map(|at| days(at, now)),
        bounty_usd: protocol.bounty_usd.map(dollars),
        strategy,
        protocol_tvl_usd: protocol.tvl_usd.map(dollars),
        ..PlatformInput::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_dependency_is_worse_than_core_and_better_than_edge() {
        let known = WorstDependency::Known;
        assert_eq!(worst(&[]), WorstDependency::None);
        assert_eq!(worst(&[Some(Tier::Prime), Some(Tier::Core)]), known(Tier::Core));
        assert_eq!(worst(&[Some(Tier::Core), None]), WorstDependency::Unknown);
        assert_eq!(worst(&[None, Some(Tier::Edge)]), known(Tier::Edge));
        assert_eq!(worst(&[None]), WorstDependency::Unknown);
    }
}
