//! A timestamp as Postgres stores it: `timestamptz`, microsecond precision.

use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Micros;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueFormat, PgValueRef, Postgres};
use sqlx::{Decode, Encode, Type};

/// Type OIDs of `timestamptz` and its array; fixed in Postgres.
const TIMESTAMPTZ: Oid = Oid(1184);
const TIMESTAMPTZ_ARRAY: Oid = Oid(1185);
/// Postgres' epoch, 2000-01-01T00:00:00Z, in microseconds since 1970.
const POSTGRES_EPOCH: i64 = 946_684_800_000_000;

/// A [`Timestamp`] as Postgres stores it. As JSON it is written with six fractional digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct At(pub Timestamp);

impl From<Timestamp> for At {
    fn from(instant: Timestamp) -> Self {
        At(instant)
    }
}

impl From<At> for Timestamp {
    fn from(at: At) -> Self {
        at.0
    }
}

impl From<At> for Micros {
    fn from(At(instant): At) -> Self {
        Micros(instant)
    }
}

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Micros(self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for At {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Timestamp::deserialize(deserializer).map(At)
    }
}

impl Type<Postgres> for At {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(TIMESTAMPTZ)
    }

    fn compatible(found: &PgTypeInfo) -> bool {
        found.oid() == Some(TIMESTAMPTZ)
    }
}

impl PgHasArrayType for At {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(TIMESTAMPTZ_ARRAY)
    }
}

impl Encode<'_, Postgres> for At {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        buffer.extend_from_slice(&(self.0.as_micros() - POSTGRES_EPOCH).to_be_bytes());
        Ok(IsNull::No)
    }
}

impl Decode<'_, Postgres> for At {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        match value.format() {
            PgValueFormat::Binary => {
                let micros = i64::from_be_bytes(value.as_bytes()?.try_into()?);
                Ok(At(Timestamp::from_micros(micros.saturating_add(POSTGRES_EPOCH))))
            }
            PgValueFormat::Text => {
                let text = value.as_str()?;
                Timestamp::parse(text).map(At).ok_or_else(|| format!("not an instant: {text:?}").into())
            }
        }
    }
}
