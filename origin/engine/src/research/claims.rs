//! Claims of the service about itself, checked against the stored rows. A claim that any row contradicts is not shown.

use super::backtests::Tried;
use super::records::Kept;
use rds_shared::model::research::{Claim, Level, Signal};
use rds_shared::research::gates::{self, Unmet};
use rds_shared::research::outcome::OutcomeKind;
use rds_shared::research::{Horizon, Verdict};
use rds_shared::rules::tiers::{CORE_FLOOR, PRIME_FLOOR, SCORE_STEP};
use rds_shared::scoring::METHODOLOGY_VERSION;
use rds_store::research::facts::{self, Checked};
use rds_store::{StoreError, Tx};

/// Checks every claim.
pub async fn run(tx: &mut Tx<'_>, tried: &[Tried], kept: &mut Kept) -> Result<(), StoreError> {
    let tiers = facts::tiers_off(tx, CORE_FLOOR.get(), PRIME_FLOOR.get()).await?;
    let caps = facts::scores_above_caps(tx, SCORE_STEP).await?;
    let inputs = facts::inputs_without_source(tx).await?;
    let of_rows = [
        (
            "tier-follows-score",
            "vaults",
            "The published tier of every vault is the tier that its published score belongs to.",
            "Every published score of a served chain is compared with the floors of the tiers.",
            "The check does not show that the score itself is right.",
            tiers,
        ),
        (
            "no-strength-lifts-a-cap",
            "vault-detail",
            "No vault's raw score is above its weighted sum, or above any cap that is listed for it. A published score exceeds the raw one only by less than 0.05, or while a demotion waits for its dwell.",
            "The latest raw score of every scored vault is compared with the weighted sum and the caps in its provenance, and with the published score where no tier change waits for its dwell.",
            "The check does not detect a cap that should be listed and is missing.",
            caps,
        ),
        (
            "required-inputs-have-a-source",
            "vault-detail",
            "Every score states the source and the date of each required input.",
            "Version age, audits and strategy are looked up in the provenance of every scored vault.",
            "A stated source may be wrong.",
            inputs,
        ),
    ];
    for (key, surface, statement, method, weakness, Checked { checked, violations }) in of_rows {
        let (checked, violations) = (checked.unsigned_abs(), violations.unsigned_abs());
        let claim = Claim {
            level: Level::Public,
            surface: surface.into(),
            statement: statement.into(),
            model_version: METHODOLOGY_VERSION.into(),
            checked,
            violations,
            method: method.into(),
            weaknesses: vec![weakness.to_owned()],
        };
        kept.claim(tx, key, &claim, gates::claim(checked, violations)).await?;
    }
    foreseen(tx, tried, kept).await
}

/// The claim that published scores precede losses. It is shown only if the backtest of the published score passes its gate and finds that
/// vaults with lower scores lost more often.
async fn foreseen(tx: &mut Tx<'_>, tried: &[Tried], kept: &mut Kept) -> Result<(), StoreError> {
    let asked = (Signal::PublishedScore, OutcomeKind::PriceLoss, Horizon::Month);
    let Some(backtest) = tried.iter().find(|one| (one.row.signal, one.row.outcome, one.row.horizon) == asked) else {
        return Ok(());
    };
    let shown = backtest.is_public() && backtest.found.verdict() == Some(Verdict::LowerLostMore);
    let claim = Claim {
        level: Level::Beta,
        surface: "research".into(),
        statement: "Vaults with lower published scores lost more often within the next 30 days.".into(),
        model_version: METHODOLOGY_VERSION.into(),
        checked: backtest.row.samples,
        violations: 0,
        method: "The backtest of published_score against price_loss over 30d passes its gate, and the whole interval of its auc lies above 0.5.".into(),
        weaknesses: vec!["The result shows which of two vaults was more likely to have a loss, not how likely a loss was.".to_owned()],
    };
    kept.claim(tx, "low-scores-precede-losses", &claim, if shown { Vec::new() } else { vec![Unmet::NotShown] }).await
}
