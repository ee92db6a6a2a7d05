//! The cached variants of one URL, selected by the request fields that `Vary` names (RFC 9111, section 4.1).

use super::Entry;
use super::fields::Fields;
use super::memory::Weigh;
use std::rc::Rc;

/// Most variants per URL; the oldest is evicted.
const MAX_VARIANTS: usize = 16;

/// The request fields that selected a response, with their values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection(Vec<(String, Option<String>)>);

impl Selection {
    /// The selection for a response with this `Vary`; `None` for `*`.
    pub fn of(vary: &str, request: &Fields) -> Option<Self> {
        let mut names: Vec<String> =
            vary.split(',').map(|name| name.trim().to_ascii_lowercase()).filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        let chosen =
            |name: String| (name != "*").then(|| (field_value(&name, request), name)).map(|(said, name)| (name, said));
        names.into_iter().map(chosen).collect::<Option<_>>().map(Selection)
    }

    /// Whether a request selects the same response.
    pub fn matches(&self, request: &Fields) -> bool {
        self.0.iter().all(|(name, then)| field_value(name, request) == *then)
    }
}

/// A request field's value, with equal lists written alike.
fn field_value(name: &str, request: &Fields) -> Option<String> {
    let text = request.get(name)?;
    let members: Vec<&str> = text.split(',').map(str::trim).filter(|member| !member.is_empty()).collect();
    Some(members.join(","))
}

/// A cached response of an arbitrary origin.
#[derive(Debug, Clone)]
pub struct Variant {
    pub status: u16,
    pub selection: Selection,
    pub entry: Entry<Fields>,
}

/// The variants of one URL, the newest last.
#[derive(Debug, Clone, Default)]
pub struct Variants(Vec<Rc<Variant>>);

impl Variants {
    /// The newest variant that matches a request.
    pub fn find(&self, request: &Fields) -> Option<Rc<Variant>> {
        self.0.iter().rev().find(|variant| variant.selection.matches(request)).map(Rc::clone)
    }

    /// Removes the variants that match a request.
    pub fn without(&self, request: &Fields) -> Self {
        Variants(self.0.iter().filter(|variant| !variant.selection.matches(request)).map(Rc::clone).collect())
    }

    /// Adds a variant, replacing those that match its request.
    pub fn with(&self, request: &Fields, variant: Variant) -> Self {
        let mut kept = self.without(request);
        let surplus = kept.0.len().saturating_add(1).saturating_sub(MAX_VARIANTS);
        kept.0.drain(..surplus);
        kept.0.push(Rc::new(variant));
        kept
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Weigh for Variants {
    fn weight(&self) -> usize {
        let fields = |variant: &Variant| -> usize {
            let said = |(name, said): &(String, Option<String>)| {
                name.len().saturating_add(said.as_ref().map_or(0, String::len))
            };
            variant.selection.0.iter().map(said).sum()
        };
        self.0.iter().map(|variant| variant.entry.weight().saturating_add(fields(variant))).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Lifetime;
    use super::super::fields::tests::fields;
    use super::*;
    use proptest::prelude::*;
    use rds_shared::wire::Timestamp;

    fn variant(vary: &str, request: &Fields, body: &str) -> Variant {
        let lifetime = Lifetime { fresh: 9, ..Lifetime::default() };
        let entry = Entry::verbatim(Fields::default(), body.as_bytes().to_vec(), lifetime, Timestamp::default());
        Variant { status: 200, selection: Selection::of(vary, request).unwrap(), entry }
    }

    fn found(variants: &Variants, request: &[(&str, &str)]) -> Option<String> {
        let found = variants.find(&fields(request))?;
        Some(String::from_utf8_lossy(&found.entry.body(Timestamp::default())).into_owned())
    }

    #[test]
    fn equal_requests_get_the_same_variant() {
        let one = fields(&[("a", "1"), ("b", "x")]);
        let two = fields(&[("a", "2")]);
        let variants =
            Variants::default().with(&one, variant("A, b", &one, "one")).with(&two, variant("b, a", &two, "two"));
        assert_eq!(found(&variants, &[("b", "x"), ("a", "1"), ("c", "9")]).as_deref(), Some("one"));
        assert_eq!(found(&variants, &[("a", "2")]).as_deref(), Some("two"));
        assert_eq!(found(&variants, &[("a", "1")]), None, "the field b is missing");
        assert_eq!(found(&variants, &[("a", "2"), ("b", "")]), None, "an empty field is not a missing one");
        assert!(variants.without(&one).without(&two).is_empty());
    }

    #[test]
    fn a_star_anywhere_in_vary_prevents_selection() {
        for vary in ["*", "*, *", ", *", "a, *", "*, a"] {
            assert_eq!(Selection::of(vary, &Fields::default()), None, "{vary}");
        }
        assert!(Selection::of("", &Fields::default()).unwrap().matches(&fields(&[("a", "1")])));
    }

    #[test]
    fn equal_lists_are_equal_however_they_are_written() {
        let selection = Selection::of("a", &fields(&[("a", "1, 2")])).unwrap();
        assert!(selection.matches(&fields(&[("a", "1"), ("a", "2")])));
        assert!(selection.matches(&fields(&[("a", " 1,2 ")])));
        assert!(!selection.matches(&fields(&[("a", "2,1")])));
    }

    #[test]
    fn the_oldest_variant_is_evicted() {
        let of = |number: usize| fields(&[("a", &number.to_string())]);
        let variants =
            (0..=MAX_VARIANTS).fold(Variants::default(), |all, n| all.with(&of(n), variant("a", &of(n), "x")));
        assert_eq!(
            (variants.0.len(), variants.find(&of(0)).is_none(), variants.find(&of(MAX_VARIANTS)).is_some()),
            (MAX_VARIANTS, true, true)
        );
    }

    proptest! {
        #[test]
        fn a_request_matches_the_variant_it_created(vary in "[a-d, ]{0,12}", lines in prop::collection::vec(("[a-d]", "[0-9, ]{0,4}"), 0..6)) {
            let request = Fields::of(lines);
            prop_assert!(Selection::of(&vary, &request).unwrap().matches(&request));
        }
    }
}
