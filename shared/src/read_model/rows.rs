//! A read model as rows, and the model that rows make.
//!
//! Rows are the model's only storage: the rows of a list in JSON are parts of the bytes of these rows, and every index is built from the columns
//! in them. Two hosts with equal rows therefore answer alike. Nothing is parsed or hashed row by row while a model is made from rows.

use super::assets::Assets;
use super::feeds::Feeds;
use super::listed::read_rows;
use super::registries::Registries;
use super::security::Security;
use super::vaults::Vaults;
use super::{ReadModel, markets, singles, symbols};
use crate::model::ids::ChainId;
use crate::model::loss::UNMAPPED_ID;
use crate::replica::{Family, Row, Rows};
use crate::wire::record::Reader;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Display;
use serde::ser::Error;

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
            vaults: source.part(Family::Vaults, |model| &model.vaults, |rows| Vaults::read(rows, before))?,
            registries: Registries::read(&source)?,
            markets: source.part(Family::Markets, |model| &model.markets, |rows| markets::read(rows))?,
            feeds: source.part(Family::Feeds, |model| &model.feeds, Feeds::read)?,
            assets: Assets::read(&source)?,
            security: Security::read(&source)?,
            symbols: source.part(Family::Symbols, |model| &model.symbols, |rows| read_rows(rows, symbols::read))?,
            stats: source.single(singles::STATS, |model| &model.stats, singles::read_stats)?,
            rows: rows.clone(),
        })
    }
}

/// The rows that a model is made from, and an earlier model with its rows.
pub(super) struct Source<'a> {
    rows: &'a Rows,
    previous: Option<(&'a ReadModel, &'a Rows)>,
}

impl<'a> Source<'a> {
    /// The part of the model that the rows of `family` make: that of the earlier model if the rows are the same list.
    pub(super) fn part<T>(
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
    pub(super) fn single<T: Clone>(
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
        Family::SecurityEvents => crate::select::security::EventColumns::read(&mut reader)?.chain_id,
        Family::Protocols | Family::Curators | Family::Symbols | Family::Reviewers | Family::Singles => None,
    }
}

/// A reader of a row's content, whose parts are parts of the row's bytes.
pub(super) fn reader(row: &Row) -> Reader<'_> {
    Reader::of_shared(row.bytes(), row.content_start())
}

/// A row with this key and content. Fails only if the key is longer than a row's key may be.
pub(super) fn row(key: &[u8], content: &[u8]) -> Result<Row, serde_json::Error> {
    Row::new(key, content).ok_or_else(|| fault("the key of a row is too long"))
}

/// The error of a row that cannot be made.
pub(super) fn fault(reason: impl Display) -> serde_json::Error {
    serde_json::Error::custom(reason)
}

/// A key for rows with the largest number first, and equal ones by `id`. Numbers are in the order of [`f64::total_cmp`].
pub(super) fn largest_first(number: f64, id: &[u8]) -> Vec<u8> {
    // The bits of a positive number are in its order, and those of a negative one in the opposite order.
    let bits = number.to_bits();
    let descending = if number.is_sign_negative() { bits } else { !(bits | 1 << 63) };
    [descending.to_be_bytes().as_slice(), id].concat()
}

/// The id in a key that [`largest_first`] made.
pub(super) fn id_of(key: &[u8]) -> Option<&str> {
    core::str::from_utf8(key.get(size_of::<u64>()..)?).ok()
}
