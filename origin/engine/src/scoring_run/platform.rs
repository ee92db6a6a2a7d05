//! The inputs of the platform vector, and what answers add to those of the control vector.
//!
//! A vault's own answer counts before its registry row, that before an answer about its protocol, and that before the protocol's registry
//! row.

use super::inputs::{Market, Sources, days, dollars, first_seen, registered_control};
use rds_facts::ProtocolAnswer;
use rds_shared::rules::tiers::Tier;
use rds_shared::scoring::provenance::InputField;
use rds_shared::scoring::rubric::{Dated, ProtocolFacts};
use rds_shared::scoring::vault::{
    ControlInput, Exit, PlatformInput, Signers, Source, Timelock, WorstDependency, dependency_factor_bp,
    platform_sum_tier,
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
        let (mut input, mut dependencies) = self.of_protocol(protocol, from)?;
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
        if let Some(dependencies) = dependencies {
            (input.worst_dependency, input.dependencies) = self.rated(&dependencies)?;
        } else {
            self.lapsed_dependencies(row, &mut input, from)?;
        }
        Ok(input)
    }

    /// Applies aged or withdrawn lists of dependencies if they lower the score more than unknown dependencies do, so that neither ageing
    /// nor a withdrawal raises a score. Lists about the vault count before those about its protocol.
    fn lapsed_dependencies(
        &self,
        row: &VaultRow,
        input: &mut PlatformInput,
        from: &mut Sources,
    ) -> Result<(), StoreError> {
        let lapsed = [&row.id, &row.protocol_id].into_iter().find_map(|subject| {
            let Dated { value, observed_at } = self.answered.get(subject)?.lapsed_dependencies.as_ref()?;
            Some((subject, value, *observed_at))
        });
        let Some((subject, dependencies, observed_at)) = lapsed else { return Ok(()) };
        let (worst, count) = self.rated(dependencies)?;
        if dependency_factor_bp(worst, count) < dependency_factor_bp(input.worst_dependency, input.dependencies) {
            (input.worst_dependency, input.dependencies) = (worst, count);
            from.note(&[InputField::WorstDependency, InputField::Dependencies], &cited(subject), At(observed_at));
        }
        Ok(())
    }

    /// The worst of these dependencies, and their number.
    fn rated(&self, dependencies: &[String]) -> Result<(WorstDependency, u32), StoreError> {
        let mut tiers = Vec::new();
        for dependency in dependencies.iter().filter_map(|id| self.protocols.get(id)) {
            tiers.push(platform_sum_tier(&self.of_protocol(dependency, &mut Sources::default())?.0));
        }
        Ok((worst(&tiers), u32::try_from(dependencies.len()).unwrap_or(u32::MAX)))
    }

    /// The inputs that the protocol's registry row and the answers about it give, and its dependencies, which are `None` if unknown.
    pub(super) fn of_protocol(
        &self,
        protocol: &ProtocolRow,
        from: &mut Sources,
    ) -> Result<(PlatformInput, Option<Vec<String>>), StoreError> {
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
        if let Some(facts) = self.answered.get(&protocol.id) {
            self.answer(facts, &protocol.id, &mut input, &mut dependencies, from);
        }
        Ok((input, dependencies))
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

    /// The inputs of the vault's control vector. An answer about its protocol fills what the vault itself leaves unknown.
    pub(super) fn control(&self, row: &VaultRow, from: &mut Sources) -> Result<ControlInput, StoreError> {
        let mut input = self.own_control(row, from)?;
        self.answer_control(&row.protocol_id, false, &mut input, from);
        Ok(input)
    }

    /// The control inputs that the vault's registry row and the answers about the vault give; an answer replaces the row's value.
    pub(super) fn own_control(&self, row: &VaultRow, from: &mut Sources) -> Result<ControlInput, StoreError> {
        let mut input = registered_control(row, from)?;
        self.answer_control(&row.id, true, &mut input, from);
        Ok(input)
    }

    /// Fills inputs of the control vector from answers about `subject`: all answered inputs if an answer `replaces` what is known, otherwise
    /// only the unknown ones.
    fn answer_control(&self, subject: &str, replaces: bool, input: &mut ControlInput, from: &mut Sources) {
        let Some(facts) = self.answered.get(subject) else { return };
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
