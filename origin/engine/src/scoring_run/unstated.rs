//! The inputs of protocols that scores lack, by the same functions that fill the inputs of a score.

use super::inputs::{Market, Sources};
use rds_shared::scoring::rubric::ProtocolInput;
use rds_shared::scoring::vault::{ControlInput, Exit, PlatformInput, Signers, Source, Timelock};
use rds_shared::wire::Timestamp;
use rds_store::scoring::{self, ProtocolRow, VaultRow, evidence_value};
use rds_store::{StoreError, Tx};
use std::collections::{BTreeMap, BTreeSet};

/// The inputs of every protocol with active vaults that its registry row leaves unknown and that at least one active vault does not state
/// itself.
///
/// Inputs of the control vector with an answer about the protocol are in the set, because that answer may have aged. The caller removes
/// those whose answer counts as evidence.
pub async fn unstated_inputs(
    tx: &mut Tx<'_>,
    now: Timestamp,
) -> Result<BTreeMap<String, BTreeSet<ProtocolInput>>, StoreError> {
    let market = Market::load(tx, now).await?;
    let active = evidence_value::active_vaults(&mut **tx).await?;
    let mut by_protocol: BTreeMap<String, Vec<VaultRow>> = BTreeMap::new();
    for row in scoring::vaults(tx, &active).await? {
        by_protocol.entry(row.protocol_id.clone()).or_default().push(row);
    }
    let mut unstated = BTreeMap::new();
    for (id, vaults) in by_protocol {
        if let Some(protocol) = market.protocols.get(&id) {
            unstated.insert(id, market.unstated(protocol, &vaults)?);
        }
    }
    Ok(unstated)
}

impl Market {
    fn unstated(&self, protocol: &ProtocolRow, vaults: &[VaultRow]) -> Result<BTreeSet<ProtocolInput>, StoreError> {
        let (platform, dependencies) = self.of_protocol(protocol, &mut Sources::default())?;
        let controls = vaults.iter().map(|row| self.own_control(row, &mut Sources::default()));
        let controls = controls.collect::<Result<Vec<_>, _>>()?;
        let known = Known {
            platform,
            has_dependencies: dependencies.is_some(),
            vaults_state_strategy: vaults.iter().all(|row| row.strategy.is_some()),
            controls,
        };
        Ok(ProtocolInput::ALL.iter().copied().filter(|input| known.lacks(*input)).collect())
    }
}

/// What is known of a protocol and its active vaults.
struct Known {
    /// From the protocol's registry row and the answers about it.
    platform: PlatformInput,
    has_dependencies: bool,
    /// Whether every vault has a strategy of its own, which replaces the protocol's.
    vaults_state_strategy: bool,
    /// One for each vault, from its registry row and the answers about the vault.
    controls: Vec<ControlInput>,
}

impl Known {
    fn lacks(&self, input: ProtocolInput) -> bool {
        let Known { platform, controls, .. } = self;
        let is_unknown = |unknown: fn(&ControlInput) -> bool| controls.iter().any(unknown);
        match input {
            // The age of a vault is only a lower bound of its version's age, so it does not close the question.
            ProtocolInput::VersionFirstSeen => platform.version_age_days.is_none(),
            // Audits without a date count as old.
            ProtocolInput::Audit => {
                platform.audits.is_none_or(|audits| audits > 0 && platform.newest_audit_days.is_none())
            }
            ProtocolInput::BountyUsd => platform.bounty_usd.is_none(),
            ProtocolInput::Strategy => platform.strategy.is_none() && !self.vaults_state_strategy,
            ProtocolInput::ProtocolTvlUsd => platform.protocol_tvl_usd.is_none(),
            ProtocolInput::Dependencies => !self.has_dependencies,
            ProtocolInput::Timelock => is_unknown(|it| it.timelock == Timelock::Unknown),
            ProtocolInput::Signers => is_unknown(|it| it.signers == Signers::Unknown),
            ProtocolInput::Exit => is_unknown(|it| it.exit == Exit::Unknown),
            ProtocolInput::Source => is_unknown(|it| it.source == Source::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::scoring::vault::Strategy;

    fn lacking(known: &Known) -> Vec<ProtocolInput> {
        ProtocolInput::ALL.iter().copied().filter(|input| known.lacks(*input)).collect()
    }

    fn control() -> ControlInput {
        ControlInput {
            timelock: Timelock::Seconds(0),
            signers: Signers::Eoa,
            exit: Exit::Instant,
            source: Source::Verified,
        }
    }

    #[test]
    fn what_the_registry_states_is_not_asked() {
        let nothing = Known {
            platform: PlatformInput::default(),
            has_dependencies: false,
            vaults_state_strategy: false,
            controls: vec![ControlInput { exit: Exit::Unknown, ..control() }, control()],
        };
        use ProtocolInput::{Audit, BountyUsd, Dependencies, Exit as Leaves, ProtocolTvlUsd, VersionFirstSeen};
        let all = [VersionFirstSeen, Audit, BountyUsd, ProtocolInput::Strategy, ProtocolTvlUsd, Dependencies, Leaves];
        assert_eq!(lacking(&nothing), all);
        let registered = Known {
            platform: PlatformInput {
                version_age_days: Some(9),
                audits: Some(2),
                newest_audit_days: Some(30),
                bounty_usd: Some(0),
                strategy: Some(Strategy::Savings),
                protocol_tvl_usd: Some(5),
                ..PlatformInput::default()
            },
            has_dependencies: true,
            controls: vec![control()],
            ..nothing
        };
        assert_eq!(lacking(&registered), []);
        let undated = Known {
            platform: PlatformInput { newest_audit_days: None, strategy: None, ..registered.platform },
            vaults_state_strategy: true,
            ..registered
        };
        assert_eq!(lacking(&undated), [Audit]);
    }
}
