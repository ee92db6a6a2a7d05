//! Whether an identified caller may have what was asked for.

use rds_shared::access::{Principal, paging};
use rds_shared::route::{Query, RouteId};
use rds_shared::select::security;
use rds_shared::wire::ApiError;
use rds_shared::wire::page::PageRequest;

/// Lets the request pass, or says what it would need.
pub fn admit(principal: &Principal, route: RouteId, query: &Query) -> Result<(), ApiError> {
    match page(route, query) {
        Some(page) => paging::admit(principal, page),
        None => Ok(()),
    }
}

/// The rows of a list that a request reaches for; `None` on routes that are not paged through.
fn page(route: RouteId, query: &Query) -> Option<PageRequest> {
    match route {
        RouteId::VaultList
        | RouteId::VaultScores
        | RouteId::CuratorList
        | RouteId::MarketList
        | RouteId::OracleList
        | RouteId::Royco
        | RouteId::EventList
        | RouteId::AssetList
        | RouteId::RwaList
        | RouteId::SignalList => Some(query.page()),
        // Beyond its last page a list reaches for nothing.
        RouteId::SecurityEventList | RouteId::LossBoard => security::reached(query),
        RouteId::ProtocolById | RouteId::CuratorById => Some(query.page_of("vaultPage", "vaultLimit")),
        RouteId::BasketVersions => Some(query.page_of("page", "pageSize")),
        // An offset is the page of one row that starts there.
        RouteId::CuratorEvents => Some(PageRequest::new(query.int("offset").unsigned_abs().saturating_add(1), 1)),
        RouteId::VaultById
        | RouteId::VaultBatch
        | RouteId::VaultDetail
        | RouteId::VaultSnapshots
        | RouteId::VaultScoreHistory
        | RouteId::VaultEvents
        | RouteId::VaultChanges
        | RouteId::VaultHolders
        | RouteId::VaultHolderHistory
        | RouteId::VaultMarkets
        | RouteId::VaultStrategies
        | RouteId::VaultStrategy
        | RouteId::Chains
        | RouteId::ProtocolList
        | RouteId::Me
        | RouteId::MarketById
        | RouteId::MarketEvents
        | RouteId::VaultsWithCriticalIncidents
        | RouteId::EventById
        | RouteId::EventGroup
        | RouteId::OracleByAddress
        | RouteId::Stats
        | RouteId::AssetSymbols
        | RouteId::AssetSymbolHistory
        | RouteId::Portfolio
        | RouteId::AssetFacets
        | RouteId::AssetDetail
        | RouteId::RwaFacets
        | RouteId::RwaCoverage
        | RouteId::RwaHistory
        | RouteId::RwaById
        | RouteId::ReviewerList
        | RouteId::SignalById
        | RouteId::BasketList
        | RouteId::BasketById
        | RouteId::BasketVersion
        | RouteId::BasketChanges
        | RouteId::BasketMethodologyVersions
        | RouteId::WebhookCreate
        | RouteId::WebhookList
        | RouteId::WebhookById
        | RouteId::WebhookDelete
        | RouteId::WebhookTest
        | RouteId::WebhookDeliveries
        | RouteId::WebhookReplay
        | RouteId::WebhookEnable
        | RouteId::EventStream
        | RouteId::Health
        | RouteId::Ready => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::wire::ErrorCode;

    fn verdict(route: RouteId, text: &str) -> Result<(), ErrorCode> {
        let query = Query::parse(route.route().query, text).unwrap();
        admit(&Principal::Anonymous, route, &query).map_err(|error| error.code)
    }

    #[test]
    fn without_a_key_every_list_ends_after_two_hundred_rows() {
        for (route, last, beyond) in [
            (RouteId::VaultList, "page=2&limit=100", "page=3&limit=100"),
            (RouteId::CuratorList, "page=10", "page=11"),
            (RouteId::MarketList, "page=10", "page=11"),
            (RouteId::OracleList, "page=2&limit=100", "page=3&limit=100"),
            (RouteId::Royco, "page=10", "page=11"),
            (RouteId::EventList, "page=2&limit=100", "page=3&limit=100"),
            (RouteId::AssetList, "page=2&limit=100", "page=3&limit=100"),
            (RouteId::RwaList, "page=10", "page=11"),
            (RouteId::SignalList, "page=6", "page=8"),
            (RouteId::SecurityEventList, "page=4", "page=5"),
            (RouteId::LossBoard, "page=10001", "page=10000"),
            (RouteId::ProtocolById, "vaultPage=10", "vaultPage=11"),
            (RouteId::CuratorById, "vaultPage=2&vaultLimit=100", "vaultPage=3&vaultLimit=100"),
            (RouteId::CuratorEvents, "offset=199", "offset=200"),
            (RouteId::BasketVersions, "page=4", "page=5"),
        ] {
            assert_eq!(verdict(route, last), Ok(()), "{last}");
            assert_eq!(verdict(route, beyond), Err(ErrorCode::Forbidden), "{beyond}");
        }
    }

    #[test]
    fn a_route_without_pages_has_no_depth_to_limit() {
        assert_eq!(verdict(RouteId::VaultSnapshots, "points=2160&days=365"), Ok(()));
    }
}
