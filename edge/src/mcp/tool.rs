//! What a tool is: one or a few routes with one purpose.

use super::excerpt::Kept;
use super::tool_table::TOOLS;
use rds_shared::route::{Access, Method, Route, RouteId, is_graph_path};

/// The argument that selects a view of a tool with several.
pub const VIEW: &str = "view";
/// The argument that names a vault: its id, or its chain and address.
pub const VAULT: &str = "vault";

/// A tool.
#[derive(Debug)]
pub struct Tool {
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// When to use the tool. What its routes answer is in their own descriptions.
    pub about: &'static str,
    /// The views; the first one is the default.
    pub views: &'static [View],
    /// What to do next, for each answer without an error.
    pub next: &'static [&'static str],
}

/// One route of a tool.
#[derive(Debug)]
pub struct View {
    pub name: &'static str,
    pub route: RouteId,
    /// Parameters that have another default in the tool than on the route.
    pub preset: &'static [(&'static str, &'static str)],
    /// The members of the response that the tool shows; empty for all.
    pub kept: &'static Kept,
}

impl View {
    /// A view that shows the whole response.
    pub const fn of(name: &'static str, route: RouteId) -> Self {
        View { name, route, preset: &[], kept: &[] }
    }

    /// Sets other defaults.
    pub const fn preset(self, preset: &'static [(&'static str, &'static str)]) -> Self {
        View { preset, ..self }
    }

    /// Limits the response to these members.
    pub const fn kept(self, kept: &'static Kept) -> Self {
        View { kept, ..self }
    }

    pub fn route(&self) -> &'static Route {
        self.route.route()
    }
}

impl Tool {
    /// The views that exist: the exposure graph can be switched off.
    pub fn offered(&self, graph: bool) -> impl Iterator<Item = &'static View> + Clone {
        self.views.iter().filter(move |view| graph || !is_graph_path(view.route().path))
    }

    /// Whether no view changes anything.
    pub fn is_read_only(&self) -> bool {
        self.views.iter().all(|view| view.route().method == Method::Get)
    }
}

/// The tools that have a view, in the order of the list.
pub fn all(graph: bool) -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter().filter(move |tool| tool.offered(graph).next().is_some())
}

/// Whether the argument `vault` stands for the path parameters of this route.
pub fn names_a_vault(route: &Route) -> bool {
    route.path.starts_with("/v1/vault/")
}

/// Which credential a route needs, as a sentence; `None` for none.
pub fn needs(access: Access) -> Option<&'static str> {
    match access {
        Access::Public => None,
        Access::Key => Some("Needs a key."),
        Access::Data => Some("Needs a key of plan `data` or higher."),
        Access::Decisioning => Some("Needs a key of plan `decisioning` or higher."),
        Access::Index => Some("Needs an index token; API keys are not accepted."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::route::{Body, ROUTES};
    use std::collections::BTreeSet;

    /// Routes that no tool calls, and the reason.
    fn reason_to_leave_out(route: &Route) -> Option<&'static str> {
        match route.id {
            _ if route.streams() => Some("a tool's answer ends"),
            _ if route.method != Method::Get && route.id != RouteId::GraphCheck => Some("tools change nothing"),
            _ if route.path.contains("/webhooks") => Some("managing subscriptions is left to programs"),
            _ if route.access == Access::Index => Some("an index token is no valid credential on `/v1/mcp`"),
            RouteId::OpenApi | RouteId::Docs | RouteId::DocsFile => Some("documents are resources"),
            RouteId::Ready => Some("for load balancers"),
            RouteId::VaultById => Some("`/v1/vault/{network}/{address}` has the same response"),
            RouteId::VaultScores => Some("a bulk form of `/v1/vaults`"),
            RouteId::Royco => Some("the vaults of one protocol, which `/v1/vaults` filters"),
            RouteId::EventGroup => Some("the newest event of a group is in the feed"),
            RouteId::SecurityEventList | RouteId::RwaCoverage | RouteId::RwaHistory | RouteId::RwaFacets => {
                Some("statistics about the service's own coverage")
            }
            RouteId::ReviewerList | RouteId::GraphSnapshot | RouteId::BasketMethodologyVersions => {
                Some("an attachment of other answers")
            }
            _ => None,
        }
    }

    #[test]
    fn every_route_is_in_a_tool_unless_there_is_a_reason() {
        let in_tools: BTreeSet<RouteId> = TOOLS.iter().flat_map(|tool| tool.views).map(|view| view.route).collect();
        for route in ROUTES {
            assert_eq!(in_tools.contains(&route.id), reason_to_leave_out(route).is_none(), "{}", route.endpoint());
        }
    }

    #[test]
    fn there_are_at_most_twenty_tools_with_names_that_every_client_accepts() {
        assert!(TOOLS.len() <= 20, "{}", TOOLS.len());
        let names: BTreeSet<_> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), TOOLS.len());
        for tool in TOOLS {
            assert!(tool.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{}", tool.name);
            assert!(!tool.about.is_empty() && !tool.next.is_empty(), "{}", tool.name);
            let views: BTreeSet<_> = tool.views.iter().map(|view| view.name).collect();
            assert_eq!(views.len(), tool.views.len(), "{}", tool.name);
        }
    }

    #[test]
    fn presets_are_parameters_of_their_route() {
        for view in TOOLS.iter().flat_map(|tool| tool.views) {
            for (name, _) in view.preset {
                assert!(view.route().query.iter().any(|param| param.name == *name), "{} {name}", view.route().path);
            }
        }
    }

    #[test]
    fn a_tool_takes_a_body_only_if_it_has_one_view() {
        for tool in TOOLS.iter().filter(|tool| tool.views.iter().any(|view| view.route().body != Body::None)) {
            assert_eq!(tool.views.len(), 1, "{}", tool.name);
            assert!(!tool.is_read_only());
        }
    }

    #[test]
    fn without_the_graph_its_tools_are_not_offered() {
        let names = |graph: bool| all(graph).map(|tool| tool.name).collect::<BTreeSet<_>>();
        let hidden: Vec<_> = names(true).difference(&names(false)).copied().collect();
        assert_eq!(hidden, ["check_portfolio", "verify_decision"]);
        let look_through = TOOLS.iter().find(|tool| tool.name == "look_through").unwrap();
        assert!(look_through.offered(false).count() < look_through.offered(true).count());
    }
}
