//! The published inputs of a score, read back into the form that the scoring takes.

use super::score::number;
use crate::input::{Members, Unreadable, inside, member, members};
use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::vault::{
    AssetMode, ControlInput, Exposure, HistoryInput, Incident, Oracle, PlatformInput, Signers, Timelock, VaultInput,
    WorstDependency,
};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::str::FromStr;

/// Decimal places of scores, basis points and parts per million.
const SCORE: u32 = 3;
const BASIS_POINTS: u32 = 4;
const PPM: u32 = 6;

/// Reads `score_provenance.inputs`. Nothing has a default: an input that is missing is an error that names it.
pub fn read(inputs: &Members<'_>) -> Result<VaultInput, Unreadable> {
    let group = |name: &'static str| {
        let members = inside(inputs, name)?.ok_or_else(|| fault(name))?;
        Ok::<_, Unreadable>(Group { name, members })
    };
    let (asset, platform, control) = (group("asset")?, group("platform")?, group("control")?);
    let (history, caps, flags) = (group("history")?, group("caps")?, group("flags")?);
    let asset_mode: AssetMode = named(&asset.members, "asset_mode").ok_or_else(|| asset.fault("asset_mode"))?;
    let is_lending = asset_mode == AssetMode::Lending;
    Ok(VaultInput {
        deposit_score: if is_lending { asset.score("deposit_score")? } else { None },
        deposit_hard_fail: is_lending && asset.value("deposit_hard_fail")?,
        exposures_status: asset.named("exposures_status")?,
        exposures: asset.list("exposures", |members| exposure(members, is_lending))?,
        platform: PlatformInput {
            version_age_days: platform.value("version_age_days")?,
            audits: platform.value("audits")?,
            newest_audit_days: platform.value("newest_audit_days")?,
            bounty_usd: platform.value("bounty_usd")?,
            strategy: platform.value::<Option<String>>("strategy")?.map(|_| platform.named("strategy")).transpose()?,
            protocol_tvl_usd: platform.value("protocol_tvl_usd")?,
            worst_dependency: worst_dependency(&platform)?,
            dependencies: platform.value("dependencies")?,
        },
        control: ControlInput {
            timelock: timelock(&control)?,
            signers: signers(&control)?,
            exit: control.named("exit")?,
            source: control.named("source")?,
        },
        history: HistoryInput {
            vault_age_days: history.value("vault_age_days")?,
            incidents: history.list("incidents", incident)?,
            drawdown_bp: history.scaled("drawdown", BASIS_POINTS)?,
            high_util_72h: history.value("high_util_72h")?,
            tvl_halved_7d: history.value("tvl_halved_7d")?,
        },
        tvl_usd: caps.value("tvl_usd")?,
        utilization_ppm: caps.scaled("utilization", PPM)?,
        bad_debt_ppm: caps.scaled("bad_debt", PPM)?,
        needs_risk_review: caps.value("needs_risk_review")?,
        base_apr_ppm: flags.scaled("base_apr", PPM)?,
        apr_net_ppm: flags.scaled("apr_net", PPM)?,
        ..VaultInput::new(asset_mode)
    })
}

/// The inputs of one vector.
struct Group<'a> {
    name: &'static str,
    members: Members<'a>,
}

impl<'a> Group<'a> {
    fn fault(&self, name: &str) -> Unreadable {
        fault(&format!("{}.{name}", self.name))
    }

    /// The text of an input's `value`.
    fn raw(&self, name: &str) -> Result<&'a RawValue, Unreadable> {
        let input = inside(&self.members, name)?.ok_or_else(|| self.fault(name))?;
        input.get("value").ok_or_else(|| self.fault(name))
    }

    fn value<T: DeserializeOwned>(&self, name: &str) -> Result<T, Unreadable> {
        serde_json::from_str(self.raw(name)?.get()).map_err(|_| self.fault(name))
    }

    fn named<T: FromStr>(&self, name: &str) -> Result<T, Unreadable> {
        self.value::<String>(name)?.parse().map_err(|_| self.fault(name))
    }

    fn scaled<T: TryFrom<i128>>(&self, name: &str, scale: u32) -> Result<Option<T>, Unreadable> {
        scaled(Some(self.raw(name)?), scale).ok_or_else(|| self.fault(name))
    }

    fn score(&self, name: &str) -> Result<Option<MilliPoints>, Unreadable> {
        score(Some(self.raw(name)?)).ok_or_else(|| self.fault(name))
    }

    fn list<T>(&self, name: &str, item: impl Fn(&Members<'_>) -> Option<T>) -> Result<Vec<T>, Unreadable> {
        let listed: Vec<Members<'_>> = member(&self.members, name).ok_or_else(|| self.fault(name))?;
        let read = |(place, members)| item(members).ok_or_else(|| self.fault(&format!("{name}[{place}]")));
        listed.iter().enumerate().map(read).collect()
    }
}

fn fault(name: &str) -> Unreadable {
    Unreadable(format!("`{name}` is missing or invalid"))
}

/// A value of a vocabulary.
fn named<T: FromStr>(members: &Members<'_>, name: &str) -> Option<T> {
    member::<String>(members, name)?.parse().ok()
}

/// A number of this scale, or null; `None` if it is neither.
fn scaled<T: TryFrom<i128>>(value: Option<&RawValue>, scale: u32) -> Option<Option<T>> {
    match number(value, scale)? {
        None => Some(None),
        Some(units) => T::try_from(units).ok().map(Some),
    }
}

fn score(value: Option<&RawValue>) -> Option<Option<MilliPoints>> {
    match scaled::<i32>(value, SCORE)? {
        None => Some(None),
        Some(milli) => MilliPoints::new(milli).map(Some),
    }
}

fn exposure(members: &Members<'_>, is_lending: bool) -> Option<Exposure> {
    Some(Exposure {
        id: member(members, "id")?,
        share_ppm: scaled(members.get("share"), PPM)??,
        score: score(members.get("score"))?,
        hard_fail_cap: score(members.get("hard_fail_cap"))?,
        oracle: if is_lending { named(members, "oracle")? } else { Oracle::None },
        lltv_bp: if is_lending { scaled(members.get("lltv"), BASIS_POINTS)? } else { None },
        same_peg: is_lending && member(members, "same_peg")?,
    })
}

fn incident(members: &Members<'_>) -> Option<Incident> {
    Some(Incident {
        class: named(members, "class")?,
        age_days: member(members, "age_days")?,
        resolved: member(members, "resolved")?,
    })
}

fn worst_dependency(platform: &Group<'_>) -> Result<WorstDependency, Unreadable> {
    const NAME: &str = "worst_dependency";
    match platform.value::<String>(NAME)?.as_str() {
        "none" => Ok(WorstDependency::None),
        "unknown" => Ok(WorstDependency::Unknown),
        tier => tier.parse().map(WorstDependency::Known).map_err(|_| platform.fault(NAME)),
    }
}

fn timelock(control: &Group<'_>) -> Result<Timelock, Unreadable> {
    const NAME: &str = "timelock_seconds";
    match control.raw(NAME)?.get() {
        "null" => Ok(Timelock::Unknown),
        r#""immutable""# => Ok(Timelock::Immutable),
        _ => control.value(NAME).map(Timelock::Seconds),
    }
}

fn signers(control: &Group<'_>) -> Result<Signers, Unreadable> {
    const NAME: &str = "signers";
    let value = control.raw(NAME)?;
    match value.get() {
        "null" => Ok(Signers::Unknown),
        r#""immutable""# => Ok(Signers::Immutable),
        r#""dao""# => Ok(Signers::Dao),
        r#""eoa""# => Ok(Signers::Eoa),
        multisig => {
            let members = members(multisig).map_err(|_| control.fault(NAME))?;
            let count = |name: &str| member(&members, name).ok_or_else(|| control.fault(NAME));
            Ok(Signers::Multisig { threshold: count("threshold")?, owners: count("owners")? })
        }
    }
}
