//! Decoding of a text column, or an array of texts, into a closed vocabulary.

use sqlx::error::BoxDynError;
use sqlx::postgres::{PgHasArrayType, PgTypeInfo, PgValueRef, Postgres};
use sqlx::{Decode, Type};
use std::str::FromStr;

/// A value stored as text. Decoding fails for a text outside the vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DbEnum<T>(pub T);

impl<T> Type<Postgres> for DbEnum<T> {
    fn type_info() -> PgTypeInfo {
        <str as Type<Postgres>>::type_info()
    }

    fn compatible(found: &PgTypeInfo) -> bool {
        <str as Type<Postgres>>::compatible(found)
    }
}

impl<T> PgHasArrayType for DbEnum<T> {
    fn array_type_info() -> PgTypeInfo {
        <&str as PgHasArrayType>::array_type_info()
    }
}

impl<T: FromStr> Decode<'_, Postgres> for DbEnum<T> {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        let text = <&str as Decode<'_, Postgres>>::decode(value)?;
        text.parse().map(DbEnum).map_err(|_| format!("not a known value: {text:?}").into())
    }
}
