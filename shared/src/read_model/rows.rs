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
use crate::replica::{Family, Row, Rows};
use crate::select::security::EventColumns;
use crate::wire::record::Reader;
use alloc::sync::Arc;
use alloc::vec::Vec;

impl ReadModel {
    /// The rows of every family. This is cheap: the rows are shared.
    pub fn rows(&self) -> Rows {
        self.rows.clone()
    }

    /// The model that `rows` make. `None` if they are not the rows of a model.
    ///
    /// `previous` is an earlier model with its rows. A family whose rows are the same list in memory keeps its part of that model, and of the
    /// other families, vaults that are the same rows in memory are not decoded again.
    pub fn from_rows(version: i64, rows: &Rows, previous: Option<(&ReadModel, &Rows)>) -> Option<ReadModel> {
        let source = Source { rows, previous };
        let before = previous.map(|(model, _)| &*model.vaults);
        Some(ReadModel {
            version,
            vaults: source.part(Family::Vaults, |it| &it.vaults, |rows| Vaults::read(rows, before))?,
            registries: source.registries()?,
            markets: source.part(Family::Markets, |it| &it.markets, |rows| markets::read(rows))?,
            feeds: source.part(Family::Feeds, |it| &it.feeds, Feeds::read)?,
            assets: source.assets()?,
            security: source.security()?,
            symbols: source.part(Family::Symbols, |it| &it.symbols, |rows| read_rows(rows, symbols::read))?,
            stats: source.single(singles::STATS, |it| &it.stats, singles::read_stats)?,
            rows: rows.clone(),
        })
    }
}

/// The rows that a model is made from, and an earlier model with its rows.
struct Source<'a> {
    rows: &'a Rows,
    previous: Option<(&'a ReadModel, &'a Rows)>,
}

impl<'a> Source<'a> {
    fn registries(&self) -> Option<Registries> {
        use registries::{read_chains, read_curators, read_protocols};
        Some(Registries {
            chains: self.part(Family::Chains, |it| &it.registries.chains, |rows| read_chains(rows))?,
            protocols: self.part(Family::Protocols, |it| &it.registries.protocols, |rows| read_protocols(rows))?,
            curators: self.part(Family::Curators, |it| &it.registries.curators, |rows| read_curators(rows))?,
        })
    }

    fn assets(&self) -> Option<Assets> {
        use assets::{read_assets, read_reviewers};
        Some(Assets {
            enriched: self.part(Family::Assets, |it| &it.assets.enriched, |rows| read_assets(rows))?,
            rwa: self.part(Family::Rwa, |it| &it.assets.rwa, |rows| read_assets(rows))?,
            facets: self.single(singles::ASSET_FACETS, |it| &it.assets.facets, singles::read_facets)?,
            rwa_facets: self.single(singles::RWA_FACETS, |it| &it.assets.rwa_facets, singles::read_facets)?,
            reviewers: self.part(Family::Reviewers, |it| &it.assets.reviewers, |rows| read_reviewers(rows))?,
        })
    }

    fn security(&self) -> Option<Security> {
        use security::{read_events, read_losses};
        Some(Security {
            events: self.part(Family::SecurityEvents, |it| &it.security.events, |rows| read_events(rows))?,
            losses: self.part(Family::Losses, |it| &it.security.losses, |rows| read_losses(rows))?,
            coverage: self.single(singles::LOSS_COVERAGE, |it| &it.security.coverage, singles::read_coverage)?,
        })
    }

    /// The part of the model that the rows of `family` make: that of the earlier model if the rows are the same list.
    fn part<T>(
        &self,
        family: Family,
        of: impl FnOnce(&ReadModel) -> &Arc<T>,
        read: impl FnOnce(&'a Arc<Vec<Row>>) -> Option<T>,
    ) -> Option<Arc<T>> {
        match self.previous {
            Some((model, before)) if self.rows.shares(before, family) => Some(Arc::clone(of(model))),
            _ => read(self.rows.of(family)).map(Arc::new),
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
    let mut reader = reader(row);
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
