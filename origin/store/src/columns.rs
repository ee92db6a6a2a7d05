//! Wrappers like those of [`decode`](super::decode): amounts, hashes, numbers and JSON arrays.

use crate::db_enum::DbEnum;
use crate::decode::Nullable;
use rds_shared::model::content_hash::ContentHash;
use rds_shared::model::money::{Cents, DecimalUsd};
use rds_shared::push::Cursor;
use rds_shared::research::Horizon;
use rds_shared::route::TagVersions;
use rds_shared::rules::holders::Concentration;
use rds_shared::scoring::Ppm;
use rds_shared::scoring::decimal::from_float;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgTypeInfo, PgValueRef, Postgres};
use sqlx::types::Json;
use sqlx::{Decode, Type};

vocabularies! {
    rds_shared::model::security { PublishedBy }
}

wrappers! {
    DbPpm(Ppm) of i32: |parts| Some(Ppm(parts.into()));
    /// A fraction as parts per million. The fallback 0 is unreachable, because only valid fractions are stored.
    DbFraction(Ppm) of f64: |fraction| Some(Ppm(from_float(fraction, 6).unwrap_or(0)));
    /// Like [`DbFraction`], for a field of type `u32`.
    DbShare(u32) of f64: |fraction| Some(u32::try_from(from_float(fraction, 6).unwrap_or(0)).unwrap_or(0));
    DbCents(Cents) of i64: |cents| Some(Cents(cents));
    DbDecimalUsd(DecimalUsd) of i64: |cents| Some(DecimalUsd(Cents(cents)));
    DbContentHash(ContentHash) of [u8; 32]: |bytes| Some(ContentHash::from_bytes(bytes));
    /// An event's id, which is served as text.
    DbIdText(String) of i64: |id| Some(id.to_string());
    DbCursor(Cursor) of i64: |number| u64::try_from(number).ok().map(Cursor::new);
    /// The texts `tag=version`, separated by semicolons.
    DbTags(TagVersions) of &str: |text| Some(TagVersions::parse(text));
    /// Shares of the largest 1, 5 and 10 holders, and the Herfindahl index.
    DbConcentration(Concentration) of [i32; 4]: |figures| {
        let [top1, top5, top10, hhi] = figures.map(|ppm| Ppm(ppm.into()));
        Some(Concentration { top1, top5, top10, hhi })
    };
    DbHorizon(Horizon) of i32: |days| Horizon::ALL.iter().copied().find(|horizon| horizon.days() == i64::from(days));
}

/// A JSON array, for a field of type `Vec` whose elements are converted from the array's elements.
#[derive(Debug, sqlx::Type)]
#[sqlx(transparent, no_pg_array)]
pub struct DbList<S>(Json<Vec<S>>);

impl<S, T: TryFrom<S>> TryFrom<DbList<S>> for Vec<T> {
    type Error = T::Error;

    fn try_from(DbList(Json(stored)): DbList<S>) -> Result<Self, T::Error> {
        stored.into_iter().map(T::try_from).collect()
    }
}
