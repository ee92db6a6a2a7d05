//! The Markdown twin of a page: its content without forms, for programs and models. A guide's twin is the guide itself, unless it has tables in HTML.
//!
//! Reads only what this crate writes: well-formed HTML with a few elements.

use super::layout::Page;
use super::{Document, MARKDOWN};

/// Elements that are left out with their content: they need a browser, or are for one without scripts.
const LEFT_OUT: [&str; 5] = ["form", "noscript", "button", "script", "input"];
/// Elements without content.
const VOID: [&str; 4] = ["wbr", "br", "input", "hr"];

/// The name of a page's twin.
pub fn name_of(page: &str) -> String {
    if page.is_empty() { "index.md".to_owned() } else { format!("{page}.md") }
}

/// The twin of a page.
pub fn of(page: &Page) -> Document {
    let body = markdown(&page.main).into_bytes();
    let (title, about) = (page.title.clone(), page.about.clone());
    Document { name: name_of(&page.name), media_type: MARKDOWN, body, title, about }
}

/// A tag, or the text between two tags.
enum Piece<'a> {
    Opening { name: &'a str, attributes: &'a str },
    Closing(&'a str),
    Text(&'a str),
}

fn pieces(html: &str) -> impl Iterator<Item = Piece<'_>> {
    html.split('<')
        .enumerate()
        .flat_map(|(index, part)| {
            if index == 0 {
                return [None, Some(Piece::Text(part))];
            }
            let (tag, text) = part.split_once('>').unwrap_or((part, ""));
            let tag = match tag.strip_prefix('/') {
                Some(name) => Piece::Closing(name),
                None => {
                    let (name, attributes) = tag.split_once([' ', '\n']).unwrap_or((tag, ""));
                    Piece::Opening { name, attributes }
                }
            };
            [Some(tag), Some(Piece::Text(text))]
        })
        .flatten()
}

/// Converts a page's content.
fn markdown(html: &str) -> String {
    let mut writer = Writer::default();
    // The element that is being left out, and how many elements of its name are open.
    let mut left_out: Option<(&str, usize)> = None;
    for piece in pieces(html) {
        match (&mut left_out, piece) {
            (Some((name, open)), Piece::Opening { name: other, .. }) if *name == other => *open += 1,
            (Some((name, open)), Piece::Closing(other)) if *name == other => {
                *open -= 1;
                if *open == 0 {
                    left_out = None;
                }
            }
            (Some(_), _) => {}
            (None, Piece::Opening { name, attributes }) => {
                let is_hidden = attributes.split(' ').any(|word| word == "hidden");
                if (LEFT_OUT.contains(&name) || is_hidden) && !VOID.contains(&name) {
                    left_out = Some((name, 1));
                } else {
                    writer.open(name, attributes);
                }
            }
            (None, Piece::Closing(name)) => writer.close(name),
            (None, Piece::Text(text)) => writer.text(text),
        }
    }
    writer.finish()
}

#[derive(Default)]
struct Writer {
    out: String,
    /// Text of the current block, with its inline marks.
    line: String,
    /// What the block begins with, such as `## `.
    lead: String,
    /// Targets of the open links; `None` for one within the page.
    links: Vec<Option<String>>,
    /// Open lists: the number of the next item, or 0 for bullets.
    lists: Vec<usize>,
    /// The cells of the current row, and whether the table has its head.
    row: Option<Vec<String>>,
    has_head: bool,
    /// The language of the next block of code, and its text while it is open.
    language: String,
    code: Option<String>,
    /// Whether the open `span` is a mark beside a name.
    marks: Vec<bool>,
}

impl Writer {
    fn open(&mut self, name: &str, attributes: &str) {
        match name {
            "h1" | "h2" | "h3" | "h4" => {
                self.begin(&format!("{} ", "#".repeat(usize::from(name.as_bytes()[1] - b'0'))))
            }
            "p" | "section" | "div" | "details" | "dl" | "dd" if self.row.is_none() => {
                if let Some(language) = value(attributes, "data-language") {
                    self.language = language.to_owned();
                }
                if name != "dd" {
                    self.flush();
                }
            }
            "summary" => self.begin("**"),
            "ul" | "ol" => {
                self.flush();
                self.lists.push(usize::from(name == "ol"));
            }
            "li" => {
                let indent = "  ".repeat(self.lists.len().saturating_sub(1));
                let lead = match self.lists.last_mut() {
                    Some(0) | None => format!("{indent}- "),
                    Some(number) => {
                        *number += 1;
                        format!("{indent}{}. ", *number - 1)
                    }
                };
                self.begin(&lead);
            }
            "dt" => self.begin("- "),
            "table" => {
                self.flush();
                self.has_head = false;
            }
            "tr" => self.row = Some(Vec::new()),
            "th" | "td" => self.line.clear(),
            "pre" => {
                self.flush();
                self.code = Some(String::new());
            }
            "code" if self.code.is_none() => self.line.push('`'),
            "em" => self.line.push('*'),
            "strong" => self.line.push_str("**"),
            "br" => self.line.push(' '),
            "a" => {
                let target = value(attributes, "href").filter(|target| !target.starts_with('#'));
                if target.is_some() {
                    self.line.push('[');
                }
                self.links.push(target.map(str::to_owned));
            }
            "span" => {
                // A mark beside a name, or a note after it.
                let is_mark = matches!(value(attributes, "class"), Some("mark-in" | "bounds"));
                self.line.push_str(match (is_mark, attributes.is_empty()) {
                    (true, _) => "(",
                    (false, true) => ": ",
                    (false, false) => "",
                });
                self.marks.push(is_mark);
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "li" | "dd" => self.flush(),
            "p" | "section" | "div" | "details" | "dl" if self.row.is_none() => self.flush(),
            "summary" => {
                self.line.push_str("**");
                self.flush();
            }
            "dt" => self.line.push_str(": "),
            "ul" | "ol" => {
                self.flush();
                self.lists.pop();
                if self.lists.is_empty() {
                    self.blank();
                }
            }
            "th" | "td" => {
                let cell = collapsed(&self.line).replace('|', "\\|");
                self.line.clear();
                self.row.get_or_insert_default().push(cell);
            }
            "tr" => {
                let cells = self.row.take().unwrap_or_default();
                self.out.push_str(&format!("| {} |\n", cells.join(" | ")));
                if !self.has_head {
                    self.out.push_str(&format!("|{}\n", "---|".repeat(cells.len())));
                    self.has_head = true;
                }
            }
            "table" => self.blank(),
            "pre" => {
                let code = self.code.take().unwrap_or_default();
                let language = std::mem::take(&mut self.language);
                self.blank();
                self.out.push_str(&format!("```{language}\n{}\n```\n\n", code.trim_matches('\n')));
            }
            "code" if self.code.is_none() => self.line.push('`'),
            "em" => self.line.push('*'),
            "strong" => self.line.push_str("**"),
            "a" => {
                if let Some(target) = self.links.pop().flatten() {
                    self.line.push_str(&format!("]({target})"));
                }
            }
            "span" if self.marks.pop() == Some(true) => self.line.push(')'),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        let text = unescaped(text);
        match &mut self.code {
            Some(code) => code.push_str(&text),
            None => self.line.push_str(&text),
        }
    }

    /// Ends the current block and begins one with this lead.
    fn begin(&mut self, lead: &str) {
        self.flush();
        lead.clone_into(&mut self.lead);
    }

    /// Writes the current block.
    fn flush(&mut self) {
        let (line, lead) = (std::mem::take(&mut self.line), std::mem::take(&mut self.lead));
        let line = collapsed(&line);
        if line.is_empty() {
            // A list item may begin with another block: its lead is kept for that block.
            self.lead = lead;
            return;
        }
        let is_item = lead.trim_start().starts_with(|c: char| c == '-' || c.is_ascii_digit());
        if !is_item {
            self.blank();
        }
        self.out.push_str(&format!("{lead}{line}\n"));
        if !is_item {
            self.out.push('\n');
        }
    }

    /// Ends the previous block with one empty line.
    fn blank(&mut self) {
        let length = self.out.trim_end_matches('\n').len();
        self.out.truncate(length);
        if !self.out.is_empty() {
            self.out.push_str("\n\n");
        }
    }

    fn finish(mut self) -> String {
        self.flush();
        let mut out = self.out.trim_end().to_owned();
        out.push('\n');
        out
    }
}

/// The text with single spaces.
fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// The value of an attribute.
fn value<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = attributes.split_once(&format!("{name}=\""))?;
    rest.split('"').next()
}
