//! An asset's dimensions as the database has them.

use rds_shared::scoring::MilliPoints;
use rds_shared::scoring::asset::{Dimension, Dimensions};

/// Parses the stored form, `{dimension: milli-points}`.
pub fn stored_dimensions(json: &serde_json::Value) -> Dimensions {
    let known = |(name, value): (&String, &serde_json::Value)| {
        let milli = MilliPoints::new(i32::try_from(value.as_i64()?).ok()?)?;
        Some((name.parse::<Dimension>().ok()?, milli))
    };
    json.as_object().into_iter().flatten().filter_map(known).collect()
}
