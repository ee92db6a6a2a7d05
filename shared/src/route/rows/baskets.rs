//! Baskets, indices and reference rates: parameters and rows.

use crate::route::param::{OnOverflow, Param};
use crate::route::typed::kinds::*;
use crate::route::typed::params;

params! {
    BasketAt: Until = Param::instant("at", "Selects the version that was in force at this instant; the current version when absent.");
    IndexDays: Count =
        Param::int("days", 1, 3_650, 365, OnOverflow::Clamp, "Number of newest days, including today; a larger number counts as the maximum.");
    PageSize: Count = Param::size("pageSize", 50, 200).alias(&["limit"]);
}

macro_rules! baskets_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            BasketList: Get "/v1/baskets" {
                access: Public, rate_limit_class: Public, cache: Cache::current_basket(), tags: [Baskets],
                query: [Page, OptionalLimit], answers: "Data<Vec<BasketRow>>", errors: [],
                about: "Published baskets, each with its current version.",
            }
            BasketById: Get "/v1/baskets/{id}" {
                access: Public, rate_limit_class: Public, cache: Cache::current_basket(), tags: [Baskets], scores: true,
                query: [BasketAt], answers: "Data<BasketDetail>", errors: [VersionRetired],
                about: "The basket version in force now or at an instant: its constituents, weights and rules. If that version is retired, the response is 410 \
                       and names its successor.",
            }
            BasketVersions: Get "/v1/baskets/{id}/versions" {
                access: Public, rate_limit_class: Public, cache: Cache::by_class(60), tags: [Baskets],
                pages: Numbered(Page, PageSize),
                query: [Page, PageSize], answers: "Paged<Vec<ListedBasketVersion>>", errors: [Forbidden],
                about: "All versions of a basket, newest first, each with the id of the previous version.",
            }
            BasketVersion: Get "/v1/baskets/{id}/version/{versionId}" {
                access: Public, rate_limit_class: Public, cache: Cache::immutable(), tags: [Baskets],
                query: [], answers: "Data<BasketDetail>", errors: [VersionRetired],
                about: "One version of a basket, which never changes. If it is retired, the response is 410 and names its successor.",
            }
            BasketChanges: Get "/v1/baskets/{id}/changes" {
                access: Public, rate_limit_class: Public, cache: Cache::public(60), tags: [Baskets], scores: true,
                query: [Limit(20, 100)], answers: "Data<Vec<BasketChangeRow>>", errors: [],
                about: "Changes of the newest versions: constituents that were added, removed or reweighted. `limit` is the number of versions.",
            }
            BasketMethodologyVersions: Get "/v1/baskets/{id}/methodology/versions" {
                access: Public, rate_limit_class: Public, cache: Cache::public(60), tags: [Baskets],
                query: [Page, OptionalLimit], answers: "Data<Vec<BasketMethodologyRow>>", errors: [],
                about: "Versions of the basket's rules, newest first.",
            }
            IndexList: Get "/v1/indices" {
                access: Index, rate_limit_class: Public, cache: Cache::by_class(60), tags: [Baskets, Vaults],
                query: [Page, OptionalLimit], answers: "Data<Vec<IndexRow>>", errors: [],
                about: "One index for each published basket of vaults, with its base date and newest level.",
            }
            IndexById: Get "/v1/indices/{id}" {
                access: Index, rate_limit_class: Public, cache: Cache::by_class(60), tags: [Baskets, Vaults],
                query: [], answers: "Data<IndexDetail>", errors: [],
                about: "One index: how its levels are computed, and on which day each version of the basket was linked.",
            }
            IndexLevels: Get "/v1/indices/{id}/levels" {
                access: Index, rate_limit_class: Public, cache: Cache::by_class(60), tags: [Baskets, Vaults],
                query: [IndexDays], answers: "Data<Vec<IndexLevel>>", errors: [],
                about: "Daily levels of one index, oldest first. A day with a missing price has no level and states the reason.",
            }
            RateList: Get "/v1/rates" {
                access: Index, rate_limit_class: Public, cache: Cache::by_class(15), tags: [Vaults],
                query: [Page, OptionalLimit], answers: "Data<Vec<ReferenceRate>>", errors: [],
                about: "Reference rates: for each deposit asset, the net rate of its vaults weighted by value. The asset with the largest value comes first.",
            }
            RateBySymbol: Get "/v1/rates/{symbol}" {
                access: Index, rate_limit_class: Public, cache: Cache::by_class(15), tags: [Vaults], scores: true,
                fold: [0: Upper],
                query: [], answers: "Data<ReferenceRateDetail>", errors: [],
                about: "The reference rate of one asset, with the vaults that count toward it and those that do not.",
            }
        }
    };
}

pub(in crate::route) use baskets_rows;
