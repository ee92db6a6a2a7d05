//! Shortens a response to a number of bytes: lists lose their last elements, and what was left out is told.

use super::json_scan::{elements, members};

/// A list that was shortened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The list's place, such as `data` or `data.snapshots`; `[]` stands for each element of a list.
    pub path: String,
    pub shown: usize,
    /// Elements of the longest list at this place.
    pub total: usize,
}

/// A shortened response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// JSON. `null` if even the shortest form is too long.
    pub text: String,
    pub cuts: Vec<Cut>,
}

/// Members to keep of the object at a path; all members of any other object are kept.
pub type Kept = [(&'static str, &'static [&'static str])];

/// The greatest numbers of elements, tried one after the other: of the list `data`, and of every other list. Rows are left out before
/// the lists within a row.
const ROWS: [(usize, usize); 9] = [
    (usize::MAX, usize::MAX),
    (50, usize::MAX),
    (20, usize::MAX),
    (10, usize::MAX),
    (5, usize::MAX),
    (5, 10),
    (2, 10),
    (1, 5),
    (1, 1),
];
/// The same for a response whose `data` is no list.
const LISTS: [usize; 9] = [usize::MAX, 200, 100, 50, 20, 10, 5, 2, 1];
/// Nesting below which values are copied whole. No response of the service is nested that deeply.
const MAX_DEPTH: usize = 24;

/// The longest form of `body` with at most `max_bytes`.
pub fn excerpt(body: &str, kept: &Kept, max_bytes: usize) -> Excerpt {
    let has_rows = super::json_scan::member(body, "data").is_some_and(|data| data.starts_with('['));
    let forms = ROWS.into_iter().zip(LISTS).map(|(rows, lists)| if has_rows { rows } else { (lists, lists) });
    for (rows, lists) in forms {
        let mut writer = Writer { kept, rows, lists, out: String::new(), cuts: Vec::new() };
        writer.write(body, "", 0);
        if writer.out.len() <= max_bytes {
            return Excerpt { text: writer.out, cuts: writer.cuts };
        }
    }
    Excerpt { text: "null".to_owned(), cuts: vec![Cut { path: String::new(), shown: 0, total: body.len() }] }
}

struct Writer<'a> {
    kept: &'a Kept,
    rows: usize,
    lists: usize,
    out: String,
    cuts: Vec<Cut>,
}

impl Writer<'_> {
    fn write(&mut self, value: &str, path: &str, depth: usize) {
        let deeper = depth.saturating_add(1);
        if depth < MAX_DEPTH
            && let Some(all) = members(value)
        {
            let kept = self.kept.iter().find(|(place, _)| *place == path).map(|(_, names)| *names);
            self.out.push('{');
            let mut separator = "";
            for (key, value) in all {
                let name = key.trim_matches('"');
                if kept.is_some_and(|names| !names.contains(&name)) {
                    continue;
                }
                self.out.push_str(separator);
                separator = ",";
                self.out.push_str(key);
                self.out.push(':');
                let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                self.write(value, &path, deeper);
            }
            self.out.push('}');
        } else if depth < MAX_DEPTH
            && let Some(all) = elements(value)
        {
            let most = if path == "data" { self.rows } else { self.lists };
            if all.len() > most {
                self.cut(path, most, all.len());
            }
            self.out.push('[');
            let inner = format!("{path}[]");
            for (index, element) in all.into_iter().take(most).enumerate() {
                if index > 0 {
                    self.out.push(',');
                }
                self.write(element, &inner, deeper);
            }
            self.out.push(']');
        } else {
            self.out.push_str(value);
        }
    }

    fn cut(&mut self, path: &str, shown: usize, total: usize) {
        match self.cuts.iter_mut().find(|cut| cut.path == path) {
            Some(cut) => cut.total = cut.total.max(total),
            None => self.cuts.push(Cut { path: path.to_owned(), shown, total }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(excerpt: &Excerpt) -> Value {
        serde_json::from_str(&excerpt.text).unwrap()
    }

    fn rows(count: usize) -> String {
        let row = |id: usize| json!({"id": id, "text": "x".repeat(100), "parts": [1, 2, 3]});
        json!({"data": (0..count).map(row).collect::<Vec<_>>(), "meta": {"page": 1, "limit": count}}).to_string()
    }

    #[test]
    fn a_response_that_fits_is_not_changed() {
        let body = "{\"data\":{\"amount\":1.50,\"deep\":[[1],[2]]}}";
        assert_eq!(excerpt(body, &[], 100), Excerpt { text: body.to_owned(), cuts: Vec::new() });
    }

    #[test]
    fn rows_are_left_out_before_their_parts_and_told() {
        let short = excerpt(&rows(80), &[], 3_000);
        let value = read(&short);
        assert_eq!(value["data"].as_array().unwrap().len(), 20);
        assert_eq!(value["data"][0]["parts"], json!([1, 2, 3]));
        assert_eq!(value["meta"]["page"], 1);
        assert_eq!(short.cuts, [Cut { path: "data".to_owned(), shown: 20, total: 80 }]);
    }

    #[test]
    fn the_lists_of_an_object_are_shortened_together() {
        let body = json!({"data": {"name": "x", "a": vec!["y".repeat(50); 300], "b": [1, 2]}}).to_string();
        let short = excerpt(&body, &[], 3_000);
        assert_eq!(read(&short)["data"]["a"].as_array().unwrap().len(), 50);
        assert_eq!(short.cuts, [Cut { path: "data.a".to_owned(), shown: 50, total: 300 }]);
    }

    #[test]
    fn only_the_kept_members_of_an_object_remain() {
        let body = "{\"data\":{\"vault\":{\"id\":\"a\",\"x\":1,\"y\":2},\"other\":[]}}";
        let kept: &Kept = &[("data", &["vault"]), ("data.vault", &["id", "y"])];
        assert_eq!(excerpt(body, kept, 1_000).text, "{\"data\":{\"vault\":{\"id\":\"a\",\"y\":2}}}");
    }

    #[test]
    fn a_response_that_cannot_be_shortened_becomes_null() {
        let body = json!({"data": "z".repeat(500)}).to_string();
        let short = excerpt(&body, &[], 100);
        assert_eq!((short.text.as_str(), short.cuts.len()), ("null", 1));
        assert_eq!(short.cuts[0].total, body.len());
    }
}
