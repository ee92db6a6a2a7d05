//! Hashes recomputed from published data: positions, findings and the snapshot, which the envelope contains as hashes.
//!
//! Fractions and amounts are read digit by digit. A value that would need rounding is refused, because the signed values were exact.

use crate::input::{Members, Unreadable, bounded, inside, member, members, object, read, unreadable};
use rds_shared::graph::amount::Usd;
use rds_shared::graph::check::{FindingKind, Verdict};
use rds_shared::graph::limits::{Dimension, Limits};
use rds_shared::graph::portfolio::{MAX_POSITIONS, Portfolio};
use rds_shared::model::content_hash::ContentHash;
use rds_shared::model::ids::VaultKey;
use rds_shared::scoring::canonical::{Canonical, Canonicalize};
use rds_shared::scoring::decimal::wide_from_json;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// A check's request body, or its positions alone.
pub struct Request {
    /// The positions, merged by vault.
    pub portfolio: Portfolio,
    /// The caller's reference; `None` if only positions were given.
    pub reference: Option<String>,
    /// The limits; `None` if only positions were given.
    pub limits: Option<Limits>,
}

impl Request {
    pub fn read(text: &str) -> Result<Self, Unreadable> {
        let listed = serde_json::from_str::<Vec<&RawValue>>(bounded(text)?);
        let members = match listed {
            Ok(_) => Members::default(),
            Err(_) => object(text)?,
        };
        let items = listed.ok().or_else(|| member(&members, "positions"));
        let Some(items) = items else { return unreadable("it must have a list `positions`") };
        if items.len() > MAX_POSITIONS {
            return unreadable(format!("it must have at most {MAX_POSITIONS} positions"));
        }
        let positions = items.into_iter().enumerate().map(|(place, item)| position(place, item));
        let positions = positions.collect::<Result<Vec<_>, _>>()?;
        let portfolio = Portfolio::new(positions).map_err(|error| Unreadable(format!("`positions` {error}")))?;
        let reference: Option<String> = member(&members, "portfolioRef");
        // A request body without `limits` sets no limits.
        let limits =
            if reference.is_some() || members.get("limits").is_some() { Some(limits(&members)?) } else { None };
        Ok(Request { portfolio, reference, limits })
    }
}

fn position(place: usize, item: &RawValue) -> Result<(VaultKey, Usd), Unreadable> {
    let fault = |name: &str| Unreadable(format!("`positions[{place}].{name}` is missing or invalid"));
    let members =
        members(item.get()).map_err(|why| Unreadable(format!("`positions[{place}]` cannot be read: {why}")))?;
    let vault = member::<String>(&members, "vaultKey").and_then(|text| VaultKey::parse(&text));
    let amount = members.get("amountUsd").and_then(|amount| match read::<String>(amount) {
        Some(exact) => Usd::parse(&exact),
        None => Usd::from_json(amount.get()).ok(),
    });
    Ok((vault.ok_or_else(|| fault("vaultKey"))?, amount.ok_or_else(|| fault("amountUsd"))?))
}

fn limits(body: &Members<'_>) -> Result<Limits, Unreadable> {
    let mut limits = Limits::default();
    let Some(given) = body.get("limits").map(RawValue::get).filter(|text| *text != "null") else {
        return Ok(limits);
    };
    let given = members(given).map_err(|why| Unreadable(format!("`limits` cannot be read: {why}")))?;
    for (field, value) in given.iter() {
        let fault = || Unreadable(format!("`limits.{field}` is not a valid limit"));
        limits.set(field, value.get()).map_err(|_| fault())?;
    }
    Ok(limits)
}

/// The findings of a check's answer.
pub struct Found {
    /// The hash to compare with the envelope's `findingsHash`.
    pub hash: ContentHash,
    pub findings: usize,
    /// Number of unresolved vaults.
    pub unresolved: usize,
    /// The verdict that follows from the findings and the unresolved vaults.
    pub verdict: Verdict,
}

impl Found {
    pub fn read(members: &Members<'_>) -> Result<Self, Unreadable> {
        let Some(listed) = member::<Vec<&RawValue>>(members, "findings") else {
            return unreadable("it must have a list `findings`");
        };
        let Some(unresolved) = member::<Vec<String>>(members, "unresolvedVaults") else {
            return unreadable("it must have a list `unresolvedVaults`");
        };
        let findings = listed.into_iter().enumerate().map(|(place, item)| finding(place, item));
        let (findings, effects): (Vec<_>, Vec<_>) = findings.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let least = if unresolved.is_empty() { Verdict::Approve } else { Verdict::Caution };
        let counts = (findings.len(), unresolved.len());
        let hash = ContentHash::of(&Canonical::object([
            ("findings", Canonical::list(findings)),
            ("unresolvedVaults", Canonical::list(unresolved.into_iter().map(Canonical::Text))),
        ]));
        Ok(Found { hash, findings: counts.0, unresolved: counts.1, verdict: effects.into_iter().fold(least, Ord::max) })
    }
}

/// A published finding in the form that was hashed, and its effect on the verdict.
fn finding(place: usize, item: &RawValue) -> Result<(Canonical, Verdict), Unreadable> {
    let members =
        members(item.get()).map_err(|why| Unreadable(format!("`findings[{place}]` cannot be read: {why}")))?;
    let fault = |name: &str| Unreadable(format!("`findings[{place}].{name}` is missing or invalid"));
    let text = |name: &str| member::<String>(&members, name).ok_or_else(|| fault(name));
    let ppm = |name: &str| members.get(name).and_then(|number| exact_ppm(number.get())).ok_or_else(|| fault(name));
    let usd = |name: &str| text(name).and_then(|text| Usd::parse(&text).ok_or_else(|| fault(name)));
    let dimension: Dimension = member(&members, "dimension").ok_or_else(|| fault("dimension"))?;
    let kind: FindingKind = member(&members, "kind").ok_or_else(|| fault("kind"))?;
    let verified: bool = member(&members, "verified").ok_or_else(|| fault("verified"))?;
    let canonical = Canonical::object([
        ("limit", Canonical::Text(text("limit")?)),
        ("dimension", dimension.as_str().into()),
        ("key", Canonical::Text(text("key")?)),
        ("kind", kind.as_str().into()),
        ("maxSharePpm", ppm("maxShare")?.into()),
        ("sharePpm", ppm("share")?.into()),
        ("usd", usd("usd")?.into()),
        ("verifiedUsd", usd("verifiedUsd")?.into()),
        ("verified", verified.into()),
        ("confidencePpm", ppm("confidence")?.into()),
    ]);
    Ok((canonical, kind.effect()))
}

/// A fraction in parts per million; `None` if it is not a number or has more than six decimals.
fn exact_ppm(number: &str) -> Option<i64> {
    let (millionths, finer) = (wide_from_json(number, 6).ok()?, wide_from_json(number, 18).ok()?);
    (millionths.checked_mul(1_000_000_000_000) == Some(finer)).then(|| i64::try_from(millionths).ok())?
}

/// A published manifest.
pub struct Manifest {
    /// The id that the manifest states.
    pub said: ContentHash,
    /// The hash of its content.
    pub hash: ContentHash,
    /// Number of sets of facts in it.
    pub bodies: usize,
}

/// The hashed part of a manifest. Members are in alphabetical order, as canonical JSON requires.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Frozen {
    cursors: BTreeMap<String, Option<String>>,
    publications: Vec<Publication>,
    v: u8,
    valid_time: Option<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Publication {
    content_hash: String,
    name: String,
    rows: u64,
}

impl Manifest {
    pub fn read(text: &str) -> Result<Self, Unreadable> {
        let members = object(text)?;
        let fault = |name: &str| Unreadable(format!("`{name}` is missing or invalid"));
        let said = member::<String>(&members, "snapshotId").and_then(|text| ContentHash::parse(&text));
        let publications: Vec<Publication> = member(&members, "publications").ok_or_else(|| fault("publications"))?;
        let bodies = publications.len();
        let cursors: Option<_> = inside(&members, "cursors")?
            .and_then(|cursors| cursors.iter().map(|(name, at)| Some((name.to_owned(), read(at)?))).collect());
        let frozen = Frozen {
            cursors: cursors.ok_or_else(|| fault("cursors"))?,
            publications,
            v: 1,
            valid_time: member(&members, "validTime").ok_or_else(|| fault("validTime"))?,
        };
        let canonical = serde_json::to_string(&frozen).map_err(|error| Unreadable(error.to_string()))?;
        Ok(Manifest { said: said.ok_or_else(|| fault("snapshotId"))?, hash: ContentHash::of_text(&canonical), bodies })
    }
}

/// Limits in the envelope's form.
pub fn written(limits: &Limits) -> String {
    limits.canonical().to_string()
}
