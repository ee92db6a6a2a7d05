//! The arguments of a tool call as a request of a route.
//!
//! Names and values are checked by the route itself, with `strict=true`, so that its error says what a caller meant.

use super::tool::{self, Tool, VAULT, VIEW, View};
use rds_shared::route::unknown::STRICT;
use rds_shared::route::{Body, Route};
use rds_shared::wire::percent;
use rds_shared::wire::{ApiError, Detail, ErrorCode, In};
use serde_json::{Map, Value};

/// A request of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub method: &'static str,
    /// Path and query.
    pub target: String,
    /// JSON; empty for a read.
    pub body: Vec<u8>,
}

/// A tool call: the view that it selects, and the request that answers it.
#[derive(Debug)]
pub struct Planned {
    pub view: &'static View,
    pub request: Request,
}

/// Makes the request of a call. The error names the argument that is missing or wrong.
pub fn plan(tool: &'static Tool, arguments: &Map<String, Value>, graph: bool) -> Result<Planned, ApiError> {
    let view = selected(tool, arguments, graph)?;
    let route = view.route();
    let target = path(route, arguments)?;
    if route.body != Body::None {
        let body = serde_json::to_vec(arguments).unwrap_or_default();
        return Ok(Planned { view, request: Request { method: route.method.as_str(), target, body } });
    }
    let query = query(view, arguments)?;
    let target = format!("{target}?{query}");
    Ok(Planned { view, request: Request { method: route.method.as_str(), target, body: Vec::new() } })
}

fn selected(tool: &'static Tool, arguments: &Map<String, Value>, graph: bool) -> Result<&'static View, ApiError> {
    let mut offered = tool.offered(graph);
    let wanted = match arguments.get(VIEW) {
        None | Some(Value::Null) => return offered.next().ok_or_else(|| ApiError::not_found("tool")),
        Some(Value::String(name)) => offered.find(|view| view.name == name),
        Some(_) => None,
    };
    wanted.ok_or_else(|| {
        let names: Vec<&str> = tool.offered(graph).map(|view| view.name).collect();
        fault(ErrorCode::InvalidParameter, VIEW, format!("must be one of {}", names.join(", ")))
    })
}

/// The path of a route, with the arguments as its parameters.
fn path(route: &Route, arguments: &Map<String, Value>) -> Result<String, ApiError> {
    let mut values = Vec::new();
    if tool::names_a_vault(route) {
        let text = required(arguments, VAULT)?;
        let Some((chain, address)) = vault(&text) else {
            let reason = "must be a vault's id, or `chain:address`".to_owned();
            return Err(fault(ErrorCode::InvalidParameter, VAULT, reason));
        };
        values.extend([chain.to_owned(), address.to_owned()]);
    } else {
        for param in route.path_params() {
            values.push(required(arguments, param.name)?);
        }
    }
    Ok(filled(route, values))
}

/// The path of a route with these parameters.
pub fn filled(route: &Route, values: impl IntoIterator<Item = String>) -> String {
    let mut values = values.into_iter();
    let mut out = String::new();
    for segment in route.path.split('/').skip(1) {
        out.push('/');
        if segment.starts_with('{') {
            percent::encode_into(&values.next().unwrap_or_default(), b":", &mut out);
        } else {
            out.push_str(segment);
        }
    }
    out
}

/// Chain and address of a vault, from its id or from `chain:address`.
pub fn vault(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    if let Some((chain, address)) = text.rsplit_once([':', '/']) {
        return (!chain.is_empty() && !address.is_empty()).then_some((chain, address));
    }
    let (rest, address) = text.rsplit_once('-')?;
    let (_, chain) = rest.rsplit_once('-')?;
    (!chain.is_empty() && !address.is_empty()).then_some((chain, address))
}

fn required(arguments: &Map<String, Value>, name: &'static str) -> Result<String, ApiError> {
    let given = arguments.get(name).filter(|value| !value.is_null()).map(|value| text(name, value)).transpose()?;
    let given = given.filter(|text| !text.is_empty());
    given.ok_or_else(|| fault(ErrorCode::MissingParameter, name, "is required".to_owned()))
}

/// The query: the arguments that are not part of the path, the tool's own defaults, and `strict`.
fn query(view: &View, arguments: &Map<String, Value>) -> Result<String, ApiError> {
    let route = view.route();
    let is_query = |name: &str| {
        let is_vault = name == VAULT && tool::names_a_vault(route);
        !(name == VIEW || STRICT.is_called(name) || is_vault || route.path_params().any(|param| param.name == name))
    };
    let mut out = String::new();
    let mut add = |name: &str, value: &str| {
        percent::encode_into(name, b"", &mut out);
        out.push('=');
        percent::encode_into(value, b",:", &mut out);
        out.push('&');
    };
    for (name, value) in arguments.iter().filter(|(name, value)| is_query(name) && !value.is_null()) {
        add(name, &text(name, value)?);
    }
    for (name, value) in view.preset {
        let is_given = |param: &&rds_shared::route::Param| arguments.keys().any(|given| param.is_called(given));
        if !route.query.iter().filter(|param| param.name == *name).any(|param| is_given(&param)) {
            add(name, value);
        }
    }
    out.push_str(STRICT.name);
    out.push_str("=true");
    Ok(out)
}

/// A value as the text of a parameter. Several values are separated by commas.
fn text(name: &str, value: &Value) -> Result<String, ApiError> {
    Ok(match value {
        Value::String(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        // A model may write a whole number as 20.0.
        Value::Number(number) => match number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 1e15) {
            Some(whole) => format!("{whole:.0}"),
            None => number.to_string(),
        },
        Value::Array(values) if values.iter().all(|value| !value.is_array() && !value.is_object()) => {
            let values: Vec<String> = values.iter().map(|value| text(name, value)).collect::<Result<_, _>>()?;
            values.join(",")
        }
        Value::Null => String::new(),
        Value::Array(_) | Value::Object(_) => {
            let reason = "must be a text, a number, true, false, or a list of these".to_owned();
            return Err(fault(ErrorCode::InvalidParameter, name, reason));
        }
    })
}

fn fault(code: ErrorCode, name: &str, reason: String) -> ApiError {
    ApiError::invalid(code, vec![Detail::new(In::Body, name.to_owned(), reason)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tool_table::TOOLS;
    use rds_shared::route::{Matching, Method, Query, match_route};
    use serde_json::json;

    const ADDRESS: &str = "0xc516dd999378982aac393e1de92f8eff568cc06d";

    fn called(name: &str, arguments: &Value) -> Result<Planned, ApiError> {
        let tool = TOOLS.iter().find(|tool| tool.name == name).unwrap();
        plan(tool, arguments.as_object().unwrap(), true)
    }

    fn target(name: &str, arguments: &Value) -> String {
        called(name, arguments).unwrap().request.target
    }

    #[test]
    fn arguments_become_the_query_with_lists_separated_by_commas() {
        let found = target(
            "search_vaults",
            &json!({"riskTier": ["prime", "core"], "asset": "USDC", "minTvl": 1e6, "stablecoin": true, "search": "a b&c"}),
        );
        assert_eq!(
            found,
            "/v1/vaults?asset=USDC&minTvl=1000000&riskTier=prime,core&search=a%20b%26c&stablecoin=true&limit=10&strict=true"
        );
    }

    #[test]
    fn a_vault_is_named_by_its_id_or_by_chain_and_address() {
        for vault in [format!("lantern-moss-31337-{ADDRESS}"), format!("31337:{ADDRESS}"), format!("31337/{ADDRESS}")] {
            let found = target("explain_score", &json!({"vault": vault}));
            assert_eq!(found, format!("/v1/vault/31337/{ADDRESS}?points=1&strict=true"), "{vault}");
        }
        for vault in ["", "nonsense", "a-b", ":", "-31337-", "31337:"] {
            let error = called("explain_score", &json!({"vault": vault})).unwrap_err();
            assert!(error.message.starts_with("vault "), "{vault}: {}", error.message);
        }
    }

    #[test]
    fn a_given_value_replaces_the_tools_default_also_under_another_name() {
        let vault = format!("31337:{ADDRESS}");
        assert!(target("get_vault", &json!({"vault": vault, "points": 500.0})).contains("points=500&strict"));
        assert!(target("get_vault", &json!({"vault": vault, "resolution": 9})).contains("?resolution=9&strict"));
    }

    #[test]
    fn a_view_selects_the_route_and_an_unknown_one_is_refused_with_the_known() {
        assert!(target("overview", &json!({"view": "chains"})).starts_with("/v1/chains?"));
        assert!(target("overview", &json!({"view": null})).starts_with("/v1/stats?"));
        let error = called("overview", &json!({"view": "weather"})).unwrap_err();
        assert_eq!(
            (error.code, error.message.as_ref()),
            (ErrorCode::InvalidParameter, "view must be one of totals, chains")
        );
        assert!(called("overview", &json!({"view": 7})).is_err());
    }

    #[test]
    fn a_missing_part_of_the_path_is_named() {
        let error = called("get_asset", &json!({"chain_id": 1})).unwrap_err();
        assert_eq!((error.code, error.message.as_ref()), (ErrorCode::MissingParameter, "address is required"));
    }

    #[test]
    fn an_argument_cannot_leave_its_place_in_the_path() {
        let found = target("markets", &json!({"view": "market", "id": "../../v1/webhooks?x=1#y"}));
        assert!(found.starts_with("/v1/markets/..%2F..%2Fv1%2Fwebhooks%3Fx%3D1%23y?"), "{found}");
    }

    #[test]
    fn a_nested_value_is_refused() {
        let error = called("search_vaults", &json!({"asset": [["USDC"]]})).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidParameter);
        assert!(error.message.starts_with("asset "));
    }

    #[test]
    fn a_check_sends_its_arguments_as_the_body() {
        let arguments = json!({"portfolioRef": "x", "positions": []});
        let planned = called("check_portfolio", &arguments).unwrap();
        assert_eq!((planned.request.method, planned.request.target.as_str()), ("POST", "/v1/graph/check"));
        assert_eq!(serde_json::from_slice::<Value>(&planned.request.body).unwrap(), arguments);
    }

    #[test]
    fn every_view_without_required_arguments_is_a_valid_request_of_its_route() {
        for tool in TOOLS {
            for view in tool.views.iter().filter(|view| view.route().body == Body::None) {
                let mut arguments = json!({"view": view.name, "vault": format!("31337:{ADDRESS}")});
                if !tool::names_a_vault(view.route()) {
                    arguments.as_object_mut().unwrap().remove("vault");
                }
                for param in view.route().path_params() {
                    arguments[param.name] = "x".into();
                }
                for param in view
                    .route()
                    .query
                    .iter()
                    .filter(|param| param.default == rds_shared::route::param::Default::Required)
                {
                    arguments[param.name] = "2026-01-01T00:00:00Z".into();
                }
                if tool::names_a_vault(view.route()) {
                    for name in ["network", "address"] {
                        arguments.as_object_mut().unwrap().remove(name);
                    }
                }
                let target = target(tool.name, &arguments);
                let (path, text) = target.split_once('?').unwrap();
                let Matching::Found(found) = match_route(Some(Method::Get), path) else { panic!("{target}") };
                assert_eq!(found.route.id, view.route, "{target}");
                assert!(Query::parse(found.route.query, text).is_ok(), "{target}");
            }
        }
    }
}
