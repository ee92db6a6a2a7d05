//! `FromRow` for structs of `rds_shared`, which cannot derive it because that crate does not depend on sqlx.

use sqlx::error::BoxDynError;
use sqlx::postgres::{PgRow, Postgres};
use sqlx::{Decode, Row, Type};

/// A struct of `rds_shared` as a row. [`shared_row!`] implements `FromRow`.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared<T>(pub T);

/// Unwraps the structs of these rows.
pub fn structs<T>(rows: Vec<Shared<T>>) -> Vec<T> {
    rows.into_iter().map(|Shared(row)| row).collect()
}

/// Implements `FromRow` for a struct of `rds_shared`.
///
/// A field is read from the column of its name. `field = "column"` names another column, and `field: Wrapper` the type that decodes it, like
/// `rename` and `try_from` of `#[derive(FromRow)]`. Fields after a semicolon are structs of `rds_shared` too, read from the same row.
macro_rules! shared_row {
    ($name:ident { $($field:ident $(: $wrapper:ty)? $(= $column:literal)?),+ $(; $($part:ident),+)? }) => {
        impl sqlx::FromRow<'_, sqlx::postgres::PgRow> for $crate::shared_row::Shared<$name> {
            fn from_row(row: &sqlx::postgres::PgRow) -> sqlx::Result<Self> {
                Ok($crate::shared_row::Shared($name {
                    $($field: $crate::shared_row::shared_row!(
                        @read row, $crate::shared_row::shared_row!(@column $field $($column)?) $(, $wrapper)?
                    ),)+
                    $($($part: $crate::shared_row::Shared::from_row(row)?.0,)+)?
                }))
            }
        }

        impl From<$crate::shared_row::Shared<$name>> for $name {
            fn from(row: $crate::shared_row::Shared<$name>) -> Self {
                row.0
            }
        }
    };
    (@column $field:ident) => { stringify!($field) };
    (@column $field:ident $column:literal) => { $column };
    (@read $row:ident, $column:expr) => { sqlx::Row::try_get($row, $column)? };
    (@read $row:ident, $column:expr, $wrapper:ty) => {
        $crate::shared_row::converted::<$wrapper, _>($row, $column)?
    };
}

pub(crate) use shared_row;

/// The value of a column that `W` decodes.
pub(crate) fn converted<W, T>(row: &PgRow, column: &str) -> sqlx::Result<T>
where
    W: for<'r> Decode<'r, Postgres> + Type<Postgres>,
    T: TryFrom<W, Error: Into<BoxDynError>>,
{
    let stored: W = row.try_get(column)?;
    T::try_from(stored)
        .map_err(|error| sqlx::Error::ColumnDecode { index: format!("{column:?}"), source: error.into() })
}
