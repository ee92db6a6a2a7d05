//! The parameters of the baskets' routes. Source: interface, "Baskets".

use super::param::Param;

pub(super) const BASKET_AT: Param =
    Param::instant("at", "The version that was in force at this instant; the present one when it is absent.");
pub(super) const CHANGED_VERSIONS: Param = Param::size("limit", 20, 100);
