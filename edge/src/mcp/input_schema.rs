//! The list of tools as the protocol writes it: input schemas and descriptions, made from the route table when they are asked for.

use super::tool::{self, Tool, VAULT, VIEW, View};
use super::{quoted, quoted_list};
use core::fmt::Write;
use rds_shared::graph::limits::Dimension;
use rds_shared::graph::portfolio::MAX_POSITIONS;
use rds_shared::model::spelling;
use rds_shared::route::bounds::{LIST_NAMES, PORTFOLIO_REF_CHARS};
use rds_shared::route::param::{Default, OnInvalid};
use rds_shared::route::{Body, Kind, Param, RouteId};
use std::collections::BTreeMap;

/// What every answer contains. The guide describes the members.
const OUTPUT_SCHEMA: &str = "{\"type\":\"object\",\"required\":[\"next\"],\"properties\":{\"answer\":{},\"error\":{\"type\":\"object\"},\
    \"omitted\":{\"type\":\"array\"},\"next\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}}";

/// The member `tools` of the list: every tool that is offered, as JSON.
pub fn tools(graph: bool) -> String {
    let all: Vec<String> = tool::all(graph).map(|tool| listed(tool, graph)).collect();
    format!("[{}]", all.join(","))
}

fn listed(tool: &Tool, graph: bool) -> String {
    let (name, title) = (quoted(tool.name), quoted(tool.title));
    let about = quoted(&description(tool, graph));
    let (schema, reads) = (input(tool, graph), tool.is_read_only());
    // What is not a read signs a decision: it destroys nothing, and repeating it gives the same decision.
    format!(
        "{{\"name\":{name},\"title\":{title},\"description\":{about},\"inputSchema\":{schema},\"outputSchema\":{OUTPUT_SCHEMA},\
         \"annotations\":{{\"readOnlyHint\":{reads},\"destructiveHint\":false,\"idempotentHint\":true,\
         \"openWorldHint\":false}}}}"
    )
}

/// The tool's purpose, and for each view what its route answers.
fn description(tool: &Tool, graph: bool) -> String {
    let mut text = tool.about.to_owned();
    let many = tool.offered(graph).nth(1).is_some();
    for view in tool.offered(graph) {
        let route = view.route();
        let _ =
            if many { write!(text, "\n- `{}`: {}", view.name, route.about) } else { write!(text, " {}", route.about) };
        if let Some(needs) = tool::needs(route.access) {
            let _ = write!(text, " {needs}");
        }
    }
    text
}

/// An argument: its schema without a description, and the views that take it.
struct Argument {
    schema: String,
    about: String,
    views: Vec<&'static str>,
    is_required: bool,
}

/// The input schema.
fn input(tool: &Tool, graph: bool) -> String {
    let views: Vec<&View> = tool.offered(graph).collect();
    if let [only] = views.as_slice()
        && only.route == RouteId::GraphCheck
    {
        return check();
    }
    // By name, in the order of the routes' parameters; a name may mean different things in different views.
    let mut order: Vec<&'static str> = Vec::new();
    let mut arguments: BTreeMap<&'static str, Vec<Argument>> = BTreeMap::new();
    for view in &views {
        for (name, argument) in of_view(view) {
            if !order.contains(&name) {
                order.push(name);
            }
            let known = arguments.entry(name).or_default();
            match known.iter_mut().find(|known| known.schema == argument.schema && known.about == argument.about) {
                Some(same) => same.views.push(view.name),
                None => known.push(argument),
            }
        }
    }
    let mut properties = Vec::new();
    let mut required = Vec::new();
    if views.len() > 1 {
        let names = quoted_list(views.iter().map(|view| view.name));
        let default = views.first().map(|view| quoted(view.name)).unwrap_or_default();
        properties.push(format!(
            "\"{VIEW}\":{{\"type\":\"string\",\"enum\":{names},\"default\":{default},\"description\":\"What to show.\"}}"
        ));
    }
    for name in order {
        let variants = arguments.remove(name).unwrap_or_default();
        if variants.iter().all(|variant| variant.is_required)
            && variants.iter().map(|variant| variant.views.len()).sum::<usize>() == views.len()
        {
            required.push(name);
        }
        let shown: Vec<String> = variants.iter().map(|variant| shown(variant, views.len())).collect();
        properties.push(match shown.as_slice() {
            [only] => format!("{}:{only}", quoted(name)),
            _ => format!("{}:{{\"anyOf\":[{}]}}", quoted(name), shown.join(",")),
        });
    }
    let required = quoted_list(required);
    format!(
        "{{\"type\":\"object\",\"properties\":{{{}}},\"required\":{required},\"additionalProperties\":false}}",
        properties.join(",")
    )
}

/// An argument's schema with its description, which says with which views it can be given if not with all.
fn shown(argument: &Argument, views: usize) -> String {
    let mut about = argument.about.clone();
    if argument.views.len() < views {
        let names: Vec<String> = argument.views.iter().map(|view| format!("`{view}`")).collect();
        let word = if argument.is_required { "Required" } else { "Only" };
        let views = if names.len() > 1 { "views" } else { "view" };
        let _ = write!(about, " {word} with {views} {}.", names.join(", "));
    }
    format!("{{{},\"description\":{}}}", argument.schema, quoted(&about))
}

fn of_view(view: &View) -> Vec<(&'static str, Argument)> {
    let route = view.route();
    let views = || vec![view.name];
    let mut all = Vec::new();
    if tool::names_a_vault(route) {
        let about = "The vault: its `id`, or `chain:address` with the chain's slug or id.".to_owned();
        all.push((VAULT, Argument { schema: TEXT.to_owned(), about, views: views(), is_required: true }));
    } else {
        for param in route.path_params() {
            let schema = param.pattern.map_or_else(|| TEXT.to_owned(), pattern);
            let about = param.about.to_owned();
            all.push((param.name, Argument { schema, about, views: views(), is_required: true }));
        }
    }
    for param in route.query {
        let preset = view.preset.iter().find(|(name, _)| *name == param.name).map(|(_, value)| *value);
        let is_required = param.default == Default::Required;
        let argument =
            Argument { schema: schema(param, preset), about: param.about.to_owned(), views: views(), is_required };
        all.push((param.name, argument));
    }
    all
}

const TEXT: &str = "\"type\":\"string\"";

fn pattern(pattern: &str) -> String {
    format!("{TEXT},\"pattern\":{}", quoted(pattern))
}

/// The members of a parameter's schema. `preset` is the tool's own default.
fn schema(param: &Param, preset: Option<&str>) -> String {
    let is_lenient = param.on_invalid != OnInvalid::Reject;
    let words = |words: &[&str]| quoted_list(words.iter().copied());
    let mut schema = match param.kind {
        Kind::Int { min, max, .. } if max >= i64::from(u32::MAX) => format!("\"type\":\"integer\",\"minimum\":{min}"),
        Kind::Int { min, max, .. } => format!("\"type\":\"integer\",\"minimum\":{min},\"maximum\":{max}"),
        Kind::Decimal { min, .. } if is_lenient => format!("\"type\":\"number\",\"minimum\":{min}"),
        Kind::Decimal { min, max } => format!("\"type\":\"number\",\"minimum\":{min},\"maximum\":{max}"),
        Kind::Flag => "\"type\":\"boolean\"".to_owned(),
        Kind::Choice(list) | Kind::Word(list) => format!("{TEXT},\"enum\":{}", words(list)),
        Kind::Choices(list) => format!("\"type\":\"array\",\"items\":{{{TEXT},\"enum\":{}}}", words(list)),
        Kind::Names => format!("\"type\":\"array\",\"items\":{{{TEXT}}},\"maxItems\":{LIST_NAMES}"),
        Kind::Text { max } => match param.pattern {
            Some(text) if text != spelling::CHANGE_CURSOR => pattern(text),
            _ => format!("{TEXT},\"maxLength\":{max}"),
        },
        Kind::Verbatim => TEXT.to_owned(),
        Kind::Instant => format!("{TEXT},\"format\":\"date-time\""),
    };
    let _ = match (preset, param.default) {
        (Some(number), _) => write!(schema, ",\"default\":{number}"),
        (None, Default::Int(number)) => write!(schema, ",\"default\":{number}"),
        (None, Default::Choice(word)) => write!(schema, ",\"default\":{}", quoted(word)),
        (None, Default::Absent | Default::Required) => Ok(()),
    };
    schema
}

/// The body of a check, which is the only one that a tool sends.
fn check() -> String {
    let Body::Json { max_bytes } = RouteId::GraphCheck.route().body else { return "{\"type\":\"object\"}".to_owned() };
    let limits: Vec<String> = Dimension::ALL
        .iter()
        .map(|dimension| {
            format!("\"{}\":{{\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":1}}", dimension.limit_field())
        })
        .collect();
    let key = pattern(spelling::VAULT_KEY);
    format!(
        "{{\"type\":\"object\",\"properties\":{{\
         \"portfolioRef\":{{{TEXT},\"minLength\":1,\"maxLength\":{PORTFOLIO_REF_CHARS},\"description\":\"Your name for the portfolio.\"}},\
         \"positions\":{{\"type\":\"array\",\"minItems\":1,\"maxItems\":{MAX_POSITIONS},\"description\":\"The positions, at most {max_bytes} bytes.\",\
         \"items\":{{\"type\":\"object\",\"properties\":{{\"vaultKey\":{{{key},\"description\":\"The chain id, a colon and the vault's address.\"}},\
         \"amountUsd\":{{\"type\":\"number\",\"minimum\":0,\"description\":\"The position's value in USD.\"}}}},\
         \"required\":[\"vaultKey\",\"amountUsd\"],\"additionalProperties\":false}}}},\
         \"limits\":{{\"type\":\"object\",\"description\":\"Greatest share of the portfolio that may be exposed to one key of a dimension, as a \
         fraction.\",\"properties\":{{{}}},\"additionalProperties\":false}},\
         \"issue\":{{\"type\":\"boolean\",\"description\":\"Whether the service signs the result as a decision.\"}}}},\
         \"required\":[\"portfolioRef\",\"positions\"],\"additionalProperties\":false}}",
        limits.join(",")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn list(graph: bool) -> Vec<Value> {
        serde_json::from_str::<Value>(&tools(graph)).unwrap().as_array().unwrap().clone()
    }

    fn tool(name: &str) -> Value {
        list(true).into_iter().find(|tool| tool["name"] == name).unwrap()
    }

    #[test]
    fn the_list_is_json_and_short_enough_for_a_model() {
        for tool in list(true) {
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
            assert!(tool["description"].as_str().unwrap().len() < 2_500, "{}", tool["name"]);
        }
        assert!(tools(true).len() < 52 * 1_024, "{}", tools(true).len());
    }

    #[test]
    fn types_bounds_words_and_defaults_come_from_the_route_table() {
        let arguments = &tool("search_vaults")["inputSchema"]["properties"];
        assert_eq!(arguments["minRiskScore"]["type"], "number");
        assert_eq!(
            (&arguments["minRiskScore"]["minimum"], &arguments["minRiskScore"]["maximum"]),
            (&json!(0), &json!(10))
        );
        assert_eq!(arguments["riskTier"]["items"]["enum"], json!(["prime", "core", "edge"]));
        assert_eq!((&arguments["limit"]["maximum"], &arguments["limit"]["default"]), (&json!(100), &json!(10)));
        assert_eq!(arguments["stablecoin"]["type"], "boolean");
        assert!(arguments["search"]["description"].as_str().unwrap().starts_with("Substring of the vault's name"));
        assert!(arguments.get(VIEW).is_none(), "one view needs no name");
    }

    #[test]
    fn an_argument_of_some_views_says_so_and_one_of_all_is_required() {
        let schema = &tool("get_vault")["inputSchema"];
        assert_eq!(schema["required"], json!([VAULT]));
        assert_eq!(schema["properties"][VIEW]["default"], "detail");
        let points = schema["properties"]["points"]["description"].as_str().unwrap();
        assert!(points.ends_with("Only with view `detail`."), "{points}");
        let since = &tool("what_changed")["inputSchema"]["properties"]["since"]["anyOf"];
        let about: Vec<_> =
            since.as_array().unwrap().iter().map(|variant| variant["description"].as_str().unwrap()).collect();
        assert!(about.iter().any(|about| about.ends_with("Required with view `vaults`.")), "{about:?}");
    }

    #[test]
    fn a_tool_says_which_key_it_needs() {
        assert!(
            tool("check_portfolio")["description"]
                .as_str()
                .unwrap()
                .ends_with("Needs a key of plan `decisioning` or higher.")
        );
        assert!(!tool("search_vaults")["description"].as_str().unwrap().contains("Needs"));
    }

    #[test]
    fn only_the_check_is_not_a_plain_read() {
        for tool in list(true) {
            let reads = tool["annotations"]["readOnlyHint"].as_bool().unwrap();
            assert_eq!(reads, tool["name"] != "check_portfolio", "{}", tool["name"]);
        }
    }

    #[test]
    fn a_check_takes_a_limit_for_every_dimension() {
        let limits = &tool("check_portfolio")["inputSchema"]["properties"]["limits"]["properties"];
        assert_eq!(limits.as_object().unwrap().len(), Dimension::ALL.len());
    }
}
