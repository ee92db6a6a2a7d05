//! The types of the library: every shape gets a name, and every type a module.

use super::text::{field, variant};
use crate::model::{Answer, Field, Model, Operation, Shape};
use crate::names::{singular_of, snake, spaced, upper_camel};
use std::collections::{BTreeMap, BTreeSet};

/// The module of types that several resources use.
const SEVERAL: &str = "types_of_several";

/// A type in the library.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    Text,
    Integer,
    Number,
    Boolean,
    Json,
    List(Box<Type>),
    Map(Box<Type>),
    Optional(Box<Type>),
    Named(String),
}

/// A declared type.
pub struct Item {
    pub name: String,
    pub doc: String,
    /// The module that it is declared in.
    pub home: String,
    pub kind: Kind,
}

/// What is declared.
pub enum Kind {
    Struct { members: Vec<Member>, use_of: Use },
    Enum(Vec<Variant>),
    Alias(Type),
}

/// What a struct is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// The service sends it, so fields may be added.
    Answer,
    /// The caller builds it.
    Body,
    /// The caller builds it; it becomes a query.
    Query,
}

pub struct Member {
    pub name: String,
    pub wire: String,
    pub doc: String,
    pub deprecated: bool,
    pub required: bool,
    pub of: Type,
}

pub struct Variant {
    pub name: String,
    pub value: String,
    pub doc: String,
}

/// Every declared type, by name.
pub struct Plan {
    pub items: BTreeMap<String, Item>,
    /// Names that two shapes would have.
    #[cfg_attr(not(test), allow(dead_code, reason = "a test reads it"))]
    pub clashes: Vec<String>,
}

impl Plan {
    pub fn new(model: &Model) -> Self {
        let homes = homes_of_types(model);
        let built = reachable(model, model.operations().filter_map(|it| it.body.as_ref()).map(|it| &it.shape));
        let mut planner = Planner {
            model,
            items: BTreeMap::new(),
            clashes: Vec::new(),
            home: String::new(),
            use_of: Use::Answer,
            about: String::new(),
        };
        for it in &model.types {
            planner.home = homes.get(it.name.as_str()).cloned().unwrap_or_else(|| SEVERAL.into());
            planner.use_of = if built.contains(it.name.as_str()) { Use::Body } else { Use::Answer };
            planner.declare(&exported(&it.name), &it.doc, &it.shape);
        }
        for resource in &model.resources {
            planner.home = home_of(&resource.name);
            for it in &resource.operations {
                planner.operation(it);
            }
        }
        Plan { items: planner.items, clashes: planner.clashes }
    }

    /// The modules, sorted.
    pub fn homes(&self) -> Vec<String> {
        let homes: BTreeSet<&String> = self.items.values().map(|it| &it.home).collect();
        homes.into_iter().cloned().collect()
    }

    /// The declared type of this name.
    pub fn kind(&self, name: &str) -> Option<&Kind> {
        self.items.get(name).map(|it| &it.kind)
    }

    /// Whether a value of this type contains itself without a list or map between.
    pub fn contains_itself(&self, name: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![name];
        while let Some(it) = open.pop() {
            let direct: Vec<&Type> = match self.kind(it) {
                Some(Kind::Struct { members, .. }) => members.iter().map(|it| &it.of).collect(),
                Some(Kind::Alias(of)) => vec![of],
                _ => Vec::new(),
            };
            for of in direct {
                let inner = if let Type::Optional(inner) = of { inner } else { of };
                let Type::Named(next) = inner else { continue };
                if next == name {
                    return true;
                }
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    }
}

/// The name under which a schema is exported.
pub fn exported(name: &str) -> String {
    if name == "Error" { "ErrorBody".into() } else { name.into() }
}

/// The name of a referenced type; JSON if the shape is no reference.
pub fn reference_name(shape: &Shape) -> String {
    if let Shape::Ref(name) = shape { exported(name) } else { "Json".into() }
}

/// The type of what an operation's page consists of.
pub fn row(it: &Operation) -> String {
    format!("{}Row", it.id)
}

struct Planner<'a> {
    model: &'a Model,
    items: BTreeMap<String, Item>,
    clashes: Vec<String>,
    home: String,
    use_of: Use,
    /// The documentation of the member whose shape gets a name.
    about: String,
}

impl Planner<'_> {
    fn operation(&mut self, it: &Operation) {
        if !it.query_parameters.is_empty() {
            self.use_of = Use::Query;
            let fields: Vec<Field> = it
                .query_parameters
                .iter()
                .map(|it| Field {
                    name: it.name.clone(),
                    doc: it.doc.clone(),
                    required: it.required,
                    deprecated: false,
                    shape: it.shape.clone(),
                })
                .collect();
            let doc = format!("Parameters of `{} {}`.", it.verb, it.path);
            self.declare_as(&it.id, &format!("{}Params", it.id), &doc, &Shape::Object(fields));
        }
        if let Some(body) = &it.body {
            self.use_of = Use::Body;
            let doc = format!("Body of `{} {}`. {}", it.verb, it.path, body.doc);
            self.declare_as(&it.id, &format!("{}Body", it.id), &doc, &body.shape);
        }
        self.use_of = Use::Answer;
        if let Answer::Json { shape, .. } = &it.answer {
            let doc = format!("Answer of `{} {}`.", it.verb, it.path);
            self.declare_as(&it.id, &format!("{}Answer", it.id), &doc, shape);
        }
        if let Some(paging) = &it.paging {
            // The same shape as in the answer, so the same name is found again.
            let of = self.row_type(it, &paging.rows).unwrap_or(Type::Json);
            self.insert(&row(it), &format!("A row of `{} {}`.", it.verb, it.path), Kind::Alias(of));
        }
    }

    fn row_type(&self, it: &Operation, path: &[String]) -> Option<Type> {
        let mut of = Type::Named(format!("{}Answer", it.id));
        for name in path {
            let mut inner = &of;
            while let Type::Named(name) = inner {
                match self.items.get(name).map(|it| &it.kind) {
                    Some(Kind::Alias(other)) => inner = other,
                    _ => break,
                }
            }
            let Type::Named(declared) = inner else { return None };
            let Some(Kind::Struct { members, .. }) = self.items.get(declared).map(|it| &it.kind) else { return None };
            of = members.iter().find(|it| it.wire == *name)?.of.clone();
        }
        loop {
            of = match of {
                Type::List(item) => return Some(*item),
                Type::Optional(inner) => *inner,
                Type::Named(name) => match self.items.get(&name).map(|it| &it.kind) {
                    Some(Kind::Alias(other)) => other.clone(),
                    _ => return None,
                },
                _ => return None,
            };
        }
    }

    fn declare(&mut self, name: &str, doc: &str, shape: &Shape) {
        self.declare_as(name, name, doc, shape);
    }

    /// Declares a type. Types within it are named after `stem`.
    fn declare_as(&mut self, stem: &str, name: &str, doc: &str, shape: &Shape) {
        let kind = match self.merged(shape) {
            Shape::Object(fields) => {
                Kind::Struct { members: fields.iter().map(|it| self.member(stem, it)).collect(), use_of: self.use_of }
            }
            Shape::Enum(values) => {
                let mut variants: Vec<Variant> = Vec::new();
                for it in &values {
                    let mut name = variant(&it.value);
                    while variants.iter().any(|it| it.name == name) {
                        name.push('_');
                    }
                    variants.push(Variant { name, value: it.value.clone(), doc: it.doc.clone() });
                }
                Kind::Enum(variants)
            }
            other => Kind::Alias(self.of(&other, stem, "Value")),
        };
        self.insert(name, doc, kind);
    }

    fn insert(&mut self, name: &str, doc: &str, kind: Kind) {
        let item = Item { name: name.into(), doc: doc.into(), home: self.home.clone(), kind };
        if self.items.insert(name.into(), item).is_some() {
            self.clashes.push(name.into());
        }
    }

    fn member(&mut self, stem: &str, it: &Field) -> Member {
        let is_list = matches!(&it.shape, Shape::List(_))
            || matches!(&it.shape, Shape::Nullable(inner) if matches!(**inner, Shape::List(_)));
        let inner = if is_list { singular(&it.name) } else { words(&it.name) };
        self.about.clone_from(&it.doc);
        let of = self.of(&it.shape, stem, &upper_camel(&inner));
        let is_optional = !(it.required || self.use_of == Use::Query && matches!(of, Type::List(_)));
        let of = if is_optional && !matches!(of, Type::Optional(_)) { Type::Optional(Box::new(of)) } else { of };
        Member {
            name: field(&it.name),
            wire: it.name.clone(),
            doc: it.doc.clone(),
            deprecated: it.deprecated,
            required: it.required,
            of,
        }
    }

    /// The type of a shape. An object or enum without a name is declared as `stem` + `name`.
    fn of(&mut self, shape: &Shape, stem: &str, name: &str) -> Type {
        match shape {
            Shape::Ref(name) => Type::Named(exported(name)),
            Shape::Map(value) => Type::Map(Box::new(self.of(value, stem, name))),
            Shape::List(item) => Type::List(Box::new(self.of(item, stem, name))),
            Shape::Text(_) => Type::Text,
            Shape::Integer => Type::Integer,
            Shape::Number => Type::Number,
            Shape::Boolean => Type::Boolean,
            Shape::Constant(value) if value.is_string() => Type::Text,
            Shape::Constant(value) if value.is_i64() => Type::Integer,
            Shape::Constant(value) if value.is_boolean() => Type::Boolean,
            Shape::Nullable(inner) => Type::Optional(Box::new(self.of(inner, stem, name))),
            Shape::Object(_) | Shape::Enum(_) => self.inline(shape, stem, name),
            Shape::Union(forms) if forms.iter().all(|it| matches!(it, Shape::Text(_))) => Type::Text,
            Shape::Union(_) => match self.merged(shape) {
                Shape::Object(fields) => self.inline(&Shape::Object(fields), stem, name),
                Shape::List(item) => Type::List(Box::new(self.of(&item, stem, name))),
                _ => Type::Json,
            },
            Shape::Constant(_) | Shape::Any => Type::Json,
        }
    }

    fn inline(&mut self, shape: &Shape, stem: &str, name: &str) -> Type {
        let mut name = format!("{stem}{name}");
        while self.items.contains_key(&name) || self.model.types.iter().any(|it| exported(&it.name) == name) {
            name.push_str("Value");
        }
        let about = std::mem::take(&mut self.about);
        self.declare_as(&name.clone(), &name, &about, shape);
        Type::Named(name)
    }

    /// One object with the fields of all forms of a union of objects; any other shape as it is.
    fn merged(&self, shape: &Shape) -> Shape {
        let Shape::Union(forms) = shape else { return shape.clone() };
        let items = forms.iter().map(|it| if let Shape::List(item) = it { Some(item.as_ref().clone()) } else { None });
        if let Some(mut items) = items.collect::<Option<Vec<Shape>>>() {
            items.dedup();
            let item = if items.len() == 1 { items.pop().unwrap_or(Shape::Any) } else { Shape::Union(items) };
            return Shape::List(Box::new(item));
        }
        let Some(objects) = forms.iter().map(|it| self.fields(it)).collect::<Option<Vec<_>>>() else {
            return shape.clone();
        };
        let mut all: Vec<Field> = Vec::new();
        for it in objects.iter().copied().flatten() {
            match all.iter_mut().find(|one| one.name == it.name) {
                None => all.push(it.clone()),
                Some(one) if one.shape == it.shape => {}
                Some(one) => one.shape = self.merged(&Shape::Union(vec![one.shape.clone(), it.shape.clone()])),
            }
        }
        for it in &mut all {
            it.required &= objects.iter().all(|of| of.iter().any(|other| other.name == it.name && other.required));
        }
        Shape::Object(all)
    }

    fn fields<'a>(&'a self, shape: &'a Shape) -> Option<&'a [Field]> {
        match shape {
            Shape::Object(fields) => Some(fields),
            Shape::Ref(name) => self.fields(&self.model.named(name)?.shape),
            _ => None,
        }
    }
}

/// The words of a list's name for one of its items.
fn singular(name: &str) -> Vec<String> {
    let mut words = singular_of(&words(name));
    if let Some(last) = words.last_mut()
        && let Some(stem) = last.strip_suffix("ie")
    {
        *last = format!("{stem}y");
    }
    words
}

fn words(name: &str) -> Vec<String> {
    spaced(field(name).trim_start_matches("r#"))
}

fn home_of(resource: &[String]) -> String {
    format!("types_of_{}", snake(resource))
}

/// The module of each schema: that of the only resource that uses it.
fn homes_of_types(model: &Model) -> BTreeMap<&str, String> {
    let mut homes: BTreeMap<&str, String> = BTreeMap::new();
    for resource in &model.resources {
        let bodies = resource.operations.iter().filter_map(|it| it.body.as_ref()).map(|it| &it.shape);
        let queries = resource.operations.iter().flat_map(|it| &it.query_parameters).map(|it| &it.shape);
        let answers = resource.operations.iter().filter_map(|it| match &it.answer {
            Answer::Json { shape, .. } => Some(shape),
            Answer::Stream => None,
        });
        for name in reachable(model, bodies.chain(queries).chain(answers)) {
            let own = home_of(&resource.name);
            homes.entry(name).and_modify(|it| *it = SEVERAL.into()).or_insert(own);
        }
    }
    homes
}

/// The names of the schemas that these shapes contain.
fn reachable<'a>(model: &'a Model, shapes: impl Iterator<Item = &'a Shape>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&Shape> = shapes.collect();
    while let Some(shape) = open.pop() {
        match shape {
            Shape::Ref(name) => {
                if let Some(named) = model.named(name).filter(|_| found.insert(name.as_str())) {
                    open.push(&named.shape);
                }
            }
            Shape::Object(fields) => open.extend(fields.iter().map(|it| &it.shape)),
            Shape::Map(inner) | Shape::List(inner) | Shape::Nullable(inner) => open.push(inner),
            Shape::Union(forms) => open.extend(forms),
            _ => {}
        }
    }
    found
}
