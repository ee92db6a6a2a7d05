//! What is one row by itself: the facets of the asset lists, the totals of the platform, and the coverage of the loss board.

use super::response::PreencodedBody;
use super::rows;
use crate::model::EncodedRow;
use crate::model::facets::AssetFacets;
use crate::model::loss::Coverage;
use crate::model::money::Cents;
use crate::model::stats::Stats;
use crate::replica::Row;
use crate::wire::Data;
use crate::wire::record::{self, Reader};
use alloc::borrow::ToOwned;
use alloc::vec::Vec;

pub(super) const ASSET_FACETS: &str = "asset_facets";
pub(super) const LOSS_COVERAGE: &str = "loss_coverage";
pub(super) const RWA_FACETS: &str = "rwa_facets";
pub(super) const STATS: &str = "stats";

/// The rows, in ascending order of keys.
pub fn rows(
    facets: &AssetFacets,
    rwa_facets: &AssetFacets,
    coverage: &Coverage,
    stats: &Stats,
) -> Result<Vec<Row>, serde_json::Error> {
    Ok([
        facets_row(ASSET_FACETS, facets)?,
        coverage_row(coverage)?,
        facets_row(RWA_FACETS, rwa_facets)?,
        stats_row(stats)?,
    ]
    .to_vec())
}

fn facets_row(key: &str, facets: &AssetFacets) -> Result<Row, serde_json::Error> {
    rows::row(key.as_bytes(), &serde_json::to_vec(&Data { data: facets })?)
}

fn stats_row(stats: &Stats) -> Result<Row, serde_json::Error> {
    let mut content = Vec::new();
    EncodedRow::encode(stats, None)?.write_record(&mut content);
    rows::row(STATS.as_bytes(), &content)
}

fn coverage_row(coverage: &Coverage) -> Result<Row, serde_json::Error> {
    let mut content = Vec::new();
    record::put_optional_text(coverage.source.as_deref(), &mut content);
    for number in [coverage.total, coverage.evidence_covered, coverage.transaction_covered] {
        record::put_variable(number, &mut content);
    }
    record::put_u64(coverage.total_loss.0.cast_unsigned(), &mut content);
    record::put_instant(coverage.refreshed_at, &mut content);
    record::put_instant(coverage.evidence_refreshed_at, &mut content);
    rows::row(LOSS_COVERAGE.as_bytes(), &content)
}

pub(super) fn read_facets(reader: Reader<'_>) -> Option<PreencodedBody> {
    Some(PreencodedBody::of(reader.rest().to_owned()))
}

pub(super) fn read_stats(mut reader: Reader<'_>) -> Option<EncodedRow> {
    EncodedRow::read_record(&mut reader, None).filter(|_| reader.is_at_end())
}

pub(super) fn read_coverage(mut reader: Reader<'_>) -> Option<Coverage> {
    let source = reader.optional_text()?.map(ToOwned::to_owned);
    let (total, evidence_covered, transaction_covered) = (reader.variable()?, reader.variable()?, reader.variable()?);
    let total_loss = Cents(reader.i64()?);
    let (refreshed_at, evidence_refreshed_at) = (reader.instant()?, reader.instant()?);
    reader.is_at_end().then_some(Coverage {
        source,
        total,
        total_loss,
        refreshed_at,
        evidence_covered,
        transaction_covered,
        evidence_refreshed_at,
    })
}
