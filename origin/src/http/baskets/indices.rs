//! `GET /v1/indices`, `/{id}` and `/{id}/levels`: daily levels of baskets of vaults.
//!
//! Each published basket of vaults has one index, with the basket's id. An index is not stored: it is computed from basket versions
//! and readings, both of which are kept for ever.

use crate::catalog::LiveCatalog;
use crate::http::exchange::answer::{Answer, Failure};
use crate::http::exchange::call::{Call, RouteCall};
use crate::http::exchange::encoded;
use rds_shared::model::index::{IndexDetail, IndexLevel, IndexLink, IndexMethod, IndexRow, LatestLevel};
use rds_shared::route::{params, routes};
use rds_shared::rules::indices::{Chain, IndexVersion, chain};
use rds_shared::wire::time::{Day, Micros};
use rds_shared::wire::{ApiError, Timestamp};
use rds_store::Db;
use rds_store::baskets::indices as table;
use rds_store::baskets::indices::StoredIndex;
use rds_store::{StoreError, baskets};

/// Every index, by id.
pub async fn list(live: &LiveCatalog, db: &Db, call: RouteCall<'_, routes::IndexList>) -> Result<Answer, Failure> {
    let mut rows = Vec::new();
    for stored in table::all(db, None).await? {
        rows.push(Index::load(db, stored, call.now).await?.row());
    }
    encoded::data_with_body_etag(&call, live.get()?.version, &call.part(&rows))
}

/// One index, with the basket versions that it links.
pub async fn by_id(live: &LiveCatalog, db: &Db, call: &Call) -> Result<Answer, Failure> {
    let index = find(db, call).await?;
    let links = index.stored.versions.iter().enumerate().map(|(place, version)| {
        let link = index.chain.links.iter().find(|link| link.version == place);
        IndexLink {
            version_id: version.version_id.clone(),
            effective_from: Micros(version.effective_from),
            linked_on: link.map(|link| link.day),
            level: link.map(|link| link.level),
        }
    });
    let data = IndexDetail { index: index.row(), method: IndexMethod::PUBLISHED, links: links.collect() };
    encoded::data_with_body_etag(call, live.get()?.version, &data)
}

/// The levels of one index on its newest days, in ascending order of days.
pub async fn levels(live: &LiveCatalog, db: &Db, call: RouteCall<'_, routes::IndexLevels>) -> Result<Answer, Failure> {
    let index = find(db, &call).await?;
    let days = call.get(params::IndexDays) as usize;
    let first = index.chain.days.len().saturating_sub(days);
    let data: Vec<IndexLevel> = index
        .chain
        .days
        .iter()
        .skip(first)
        .map(|it| IndexLevel {
            date: it.day,
            level: it.level.ok(),
            version_id: it.held.and_then(|held| index.stored.versions.get(held)).map(|held| held.version_id.clone()),
            gap: it.level.err(),
            is_final: it.day < index.today,
        })
        .collect();
    encoded::data_with_body_etag(&call, live.get()?.version, &data)
}

/// An index, chained up to today.
struct Index {
    stored: StoredIndex,
    chain: Chain,
    today: Day,
}

impl Index {
    async fn load(db: &Db, stored: StoredIndex, now: Timestamp) -> Result<Self, StoreError> {
        let ids: Vec<&str> = stored.versions.iter().map(|version| version.version_id.as_str()).collect();
        let mut members = baskets::members(&db.pool, &ids).await?;
        let versions: Vec<IndexVersion> = stored
            .versions
            .iter()
            .map(|version| {
                let members = members.remove(&version.version_id).unwrap_or_default();
                IndexVersion {
                    effective_on: Day::of(version.effective_from),
                    is_withheld: !members.withheld.is_empty(),
                    holdings: members.constituents.into_iter().map(|it| (it.id, it.weight)).collect(),
                }
            })
            .collect();
        let today = Day::of(now);
        let prices = table::closing_prices(db, &stored.id, today, now).await?;
        let chain = chain(&versions, &prices, today);
        Ok(Index { stored, chain, today })
    }

    fn row(&self) -> IndexRow {
        let StoredIndex { id, name, versions } = &self.stored;
        let version_id = versions.last().map(|version| version.version_id.clone()).unwrap_or_default();
        let latest = self.chain.days.iter().rev().find_map(|it| Some((it.day, it.level.ok()?)));
        IndexRow {
            base_date: self.chain.links.first().map(|link| link.day),
            latest: latest.map(|(date, level)| LatestLevel { date, level, is_final: date < self.today }),
            ..IndexRow::new(id.clone(), name.clone(), version_id)
        }
    }
}

async fn find(db: &Db, call: &Call) -> Result<Index, Failure> {
    let stored = table::all(db, Some(call.found.param(0))).await?.into_iter().next();
    let stored = stored.ok_or_else(|| ApiError::not_found("index"))?;
    Ok(Index::load(db, stored, call.now).await?)
}
