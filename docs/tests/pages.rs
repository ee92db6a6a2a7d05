//! The pages as served: complete, well formed, without broken links, and loading nothing from other hosts.

use rds_docs::{DOCUMENTS, Document, Library, find, find_for};
use rds_shared::route::deprecation::GUIDE;
use rds_shared::route::{ROUTES, deprecation::Place};
use rds_shared::wire::ErrorCode;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

const CONTRACT: &str = include_str!("../../openapi/openapi.json");

/// The script whose worker sends requests to the nodes that a user names.
const READING_WORKER: &str = "read-again-worker.mjs";

static LIBRARY: LazyLock<Library> = LazyLock::new(Library::open);

fn text(document: &Document) -> &'static str {
    core::str::from_utf8(LIBRARY.body(document)).unwrap()
}

fn pages() -> impl Iterator<Item = &'static Document> {
    DOCUMENTS.iter().filter(|document| document.media_type.starts_with("text/html"))
}

/// All values of an attribute.
fn values<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
    let opening = format!(" {attribute}=\"");
    html.split(opening.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// Operations of the OpenAPI document: id, method, path.
fn operations() -> Vec<(String, String, String)> {
    let contract: Value = serde_json::from_str(CONTRACT).unwrap();
    let mut all = Vec::new();
    for (path, item) in contract["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if let Some(id) = operation["operationId"].as_str() {
                all.push((id.to_owned(), method.to_uppercase(), path.clone()));
            }
        }
    }
    all
}

/// The explorer's table: paths of its pages by the id of the operation whose answer they show.
static SHOWN: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../explorer/shown.json")).unwrap());

/// Whether the path is a page of the explorer, which a link can lead to.
fn is_in_explorer(path: &str) -> bool {
    !path.contains('{') && SHOWN.values().any(|page| page == path)
}

#[test]
fn every_operation_is_listed_and_described_and_in_llms_txt() {
    let overview = text(find("reference").unwrap());
    let index = text(find("llms.txt").unwrap());
    assert!(!operations().is_empty());
    for (id, method, path) in operations() {
        assert!(overview.contains(&format!("#{id}\"")), "{id} is not in the list");
        assert!(index.contains(&format!("[{method} {path}]")), "{id} is not in llms.txt");
        let explained = pages().filter(|page| text(page).contains(&format!("data-operation=\"{id}\""))).count();
        assert_eq!(explained, 1, "{id} must be described on exactly one page");
    }
}

#[test]
fn every_parameter_of_an_operation_is_on_its_page() {
    let contract: Value = serde_json::from_str(CONTRACT).unwrap();
    for (id, method, path) in operations() {
        let item = &contract["paths"][&path];
        let page = pages().find(|page| text(page).contains(&format!("data-operation=\"{id}\""))).unwrap();
        let section = text(page).split(&format!("data-operation=\"{id}\"")).nth(1).unwrap();
        let section = section.split("<section").next().unwrap();
        let both = [&item["parameters"], &item[method.to_lowercase()]["parameters"]];
        for parameter in both.into_iter().filter_map(Value::as_array).flatten() {
            let parameter = match parameter["$ref"].as_str() {
                Some(reference) => contract.pointer(reference.trim_start_matches('#')).unwrap(),
                None => parameter,
            };
            let name = parameter["name"].as_str().unwrap();
            assert!(section.contains(&format!("data-name=\"{name}\"")), "{id}: {name}");
        }
    }
}

#[test]
fn every_error_code_is_in_the_guide() {
    let errors = text(find("errors").unwrap());
    for code in ErrorCode::ALL {
        assert!(errors.contains(&format!("<code>{}</code>", code.as_str())), "{}", code.as_str());
    }
}

#[test]
fn an_operation_names_the_page_of_the_explorer_that_shows_its_answer() {
    assert!(!SHOWN.is_empty());
    for (id, page) in SHOWN.iter() {
        let html = pages().map(text).find(|html| html.contains(&format!("data-operation=\"{id}\""))).unwrap();
        let section = html.split("<section").find(|part| part.contains(&format!("data-operation=\"{id}\""))).unwrap();
        let list = page.split("/{").next().unwrap();
        assert!(section.contains(&format!(">{page}</")), "{id} does not name {page}");
        assert!(section.contains(&format!("href=\"{list}\"")), "{id} does not link to {list}");
    }
}

#[test]
fn no_link_is_broken() {
    let anchors: BTreeMap<&str, BTreeSet<&str>> =
        pages().map(|page| (page.name, values(text(page), "id").into_iter().collect())).collect();
    for page in pages() {
        for link in values(text(page), "href") {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let path = path.split('?').next().unwrap();
            let name = match path.strip_prefix("/v1/docs") {
                Some(rest) => rest.trim_start_matches('/'),
                None if path.is_empty() => page.name,
                None => {
                    let is_route = ROUTES.iter().any(|route| route.path == path) || path == "/v1/openapi.json";
                    assert!(is_route || is_in_explorer(path) || path == "/v1/status", "{}: {link}", page.name);
                    continue;
                }
            };
            assert!(find(name).is_some(), "{}: {link} does not exist", page.name);
            if !anchor.is_empty() {
                assert!(anchors[name].contains(anchor), "{}: {link} has no such anchor", page.name);
            }
        }
    }
}

#[test]
fn the_link_of_a_deprecation_header_leads_to_the_replacements() {
    let (path, anchor) = GUIDE.split_once('#').unwrap();
    let page = find(path.strip_prefix("/v1/docs").unwrap().trim_start_matches('/')).unwrap();
    let section = text(page).split(&format!("<h2 id=\"{anchor}\">")).nth(1).expect("the page must have this anchor");
    let rows: Vec<_> = section.split("<h2").next().unwrap().split("<tr>").filter(|row| row.contains("<td>")).collect();
    let fields: Vec<_> =
        ROUTES.iter().flat_map(|route| route.deprecated.iter().map(move |field| (route, field))).collect();
    assert_eq!(rows.len(), fields.len());
    for (route, field) in fields {
        let row = rows.iter().find(|row| {
            row.contains(&format!("<code>{}</code>", field.field)) && row.contains(&format!("#{}\"", route.id.name()))
        });
        let row = row.unwrap_or_else(|| panic!("{} of {} is not listed", field.field, route.path));
        let as_written = row.replace("<code>", "`").replace("</code>", "`");
        assert!(as_written.contains(field.instead), "{row}");
        assert_eq!(row.contains("the body of"), field.place == Place::Request, "{row}");
    }
}

#[test]
fn every_page_has_a_twin_in_markdown_with_its_headings_and_llms_txt_lists_it() {
    let index = text(find("llms.txt").unwrap());
    for page in pages().filter(|page| page.name != "not-found") {
        let twin = find_for(page.name, true).unwrap();
        let markdown = text(twin);
        assert_eq!(twin.media_type, "text/markdown; charset=utf-8", "{}", page.name);
        assert!(!twin.title.is_empty() && !twin.about.is_empty(), "{}", twin.name);
        assert!(index.contains(&format!("](/v1/docs/{})", twin.name)), "{} is not in llms.txt", twin.name);
        assert!(
            text(page).contains(&format!("type=\"text/markdown\" href=\"/v1/docs/{}\"", twin.name)),
            "{}",
            page.name
        );
        assert!(markdown.starts_with("# ") && markdown.ends_with('\n'), "{}: {markdown:.80}", twin.name);
        assert_eq!(markdown.matches("\n```").count() % 2, 0, "{}: an open block of code", twin.name);
        let headings = text(page).split("<main").nth(1).unwrap().split("<h2 id=").skip(1);
        assert!(headings.count() <= markdown.matches("\n## ").count(), "{}: a heading is missing", twin.name);
        for element in ["<p>", "<p class", "<div", "<table", "<h2", "&lt;", "&amp;"] {
            assert!(!outside_code(markdown).contains(element), "{}: {element}", twin.name);
        }
    }
    assert_eq!(find_for("site.css", true).map(|file| file.name), Some("site.css"));
    assert_eq!(find_for("errors", false).map(|page| page.name), Some("errors"));
    assert!(find_for("nope", true).is_none());
}

/// Markdown without its blocks of code.
fn outside_code(markdown: &str) -> String {
    markdown.split("\n```").step_by(2).collect()
}

#[test]
fn the_twin_of_a_reference_page_has_its_operations_parameters_and_examples() {
    let twin = text(find("reference-vaults.md").unwrap());
    for part in ["GET `/v1/vaults`", "| `minRiskScore`", "```json\n{", "```sh\ncurl", "Key of plan data or higher"] {
        assert!(twin.contains(part), "{part}");
    }
    assert!(!twin.contains("discarded when you leave the page"), "a form is left out");
}

#[test]
fn every_scrollable_box_has_a_label() {
    for page in pages() {
        for element in text(page).split('<').filter(|element| element.contains("tabindex=\"0\"")) {
            let opening = element.split('>').next().unwrap();
            let name = values(opening, "aria-label");
            assert!(opening.contains("role=\"group\"") && !name.is_empty(), "{}: <{opening}>", page.name);
        }
    }
}

#[test]
fn examples_are_recorded_from_the_service() {
    let quick = text(find("").unwrap());
    assert!(quick.contains("-31337-0x"), "a vault of the demo market");
    let delivery = text(find("webhooks.md").unwrap());
    assert!(delivery.contains("\"event_id\": \"evt_") && delivery.contains("\"event_type\": \"event.published\""));
    // Pages must not show invented figures next to the name of a real protocol.
    for page in pages().filter(|page| !page.name.starts_with("reference")) {
        assert!(!text(page).contains("\"aave") && !text(page).contains("…\","), "{}", page.name);
    }
}

#[test]
fn pages_load_nothing_from_other_hosts_and_have_no_inline_code() {
    for page in pages() {
        let html = text(page);
        for address in values(html, "src").into_iter().chain(values(html, "href")) {
            let is_ours = address.starts_with("/v1/") || address.starts_with('#') || is_in_explorer(address);
            assert!(is_ours, "{}: {address}", page.name);
        }
        for script in html.split("<script").skip(1) {
            assert!(script.starts_with(" src=\"/v1/docs/") && script.contains("></script>"), "{}", page.name);
        }
        assert!(!html.contains("<style") && values(html, "style").is_empty(), "{}: an inline style", page.name);
        for handler in ["onclick", "onload", "onerror"] {
            assert!(values(html, handler).is_empty(), "{}: {handler}", page.name);
        }
    }
}

#[test]
fn headings_descend_one_level_at_a_time_and_anchors_are_unique() {
    for page in pages() {
        let main = text(page).split("<main").nth(1).unwrap().split("</main>").next().unwrap();
        let mut last = 0;
        for heading in main.split("<h").skip(1) {
            let Some(level) = heading.chars().next().and_then(|digit| digit.to_digit(10)) else { continue };
            assert!(level <= last + 1, "{}: h{level} after h{last}: {:.60}", page.name, heading);
            last = level;
        }
        assert_eq!(main.matches("<h1").count(), 1, "{}", page.name);
        let ids = values(text(page), "id");
        let different: BTreeSet<_> = ids.iter().collect();
        let twice: Vec<_> = different.iter().filter(|id| ids.iter().filter(|known| known == *id).count() > 1).collect();
        assert!(twice.is_empty(), "{}: {twice:?}", page.name);
    }
}

#[test]
fn every_document_has_a_content_security_policy_and_only_the_verifier_may_compile_wasm() {
    const COMPILING: [&str; 2] = ["verify", READING_WORKER];
    for document in DOCUMENTS {
        let headers: BTreeMap<_, _> = document.headers().into_iter().collect();
        let policy = headers["content-security-policy"];
        assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{}: {policy}", document.name);
        assert!(!policy.contains("unsafe-inline"), "{}: {policy}", document.name);
        assert_eq!(policy.contains("http"), document.name == READING_WORKER, "{}: {policy}", document.name);
        assert_eq!(policy.contains("wasm-unsafe-eval"), COMPILING.contains(&document.name), "{}", document.name);
        assert_eq!(headers["referrer-policy"], "no-referrer");
        assert!(document.etag.starts_with('"') && document.etag.len() > 20);
        assert!(!LIBRARY.body(document).is_empty(), "{} is empty", document.name);
    }
}

#[test]
fn only_the_worker_that_reads_scores_again_may_ask_other_hosts_and_only_over_tls_or_on_this_machine() {
    let policy = find(READING_WORKER).unwrap().headers()[2].1;
    let sources = policy.split("connect-src ").nth(1).unwrap().split(';').next().unwrap();
    assert_eq!(sources, "'self' https: http://localhost:* http://127.0.0.1:*");
    for document in DOCUMENTS.iter().filter(|document| document.name != READING_WORKER) {
        assert!(document.headers()[2].1.contains("connect-src 'self';"), "{}", document.name);
    }
}

#[test]
fn pages_load_files_by_an_address_with_their_fingerprint() {
    for page in pages() {
        for address in values(text(page), "src") {
            let (path, version) = address.split_once("?v=").unwrap();
            let file = find(path.strip_prefix("/v1/docs/").unwrap()).unwrap();
            assert_eq!(file.etag.trim_matches('"'), version, "{}: {address}", page.name);
        }
    }
}

#[test]
fn guides_are_served_as_markdown_and_listed_in_llms_txt() {
    let index = text(find("llms.txt").unwrap());
    let guides: Vec<_> = DOCUMENTS.iter().filter(|document| document.name.ends_with(".md")).collect();
    assert!(guides.len() >= 9);
    for guide in guides {
        assert!(index.contains(&format!("(/v1/docs/{})", guide.name)), "{}", guide.name);
        assert!(text(guide).starts_with("# ") && !text(guide).contains("{{"), "{}", guide.name);
    }
}
