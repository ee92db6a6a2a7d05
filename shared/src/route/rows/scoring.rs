//! The methodology and research: parameters and rows.

use crate::model::spelling;
use crate::route::param::{OnOverflow, Param};
use crate::route::typed::kinds::*;
use crate::route::typed::params;

/// An id or a version has at most so many characters.
const NAME_CHARS: usize = 120;
/// Rows of an answer where none are asked for.
const USUAL_ROWS: i64 = 50;

const LIMIT: &str = "Rows, newest first; a greater number counts as the maximum.";

params! {
    ResearchLimit: Count = Param::int("limit", 1, 100, USUAL_ROWS, OnOverflow::Clamp, LIMIT);
    SourceLimit: Count = Param::int("limit", 1, 500, 100, OnOverflow::Clamp, LIMIT);
    ModelVersion: Text = Param::text("model_version", NAME_CHARS, "One version of the methodology, exactly; another one matches nothing.");
    Level: Word = Param::choice("level", &["public", "beta"], "How firmly a claim is made.").default("public");
    Surface: Text = Param::text("surface", NAME_CHARS, "Where a claim is made: the name of one family of routes.");
    PredictedVault: Text = Param::text("vault_id", NAME_CHARS, "One vault, by its id.").written(spelling::VAULT_ID);
    PredictionOutcome: Choice = Param::choice("outcome", &["pending", "loss", "no_loss", "unobserved"], "What became of it.");
    Horizon: Choice = Param::choice("horizon", &["7d", "30d", "90d"], "How far ahead it looks.");
    BacktestOutcome: Choice = Param::choice("outcome", &["price_loss", "incident"], "What counts as a loss in it.");
}

macro_rules! scoring_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            Methodology: Get "/v1/methodology" {
                access: Public, family: Public, cache: Cache::public(300), tags: [Research],
                query: [], answers: "Data<Methodology>", errors: [],
                about: "The rules in force as data: weights, caps, overlays, thresholds, tiers. With a vault's detail they are all that its score is made of.",
            }
            ValidationReports: Get "/v1/research/validation-reports" {
                access: Public, family: Public, cache: Cache::public(60), tags: [Research],
                query: [ModelVersion, ResearchLimit], answers: "WithMeta<Vec<Recorded<ValidationReport>>, ResearchMeta>", errors: [],
                about: "What was found when the model was put to the test, with what stood in the way of finding more.",
            }
            Claims: Get "/v1/research/claims" {
                access: Public, family: Public, cache: Cache::public(60), tags: [Research],
                query: [Level, Surface, ResearchLimit], answers: "WithMeta<Vec<Recorded<Claim>>, ResearchMeta>", errors: [],
                about: "What the service says of itself, each with the rows that it was checked against.",
            }
            ResearchSources: Get "/v1/research/sources" {
                access: Public, family: Public, cache: Cache::public(60), tags: [Research],
                query: [SourceLimit], answers: "WithMeta<Vec<Recorded<Source>>, ResearchMeta>", errors: [],
                about: "Where the facts come from: how many of which kind, and from when.",
            }
            Predictions: Get "/v1/research/predictions" {
                access: Public, family: Public, cache: Cache::public(60), tags: [Research], scores: true,
                query: [PredictedVault, PredictionOutcome, Horizon, ResearchLimit], answers: "WithMeta<Vec<Prediction>, ResearchMeta>", errors: [AddressNamespaceMismatch],
                about: "Scores written down before their window began, and what became of them. A preview; not investment guidance.",
            }
            Backtests: Get "/v1/research/backtests" {
                access: Public, family: Public, cache: Cache::public(60), tags: [Research],
                query: [ModelVersion, BacktestOutcome, ResearchLimit], answers: "WithMeta<Vec<Recorded<Backtest>>, ResearchMeta>", errors: [],
                about: "Whether low values preceded losses, with method and weakness in the row. A preview; not investment guidance.",
            }
            ModelHealth: Get "/v1/research/model-health" {
                access: Public, family: Public, cache: Cache::public(60), tags: [Research],
                query: [ResearchLimit], answers: "WithMeta<Vec<Recorded<ModelHealth>>, ResearchMeta>", errors: [],
                about: "How well the model is fed and how still it stands: coverage, freshness, overrides, moves. A preview.",
            }
        }
    };
}

pub(in crate::route) use scoring_rows;
