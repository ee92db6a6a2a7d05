//! How a list is read to its end: from its parameters and the form of its answer.

use crate::model::{Field, Model, Paging, PagingStyle, Parameter, Shape};

/// The paging of an operation with these query parameters and this answer; `None` if the answer is complete.
pub fn paging(model: &Model, parameters: &[Parameter], answer: &Shape) -> Option<Paging> {
    let takes = |name: &str| parameters.iter().any(|it| it.name == name);
    let path = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let data = member(model, answer, "data")?;
    if takes("page") {
        let size = parameters.iter().find(|it| it.name == "limit" || it.name == "pageSize")?;
        let greatest = member(model, answer, "meta").and(size.greatest);
        let style = PagingStyle::Number { page: "page".into(), size: size.name.clone(), greatest };
        return Some(Paging { style, rows: path(&["data"]), row: item(model, &data)? });
    }
    // The rows are one of several members of `data`.
    let (name, rows) = fields(model, &data)?.iter().find_map(|it| Some((it.name.clone(), item(model, &it.shape)?)))?;
    if takes("since") && member(model, &data, "cursor").is_some() {
        let style = PagingStyle::Cursor { since: "since".into(), cursor: path(&["data", "cursor"]) };
        return Some(Paging { style, rows: path(&["data", &name]), row: rows });
    }
    if takes("offset") && member(model, &data, "total").is_some() {
        let style = PagingStyle::Offset { offset: "offset".into(), total: path(&["data", "total"]) };
        return Some(Paging { style, rows: path(&["data", &name]), row: rows });
    }
    None
}

/// Whether `data` of the answer is a list of rows.
pub fn is_list(model: &Model, answer: &Shape) -> bool {
    member(model, answer, "data").and_then(|data| item(model, &data)).is_some()
}

fn member(model: &Model, shape: &Shape, name: &str) -> Option<Shape> {
    match shape {
        // The same member of several forms has the union of their shapes.
        Shape::Union(forms) => {
            let members: Option<Vec<Shape>> = forms.iter().map(|form| member(model, form, name)).collect();
            Some(Shape::Union(members?))
        }
        other => fields(model, other)?.iter().find(|it| it.name == name).map(|it| it.shape.clone()),
    }
}

fn fields<'a>(model: &'a Model, shape: &'a Shape) -> Option<&'a [Field]> {
    match shape {
        Shape::Object(fields) => Some(fields),
        Shape::Ref(name) => fields(model, &model.named(name)?.shape),
        _ => None,
    }
}

fn item(model: &Model, shape: &Shape) -> Option<Shape> {
    match shape {
        Shape::List(item) => Some((**item).clone()),
        Shape::Ref(name) => item(model, &model.named(name)?.shape),
        Shape::Union(forms) => {
            let items: Option<Vec<Shape>> = forms.iter().map(|form| item(model, form)).collect();
            Some(Shape::Union(items?))
        }
        _ => None,
    }
}
