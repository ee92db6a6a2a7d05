//! Columns whose values are types of `rds_shared`. sqlx's traits cannot be implemented for these foreign types, so a field names
//! a wrapper that decodes the column and converts into the field's type, for example `#[sqlx(try_from = "DbChainId")]`. A value
//! that the type does not allow fails the read with an error that names the column.

use crate::db_enum::DbEnum;
use rds_facts::At;
use rds_shared::access::Plan;
use rds_shared::model::ids::{Address, ChainId, Namespace, VaultId};
use rds_shared::push::delivery::EventId;
use rds_shared::push::schedule::Attempt;
use rds_shared::route::TagVersions;
use rds_shared::scoring::MilliPoints;
use rds_shared::wire::Timestamp;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgHasArrayType, PgRow, PgTypeInfo, PgValueRef, Postgres};
use sqlx::{Decode, FromRow, Row, Type, ValueRef};
use std::num::TryFromIntError;

/// A nullable column of a wrapper's type, for a field of type `Option`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nullable<W>(pub Option<W>);

impl<W: Type<Postgres>> Type<Postgres> for Nullable<W> {
    fn type_info() -> PgTypeInfo {
        W::type_info()
    }

    fn compatible(found: &PgTypeInfo) -> bool {
        W::compatible(found)
    }
}

impl<'r, W: Decode<'r, Postgres>> Decode<'r, Postgres> for Nullable<W> {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        Option::decode(value).map(Nullable)
    }
}

/// The texts of an array, for a field of type `Vec`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DbEnums<T>(Vec<DbEnum<T>>);

impl<T> Type<Postgres> for DbEnums<T> {
    fn type_info() -> PgTypeInfo {
        DbEnum::<T>::array_type_info()
    }

    fn compatible(found: &PgTypeInfo) -> bool {
        DbEnum::<T>::array_compatible(found)
    }
}

impl<'r, T> Decode<'r, Postgres> for DbEnums<T>
where
    Vec<DbEnum<T>>: Decode<'r, Postgres>,
{
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        Vec::decode(value).map(DbEnums)
    }
}

impl<T> From<DbEnums<T>> for Vec<T> {
    fn from(stored: DbEnums<T>) -> Self {
        stored.0.into_iter().map(|DbEnum(value)| value).collect()
    }
}

impl<T> From<Nullable<DbEnum<T>>> for Option<T> {
    fn from(stored: Nullable<DbEnum<T>>) -> Self {
        stored.0.map(|DbEnum(value)| value)
    }
}

impl From<Nullable<At>> for Option<Timestamp> {
    fn from(stored: Nullable<At>) -> Self {
        stored.0.map(Timestamp::from)
    }
}

/// A struct whose columns come from an outer join. Without a matching row all of them are null.
pub trait OuterJoined: for<'r> FromRow<'r, PgRow> {
    /// The column that is null if there is no matching row.
    const KEY: &'static str;
}

/// An outer-joined struct, for a field of type `Option` with `#[sqlx(flatten, try_from = "…")]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined<T>(pub Option<T>);

impl<T: OuterJoined> FromRow<'_, PgRow> for Joined<T> {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let is_null = row.try_get_raw(T::KEY)?.is_null();
        if is_null { Ok(Joined(None)) } else { T::from_row(row).map(|row| Joined(Some(row))) }
    }
}

impl<T> From<Joined<T>> for Option<T> {
    fn from(joined: Joined<T>) -> Self {
        joined.0
    }
}

/// Conversions of nullable integer columns into unsigned fields, because Postgres has only signed integers.
macro_rules! unsigned {
    ($($stored:ty => $number:ty),+) => {$(
        impl TryFrom<Nullable<$stored>> for Option<$number> {
            type Error = TryFromIntError;

            fn try_from(stored: Nullable<$stored>) -> Result<Self, Self::Error> {
                stored.0.map(<$number>::try_from).transpose()
            }
        }
    )+};
}

unsigned!(i16 => u16, i32 => u32, i64 => u64);

/// The vocabularies that a [`DbEnum`] converts into.
macro_rules! vocabularies {
    ($($($from:ident)::+ { $($name:ident),+ })+) => {$(
        const _: () = {
            use $($from)::+::{$($name),+};
            $(impl From<DbEnum<$name>> for $name {
                fn from(stored: DbEnum<$name>) -> Self {
                    stored.0
                }
            })+
        };
    )+};
}

vocabularies! {
    rds_facts { IncentivesStatus }
    rds_shared::model::basket { ConstituentType }
    rds_shared::model::event { PublicationState }
    rds_shared::model::health { FailSafeMode }
    rds_shared::model::loss { LossBasis }
    rds_shared::model::market { MarketShape, MarketSource }
    rds_shared::model::oracle { FeedKind }
    rds_shared::model::research { RecordKind }
    rds_shared::model::security { RegistryState }
    rds_shared::model::signal { SignalSeverity }
    rds_shared::model::status {
        BorrowStatus, CoverageStatus, DepositStatus, IncidentSeverity, RemediationStatus, RewardSide, RewardType, ScoreStatus,
        Severity, TvlStatus, WithdrawStatus
    }
    rds_shared::push::frames { Operation }
    rds_shared::push::schedule { DeliveryStatus }
    rds_shared::push::event_type { EventType }
    rds_shared::research::outcome { PredictionOutcome }
    rds_shared::rules::baskets::rebalance_triggers { Trigger }
    rds_shared::rules::dwell { ChangeType }
    rds_shared::rules::tiers { Tier }
    rds_shared::scoring::asset { AssetCategory, ReviewStatus }
    rds_shared::scoring::vault { ExposuresStatus, Oracle }
}

/// Wrappers: name, type of the value, type of the column, and the parser, which returns `None` for an invalid value.
macro_rules! wrappers {
    ($($(#[$about:meta])* $name:ident($value:ty) of $stored:ty: $parse:expr;)+) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name(pub $value);

        impl Type<Postgres> for $name {
            fn type_info() -> PgTypeInfo {
                <$stored as Type<Postgres>>::type_info()
            }

            fn compatible(found: &PgTypeInfo) -> bool {
                <$stored as Type<Postgres>>::compatible(found)
            }
        }

        impl Decode<'_, Postgres> for $name {
            fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
                let stored = <$stored as Decode<'_, Postgres>>::decode(value)?;
                let parse: fn($stored) -> Option<$value> = $parse;
                parse(stored).map($name).ok_or_else(|| format!("not a valid value: {stored:?}").into())
            }
        }

        impl From<$name> for $value {
            fn from(stored: $name) -> Self {
                stored.0
            }
        }

        impl From<Nullable<$name>> for Option<$value> {
            fn from(stored: Nullable<$name>) -> Self {
                stored.0.map(|$name(value)| value)
            }
        }
    )+};
}

wrappers! {
    DbChainId(ChainId) of i64: |number| u64::try_from(number).ok().map(ChainId);
    /// An address of either namespace.
    DbAddress(Address) of &str: |text| Address::parse_any(text).map(|(_, address)| address);
    DbNamespace(Namespace) of &str: Namespace::parse;
    DbVaultId(VaultId) of &str: VaultId::parse;
    DbPlan(Plan) of &str: Plan::parse;
    DbEventId(EventId) of &str: EventId::parse;
    DbAttempt(Attempt) of i16: |number| u8::try_from(number).ok().and_then(Attempt::new);
    DbMilliPoints(MilliPoints) of i32: MilliPoints::new;
    /// Tags that only newer releases know are skipped.
    DbTagVersions(TagVersions) of &str: |text| Some(TagVersions::parse(text));
}
