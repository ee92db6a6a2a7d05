//! Resources: the documentation's pages as Markdown, the methodology, and the evidence behind single answers.

use super::excerpt::Kept;
use super::quoted;
use super::tool_request::{Request, filled};
use super::tool_table::SCORE;
use rds_docs::{DOCUMENTS, Document};
use rds_shared::route::{RouteId, is_graph_path};
use rds_shared::wire::percent;

/// The beginning of every URI.
const SCHEME: &str = "rds://";
const PAGES: &str = "rds://docs/";
const METHODOLOGY: &str = "rds://methodology";
const JSON: &str = "application/json";
const MARKDOWN: &str = "text/markdown";
/// Most bytes of a route's response in a resource: more than the methodology.
pub const MAX_BYTES: usize = 256 * 1_024;

/// Where the content of a resource comes from.
#[derive(Debug)]
pub enum Source {
    /// A page of the documentation.
    Page(&'static Document),
    /// The response of a route, with these members.
    Response { request: Request, route: RouteId, kept: &'static Kept },
}

/// Resources with parameters: each URI is a route's response.
struct Template {
    uri: &'static str,
    name: &'static str,
    title: &'static str,
    about: &'static str,
    route: RouteId,
    query: &'static str,
    kept: &'static Kept,
}

static TEMPLATES: [Template; 4] = [
    Template {
        uri: "rds://vault/{network}/{address}/evidence",
        name: "vault_evidence",
        title: "Evidence behind a vault's score",
        about: "A vault's score with every input, its source and date, the caps and the range that unknown inputs allow.",
        route: RouteId::VaultDetail,
        query: "?points=1",
        kept: &[("data", &["vault"]), ("data.vault", SCORE)],
    },
    Template {
        uri: "rds://asset/{chain_id}/{address}",
        name: "asset",
        title: "An asset and its evidence",
        about: "An asset with its version history, attestations and score breakdown. The evidence needs a key.",
        route: RouteId::AssetDetail,
        query: "",
        kept: &[],
    },
    Template {
        uri: "rds://basket/{id}",
        name: "basket",
        title: "A basket",
        about: "The version of a basket that is in force: constituents, weights and rules.",
        route: RouteId::BasketById,
        query: "",
        kept: &[],
    },
    Template {
        uri: "rds://decision/{id}",
        name: "decision",
        title: "A signed decision",
        about: "A decision as it was signed: the text of the envelope and its signature.",
        route: RouteId::DecisionById,
        query: "",
        kept: &[],
    },
];

/// The media type of a source.
pub fn media_type(source: &Source) -> &'static str {
    match source {
        Source::Page(_) => MARKDOWN,
        Source::Response { .. } => JSON,
    }
}

/// The member `resources` of the list, as JSON.
pub fn resources() -> String {
    let about = quoted(RouteId::Methodology.route().about);
    let mut all = vec![format!(
        "{{\"uri\":\"{METHODOLOGY}\",\"name\":\"methodology\",\"title\":\"Scoring rules\",\"description\":{about},\
         \"mimeType\":\"{JSON}\"}}"
    )];
    for page in pages() {
        let (uri, name) = (quoted(&format!("{PAGES}{}", page.name)), quoted(page.name));
        let (title, about, size) = (quoted(page.title), quoted(page.about), page.asset.size);
        all.push(format!(
            "{{\"uri\":{uri},\"name\":{name},\"title\":{title},\"description\":{about},\"mimeType\":\"{MARKDOWN}\",\"size\":{size}}}"
        ));
    }
    format!("[{}]", all.join(","))
}

/// The member `resourceTemplates` of the list, as JSON.
pub fn templates(graph: bool) -> String {
    let offered = TEMPLATES.iter().filter(|template| graph || !is_graph_path(template.route.route().path));
    let all: Vec<String> = offered
        .map(|Template { uri, name, title, about, .. }| {
            let (title, about) = (quoted(title), quoted(about));
            format!(
                "{{\"uriTemplate\":\"{uri}\",\"name\":\"{name}\",\"title\":{title},\"description\":{about},\"mimeType\":\"{JSON}\"}}"
            )
        })
        .collect();
    format!("[{}]", all.join(","))
}

/// Where the content of `uri` comes from; `None` if there is no such resource.
pub fn find(uri: &str, graph: bool) -> Option<Source> {
    if uri == METHODOLOGY {
        let target = RouteId::Methodology.route().path.to_owned();
        return Some(Source::Response { request: get(target), route: RouteId::Methodology, kept: &[] });
    }
    if let Some(name) = uri.strip_prefix(PAGES) {
        return pages().find(|page| page.name == name).map(Source::Page);
    }
    TEMPLATES.iter().filter(|template| graph || !is_graph_path(template.route.route().path)).find_map(|template| {
        let values = values(template.uri, uri)?;
        let target = format!("{}{}", filled(template.route.route(), values), template.query);
        Some(Source::Response { request: get(target), route: template.route, kept: template.kept })
    })
}

fn get(target: String) -> Request {
    Request { method: "GET", target, body: Vec::new() }
}

/// The parameters of a URI that matches the template.
fn values(template: &str, uri: &str) -> Option<Vec<String>> {
    let (wanted, given) = (template.strip_prefix(SCHEME)?, uri.strip_prefix(SCHEME)?);
    if wanted.split('/').count() != given.split('/').count() {
        return None;
    }
    let mut values = Vec::new();
    for (wanted, given) in wanted.split('/').zip(given.split('/')) {
        match wanted.starts_with('{') {
            true if !given.is_empty() => values.push(percent::decode(given, false)?),
            false if wanted == given => {}
            _ => return None,
        }
    }
    Some(values)
}

/// The documentation's pages as Markdown.
fn pages() -> impl Iterator<Item = &'static Document> {
    DOCUMENTS.iter().filter(|document| document.media_type.starts_with(MARKDOWN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const ADDRESS: &str = "0xc516dd999378982aac393e1de92f8eff568cc06d";

    fn target(uri: &str) -> Option<String> {
        match find(uri, true)? {
            Source::Response { request, .. } => Some(request.target),
            Source::Page(page) => panic!("{} is a page", page.name),
        }
    }

    #[test]
    fn every_listed_resource_can_be_read() {
        let list: Value = serde_json::from_str(&resources()).unwrap();
        let list = list.as_array().unwrap();
        assert!(list.len() > 20);
        for resource in list {
            let source = find(resource["uri"].as_str().unwrap(), false).unwrap();
            assert_eq!(resource["mimeType"], media_type(&source));
            assert!(!resource["title"].as_str().unwrap().is_empty(), "{resource}");
            assert!(!resource["description"].as_str().unwrap().is_empty(), "{resource}");
        }
    }

    #[test]
    fn a_template_is_a_route_with_its_parameters() {
        let uri = format!("rds://vault/devnet/{ADDRESS}/evidence");
        assert_eq!(target(&uri), Some(format!("/v1/vault/devnet/{ADDRESS}?points=1")));
        assert_eq!(target("rds://basket/a%20b%2Fc"), Some("/v1/baskets/a%20b%2Fc".to_owned()));
        for uri in [
            "rds://basket/",
            "rds://basket/a/b",
            "rds://basket/%zz",
            "rds://vault/devnet/evidence",
            "rds://",
            "",
            "https://x",
        ] {
            assert!(find(uri, true).is_none(), "{uri}");
        }
    }

    #[test]
    fn without_the_graph_no_decision_is_offered() {
        assert!(templates(true).contains("rds://decision/") && !templates(false).contains("rds://decision/"));
        assert!(find("rds://decision/00", true).is_some() && find("rds://decision/00", false).is_none());
    }
}
