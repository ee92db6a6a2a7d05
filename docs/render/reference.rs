//! The reference: a list of all operations, and a page for each section of the OpenAPI document with the details of its operations.

use super::contract::{Contract, Operation, Parameter, page_of};
use super::layout::Page;
use super::schema::{self, Field};
use super::{breakable, escape, examples, markdown, scrolling, slug};
use rds_shared::route::deprecation;
use serde_json::Value;
use std::fmt::Write;

/// The list of all operations.
pub fn overview(contract: &Contract) -> Page {
    let total = contract.operations().len();
    let mut main = format!(
        "<h1>All operations</h1>\n<p class=\"lead\">{total} operations in {} sections. Each page shows parameters, responses and a recorded example, \
         and lets you send requests from your browser.</p>\n\
         <div class=\"filter\" hidden><label for=\"filter\">Filter operations</label>\
         <input id=\"filter\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\" placeholder=\"path, method or word\">\
         <p id=\"filtered\" role=\"status\"></p></div>\n",
        contract.families().len()
    );
    let mut parts = Vec::new();
    for family in contract.families() {
        let anchor = slug(&family);
        let _ = writeln!(
            main,
            "<section class=\"family\">\n<h2 id=\"{anchor}\"><a href=\"/v1/docs/{}\">{}</a></h2>\n<ul class=\"operations\">",
            page_of(&family),
            escape(&family)
        );
        for operation in contract.of_family(&family) {
            let _ = writeln!(
                main,
                "<li><a href=\"{}\">{} <code>{}</code></a><span>{}</span></li>",
                operation.link(),
                verb(operation),
                breakable(&operation.path),
                markdown::inline(&operation.summary)
            );
        }
        main.push_str("</ul>\n</section>\n");
        parts.push((anchor, family));
    }
    Page {
        name: "reference".into(),
        title: "All operations".into(),
        about: format!("The {total} operations of the API, by section."),
        main,
        parts,
        scripts: vec!["filter.js".into()],
    }
}

/// The page of a section.
pub fn family(contract: &Contract, family: &str) -> Page {
    let text = contract.family_text(family);
    let mut main = format!("<h1>{}</h1>\n<p class=\"lead\">{}</p>\n", escape(family), markdown::inline(&text));
    main.push_str(
        "<form id=\"console\" class=\"console-key\" hidden><label for=\"key\">Key for requests from this page</label>\
         <input id=\"key\" type=\"text\" autocomplete=\"off\" spellcheck=\"false\" placeholder=\"pk_live_… (optional)\">\
         <p>The key stays in this page's memory and is discarded when you leave the page.</p></form>\n",
    );
    let mut parts = Vec::new();
    let mut bodies: Vec<&Value> = Vec::new();
    for operation in contract.of_family(family) {
        block(&mut main, contract, operation);
        parts.push((operation.id.clone(), operation.summary.replace('`', "")));
        bodies.extend(operation.body.iter().map(|body| &body.schema));
        bodies.extend(operation.good().and_then(|answer| answer.body.as_ref()).map(|body| &body.schema));
    }
    let objects = schema::reached(contract, &bodies);
    if !objects.is_empty() {
        main.push_str("<h2 id=\"objects\"><a href=\"#objects\">Objects</a></h2>\n");
        parts.push(("objects".into(), "Objects".into()));
    }
    for (name, object) in &objects {
        let anchor = slug(name);
        let _ = writeln!(
            main,
            "<section class=\"object\" id=\"object-{anchor}\">\n<h3><a href=\"#object-{anchor}\">{}</a></h3>",
            escape(name)
        );
        if let Some(about) = object["description"].as_str() {
            let _ = writeln!(main, "<div class=\"about\">{}</div>", markdown::rendered(about).0);
        }
        shape(&mut main, contract, object);
        main.push_str("</section>\n");
    }
    let about = format!("{family}: operations of the Risk Data Service, with parameters, responses and examples.");
    Page { name: page_of(family), title: family.to_owned(), about, main, parts, scripts: vec!["console.js".into()] }
}

fn block(main: &mut String, contract: &Contract, operation: &Operation) {
    let _ = writeln!(
        main,
        "<section class=\"operation\" data-operation=\"{id}\" data-method=\"{method}\" data-path=\"{path}\"{stream}>\n\
         <h2 id=\"{id}\"><a href=\"#{id}\">{summary}</a></h2>\n<p class=\"route\">{verb} <code>{shown}</code></p>",
        id = escape(&operation.id),
        method = operation.method,
        path = escape(&operation.path),
        stream = if operation.streams() { " data-stream" } else { "" },
        summary = markdown::inline(&operation.summary),
        verb = verb(operation),
        shown = breakable(&operation.path),
    );
    main.push_str(&badges(operation));
    main.push_str(&in_explorer(operation));
    if !operation.description.is_empty() && operation.description != operation.summary {
        let _ = writeln!(main, "<div class=\"about\">{}</div>", markdown::rendered(&operation.description).0);
    }
    parameters(main, contract, operation);
    if let Some(body) = &operation.body {
        main.push_str("<h3 data-takes-body>Body</h3>\n");
        shape(main, contract, &body.schema);
        if let Some(example) = &body.example {
            let _ = writeln!(
                main,
                "<div class=\"code\" data-language=\"json\" data-body>{}</div>",
                examples::body(example)
            );
        }
    }
    let command = escape(&examples::curl(operation));
    let _ = writeln!(
        main,
        "<h3>Request</h3>\n<div class=\"code\" data-language=\"sh\"><pre {}><code>{command}</code></pre></div>",
        scrolling("Request as a command")
    );
    answers(main, contract, operation);
    main.push_str("</section>\n");
}

fn badges(operation: &Operation) -> String {
    let mut labels = vec![operation.access_text().to_owned()];
    labels.extend(operation.budget_text().map(str::to_owned));
    if let Some(route) = operation.route.filter(|route| route.cache.is_kept()) {
        labels.push(format!("Cached up to {} s, longer if a fresh read fails", route.cache.fresh));
    }
    if operation.deprecated {
        labels.push("Deprecated".into());
    }
    let items: String = labels.iter().map(|text| format!("<li>{}</li>", escape(text))).collect();
    format!("<ul class=\"badges\">{items}</ul>\n")
}

/// A link to the explorer's page that shows the answer, or to the list that leads to such pages.
fn in_explorer(operation: &Operation) -> String {
    let Some(page) = &operation.page else { return String::new() };
    match page.find("/{") {
        None => format!("<p class=\"shown\">In the explorer: <a href=\"{page}\">{page}</a></p>\n", page = escape(page)),
        Some(end) => format!(
            "<p class=\"shown\">In the explorer: <code>{page}</code>, from <a href=\"{list}\">{list}</a></p>\n",
            page = escape(page),
            list = escape(page.get(..end).unwrap_or_default()),
        ),
    }
}

fn parameters(main: &mut String, contract: &Contract, operation: &Operation) {
    if operation.parameters.is_empty() {
        return;
    }
    let _ = writeln!(
        main,
        "<h3>Parameters</h3>\n<div class=\"scroll\" {}><table class=\"fields\">\n\
         <thead><tr><th scope=\"col\">Name</th><th scope=\"col\">Value</th><th scope=\"col\">Meaning</th></tr></thead>\n<tbody>",
        scrolling("Parameters")
    );
    for parameter in &operation.parameters {
        let _ = writeln!(
            main,
            "<tr data-in=\"{place}\" data-name=\"{name}\"{required}{example}{choices}><th scope=\"row\"><code>{name}</code>{mark}</th>\
             <td>{kind}</td><td>{about}{bounds}</td></tr>",
            place = escape(&parameter.place),
            name = escape(&parameter.name),
            required = if parameter.required { " data-required" } else { "" },
            example = parameter
                .example
                .as_ref()
                .map_or_else(String::new, |text| format!(" data-example=\"{}\"", escape(text))),
            choices = choices(parameter),
            mark = mark(parameter),
            kind = schema::kind(contract, &parameter.schema),
            about = markdown::inline(&parameter.description),
            bounds = schema::bounds(&parameter.schema, &parameter.description),
        );
    }
    main.push_str("</tbody></table></div>\n");
}

/// The allowed values of an enumerated or boolean parameter, as HTML attributes for the page's request form.
fn choices(parameter: &Parameter) -> String {
    let values = parameter.schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let values: Vec<_> = values.collect();
    let many = parameter.schema["items"]["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let many: Vec<_> = many.collect();
    if !many.is_empty() {
        return format!(" data-many=\"{}\"", escape(&many.join("|")));
    }
    let is_flag = parameter.schema["type"] == "boolean";
    match (values.is_empty(), is_flag) {
        (false, _) => format!(" data-choices=\"{}\"", escape(&values.join("|"))),
        (true, true) => " data-choices=\"true|false\"".into(),
        (true, false) => String::new(),
    }
}

fn mark(parameter: &Parameter) -> &'static str {
    match (parameter.place.as_str(), parameter.required) {
        ("path", _) => " <span class=\"mark-in\">path</span>",
        ("header", _) => " <span class=\"mark-in\">header</span>",
        (_, true) => " <span class=\"mark-in\">required</span>",
        _ => "",
    }
}

fn answers(main: &mut String, contract: &Contract, operation: &Operation) {
    main.push_str("<h3>Response</h3>\n");
    if let Some(answer) = operation.good() {
        let kind = match &answer.body {
            Some(body) if body.media_type == "application/json" => schema::kind(contract, &body.schema),
            Some(body) => format!("<code>{}</code>", escape(&body.media_type)),
            None => "no body".into(),
        };
        let _ = writeln!(
            main,
            "<p><span class=\"status good\">{}</span> {} <span class=\"kind\">{kind}</span></p>",
            escape(&answer.status),
            markdown::inline(&answer.description)
        );
        if let Some(body) = &answer.body {
            // Named objects are described in their own section below, which is linked.
            if schema::named(&body.schema).is_none() {
                shape(main, contract, &body.schema);
            }
            if let Some(example) = &body.example {
                let _ = writeln!(
                    main,
                    "<details><summary>Example</summary><div class=\"code\" data-language=\"json\">{}</div></details>",
                    examples::body(example)
                );
            }
        }
    }
    let others: Vec<_> = operation.answers.iter().filter(|answer| !answer.status.starts_with('2')).collect();
    if !others.is_empty() {
        main.push_str("<details><summary>Other responses</summary><ul class=\"others\">\n");
        for answer in others {
            let _ = writeln!(
                main,
                "<li><span class=\"status\">{}</span> {}</li>",
                escape(&answer.status),
                markdown::inline(&answer.description)
            );
        }
        main.push_str("</ul></details>\n");
    }
}

/// The table of an object's fields, or the type of any other value.
fn shape(main: &mut String, contract: &Contract, schema: &Value) {
    let fields = schema::fields(contract, schema);
    if fields.is_empty() {
        let _ =
            writeln!(main, "<p class=\"kind\">{}{}</p>", schema::kind(contract, schema), schema::bounds(schema, ""));
        return;
    }
    let _ = writeln!(
        main,
        "<div class=\"scroll\" {}><table class=\"fields\">\n\
         <thead><tr><th scope=\"col\">Field</th><th scope=\"col\">Value</th><th scope=\"col\">Meaning</th></tr></thead>\n<tbody>",
        scrolling("Fields")
    );
    for Field { path, kind, about, optional, deprecated } in fields {
        let optional = if optional { " <span class=\"mark-in\">optional</span>" } else { "" };
        let deprecated = if deprecated {
            format!(" <a class=\"mark-in\" href=\"{}\">deprecated</a>", deprecation::GUIDE)
        } else {
            String::new()
        };
        let mark = format!("{optional}{deprecated}");
        let _ = writeln!(
            main,
            "<tr><th scope=\"row\"><code>{}</code>{mark}</th><td>{kind}</td><td>{about}</td></tr>",
            breakable(&path)
        );
    }
    main.push_str("</tbody></table></div>\n");
}

fn verb(operation: &Operation) -> String {
    format!("<span class=\"verb {}\">{}</span>", operation.method.to_lowercase(), operation.method)
}
