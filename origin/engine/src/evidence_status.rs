//! Which questions are open, in the order of the value that depends on their answers.

use rds_facts::{AssetAnswer, ProtocolAnswer};
use rds_shared::scoring::asset::{AssetCategory, Dimension};
use rds_shared::scoring::rubric::{Answer, AssetEvidence, EnteredNumbers, PartState, ProtocolFacts, ProtocolInput};
use rds_shared::scoring::tables::rubric::PROTOCOL_QUESTIONS;
use rds_shared::wire::Timestamp;
use rds_store::assets::{answers, scores};
use rds_store::scoring::evidence_value::{self, DependentValue};
use rds_store::scoring::protocol_answers;
use rds_store::{Db, StoreError, decode_enum};
use serde::Serialize;
use std::collections::HashMap;

/// An open question about an asset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenQuestion {
    /// `dimension.question` of an asset, or the input of a protocol.
    pub question: String,
    /// Why it is open: `unknown`, `aged` or `withdrawn`.
    pub state: PartState,
    /// Part of the asset's score that it decides, in hundredths of a percent; 0 for a protocol.
    pub weight: u32,
}

/// A subject with its open questions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpenSubject {
    /// `asset` or `protocol`.
    pub kind: &'static str,
    pub id: String,
    /// Observed TVL of the active vaults that depend on it, in USD.
    pub tvl_usd: f64,
    /// Number of these vaults.
    pub vaults: i64,
    /// Number of these vaults without a score.
    pub unscored: i64,
    /// Whether the asset has none of the methodology's categories, so that no question can be asked.
    pub lacks_category: bool,
    /// Heaviest first.
    pub open: Vec<OpenQuestion>,
}

/// The subjects with open questions as of `now`, those with the most dependent value first.
pub async fn open_subjects(db: &Db, now: Timestamp) -> Result<Vec<OpenSubject>, StoreError> {
    let mut tx = db.snapshot().await?;
    let mut categories = HashMap::new();
    for row in scores::load(&mut tx).await? {
        let category: AssetCategory = decode_enum("asset.category", &row.category)?;
        categories.insert(row.id, category);
    }
    let about_assets = answers::all(&mut *tx).await?;
    let about_protocols = protocol_answers::all(&mut *tx).await?;
    let mut subjects = Vec::new();
    for value in evidence_value::of_assets(&mut *tx).await? {
        let Some(category) = categories.get(&value.id) else { continue };
        let given = about_assets.get(&value.id).map(Vec::as_slice).unwrap_or_default();
        let lacks_category = *category == AssetCategory::Unreviewed;
        subjects.push(subject("asset", value, lacks_category, open_of_asset(*category, given, now)));
    }
    for value in evidence_value::of_protocols(&mut *tx).await? {
        let given = about_protocols.get(&value.id).map(Vec::as_slice).unwrap_or_default();
        subjects.push(subject("protocol", value, false, open_of_protocol(given, now)));
    }
    subjects.retain(|it| it.lacks_category || !it.open.is_empty());
    subjects.sort_by(|a, b| b.tvl_usd.total_cmp(&a.tvl_usd).then(b.vaults.cmp(&a.vaults)).then(a.id.cmp(&b.id)));
    Ok(subjects)
}

fn subject(kind: &'static str, value: DependentValue, lacks_category: bool, open: Vec<OpenQuestion>) -> OpenSubject {
    let DependentValue { id, tvl_usd, vaults, unscored } = value;
    OpenSubject { kind, id, tvl_usd, vaults, unscored, lacks_category, open }
}

fn open_of_asset(category: AssetCategory, given: &[AssetAnswer], now: Timestamp) -> Vec<OpenQuestion> {
    let answers: Vec<(Dimension, Answer<'_>)> = given.iter().map(|one| (one.dimension, one.sourced().answer)).collect();
    let evidence = AssetEvidence::new(category, &EnteredNumbers::default(), &answers, now);
    let mut open: Vec<OpenQuestion> = Vec::new();
    for it in &evidence.dimensions {
        for part in it.outcome.parts.iter().filter(|part| !part.state.is_known()) {
            open.push(OpenQuestion {
                question: format!("{}.{}", it.dimension, part.question.id),
                state: part.state,
                weight: u32::from(it.weight) * u32::from(part.question.weight),
            });
        }
    }
    open.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.question.cmp(&b.question)));
    open
}

fn open_of_protocol(given: &[ProtocolAnswer], now: Timestamp) -> Vec<OpenQuestion> {
    let evaluated: Vec<_> = given.iter().filter_map(ProtocolAnswer::evaluated).collect();
    let facts = ProtocolFacts::new(&evaluated, now);
    let is_known = |input: ProtocolInput| match input {
        ProtocolInput::VersionFirstSeen => facts.version_first_seen.is_some(),
        ProtocolInput::Audit => facts.audits.is_some(),
        ProtocolInput::BountyUsd => facts.bounty_usd.is_some(),
        ProtocolInput::Strategy => facts.strategy.is_some(),
        ProtocolInput::ProtocolTvlUsd => facts.protocol_tvl_usd.is_some(),
        ProtocolInput::Dependencies => facts.dependencies.is_some(),
        ProtocolInput::Timelock => facts.timelock.is_some(),
        ProtocolInput::Signers => facts.signers.is_some(),
        ProtocolInput::Exit => facts.exit.is_some(),
        ProtocolInput::Source => facts.source.is_some(),
    };
    let state = |input: ProtocolInput| {
        if given.iter().any(|one| one.input == input) { PartState::Aged } else { PartState::Unknown }
    };
    let asked = PROTOCOL_QUESTIONS.iter().map(|question| question.input);
    asked
        .filter(|input| !is_known(*input))
        .map(|input| OpenQuestion { question: input.as_str().to_owned(), state: state(input), weight: 0 })
        .collect()
}
