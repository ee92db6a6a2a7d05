//! A read model as rows, and the model that rows make.
//!
//! Rows are the model's only storage: the rows of a list in JSON are parts of the bytes of these rows, and every index is built from the columns
//! in them. Two hosts with equal rows therefore answer alike. Nothing is parsed or hashed row by row while a model is made from rows.

use super::assets::Assets;
use super::encoding::reader;
use super::feeds::Feeds;
use super::listed::read_rows;
use super::registries::{self, Registries};
use super::security::Security;
use super::vaults::Vaults;
use super::{ReadModel, assets, markets, security, singles, symbols};
use crate::model::ids::ChainId;
use crate::model::loss::UNMAPPED_ID;
use crate::pace::{Pace, at_once};
use crate::replica::{Families, Family, Row, Rows};
use crate::select::security::EventColumns;
use crate::wire::record::Reader;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

impl ReadModel {
    /// The rows of every family. This is cheap: the rows are shared.
    pub fn rows(&self) -> Rows {
        self.rows.clone()
    }

    /// The families that the model has.
    pub fn families(&self) -> Families {
        self.families
    }

    /// The model that `rows` make. `None` if they are not the rows of a model.
    ///
    /// `previous` is an earlier model with its rows. A family whose rows are the same list in memory keeps its part of that model, and of the
    /// other families, vaults that are the same rows in memory are not decoded again.
    pub fn from_rows(version: i64, rows: &Rows, previous: Option<(&ReadModel, &Rows)>) -> Option<ReadModel> {
        Self::of_families(version, Families::ALL, rows, previous)
    }

    /// Like [`from_rows`](Self::from_rows), of a holder of some families, among which are those of [`ALWAYS`](super::ALWAYS).
    pub fn of_families(
        version: i64,
        families: Families,
        rows: &Rows,
        previous: Option<(&ReadModel, &Rows)>,
    ) -> Option<ReadModel> {
        at_once(Self::make(version, families, rows, previous, &Pace::unbroken()))
    }

    /// Like [`of_families`](Self::of_families), with pauses.
    pub async fn make(
        version: i64,
        families: Families,
        rows: &Rows,
        previous: Option<(&ReadModel, &Rows)>,
        pace: &Pace<'_>,
    ) -> Option<ReadModel> {
        let source = Source { rows, previous, pace };
        let vaults = previous.map(|(model, _)| &*model.vaults);
        let vaults = async |rows| Vaults::read(rows, vaults, pace).await;
        let markets = async |rows: &Arc<Vec<Row>>| markets::read(rows, pace).await;
        let feeds = async |rows: &Arc<Vec<Row>>| Feeds::read(rows, pace).await;
        let symbols = async |rows: &Arc<Vec<Row>>| read_rows(rows, pace, symbols::read).await;
        Some(ReadModel {
            version,
            vaults: source.part(Family::Vaults, |it| &it.vaults, vaults).await?,
            registries: source.registries().await?,
            markets: source.part(Family::Markets, |it| &it.markets, markets).await?,
            feeds: source.part(Family::Feeds, |it| &it.feeds, feeds).await?,
            assets: source.assets().await?,
            security: source.security().await?,
            symbols: source.part(Family::Symbols, |it| &it.symbols, symbols).await?,
            stats: source.single(singles::STATS, |it| &it.stats, singles::read_stats)?,
            families,
            hidden: Arc::default(),
            rows: rows.clone(),
        })
    }

    /// The model without the rows of some chains, for the lists all of whose rows are of one chain or of none: of vaults, markets, feeds and chains.
    pub fn without_chains(&self, chains: &[ChainId]) -> ReadModel {
        let hidden = chains.iter().map(|chain| chain.to_string()).collect();
        ReadModel { registries: self.registries.without_chains(chains), hidden, ..self.clone() }
    }
}

/// The rows that a model is made from, and an earlier model with its rows.
struct Source<'a> {
    rows: &'a Rows,
    previous: Option<(&'a ReadModel, &'a Rows)>,
    pace: &'a Pace<'a>,
}

impl<'a> Source<'a> {
    async fn registries(&self) -> Option<Registries> {
        let chains = async |rows: &Arc<Vec<Row>>| registries::read_chains(rows, self.pace).await;
        let protocols = async |rows: &Arc<Vec<Row>>| registries::read_protocols(rows, self.pace).await;
        let curators = async |rows: &Arc<Vec<Row>>| registries::read_curators(rows, self.pace).await;
        Some(Registries {
            chains: self.part(Family::Chains, |it| &it.registries.chains, chains).await?,
            protocols: self.part(Family::Protocols, |it| &it.registries.protocols, protocols).await?,
            curators: self.part(Family::Curators, |it| &it.registries.curators, curators).await?,
        })
    }

    async fn assets(&self) -> Option<Assets> {
        let enriched = async |rows: &Arc<Vec<Row>>| assets::read_assets(rows, self.pace).await;
        let reviewers = async |rows: &Arc<Vec<Row>>| assets::read_reviewers(rows, self.pace).await;
        Some(Assets {
            enriched: self.part(Family::Assets, |it| &it.assets.enriched, enriched).await?,
            rwa: self.part(Family::Rwa, |it| &it.assets.rwa, enriched).await?,
            facets: self.single(singles::ASSET_FACETS, |it| &it.assets.facets, singles::read_facets)?,
            rwa_facets: self.single(singles::RWA_FACETS, |it| &it.assets.rwa_facets, singles::read_facets)?,
            reviewers: self.part(Family::Reviewers, |it| &it.assets.reviewers, reviewers).await?,
        })
    }

    async fn security(&self) -> Option<Security> {
        let events = async |rows: &Arc<Vec<Row>>| security::read_events(rows, self.pace).await;
        let losses = async |rows: &Arc<Vec<Row>>| security::read_losses(rows, self.pace).await;
        Some(Security {
            events: self.part(Family::SecurityEvents, |it| &it.security.events, events).await?,
            losses: self.part(Family::Losses, |it| &it.security.losses, losses).await?,
            coverage: self.single(singles::LOSS_COVERAGE, |it| &it.security.coverage, singles::read_coverage)?,
        })
    }

    /// The part of the model that the rows of `family` make: that of the earlier model if the rows are the same list.
    async fn part<T>(
        &self,
        family: Family,
        of: impl FnOnce(&ReadModel) -> &Arc<T>,
        read: impl AsyncFnOnce(&'a Arc<Vec<Row>>) -> Option<T>,
    ) -> Option<Arc<T>> {
        match self.previous {
            Some((model, before)) if self.rows.shares(before, family) => Some(Arc::clone(of(model))),
            _ => read(self.rows.of(family)).await.map(Arc::new),
        }
    }

    /// What the single row with this key contains: that of the earlier model if the row is the same. `None` if there is no such row.
    fn single<T: Clone>(
        &self,
        key: &str,
        of: impl FnOnce(&ReadModel) -> &T,
        read: impl FnOnce(Reader<'a>) -> Option<T>,
    ) -> Option<T> {
        let find = |rows: &'a Rows| rows.find(Family::Singles, key.as_bytes());
        let row = find(self.rows)?;
        match self.previous {
            Some((model, before)) if find(before).is_some_and(|earlier| earlier.is_same(row)) => {
                Some(of(model).clone())
            }
            _ => read(reader(row)),
        }
    }
}

/// The chain that a row belongs to; `None` if it belongs to none, or if its bytes are no such row.
pub fn chain_of(family: Family, row: &Row) -> Option<ChainId> {
    let row = row.unpacked();
    let mut reader = reader(&row);
    match family {
        Family::Vaults | Family::Markets | Family::Feeds | Family::Assets | Family::Rwa | Family::Chains => {
            reader.variable().map(ChainId)
        }
        Family::Losses => reader.variable().map(ChainId).filter(|chain| *chain != UNMAPPED_ID),
        Family::SecurityEvents => EventColumns::read(&mut reader)?.chain_id,
        Family::Protocols | Family::Curators | Family::Symbols | Family::Reviewers | Family::Singles => None,
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
