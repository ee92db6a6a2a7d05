//! Baskets, indices and reference rates: parameters and rows.

use crate::route::param::{OnOverflow, Param};
use crate::route::typed::kinds::*;
use crate::route::typed::params;

params! {
    BasketAt: Until = Param::instant("at", "The version that was in force at this instant; the present one when it is absent.");
    IndexDays: Count =
        Param::int("days", 1, 3_650, 365, OnOverflow::Clamp, "Days up to today, this one included; a greater number counts as the maximum.");
    PageSize: Count = Param::size("pageSize", 50, 200).alias(&["limit"]);
}

macro_rules! baskets_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            BasketList: Get "/v1/baskets" {
                access: Public, family: Public, cache: Cache::current_basket(), tags: [Baskets],
                query: [Page, OptionalLimit], answers: "Data<Vec<BasketRow>>", errors: [],
                about: "The published baskets, each with the version in force.",
            }
            BasketById: Get "/v1/baskets/{id}" {
                access: Public, family: Public, cache: Cache::current_basket(), tags: [Baskets], scores: true,
                query: [BasketAt], answers: "Data<BasketDetail>", errors: [VersionRetired],
                about: "A basket's version in force now, or at an instant: constituents, weights, and the rules it was made by.",
            }
            BasketVersions: Get "/v1/baskets/{id}/versions" {
                access: Public, family: Public, cache: Cache::by_class(60), tags: [Baskets],
                pages: Numbered(Page, PageSize),
                query: [Page, PageSize], answers: "Paged<Vec<ListedBasketVersion>>", errors: [Forbidden],
                about: "Every version of a basket, newest first, each linked to the one before it.",
            }
            BasketVersion: Get "/v1/baskets/{id}/version/{versionId}" {
                access: Public, family: Public, cache: Cache::immutable(), tags: [Baskets],
                query: [], answers: "Data<BasketDetail>", errors: [VersionRetired],
                about: "One version, which never changes. A retired one is 410 and names its successor.",
            }
            BasketChanges: Get "/v1/baskets/{id}/changes" {
                access: Public, family: Public, cache: Cache::public(60), tags: [Baskets], scores: true,
                query: [Limit(20, 100)], answers: "Data<Vec<BasketChangeRow>>", errors: [],
                about: "What each of the newest versions changed: who came, who went, whose weight moved.",
            }
            BasketMethodologyVersions: Get "/v1/baskets/{id}/methodology/versions" {
                access: Public, family: Public, cache: Cache::public(60), tags: [Baskets],
                query: [Page, OptionalLimit], answers: "Data<Vec<BasketMethodologyRow>>", errors: [],
                about: "The versions of the basket's rules, newest first.",
            }
            IndexList: Get "/v1/indices" {
                access: Index, family: Public, cache: Cache::by_class(60), tags: [Baskets, Vaults],
                query: [Page, OptionalLimit], answers: "Data<Vec<IndexRow>>", errors: [],
                about: "An index for each published basket of vaults, with its base date and its newest level.",
            }
            IndexById: Get "/v1/indices/{id}" {
                access: Index, family: Public, cache: Cache::by_class(60), tags: [Baskets, Vaults],
                query: [], answers: "Data<IndexDetail>", errors: [],
                about: "One index: how its levels are made, and where each version of the basket was linked.",
            }
            IndexLevels: Get "/v1/indices/{id}/levels" {
                access: Index, family: Public, cache: Cache::by_class(60), tags: [Baskets, Vaults],
                query: [IndexDays], answers: "Data<Vec<IndexLevel>>", errors: [],
                about: "The index day by day, oldest first. A day of which a price is missing has no level, and says why.",
            }
            RateList: Get "/v1/rates" {
                access: Index, family: Public, cache: Cache::by_class(15), tags: [Vaults],
                query: [Page, OptionalLimit], answers: "Data<Vec<ReferenceRate>>", errors: [],
                about: "What the vaults of each deposit asset pay, weighted by value: the asset with most value first.",
            }
            RateBySymbol: Get "/v1/rates/{symbol}" {
                access: Index, family: Public, cache: Cache::by_class(15), tags: [Vaults], scores: true,
                fold: [0: Upper],
                query: [], answers: "Data<ReferenceRateDetail>", errors: [],
                about: "One asset's rate with the vaults that it is made of and those that do not count.",
            }
        }
    };
}

pub(in crate::route) use baskets_rows;
