//! The history vector: a vault's age, its incidents, and its stability.

use super::HistoryInput;
use crate::scoring::number::{MilliPoints, cents, milli};
use crate::scoring::{decay, tables};

/// The history vector. An unknown age counts as 0 days; with an unknown drawdown, stability starts from 5.00 points.
pub(super) fn score(input: &HistoryInput) -> MilliPoints {
    let seasoning = decay::SEASONING.grown(input.vault_age_days.unwrap_or(0));
    let parts = [seasoning, incidents(input), stability(input)];
    let weighted = tables::HISTORY_WEIGHTS.iter().zip(parts).map(|(weight, part)| weight * part.wide());
    cents(weighted.sum(), 100)
}

fn incidents(input: &HistoryInput) -> MilliPoints {
    let losses = input
        .incidents
        .iter()
        .map(|incident| tables::incident_loss(incident.class).wide() * decay::INCIDENT.after(incident.age_days));
    let lost = milli(losses.fold(0, u128::saturating_add), decay::ONE);
    MilliPoints::MAX.offset(-lost.get())
}

fn stability(input: &HistoryInput) -> MilliPoints {
    let base = input.drawdown_bp.map_or(tables::STABILITY_UNKNOWN.get(), |drawdown| {
        let lost = tables::DRAWDOWN_LOSS_PER_BP * drawdown.min(tables::DRAWDOWN_TAKES_ALL_BP);
        MilliPoints::MAX.get() - lost.cast_signed()
    });
    let busy = if input.high_util_72h { tables::HIGH_UTILIZATION_LOSS } else { 0 };
    let drained = if input.tvl_halved_7d { tables::TVL_HALVED_LOSS } else { 0 };
    MilliPoints::saturating(i64::from(base - busy - drained))
}
