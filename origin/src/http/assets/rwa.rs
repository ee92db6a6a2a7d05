//! Real-world assets: one asset, the coverage, and the history of their total value.

use crate::catalog::LiveCatalog;
use crate::catalog::assets::coverage::source_mix;
use crate::http::assets::{DetailRow, detail};
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::{Call, RouteCall};
use crate::http::exchange::encoded;
use rds_engine::rwa::totals::day_of;
use rds_shared::model::asset::{AssetRow, Freshness, age_hours};
use rds_shared::model::asset_restricted::RESTRICTED_IN_DETAIL;
use rds_shared::model::ids::ChainId;
use rds_shared::model::rwa::{Cents, Coverage, Day, RwaRow};
use rds_shared::model::rwa_history::{AumHistory, AumHistoryMeta, AumPart, AumPoint, CaveatCount, ReasonCount};
use rds_shared::route::{params, routes};
use rds_shared::rules::rwa_totals::{DAY, ProductTotal};
use rds_shared::scoring::number::Decimal;
use rds_shared::wire::ApiError;
use rds_shared::wire::time::{Micros, Timestamp};
use rds_store::At;
use rds_store::Db;
use rds_store::assets::rwa::{self, SnapshotRow};

/// `GET /v1/rwa/{asset_id}`.
pub async fn by_id(live: &LiveCatalog, db: &Db, call: &Call) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let asset = catalog.assets.by_id(call.found.param(0)).ok_or_else(|| ApiError::not_found("asset"))?;
    let rwa = asset.rwa.as_ref().ok_or_else(|| ApiError::not_found("asset"))?;
    let mut row = rwa.row.clone();
    // The detail shows the stored score; only the list shows a score derived from the core dimensions.
    row.asset.risk_score = asset.row.risk_score;
    detail(db, call, catalog.version, asset, row).await
}

impl DetailRow for RwaRow {
    fn aged(mut self, freshness: Freshness, now: Timestamp) -> Self {
        let effective_at = self.canonical_aum.effective_at;
        self.canonical_aum.age_hours = effective_at.map(|at| age_hours(at.0, now));
        RwaRow { asset: AssetRow { freshness, ..self.asset }, ..self }
    }

    fn withheld(self) -> Self {
        RwaRow { asset: self.asset.withheld(RESTRICTED_IN_DETAIL), ..self }
    }
}

/// `GET /v1/rwa/coverage`.
pub fn coverage(live: &LiveCatalog, call: &Call) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let coverage = catalog.assets.coverage(call.now)?;
    encoded::data_with_body_etag(call, catalog.version, &coverage)
}

/// `GET /v1/rwa/stats/history`: the days of the range, oldest first; days without a total are left out.
pub async fn history(live: &LiveCatalog, db: &Db, call: RouteCall<'_, routes::RwaHistory>) -> Result<Answer, Failure> {
    let (range, breakdown) = (call.get(params::Range), call.get(params::AumBreakdown));
    let days = match range {
        "7d" => 7,
        "90d" => 90,
        "1y" => 365,
        _ => 30,
    };
    let catalog = live.get()?;
    let from = day_of(call.now).plus_seconds(-(days - 1) * DAY);
    let kept = rwa::snapshots(&db.pool, At(from)).await?;
    let is_served = |chain: u64| catalog.rollup.serves(ChainId(chain));
    let data: Vec<AumPoint> = kept.iter().map(|row| point(row, breakdown, is_served)).collect();
    let meta = AumHistoryMeta { range, breakdown, points: data.len() as u64 };
    let history = AumHistory { data, meta };
    encoded::json_with_body_etag(&call, catalog.version, &history)
}

/// A daily total as it was recorded. The value on chains that are withheld now counts as unallocated.
fn point(row: &SnapshotRow, breakdown: &str, is_served: impl Fn(u64) -> bool) -> AumPoint {
    let total = &row.content.0;
    let ProductTotal { products, cents } = total.included;
    let excluded = total.excluded.values().sum();
    let valued = |figure: i64| (products > 0).then_some(Cents(figure));
    let by_chain = breakdown == "chain";
    let withheld: i64 = total.by_chain.iter().filter(|(chain, _)| !is_served(**chain)).map(|(_, it)| it.cents).sum();
    let unallocated = total.unallocated_cents.saturating_add(withheld);
    let allocated = cents.saturating_sub(unallocated);
    let fraction = i128::from(allocated).saturating_mul(10_000).checked_div(i128::from(cents));
    let part = |chain_id, category, part: &ProductTotal| AumPart {
        chain_id,
        category,
        products: part.products,
        value_usd: Cents(part.cents),
    };
    let mut parts: Vec<AumPart> = if by_chain {
        let shown = total.by_chain.iter().filter(|(chain, _)| is_served(**chain));
        shown.map(|(chain, it)| part(Some(ChainId(*chain)), None, it)).collect()
    } else {
        total.by_category.iter().map(|(category, it)| part(None, Some(category.clone()), it)).collect()
    };
    // The sort is stable: equal parts stay in the order of their names.
    parts.sort_by_key(|part| std::cmp::Reverse(part.value_usd));
    AumPoint {
        snapshot_date: Day(row.day.0),
        value_usd: valued(cents),
        included_products: products,
        excluded_products: excluded,
        exclusions: total
            .excluded
            .iter()
            .map(|(reason, n)| ReasonCount { reason: reason.clone(), count: *n })
            .collect(),
        product_coverage: Coverage::of(products, products.saturating_add(excluded)),
        chain_coverage: fraction
            .and_then(|units| i64::try_from(units).ok())
            .filter(|_| products > 0)
            .map(|units| Decimal { units, scale: 4 }),
        unallocated_value_usd: valued(if by_chain { unallocated } else { 0 }),
        breakdown: parts,
        source_mix: source_mix(total.by_source.iter().map(|(id, part)| (id.as_str(), part.products, part.cents))),
        revision: row.revision.unsigned_abs(),
        recorded_at: Micros(row.recorded_at.0),
        caveats: total.caveats.iter().map(|(it, n)| CaveatCount { caveat: it.clone(), products: *n }).collect(),
    }
}
