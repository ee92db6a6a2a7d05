//! Demo keys (one for each plan, and one shared key) and an index token, minted once and stored with the state.

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use super::origin::Origin;
use super::state::Secrets;
use crate::console::Step;

const ORG: &str = "demo";

/// A demo key: its name in `stack.json` and how it is minted.
struct Demo {
    name: &'static str,
    plan: &'static str,
    shared: bool,
}

const DEMOS: [Demo; 4] = [
    Demo { name: "data", plan: "data", shared: false },
    Demo { name: "decisioning", plan: "decisioning", shared: false },
    Demo { name: "embedded", plan: "embedded", shared: false },
    Demo { name: "shared", plan: "data", shared: true },
];

/// The credentials of a stack.
pub struct Credentials {
    /// Keys by name in `stack.json`.
    pub keys: Map<String, Value>,
    pub index_token: String,
}

/// The stored credentials, if the origin still lists them as active; otherwise new ones.
pub fn ensure(origin: &Origin, secrets: &mut Secrets) -> Result<Credentials> {
    let mut step = Step::start("demo keys");
    let known = ids(&origin.verb_json(&["keys", "list", "--json"])?);
    let mut keys = Map::new();
    let mut minted = 0;
    for demo in DEMOS {
        step.tick(demo.name);
        let mut words = vec!["keys", "mint", "--org", ORG, "--plan", demo.plan];
        words.extend(demo.shared.then_some("--shared"));
        let entry = format!("key_{}", demo.name);
        let (key, fresh) = credential(origin, secrets, &entry, &known, words, "key")?;
        minted += usize::from(fresh);
        keys.insert(demo.name.to_owned(), Value::String(key));
    }
    let known = ids(&origin.verb_json(&["index-tokens", "list", "--json"])?);
    let words = vec!["index-tokens", "mint", "--org", ORG];
    let (index_token, fresh) = credential(origin, secrets, "index_token", &known, words, "token")?;
    minted += usize::from(fresh);
    step.done(&match minted {
        0 => "kept".to_owned(),
        some => format!("{some} minted"),
    });
    Ok(Credentials { keys, index_token })
}

/// The stored credential if the origin still lists its id, else a new credential; and whether it is new.
fn credential(
    origin: &Origin,
    secrets: &mut Secrets,
    entry: &str,
    known: &[String],
    mut mint: Vec<&str>,
    field: &str,
) -> Result<(String, bool)> {
    let id_entry = format!("{entry}_id");
    if let (Some(value), Some(id)) = (secrets.get(entry), secrets.get(&id_entry))
        && known.iter().any(|known| known == id)
    {
        return Ok((value.to_owned(), false));
    }
    mint.push("--json");
    let answer = origin.verb_json(&mint)?;
    let value = answer
        .get(field)
        .and_then(Value::as_str)
        .with_context(|| format!("`rds-origin {}` printed JSON without `{field}`", mint.join(" ")))?;
    let id = answer
        .get("id")
        .and_then(id_text)
        .with_context(|| format!("`rds-origin {}` printed JSON without `id`", mint.join(" ")))?;
    secrets.set(entry, value)?;
    secrets.set(&id_entry, &id)?;
    Ok((value.to_owned(), true))
}

/// The ids of the active credentials in a list.
fn ids(answer: &Value) -> Vec<String> {
    answer
        .as_array()
        .into_iter()
        .flatten()
        .filter(|row| row.get("is_active") == Some(&Value::Bool(true)))
        .filter_map(|row| row.get("id").and_then(id_text))
        .collect()
}

fn id_text(id: &Value) -> Option<String> {
    match id {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::ids;
    use serde_json::json;

    #[test]
    fn a_revoked_key_is_not_reused() {
        let answer = json!([
            {"id": "a", "is_active": true},
            {"id": 2, "is_active": false},
            {"id": 3, "is_active": true},
        ]);
        assert_eq!(ids(&answer), ["a", "3"]);
    }
}
