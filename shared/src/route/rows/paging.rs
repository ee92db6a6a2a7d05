//! The paging parameters that most lists share.

use crate::route::param::Param;
use crate::route::typed::kinds::{Count, OptionalCount};
use crate::route::typed::params;

params! {
    Page: Count = Param::page("page");
    Limit: Count = Param::size("limit", 20, 100);
    OptionalLimit: OptionalCount = Param::optional_size();
}

impl Limit {
    /// `limit` with the default and the maximum of one route.
    pub(in crate::route) const fn of(default: i64, max: i64) -> Param {
        Param::size("limit", default, max)
    }
}
