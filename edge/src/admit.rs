//! Limits how far callers without a key may page through lists.

use rds_shared::access::{Principal, paging};
use rds_shared::route::{Query, RouteId};
use rds_shared::select::security;
use rds_shared::wire::ApiError;
use rds_shared::wire::page::PageRequest;

/// Offset and number of the rows of a list.
type Rows = (u64, u64);

/// Refuses a page beyond the rows that are open to callers without a key.
pub fn admit(principal: &Principal, route: RouteId, query: &Query) -> Result<(), ApiError> {
    match rows(route, query) {
        Some((offset, rows)) => paging::admit_rows(principal, offset, rows).map(drop),
        None => Ok(()),
    }
}

/// Whether a list page has more rows with a key: it begins within the rows open to everybody and ends beyond
/// them.
pub fn is_longer_with_key(route: RouteId, query: &Query) -> bool {
    rows(route, query).is_some_and(|(offset, rows)| paging::is_more_with_key(offset, rows))
}

/// The rows that a request asks for; `None` on routes without pages.
fn rows(route: RouteId, query: &Query) -> Option<Rows> {
    let numbered = |page: PageRequest| (page.offset(), page.size);
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
        | RouteId::SignalList => Some(numbered(query.page())),
        // Pages beyond the last one count as empty.
        RouteId::SecurityEventList | RouteId::LossBoard => security::reached(query).map(numbered),
        RouteId::ProtocolById | RouteId::CuratorById => Some(numbered(query.page_of("vaultPage", "vaultLimit"))),
        RouteId::BasketVersions => Some(numbered(query.page_of("page", "pageSize"))),
        RouteId::CuratorEvents => Some((query.int("offset").unsigned_abs(), query.int("limit").unsigned_abs())),
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
        | RouteId::Methodology
        | RouteId::ValidationReports
        | RouteId::Claims
        | RouteId::ResearchSources
        | RouteId::Predictions
        | RouteId::Backtests
        | RouteId::ModelHealth
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
        | RouteId::BasketWebhookCreate
        | RouteId::BasketWebhooksOfAll
        | RouteId::BasketWebhookList
        | RouteId::BasketWebhookDelete
        | RouteId::BasketWebhookReplay
        | RouteId::BasketWebhookEnable
        | RouteId::IndexList
        | RouteId::IndexById
        | RouteId::IndexLevels
        | RouteId::RateList
        | RouteId::RateBySymbol
        | RouteId::LookThrough
        | RouteId::Breach
        | RouteId::IncidentExposure
        | RouteId::IncidentSummary
        | RouteId::GraphSnapshot
        | RouteId::GraphCheck
        | RouteId::DecisionVerify
        | RouteId::DecisionById
        | RouteId::SignerList
        | RouteId::EventStream
        | RouteId::Health
        | RouteId::OpenApi
        | RouteId::Status
        | RouteId::Ready
        | RouteId::Docs
        | RouteId::DocsFile => None,
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
    fn a_page_across_the_limit_is_served_and_is_longer_with_a_key() {
        for (route, text, longer) in [
            (RouteId::RwaList, "page=2&limit=100", false),
            (RouteId::RwaList, "page=3&limit=99", true),
            (RouteId::SignalList, "page=7", true),
            (RouteId::CuratorEvents, "offset=199&limit=1", false),
            (RouteId::CuratorEvents, "offset=199&limit=100", true),
            (RouteId::VaultSnapshots, "points=2160", false),
        ] {
            let query = Query::parse(route.route().query, text).unwrap();
            assert_eq!(verdict(route, text), Ok(()), "{text}");
            assert_eq!(is_longer_with_key(route, &query), longer, "{text}");
        }
    }

    #[test]
    fn a_route_without_pages_has_no_page_limit() {
        assert_eq!(verdict(RouteId::VaultSnapshots, "points=2160&days=365"), Ok(()));
    }
}
