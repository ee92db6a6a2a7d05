//! Guides: Markdown with placeholders in double braces, which are filled in from the code and the OpenAPI document.

use super::contract::Contract;
use super::layout::Page;
use super::written::{self, Written};
use super::{Document, MARKDOWN, escape, evidence, examples, facts, ingest, methodology, scrolling, slug, twin};
use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};
use rds_shared::route::ROUTES;
use rds_shared::route::deprecation::Place;
use serde_json::Value;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A guide with its placeholders filled in.
pub struct Guide {
    /// Path below `/v1/docs/`; empty for the first page.
    pub name: String,
    pub title: String,
    /// Summary in one sentence.
    pub about: String,
    scripts: Vec<String>,
    markdown: String,
}

/// Every guide in `guides/`.
pub fn guides(here: &Path, contract: &Contract) -> Result<Vec<Guide>, Box<dyn Error>> {
    let mut guides = Vec::new();
    for Written { name, title, about, scripts, content } in written::read(&here.join("guides"))? {
        let markdown = filled(here, contract, &content).map_err(|fault| format!("{name}: {fault}"))?;
        // `run` marks blocks that a test executes; readers see ordinary blocks.
        let markdown = markdown.replace("\n```sh run\n", "\n```sh\n");
        let name = if name == "index" { String::new() } else { name };
        guides.push(Guide { name, title, about, scripts, markdown });
    }
    guides.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(guides)
}

impl Guide {
    /// Renders the guide as a page.
    pub fn page(&self) -> Page {
        let (main, parts) = rendered(&self.markdown);
        let main = format!("<h1>{}</h1>\n<p class=\"lead\">{}</p>\n{main}", escape(&self.title), inline(&self.about));
        let (name, title, about) = (self.name.clone(), self.title.clone(), plain(&self.about));
        Page { name, title, about, main, parts, scripts: self.scripts.clone() }
    }

    /// Whether a placeholder was filled with a table in HTML.
    pub fn has_html(&self) -> bool {
        self.markdown.contains("<div")
    }

    /// The guide as Markdown, with placeholders filled in.
    pub fn source(&self) -> Document {
        let body = format!("# {}\n\n{}\n\n{}", self.title, self.about, self.markdown.trim_start());
        let (name, title, about) = (twin::name_of(&self.name), self.title.clone(), plain(&self.about));
        Document { name, media_type: MARKDOWN, body: body.into_bytes(), title, about }
    }
}

/// Replaces every placeholder `{{word arguments}}`.
fn filled(here: &Path, contract: &Contract, text: &str) -> Result<String, Box<dyn Error>> {
    let mut out = String::with_capacity(text.len() * 2);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (words, after) = after.split_once("}}").ok_or("`{{` without `}}`")?;
        out.push_str(before);
        let (word, arguments) = words.trim().split_once(' ').unwrap_or((words.trim(), ""));
        out.push_str(&match word {
            "facts" => facts::table(arguments)?,
            "rules" => methodology::part(arguments)?,
            "evidence" => evidence::part(arguments)?,
            "ingest" => ingest::part(here, contract, arguments)?,
            "snippet" => snippet(here, arguments)?,
            "operation" => operation(contract, arguments)?,
            "example" => example(contract, arguments)?,
            "deprecated" => deprecated(contract)?,
            _ => return Err(format!("unknown placeholder {{{{{word}}}}}").into()),
        });
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// A file of `snippets/` as a block of code; each file is tested.
fn snippet(here: &Path, name: &str) -> Result<String, Box<dyn Error>> {
    let text = fs::read_to_string(here.join("snippets").join(name)).map_err(|fault| format!("{name}: {fault}"))?;
    let language = match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("mjs") => "js",
        Some("py") => "python",
        Some("rs") => "rust",
        _ => "sh",
    };
    // The module documentation of a Rust file is left out: the guide introduces the snippet.
    let text =
        text.lines().skip_while(|line| line.starts_with("//!") || line.is_empty()).collect::<Vec<_>>().join("\n");
    Ok(format!("```{language}\n{text}\n```"))
}

/// A link to an operation, by its id.
fn operation(contract: &Contract, id: &str) -> Result<String, Box<dyn Error>> {
    if let Some(found) = contract.operations().iter().find(|operation| operation.id == id) {
        return Ok(format!("[`{} {}`]({})", found.method, found.path, found.link()));
    }
    let row = ROUTES.iter().find(|route| route.id.name() == id).ok_or_else(|| format!("there is no operation {id}"))?;
    Ok(format!("`{}`", row.endpoint()))
}

/// Fields of a recorded example as a block of code. `arguments` are the example's name and the fields' paths, such as
/// `VaultList data.id meta`. Lists are reduced to their first item.
fn example(contract: &Contract, arguments: &str) -> Result<String, Box<dyn Error>> {
    let (id, fields) = arguments.split_once(' ').ok_or("`example` needs an operation and fields")?;
    let recorded = contract.recorded(id).ok_or_else(|| format!("there is no example of {id}"))?;
    let mut picked = Value::Null;
    for field in fields.split_whitespace() {
        if !examples::pick(recorded, field, &mut picked) {
            return Err(format!("the example of {id} has no {field}").into());
        }
    }
    Ok(format!("```json\n{}\n```", serde_json::to_string_pretty(&picked)?))
}

/// Table of deprecated fields: their operation, and what to use instead.
fn deprecated(contract: &Contract) -> Result<String, Box<dyn Error>> {
    let mut out = String::from("| Field | Of | Instead | Until |\n|---|---|---|---|\n");
    for route in ROUTES {
        for field in route.deprecated {
            let place = match field.place {
                Place::Answer => operation(contract, route.id.name())?,
                Place::Request => format!("the body of {}", operation(contract, route.id.name())?),
            };
            let until = field.sunset.unwrap_or("no date yet");
            writeln!(out, "| `{}` | {place} | {} | {until} |", field.field, field.instead)?;
        }
    }
    Ok(out)
}

/// The label of a code block in this language, for screen readers.
fn block_name(language: &str) -> &'static str {
    match language {
        "sh" => "Commands",
        "json" => "Example in JSON",
        "js" => "Code in JavaScript",
        "python" => "Code in Python",
        "rust" => "Code in Rust",
        _ => "Example",
    }
}

/// Renders Markdown as HTML; also returns its second-level headings: anchor and title.
pub fn rendered(text: &str) -> (String, Vec<(String, String)>) {
    let mut parts = Vec::new();
    let mut events = Vec::new();
    let mut open: Option<String> = None;
    let mut in_json = false;
    let mut named = String::from("Table");
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES);
    for event in parser {
        match event {
            Event::Start(Tag::Heading { .. }) => open = Some(String::new()),
            Event::End(TagEnd::Heading(level)) => {
                let title = open.take().unwrap_or_default();
                let anchor = slug(&title);
                let heading =
                    format!("<{level} id=\"{anchor}\"><a href=\"#{anchor}\">{}</a></{level}>\n", escape(&title));
                events.push(Event::Html(heading.into()));
                named = format!("Table: {title}");
                if level == HeadingLevel::H2 {
                    parts.push((anchor, title));
                }
            }
            Event::Text(text) | Event::Code(text) if open.is_some() => {
                if let Some(title) = &mut open {
                    title.push_str(&text);
                }
            }
            Event::Text(json) if in_json => events.push(Event::Html(examples::coloured(&json).into())),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                in_json = &*language == "json";
                let opening = format!(
                    "<div class=\"code\" data-language=\"{}\"><pre {}><code>",
                    escape(&language),
                    scrolling(block_name(&language))
                );
                events.push(Event::Html(opening.into()));
            }
            Event::End(TagEnd::CodeBlock) => {
                in_json = false;
                events.push(Event::Html(CowStr::Borrowed("</code></pre></div>\n")));
            }
            Event::Start(Tag::Table(_)) => {
                events.push(Event::Html(format!("<div class=\"scroll\" {}>", scrolling(&named)).into()));
                events.push(event);
            }
            Event::End(TagEnd::Table) => {
                events.push(event);
                events.push(Event::Html(CowStr::Borrowed("</div>\n")));
            }
            other => events.push(other),
        }
    }
    let mut out = String::with_capacity(text.len() * 2);
    html::push_html(&mut out, events.into_iter());
    // The content-security policy allows no inline styles.
    (out.replace(" style=\"text-align: right\"", " class=\"number\""), parts)
}

/// Renders a short Markdown text without a paragraph around it.
pub fn inline(text: &str) -> String {
    let (html, _) = rendered(text);
    let html = html.trim();
    match html.strip_prefix("<p>").and_then(|rest| rest.strip_suffix("</p>")) {
        Some(only) if !only.contains("<p>") => only.to_owned(),
        _ => html.to_owned(),
    }
}

/// The text without backticks.
fn plain(text: &str) -> String {
    text.replace('`', "")
}
