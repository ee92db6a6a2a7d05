//! The parameters of the research routes. Source: interface, "Research".

use super::param::{OnOverflow, Param};
use crate::model::spelling;

/// An id or a version has at most so many characters.
const NAME_CHARS: usize = 120;
/// Rows of an answer where none are asked for.
const USUAL_ROWS: i64 = 50;

const LIMIT: &str = "Rows, newest first; a greater number counts as the maximum.";

pub(super) const RESEARCH_LIMIT: Param = Param::int("limit", 1, 100, USUAL_ROWS, OnOverflow::Clamp, LIMIT);
pub(super) const SOURCE_LIMIT: Param = Param::int("limit", 1, 500, 100, OnOverflow::Clamp, LIMIT);
pub(super) const MODEL_VERSION: Param =
    Param::text("model_version", NAME_CHARS, "One version of the methodology, exactly; another one matches nothing.");
pub(super) const LEVEL: Param =
    Param::choice("level", &["public", "beta"], "How firmly a claim is made.").default("public");
pub(super) const SURFACE: Param =
    Param::text("surface", NAME_CHARS, "Where a claim is made: the name of one family of routes.");
pub(super) const PREDICTED_VAULT: Param =
    Param::text("vault_id", NAME_CHARS, "One vault, by its id.").written(spelling::VAULT_ID);
pub(super) const PREDICTION_OUTCOME: Param =
    Param::choice("outcome", &["pending", "loss", "no_loss", "unobserved"], "What became of it.");
pub(super) const HORIZON: Param = Param::choice("horizon", &["7d", "30d", "90d"], "How far ahead it looks.");
pub(super) const BACKTEST_OUTCOME: Param =
    Param::choice("outcome", &["price_loss", "incident"], "What counts as a loss in it.");
