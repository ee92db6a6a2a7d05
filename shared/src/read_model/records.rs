//! The rows of a read model as records, for another host.
//!
//! A record holds a row's bytes and what its fields that depend on the clock or the caller are computed from. What selects rows, the indexes
//! and the names of chains, protocols and curators, does not travel with them.

use super::ReadModel;
use super::assets::{AssetRows, Assets, EncodedReviewer};
use super::registries::{Chain, Named, Registries};
use super::response::PreencodedBody;
use super::security::Security;
use super::vaults::EncodedVault;
use crate::model::oracle::EncodedFeed;
use crate::model::{EncodedAsset, EncodedRow};
use crate::wire::record::{self, Reader};
use alloc::borrow::ToOwned;
use alloc::sync::Arc;
use alloc::vec::Vec;

impl ReadModel {
    /// Every row of the model, as records.
    pub fn to_records(&self) -> Vec<u8> {
        let mut out = Vec::new();
        record::put_u64(self.version.cast_unsigned(), &mut out);
        self.vaults.0.write_rows(&mut out, |vault, out| write_vault(vault, out));
        let Registries { chains, protocols, protocol_list, curators } = &*self.registries;
        chains.iter().for_each(|chain| write_optional(chain.row.as_ref(), &mut out));
        protocols.iter().for_each(|protocol| protocol.row.write_record(&mut out));
        record::put_bytes(protocol_list.bytes(), &mut out);
        curators.write_rows(&mut out, |curator, out| curator.row.write_record(out));
        self.markets.write_rows(&mut out, |market, out| market.write_record(out));
        self.feeds.listed.write_rows(&mut out, EncodedFeed::write_record);
        let Assets { enriched, rwa, facets, rwa_facets, reviewers } = &*self.assets;
        for rows in [enriched, rwa] {
            rows.write_rows(&mut out, EncodedAsset::write_record);
        }
        for body in [facets, rwa_facets] {
            record::put_bytes(body.bytes(), &mut out);
        }
        for reviewer in reviewers {
            reviewer.active.write_record(&mut out);
            reviewer.inactive.write_record(&mut out);
        }
        for rows in [self.security.events.rows(), self.security.losses.rows(), &self.symbols] {
            rows.iter().for_each(|row| row.write_record(&mut out));
        }
        self.stats.write_record(&mut out);
        out
    }

    /// The model that [`to_records`](Self::to_records) wrote, with the indexes and names of `self`, which must be of the same data version.
    /// `None` if `bytes` are no such records.
    pub fn with_records(&self, bytes: &[u8]) -> Option<ReadModel> {
        let reader = &mut Reader::new(bytes);
        let version = reader.u64()?.cast_signed();
        let vaults = self.vaults.0.with_rows(reader, |reader| read_vault(reader).map(Arc::new))?;
        let registries = read_registries(&self.registries, reader)?;
        let markets = self.markets.with_rows(reader, |reader| EncodedRow::read_record(reader).map(Arc::new))?;
        let mut feeds = (*self.feeds).clone();
        feeds.listed = feeds.listed.with_rows(reader, EncodedFeed::read_record)?;
        let assets = read_assets(&self.assets, reader)?;
        let mut security = Security { coverage: self.security.coverage.clone(), ..Security::default() };
        let mut rows = |count| (0..count).map(|_| EncodedRow::read_record(reader)).collect::<Option<Vec<_>>>();
        security.events = self.security.events.replaced(rows(self.security.events.rows().len())?);
        security.losses = self.security.losses.replaced(rows(self.security.losses.rows().len())?);
        let symbols = rows(self.symbols.len())?;
        let stats = EncodedRow::read_record(reader)?;
        reader.is_at_end().then(|| ReadModel {
            version,
            vaults: Arc::new(super::vaults::Vaults(vaults)),
            registries: Arc::new(registries),
            markets: Arc::new(markets),
            feeds: Arc::new(feeds),
            assets: Arc::new(assets),
            security: Arc::new(security),
            symbols: symbols.into(),
            stats: Arc::new(stats),
        })
    }
}

fn write_vault(vault: &EncodedVault, out: &mut Vec<u8>) {
    vault.listed.write_record(out);
    vault.scores.write_record(out);
    write_optional(vault.rewarded.as_ref(), out);
}

fn read_vault(reader: &mut Reader<'_>) -> Option<EncodedVault> {
    let (listed, scores) = (EncodedRow::read_record(reader)?, EncodedRow::read_record(reader)?);
    Some(EncodedVault { listed, scores, rewarded: read_optional(reader)? })
}

fn write_optional(row: Option<&EncodedRow>, out: &mut Vec<u8>) {
    out.push(u8::from(row.is_some()));
    if let Some(row) = row {
        row.write_record(out);
    }
}

/// A row or its absence, which is `Some(None)`.
fn read_optional(reader: &mut Reader<'_>) -> Option<Option<EncodedRow>> {
    Some(if reader.flag()? { Some(EncodedRow::read_record(reader)?) } else { None })
}

fn read_registries(named: &Registries, reader: &mut Reader<'_>) -> Option<Registries> {
    let chains = named.chains.iter().map(|chain| Some(Chain { row: read_optional(reader)?, ..chain.clone() }));
    let chains = chains.collect::<Option<_>>()?;
    let of = |entry: &Named, reader: &mut Reader<'_>| {
        Some(Named { id: entry.id.clone(), row: EncodedRow::read_record(reader)? })
    };
    let protocols = named.protocols.iter().map(|protocol| of(protocol, reader)).collect::<Option<_>>()?;
    let protocol_list = PreencodedBody::of(reader.bytes()?.to_owned());
    let mut ids = named.curators.rows().iter();
    let curators = named.curators.with_rows(reader, |reader| of(ids.next()?, reader))?;
    Some(Registries { chains, protocols, protocol_list, curators })
}

fn read_assets(indexed: &Assets, reader: &mut Reader<'_>) -> Option<Assets> {
    let mut rows = |indexed: &AssetRows| indexed.with_rows(reader, EncodedAsset::read_record);
    let (enriched, rwa) = (rows(&indexed.enriched)?, rows(&indexed.rwa)?);
    let mut body = || Some(PreencodedBody::of(reader.bytes()?.to_owned()));
    let (facets, rwa_facets) = (body()?, body()?);
    let reviewers = indexed.reviewers.iter().map(|reviewer| {
        let key_periods = reviewer.key_periods.clone();
        let (active, inactive) = (EncodedRow::read_record(reader)?, EncodedRow::read_record(reader)?);
        Some(EncodedReviewer { key_periods, active, inactive })
    });
    Some(Assets { enriched, rwa, facets, rwa_facets, reviewers: reviewers.collect::<Option<_>>()? })
}
