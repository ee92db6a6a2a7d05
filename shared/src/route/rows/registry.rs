//! Chains, protocols and curators: parameters and rows.

use crate::route::param::{OnOverflow::Clamp, Param};
use crate::route::typed::kinds::*;
use crate::route::typed::params;

params! {
    CuratorSort: Word =
        Param::choice("sortBy", &["tvl_total", "vault_count", "avg_apr", "name"], "Field to sort by.").default("tvl_total");
    VaultPage: Count = Param::page("vaultPage");
    VaultLimit: Count = Param::size("vaultLimit", 20, 100);
    Offset: Count = Param::int("offset", 0, u32::MAX as i64, 0, Clamp, "Number of events to skip.");
}

macro_rules! registry_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            Chains: Get "/v1/chains" {
                access: Public, rate_limit_class: Public, cache: Cache::public(30), tags: [Vaults],
                query: [Page, OptionalLimit], answers: "Data<Vec<ChainRow>>", errors: [],
                about: "Chains with active vaults, with the slugs that paths and filters accept.",
            }
            ProtocolList: Get "/v1/protocols" {
                access: Public, rate_limit_class: Public, cache: Cache::public(30), tags: [Vaults],
                query: [Page, OptionalLimit], answers: "Data<Vec<ProtocolRow>>", errors: [],
                about: "Protocols with the number and total value of their vaults.",
            }
            ProtocolById: Get "/v1/protocols/{id}" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Vaults, Events], scores: true,
                pages: Numbered(VaultPage, VaultLimit),
                query: [VaultPage, VaultLimit], answers: "Data<ProtocolPage>", errors: [Forbidden],
                about: "One protocol with its vaults, versions and incidents.",
            }
            CuratorList: Get "/v1/curators" {
                access: Public, rate_limit_class: Public, cache: Cache::public(30), tags: [Vaults],
                pages: Numbered(Page, Limit),
                query: [Page, Limit(20, 100),
                        CuratorSort, SortOrder],
                answers: "Paged<Vec<CuratorRow>>", errors: [Forbidden],
                about: "Curators with the number and total value of their vaults.",
            }
            CuratorById: Get "/v1/curators/{id}" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Vaults, Events], scores: true,
                pages: Numbered(VaultPage, VaultLimit),
                query: [VaultPage, VaultLimit], answers: "Data<CuratorPage>", errors: [Forbidden],
                about: "One curator with its vaults, chains and latest events.",
            }
            CuratorEvents: Get "/v1/curators/{id}/events" {
                access: Public, rate_limit_class: Public, cache: Cache::public(15), tags: [Vaults, Events],
                pages: Offset(Offset, Limit),
                query: [Offset, Limit(5, 100)],
                answers: "Data<CuratorEvents>", errors: [Forbidden],
                about: "Published events of the curator's vaults, newest first.",
            }
        }
    };
}

pub(in crate::route) use registry_rows;
