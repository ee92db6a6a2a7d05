//! A small cache of answers with their ETags: the service answers 304 while they are current.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Bytes of all answers together, at most.
const BYTES: usize = 8_000_000;

/// An answer and its tag.
#[derive(Clone)]
pub(crate) struct Kept {
    pub tag: http::HeaderValue,
    pub text: Arc<str>,
}

/// The answers that were used last, bounded in number and in size.
pub(crate) struct EtagCache {
    kept: HashMap<String, (u64, Kept)>,
    /// The keys by the time of their last use.
    order: BTreeMap<u64, String>,
    uses: u64,
    size: usize,
    entries: usize,
}

impl EtagCache {
    pub fn new(entries: usize) -> Self {
        EtagCache { kept: HashMap::new(), order: BTreeMap::new(), uses: 0, size: 0, entries }
    }

    /// The answer that is kept for a request.
    pub fn get(&mut self, key: &str) -> Option<Kept> {
        let (used, kept) = self.kept.get_mut(key)?;
        self.order.remove(used);
        self.uses += 1;
        *used = self.uses;
        self.order.insert(self.uses, key.to_owned());
        Some(kept.clone())
    }

    /// Keeps an answer, and drops those that were not used for longest.
    pub fn set(&mut self, key: String, kept: Kept) {
        self.drop(&key);
        if self.entries == 0 || kept.text.len() > BYTES / 4 {
            return;
        }
        self.uses += 1;
        self.size += kept.text.len();
        self.order.insert(self.uses, key.clone());
        self.kept.insert(key, (self.uses, kept));
        while self.kept.len() > self.entries || self.size > BYTES {
            let Some((_, oldest)) = self.order.first_key_value() else { break };
            let oldest = oldest.clone();
            self.drop(&oldest);
        }
    }

    fn drop(&mut self, key: &str) {
        if let Some((used, kept)) = self.kept.remove(key) {
            self.order.remove(&used);
            self.size -= kept.text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> Kept {
        Kept { tag: http::HeaderValue::from_static("\"a\""), text: text.into() }
    }

    #[test]
    fn the_answer_that_was_not_used_for_longest_goes_first() {
        let mut cache = EtagCache::new(2);
        cache.set("a".into(), kept("1"));
        cache.set("b".into(), kept("2"));
        assert!(cache.get("a").is_some());
        cache.set("c".into(), kept("3"));
        assert!(cache.get("b").is_none());
        assert!(cache.get("a").is_some() && cache.get("c").is_some());
    }

    #[test]
    fn the_answers_together_have_a_bounded_size() {
        let mut cache = EtagCache::new(100);
        for it in 0..6 {
            cache.set(it.to_string(), kept(&"x".repeat(BYTES / 4)));
        }
        cache.set("large".into(), kept(&"x".repeat(BYTES / 4 + 1)));
        assert!(cache.size <= BYTES && cache.kept.len() == 4 && cache.get("large").is_none());
    }
}
