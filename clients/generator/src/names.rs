//! Names: which resource an operation belongs to, and what its method is called. Rules only; no operation is named here.
//!
//! | operation | path | resource | method |
//! |---|---|---|---|
//! | `VaultList` | `/v1/vaults` | `vaults` | `list` |
//! | `VaultScoreHistory` | `/v1/vault/{network}/{address}/score-history` | `vaults` | `score history` |
//! | `BasketWebhookCreate` | `/v1/baskets/{id}/webhooks` | `basket webhooks` | `create` |
//! | `DecisionVerify` | `/v1/graph/decision/{id}/verify` | `graph` | `verify decision` |
//! | `RateBySymbol` | `/v1/rates/{symbol}` | `indices` | `rate` |

use std::collections::BTreeSet;

/// Verbs that end an operation's id and begin a method's name if something stands between.
const VERBS: [&str; 6] = ["create", "delete", "enable", "replay", "test", "verify"];

/// The tags and first path segments of the document, which resources are named after.
pub struct Sections {
    tags: BTreeSet<Vec<String>>,
    segments: BTreeSet<Vec<String>>,
}

impl Sections {
    /// From the tag and the path of every operation.
    pub fn new<'a>(operations: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let (mut tags, mut segments) = (BTreeSet::new(), BTreeSet::new());
        for (tag, path) in operations {
            tags.insert(spaced(tag));
            segments.insert(first_segment(path));
        }
        Sections { tags, segments }
    }

    /// The resource of an operation.
    pub fn resource(&self, tag: &str, path: &str) -> Vec<String> {
        let tag = spaced(tag);
        let segment = first_segment(path);
        let plural = plural_of(&segment);
        let own = if self.tags.contains(&plural) { plural } else { segment };
        if own == tag || !self.tags.contains(&own) {
            return tag;
        }
        // A list below another list: `/v1/baskets/{id}/webhooks`.
        if self.segments.contains(&tag) { [singular_of(&own), tag].concat() } else { own }
    }
}

/// The method of an operation. `is_list` is whether it answers rows.
pub fn method(id: &str, resource: &[String], is_list: bool) -> Vec<String> {
    let words = camel(id);
    let singular = singular_of(resource);
    let mut rest = [singular.as_slice(), resource]
        .iter()
        .find_map(|prefix| without_prefix(&words, prefix))
        .unwrap_or(words.as_slice())
        .to_vec();
    let by = rest.iter().position(|word| word == "by");
    if let Some(by) = by {
        rest.truncate(by);
        if rest.is_empty() {
            return vec!["get".into()];
        }
    }
    match rest.split_last() {
        None => vec![if is_list { "list".into() } else { "get".into() }],
        Some((last, [])) if last == "list" => rest,
        Some((last, before)) if last == "list" => plural_of(before),
        Some((last, before)) if !before.is_empty() && VERBS.contains(&last.as_str()) => {
            [std::slice::from_ref(last), before].concat()
        }
        Some(_) => rest,
    }
}

/// `VaultScoreHistory` as words in lower case.
pub fn camel(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for char in name.chars() {
        if char.is_uppercase() || words.is_empty() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(char.to_lowercase());
        }
    }
    words
}

/// Words separated by spaces, hyphens, underscores or dots, in lower case.
pub fn spaced(text: &str) -> Vec<String> {
    text.split([' ', '-', '_', '.']).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// `lowerCamelCase`.
pub fn lower_camel(words: &[String]) -> String {
    let upper = upper_camel(words);
    let first = words.first().map(String::as_str).unwrap_or_default();
    format!("{first}{}", upper.get(first.len()..).unwrap_or_default())
}

/// `UpperCamelCase`.
pub fn upper_camel(words: &[String]) -> String {
    let capital = |word: &String| {
        let mut chars = word.chars();
        chars.next().map(|first| first.to_uppercase().chain(chars).collect::<String>()).unwrap_or_default()
    };
    words.iter().map(capital).collect()
}

/// `snake_case`.
pub fn snake(words: &[String]) -> String {
    words.join("_")
}

fn first_segment(path: &str) -> Vec<String> {
    spaced(path.trim_start_matches("/v1").split('/').nth(1).unwrap_or_default())
}

fn plural_of(words: &[String]) -> Vec<String> {
    edit_last(words, |word| if word.ends_with('s') { word.into() } else { format!("{word}s") })
}

/// The last word without its plural.
pub fn singular_of(words: &[String]) -> Vec<String> {
    edit_last(words, |word| match word.strip_suffix("ices") {
        Some(stem) => format!("{stem}ex"),
        None => word.strip_suffix('s').unwrap_or(word).into(),
    })
}

fn edit_last(words: &[String], edit: impl Fn(&str) -> String) -> Vec<String> {
    let mut words = words.to_vec();
    if let Some(last) = words.last_mut() {
        *last = edit(last);
    }
    words
}

fn without_prefix<'a>(words: &'a [String], prefix: &[String]) -> Option<&'a [String]> {
    words.strip_prefix(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(tag: &str, path: &str, id: &str, is_list: bool) -> String {
        let all = [
            ("Vaults", "/v1/vaults"),
            ("Vault detail", "/v1/vault/{network}/{address}"),
            ("Webhooks", "/v1/webhooks"),
            ("Baskets", "/v1/baskets"),
            ("Webhooks", "/v1/baskets/webhooks"),
            ("Graph", "/v1/graph/check"),
            ("Indices", "/v1/indices"),
            ("Indices", "/v1/rates"),
            ("Service", "/v1/me"),
            ("Security events", "/v1/security-events"),
            ("Portfolio", "/v1/portfolio/{address}"),
            ("Portfolio", "/v1/royco"),
        ];
        let resource = Sections::new(all.into_iter()).resource(tag, path);
        let method = method(id, &resource, is_list);
        format!("{}.{}", lower_camel(&resource), lower_camel(&method))
    }

    #[test]
    fn every_rule_names_as_a_reader_expects() {
        assert_eq!(name("Vaults", "/v1/vaults", "VaultList", true), "vaults.list");
        assert_eq!(name("Vaults", "/v1/vaults/{id}", "VaultById", false), "vaults.get");
        let history = "/v1/vault/{network}/{address}/score-history";
        assert_eq!(name("Vault detail", history, "VaultScoreHistory", true), "vaults.scoreHistory");
        assert_eq!(name("Webhooks", "/v1/webhooks", "WebhookCreate", false), "webhooks.create");
        assert_eq!(
            name("Webhooks", "/v1/baskets/{id}/webhooks", "BasketWebhookCreate", false),
            "basketWebhooks.create"
        );
        assert_eq!(name("Webhooks", "/v1/baskets/webhooks", "BasketWebhooksOfAll", true), "basketWebhooks.ofAll");
        assert_eq!(name("Graph", "/v1/graph/check", "GraphCheck", false), "graph.check");
        assert_eq!(name("Graph", "/v1/graph/decision/{id}/verify", "DecisionVerify", false), "graph.verifyDecision");
        assert_eq!(name("Graph", "/v1/graph/signers", "SignerList", true), "graph.signers");
        assert_eq!(name("Indices", "/v1/indices/{id}", "IndexById", false), "indices.get");
        assert_eq!(name("Indices", "/v1/rates", "RateList", true), "indices.rates");
        assert_eq!(name("Indices", "/v1/rates/{symbol}", "RateBySymbol", false), "indices.rate");
        assert_eq!(name("Service", "/v1/me", "Me", false), "service.me");
        assert_eq!(name("Security events", "/v1/security-events", "SecurityEventList", true), "securityEvents.list");
        assert_eq!(name("Portfolio", "/v1/portfolio/{address}", "Portfolio", false), "portfolio.get");
        assert_eq!(name("Portfolio", "/v1/royco", "Royco", true), "portfolio.royco");
    }
}
