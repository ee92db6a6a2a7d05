//! Path parameters: what each means on its route, and how callers may write it.

use super::entry::Route;
use super::matching::parameter_name;
use crate::model::spelling;

/// The spelling of a SHA-256 in hexadecimal.
const HASH: &str = "^[0-9a-fA-F]{64}$";
/// The spelling of a subscription's id.
const NUMBER: &str = "^[0-9]+$";

/// One parameter in the path of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathParam {
    pub name: &'static str,
    /// The description in the OpenAPI document.
    pub about: &'static str,
    /// Regular expression of the texts that the route accepts; `None` for every text that is not empty. The handler checks the text.
    pub pattern: Option<&'static str>,
}

impl Route {
    /// The parameters in the path, in order.
    pub fn path_params(&self) -> impl Iterator<Item = PathParam> {
        self.path.split('/').filter_map(|segment| Some(self.path_param(parameter_name(segment)?)))
    }

    /// The meaning of a name depends on the route.
    fn path_param(&self, name: &'static str) -> PathParam {
        let under = |prefix: &str| self.path.starts_with(prefix);
        let (about, pattern) = match name {
            "network" | "chain" => ("The chain's slug, as `/v1/chains` lists it.", None),
            "chain_id" => ("The chain's id or slug.", None),
            "address" if under("/v1/portfolio") => (
                "The account: `0x` and 40 hex digits in any letter case, or base58 of 32 bytes, case-sensitive.",
                Some(spelling::ADDRESS),
            ),
            "address" if under("/v1/oracle") => (
                "The address of the feed's contract, in the chain's format; another format is answered with 400.",
                Some(spelling::ADDRESS),
            ),
            "address" if under("/v1/assets") => (
                "The token's address, in the chain's format; another format is answered with 400. `native` is the chain's native coin.",
                Some(spelling::ADDRESS_OR_NATIVE),
            ),
            "address" => (
                "The address of the vault's share token: `0x` and 40 hex digits in any letter case on EVM chains, \
                 base58 of 32 bytes, case-sensitive, on Solana. The format of the other namespace is answered with 400.",
                Some(spelling::ADDRESS),
            ),
            "symbol" if under("/v1/rates") => ("The deposit asset's symbol; letter case is ignored.", None),
            "symbol" => ("The exact symbol; letter case is ignored. Write a slash as `%2F`.", None),
            "asset_id" => ("The asset's id, as in the asset lists.", None),
            "file" => ("The page's name, as in links to it.", None),
            "groupKey" => ("The group's key: `group_key` of an event.", None),
            "versionId" => ("The version's id, as `/v1/baskets/{id}/versions` lists it.", None),
            "whId" => ("The subscription's id.", Some(NUMBER)),
            "id" if under("/v1/graph/decision") => {
                ("The decision's id: the SHA-256 of its envelope, 64 hex characters.", Some(HASH))
            }
            "id" if under("/v1/graph/snapshot") => ("The snapshot's id: 64 hex characters.", Some(HASH)),
            "id" if under("/v1/vaults") => ("The vault's id: `{protocol_id}-{chain_id}-{address}`.", None),
            "id" if under("/v1/markets") => ("The market's id, as in the market list; letter case is ignored.", None),
            "id" if under("/v1/baskets") => ("The basket's slug.", None),
            "id" if under("/v1/indices") => ("The index: the slug of its basket.", None),
            "id" if under("/v1/webhooks") => ("The subscription's id.", Some(NUMBER)),
            "id" if under("/v1/events") => ("The event's id.", None),
            "id" if under("/v1/signals") => ("The signal's id.", None),
            "id" if under("/v1/protocols") => ("The protocol's id.", None),
            "id" if under("/v1/curators") => ("The curator's id.", None),
            _ => ("", None),
        };
        PathParam { name, about, pattern }
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::ROUTES;

    #[test]
    fn every_path_parameter_is_explained() {
        for route in ROUTES {
            for param in route.path_params() {
                assert!(!param.about.is_empty(), "{} {}", route.path, param.name);
            }
        }
    }
}
