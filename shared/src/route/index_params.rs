//! The parameters of the index routes.

use super::param::{OnOverflow, Param};

pub(super) const INDEX_DAYS: Param = Param::int(
    "days",
    1,
    3_650,
    365,
    OnOverflow::Clamp,
    "Days up to today, this one included; a greater number counts as the maximum.",
);
