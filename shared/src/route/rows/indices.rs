//! Indices and reference rates, for holders of index tokens alone.

macro_rules! indices_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            IndexList: Get "/v1/indices" {
                access: Index, family: Public, cache: Cache::by_class(60), tags: [Baskets, Vaults],
                query: [Param::page("page"), Param::optional_size()], answers: "Data<Vec<IndexRow>>", errors: [],
                about: "An index for each published basket of vaults, with its base date and its newest level.",
            }
            IndexById: Get "/v1/indices/{id}" {
                access: Index, family: Public, cache: Cache::by_class(60), tags: [Baskets, Vaults],
                query: [], answers: "Data<IndexDetail>", errors: [],
                about: "One index: how its levels are made, and where each version of the basket was linked.",
            }
            IndexLevels: Get "/v1/indices/{id}/levels" {
                access: Index, family: Public, cache: Cache::by_class(60), tags: [Baskets, Vaults],
                query: [INDEX_DAYS], answers: "Data<Vec<IndexLevel>>", errors: [],
                about: "The index day by day, oldest first. A day of which a price is missing has no level, and says why.",
            }
            RateList: Get "/v1/rates" {
                access: Index, family: Public, cache: Cache::by_class(15), tags: [Vaults],
                query: [Param::page("page"), Param::optional_size()], answers: "Data<Vec<ReferenceRate>>", errors: [],
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

pub(in crate::route) use indices_rows;
