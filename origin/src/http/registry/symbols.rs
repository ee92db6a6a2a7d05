//! `GET /v1/assets/{symbol}/history`.

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::RouteCall;
use crate::http::exchange::encoded;
use rds_shared::model::symbol::{DaySource, SymbolDay, SymbolHistory, SymbolHistoryMeta, days_of};
use rds_shared::route::{params, routes};
use rds_shared::rules::symbol_history::{DayTotal, by_day};
use rds_shared::wire::ApiError;
use rds_shared::wire::time::Day;
use rds_store::Db;
use rds_store::StoreError;
use rds_store::registry::symbols;
use std::collections::BTreeMap;

/// The daily totals of one symbol, oldest day first. Days without stored readings are left out.
pub async fn history(
    live: &LiveCatalog,
    db: &Db,
    call: RouteCall<'_, routes::AssetSymbolHistory>,
) -> Result<Answer, Failure> {
    let catalog = live.get()?;
    let symbol = call.found.param(0).to_uppercase();
    let spellings = catalog.symbols.spellings(&symbol).ok_or_else(|| ApiError::not_found("asset symbol"))?;
    let range = call.get(params::Range);
    let end = Day::of(call.now).plus(1);
    let from = end.plus(-days_of(range));
    let (observed, derived) = days(db, &symbol, spellings, from, end).await?;
    let mut all: BTreeMap<Day, SymbolDay> = BTreeMap::new();
    for (source, days) in [(DaySource::Derived, derived), (DaySource::Observed, observed)] {
        all.extend(days.into_iter().map(|(day, total)| (day, SymbolDay::new(day, source, total))));
    }
    let data: Vec<SymbolDay> = all.into_values().collect();
    let meta = SymbolHistoryMeta { symbol, range, points: data.len() as u64 };
    let answer = SymbolHistory { data, meta };
    encoded::json_with_body_etag(&call, catalog.version, &answer)
}

type Days = BTreeMap<Day, DayTotal>;

/// The stored daily totals, and the totals of the other days, derived from stored readings.
async fn days(db: &Db, symbol: &str, spellings: &[String], from: Day, end: Day) -> Result<(Days, Days), StoreError> {
    let mut db = db.pool.acquire().await?;
    let observed = symbols::kept_days(&mut db, symbol, from, end).await?;
    let all = (0..).map(|day| from.plus(day)).take_while(|day| *day < end);
    let missing: Vec<Day> = all.filter(|day| !observed.contains_key(day)).collect();
    let mut readings = symbols::readings(&mut db, Some(spellings), &missing).await?;
    Ok((observed, by_day(readings.remove(symbol).unwrap_or_default())))
}
