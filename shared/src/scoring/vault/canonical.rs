//! A vault's inputs as canonical JSON, hashed by the score run.

use super::{Exposure, Incident, Signers, Timelock, VaultInput};
use crate::scoring::canonical::{Canonical, Canonicalize};

impl Canonicalize for VaultInput {
    fn canonical(&self) -> Canonical {
        let (platform, control, history) = (&self.platform, &self.control, &self.history);
        Canonical::object([
            ("asset_mode", self.asset_mode.as_str().into()),
            ("deposit_score", self.deposit_score.into()),
            ("deposit_hard_fail", self.deposit_hard_fail.into()),
            ("exposures_status", self.exposures_status.as_str().into()),
            ("exposures", Canonical::list(self.exposures.iter().map(exposure))),
            (
                "platform",
                Canonical::object([
                    ("version_age_days", platform.version_age_days.into()),
                    ("audits", platform.audits.into()),
                    ("newest_audit_days", platform.newest_audit_days.into()),
                    ("bounty_usd", platform.bounty_usd.into()),
                    ("strategy", platform.strategy.map(|strategy| strategy.as_str()).into()),
                    ("protocol_tvl_usd", platform.protocol_tvl_usd.into()),
                    ("worst_dependency", platform.worst_dependency.as_str().into()),
                    ("dependencies", platform.dependencies.into()),
                ]),
            ),
            (
                "control",
                Canonical::object([
                    ("timelock", timelock(control.timelock)),
                    ("signers", signers(control.signers)),
                    ("exit", control.exit.as_str().into()),
                    ("source", control.source.as_str().into()),
                ]),
            ),
            (
                "history",
                Canonical::object([
                    ("vault_age_days", history.vault_age_days.into()),
                    ("incidents", Canonical::list(history.incidents.iter().map(incident))),
                    ("drawdown_bp", history.drawdown_bp.into()),
                    ("high_util_72h", history.high_util_72h.into()),
                    ("tvl_halved_7d", history.tvl_halved_7d.into()),
                ]),
            ),
            ("tvl_usd", self.tvl_usd.into()),
            ("utilization_ppm", self.utilization_ppm.into()),
            ("bad_debt_ppm", self.bad_debt_ppm.into()),
            ("needs_risk_review", self.needs_risk_review.into()),
            ("base_apr_ppm", self.base_apr_ppm.into()),
            ("apr_net_ppm", self.apr_net_ppm.into()),
        ])
    }
}

fn exposure(exposure: &Exposure) -> Canonical {
    Canonical::object([
        ("id", exposure.id.as_str().into()),
        ("share_ppm", exposure.share_ppm.into()),
        ("score", exposure.score.into()),
        ("hard_fail_cap", exposure.hard_fail_cap.into()),
        ("oracle", exposure.oracle.as_str().into()),
        ("lltv_bp", exposure.lltv_bp.into()),
        ("same_peg", exposure.same_peg.into()),
    ])
}

fn incident(incident: &Incident) -> Canonical {
    Canonical::object([
        ("class", incident.class.as_str().into()),
        ("age_days", incident.age_days.into()),
        ("resolved", incident.resolved.into()),
    ])
}

fn timelock(timelock: Timelock) -> Canonical {
    match timelock {
        Timelock::Immutable => "immutable".into(),
        Timelock::Seconds(seconds) => seconds.into(),
        Timelock::Unknown => Canonical::Null,
    }
}

fn signers(signers: Signers) -> Canonical {
    match signers {
        Signers::Immutable => "immutable".into(),
        Signers::Dao => "dao".into(),
        Signers::Eoa => "eoa".into(),
        Signers::Multisig { threshold, owners } => Canonical::list([threshold.into(), owners.into()]),
        Signers::Unknown => Canonical::Null,
    }
}
