//! The frame of every page: head, navigation, footer, and the list of the page's headings.

use super::contract::{Contract, page_of};
use super::written::{self, Written};
use super::{NOT_FOUND, escape, twin};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

/// A page without its frame.
pub struct Page {
    /// Path below `/v1/docs/`; empty for the first page.
    pub name: String,
    pub title: String,
    /// Summary in one sentence, for search engines and lists.
    pub about: String,
    /// Content as HTML, with `<h1>`.
    pub main: String,
    /// Second-level headings: anchor and title.
    pub parts: Vec<(String, String)>,
    /// Scripts of this page, besides those of every page.
    pub scripts: Vec<String>,
}

/// The guides in the navigation, by group, in reading order: name and label.
const GUIDES: [(&str, &[(&str, &str)]); 4] = [
    (
        "Getting started",
        &[
            ("", "Quick start"),
            ("keys", "Keys and plans"),
            ("limits", "Limits"),
            ("errors", "Errors"),
            ("paging", "Pages, cursors, caching"),
            ("agents", "Agents"),
        ],
    ),
    ("Notifications", &[("stream", "Event stream"), ("webhooks", "Webhooks")]),
    (
        "Verification",
        &[
            ("methodology", "Methodology"),
            ("evidence", "Evidence"),
            ("decisions", "Signed decisions"),
            ("verify", "Verify it yourself"),
        ],
    ),
    ("Service", &[("status", "Status"), ("ingest", "Ingest"), ("security", "Report a vulnerability")]),
];

/// Data common to all pages.
pub struct Site<'a> {
    files: &'a BTreeMap<String, String>,
    contract: &'a Contract,
    pages: Vec<String>,
}

impl<'a> Site<'a> {
    /// `files` are the files that pages load, with their fingerprints; `pages` are all pages of the site.
    pub fn new(files: &'a BTreeMap<String, String>, contract: &'a Contract, pages: &[Page]) -> Self {
        Site { files, contract, pages: pages.iter().map(|page| page.name.clone()).collect() }
    }

    /// Renders the page with its frame.
    pub fn html(&self, page: &Page) -> Result<String, Box<dyn Error>> {
        let mut scripts = String::new();
        for name in ["site.js"].into_iter().chain(page.scripts.iter().map(String::as_str)) {
            let kind = if name.ends_with(".mjs") { " type=\"module\"" } else { " defer" };
            writeln!(scripts, "<script src=\"{}\"{kind}></script>", self.file(name)?)?;
        }
        let title = match page.name.as_str() {
            "" => "Risk Data Service".to_owned(),
            _ => format!("{} · Risk Data Service", page.title),
        };
        Ok(format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <meta name=\"description\" content=\"{about}\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
             {twin}\
             <link rel=\"icon\" href=\"{icon}\" type=\"image/svg+xml\">\n<link rel=\"stylesheet\" href=\"{style}\">\n\
             <script src=\"{theme}\"></script>\n{scripts}</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">Skip to main content</a>\n{header}\
             <div class=\"shell\">\n{nav}\
             <main id=\"main\" tabindex=\"-1\">\n{main}{footer}</main>\n{parts}</div>\n</body>\n</html>\n",
            title = escape(&title),
            about = escape(&page.about),
            twin = alternate(page),
            icon = self.file("icon.svg")?,
            style = self.file("site.css")?,
            theme = self.file("theme.js")?,
            header = self.header(),
            nav = self.navigation(page),
            main = self.with_files(&page.main),
            footer = self.footer(page),
            parts = parts(page),
        ))
    }

    /// The URL of a file, with its fingerprint: a changed file gets a new URL, so that browsers may cache files.
    fn file(&self, name: &str) -> Result<String, Box<dyn Error>> {
        let fingerprint = self.files.get(name).ok_or_else(|| format!("a page loads {name}, which does not exist"))?;
        Ok(format!("/v1/docs/{name}?v={fingerprint}"))
    }

    /// Replaces each `"file:NAME"` by the URL of the file; empty for a file that is not in this build.
    fn with_files(&self, text: &str) -> String {
        let mut parts = text.split("\"file:");
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('"').unwrap_or((part, ""));
            let _ = write!(out, "\"{}\"{rest}", self.file(name).unwrap_or_default());
        }
        out
    }

    fn header(&self) -> String {
        format!(
            "<header class=\"top\">\n<a class=\"brand\" href=\"/v1/docs\"><span class=\"mark\" aria-hidden=\"true\"></span>Risk Data Service</a>\
             <span class=\"version\">{}</span>\n<div class=\"tools\">\
             <a class=\"tool wide\" href=\"/vaults\">Explorer</a>\
             <a class=\"tool wide\" href=\"/v1/docs/reference\">Operations</a>\
             <a class=\"tool wide\" href=\"/v1/docs/status\">Status</a>\
             <button class=\"tool\" id=\"theme\" type=\"button\" hidden>Theme</button>\
             <a class=\"tool menu\" href=\"#nav\">Menu</a></div>\n</header>\n",
            escape(&self.contract.version())
        )
    }

    fn navigation(&self, page: &Page) -> String {
        let mut out = String::from(
            "<nav id=\"nav\" aria-label=\"Documentation\">\n<a class=\"close\" href=\"#main\">Close the menu</a>\n",
        );
        for (group, guides) in GUIDES {
            let there = guides.iter().filter(|(name, _)| self.pages.iter().any(|known| known == name));
            let links: Vec<_> = there.map(|(name, label)| (name.to_string(), label.to_string())).collect();
            group_of_links(&mut out, group, &links, &page.name);
        }
        let families = self.contract.families();
        let mut links = vec![("reference".to_owned(), "All operations".to_owned())];
        links.extend(families.into_iter().map(|family| (page_of(&family), family)));
        group_of_links(&mut out, "Reference", &links, &page.name);
        out.push_str("</nav>\n");
        out
    }

    fn footer(&self, page: &Page) -> String {
        let mut out = String::from("<footer>\n");
        let order: Vec<_> = GUIDES.iter().flat_map(|(_, guides)| guides.iter()).collect();
        let order: Vec<_> =
            order.into_iter().filter(|(name, _)| self.pages.iter().any(|known| known == name)).collect();
        if let Some(position) = order.iter().position(|(name, _)| *name == page.name) {
            let after = order.get(position + 1).map_or(("reference", "All operations"), |next| (next.0, next.1));
            let _ = writeln!(
                out,
                "<p class=\"next\"><a href=\"{}\"><span>Next</span>{}</a></p>",
                address(after.0),
                escape(after.1)
            );
        }
        out.push_str(
            "<p>For machines: <a href=\"/v1/openapi.json\">OpenAPI document</a>, \
             <a href=\"/v1/docs/llms.txt\">llms.txt</a>. These pages load nothing from other hosts.</p>\n</footer>\n",
        );
        out
    }
}

fn group_of_links(out: &mut String, group: &str, links: &[(String, String)], current: &str) {
    if links.is_empty() {
        return;
    }
    let _ = writeln!(out, "<h2>{group}</h2>\n<ul>");
    for (name, label) in links {
        let here = if name == current { " aria-current=\"page\"" } else { "" };
        let _ = writeln!(out, "<li><a href=\"{}\"{here}>{}</a></li>", address(name), escape(label));
    }
    out.push_str("</ul>\n");
}

/// The link to the page's Markdown twin, which all pages have but the one about a missing page.
fn alternate(page: &Page) -> String {
    if page.name == NOT_FOUND {
        return String::new();
    }
    format!("<link rel=\"alternate\" type=\"text/markdown\" href=\"{}\">\n", address(&twin::name_of(&page.name)))
}

/// The path of a page.
pub fn address(name: &str) -> String {
    if name.is_empty() { "/v1/docs".into() } else { format!("/v1/docs/{name}") }
}

fn parts(page: &Page) -> String {
    if page.parts.len() < 2 {
        return String::new();
    }
    let mut out = String::from("<aside class=\"parts\" aria-label=\"On this page\">\n<h2>On this page</h2>\n<ul>\n");
    for (anchor, title) in &page.parts {
        let _ = writeln!(out, "<li><a href=\"#{anchor}\">{}</a></li>", escape(title));
    }
    out.push_str("</ul>\n</aside>\n");
    out
}

/// Pages written as HTML files.
pub fn written(folder: &Path) -> Result<Vec<Page>, Box<dyn Error>> {
    let page = |Written { name, title, about, scripts, content: main }| {
        let parts = parts_of(&main);
        Page { name, title, about, main, parts, scripts }
    };
    Ok(written::read(folder)?.into_iter().map(page).collect())
}

/// The second-level headings of a text: anchor and title. Headings with a class are left out, because their sections are hidden when the
/// page loads.
fn parts_of(main: &str) -> Vec<(String, String)> {
    let headings = main.split("<h2 id=\"").skip(1).filter_map(|rest| rest.split_once("</h2>")?.0.split_once("\">"));
    headings.map(|(anchor, title)| (anchor.to_owned(), title.to_owned())).collect()
}
