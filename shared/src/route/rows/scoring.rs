//! The methodology and research: parameters and rows.

use crate::model::spelling;
use crate::route::param::{OnOverflow, Param};
use crate::route::typed::kinds::*;
use crate::route::typed::params;

/// Maximum length of an id or a version, in characters.
const MAX_NAME_CHARS: usize = 120;
const DEFAULT_ROWS: i64 = 50;

const LIMIT_ABOUT: &str = "Maximum number of rows, newest first; a larger number counts as the maximum.";

params! {
    ResearchLimit: Count = Param::int("limit", 1, 100, DEFAULT_ROWS, OnOverflow::Clamp, LIMIT_ABOUT);
    SourceLimit: Count = Param::int("limit", 1, 500, 100, OnOverflow::Clamp, LIMIT_ABOUT);
    ModelVersion: Text = Param::text("model_version", MAX_NAME_CHARS, "Only rows of this methodology version. The version must match exactly; an unknown \
        version matches nothing.");
    Level: Word = Param::choice("level", &["public", "beta"], "Only claims of this level: `public` for firm claims, `beta` for preliminary \
        ones.").default("public");
    Surface: Text = Param::text("surface", MAX_NAME_CHARS, "Only claims made by this group of routes, such as `vaults`.");
    PredictedVault: Text = Param::text("vault_id", MAX_NAME_CHARS, "Only predictions for the vault with this id.").pattern(spelling::VAULT_ID);
    PredictionOutcome: Choice = Param::choice("outcome", &["pending", "loss", "no_loss", "unobserved"], "Only predictions with this outcome: `pending` until \
        it is known, `loss` or `no_loss`, and `unobserved` if the price was not read well enough to tell.");
    Horizon: Choice = Param::choice("horizon", &["7d", "30d", "90d"], "Only predictions with a window of this length.");
    BacktestOutcome: Choice = Param::choice("outcome", &["price_loss", "incident"], "Only backtests in which this counts as a loss: `price_loss` is a fall of \
        the price per share, `incident` a published incident.");
}

macro_rules! scoring_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            Methodology: Get "/v1/methodology" {
                access: Public, rate_limit_class: Public, cache: Cache::public(300), tags: [Research],
                query: [], answers: "Data<Methodology>", errors: [],
                about: "The scoring rules in force as data: weights, caps, overlays, thresholds and tiers. With these rules and a vault's detail, its score \
                       can be recomputed.",
            }
            ValidationReports: Get "/v1/research/validation-reports" {
                access: Public, rate_limit_class: Public, cache: Cache::public(60), tags: [Research],
                query: [ModelVersion, ResearchLimit], answers: "WithMeta<Vec<Recorded<ValidationReport>>, ResearchMeta>", errors: [],
                about: "Results of tests of the scoring model, with the limitations of each.",
            }
            Claims: Get "/v1/research/claims" {
                access: Public, rate_limit_class: Public, cache: Cache::public(60), tags: [Research],
                query: [Level, Surface, ResearchLimit], answers: "WithMeta<Vec<Recorded<Claim>>, ResearchMeta>", errors: [],
                about: "Claims that the service makes about its own data, each with the number of rows that it was checked against.",
            }
            ResearchSources: Get "/v1/research/sources" {
                access: Public, rate_limit_class: Public, cache: Cache::public(60), tags: [Research],
                query: [SourceLimit], answers: "WithMeta<Vec<Recorded<Source>>, ResearchMeta>", errors: [],
                about: "Sources of the facts, each with the number and age of its facts by kind.",
            }
            Predictions: Get "/v1/research/predictions" {
                access: Public, rate_limit_class: Public, cache: Cache::public(60), tags: [Research], scores: true,
                query: [PredictedVault, PredictionOutcome, Horizon, ResearchLimit], answers: "WithMeta<Vec<Prediction>, ResearchMeta>", errors: [AddressNamespaceMismatch],
                about: "Scores that were recorded before their window began, with their outcomes. A preview; not investment guidance.",
            }
            Backtests: Get "/v1/research/backtests" {
                access: Public, rate_limit_class: Public, cache: Cache::public(60), tags: [Research],
                query: [ModelVersion, BacktestOutcome, ResearchLimit], answers: "WithMeta<Vec<Recorded<Backtest>>, ResearchMeta>", errors: [],
                about: "Tests of whether low values preceded losses, each with its method and limitations. A preview; not investment guidance.",
            }
            ModelHealth: Get "/v1/research/model-health" {
                access: Public, rate_limit_class: Public, cache: Cache::public(60), tags: [Research],
                query: [ResearchLimit], answers: "WithMeta<Vec<Recorded<ModelHealth>>, ResearchMeta>", errors: [],
                about: "Figures about the model's inputs and its stability: coverage, freshness, overrides and score changes. A preview.",
            }
        }
    };
}

pub(in crate::route) use scoring_rows;
