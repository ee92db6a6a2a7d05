//! `llms.txt`: an index of the documentation in plain text, for programs.

use super::contract::{Contract, Operation};
use super::layout::Page;
use super::markdown::Guide;
use super::{Document, twin};
use std::fmt::Write;

/// Renders `llms.txt`.
pub fn llms<'a>(contract: &Contract, guides: &[Guide], others: impl Iterator<Item = &'a Page>) -> Document {
    let mut out = String::from(
        "# Risk Data Service\n\n\
         > Risk of on-chain vaults, lending markets and assets: scores from 0 to 10, tiers (Prime, Core, Edge), and the evidence behind \
         each. One HTTP API, JSON, all paths below /v1.\n\n",
    );
    let _ = writeln!(out, "Version {}. The whole contract, machine-readable: /v1/openapi.json\n", contract.version());
    out.push_str(
        "Success bodies are `{\"data\": …}`, lists add `meta`; errors are `{\"error\": {\"code\", \"message\", \"request_id\"}}`. \
         Send keys as `Authorization: Bearer pk_live_…`. Unknown values are null; fields are not left out. Every operation takes \
         `strict=true`, which refuses unknown parameters instead of ignoring them.\n\n\
         Agents can use the MCP server at /v1/mcp (/v1/docs/agents.md). Every page is Markdown at its address with `.md`, or for \
         `Accept: text/markdown`.\n\n## Guides\n\n",
    );
    for guide in guides {
        let _ = writeln!(out, "- [{}](/v1/docs/{}): {}", guide.title, twin::name_of(&guide.name), guide.about);
    }
    out.push_str("\n## Other pages\n\n");
    for page in others {
        let _ = writeln!(out, "- [{}](/v1/docs/{}): {}", page.title, twin::name_of(&page.name), page.about);
    }
    out.push_str("\n## Operations\n");
    for family in contract.families() {
        let _ = writeln!(out, "\n### {family}\n");
        for operation in contract.of_family(&family) {
            line(&mut out, operation);
        }
    }
    Document::file("llms.txt".into(), "text/plain; charset=utf-8", out.into_bytes())
}

fn line(out: &mut String, operation: &Operation) {
    let access = operation.access_text();
    let _ = writeln!(
        out,
        "- [{} {}]({}): {} ({access})",
        operation.method,
        operation.path,
        operation.link(),
        operation.summary
    );
    for parameter in operation.parameters.iter().filter(|it| it.place != "header" && it.name != "strict") {
        let required = if parameter.required { ", required" } else { "" };
        let about = parameter.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(out, "  - `{}` ({}{required}): {about}", parameter.name, parameter.place);
    }
}
