//! The copies under one URL: which of them answers a request depends on the fields that `Vary` names (RFC 9111, section 4.1).

use super::Entry;
use super::fields::Fields;
use super::memory::Weigh;
use std::rc::Rc;

/// Variants kept under one URL; the oldest gives way.
const MOST: usize = 16;

/// The fields of a request that chose its answer, with what it said in each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection(Vec<(String, Option<String>)>);

impl Selection {
    /// What chose the answer with this `Vary`; `None` where that is not told by fields.
    pub fn of(vary: &str, request: &Fields) -> Option<Self> {
        let mut names: Vec<String> =
            vary.split(',').map(|name| name.trim().to_ascii_lowercase()).filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        let chosen =
            |name: String| (name != "*").then(|| (said(&name, request), name)).map(|(said, name)| (name, said));
        names.into_iter().map(chosen).collect::<Option<_>>().map(Selection)
    }

    /// Whether a request would have been given the same answer.
    pub fn matches(&self, request: &Fields) -> bool {
        self.0.iter().all(|(name, then)| said(name, request) == *then)
    }
}

/// What a request says in a field, with one spelling for equal lists.
fn said(name: &str, request: &Fields) -> Option<String> {
    let text = request.get(name)?;
    let members: Vec<&str> = text.split(',').map(str::trim).filter(|member| !member.is_empty()).collect();
    Some(members.join(","))
}

/// One kept answer of an origin that we know nothing of.
#[derive(Debug, Clone)]
pub struct Variant {
    /// Its status.
    pub status: u16,
    /// What chose it.
    pub selection: Selection,
    /// The copy.
    pub entry: Entry<Fields>,
}

/// The copies under one URL, the newest last.
#[derive(Debug, Clone, Default)]
pub struct Variants(Vec<Rc<Variant>>);

impl Variants {
    /// The newest copy that answers a request.
    pub fn find(&self, request: &Fields) -> Option<Rc<Variant>> {
        self.0.iter().rev().find(|variant| variant.selection.matches(request)).map(Rc::clone)
    }

    /// These without what answers a request.
    pub fn without(&self, request: &Fields) -> Self {
        Variants(self.0.iter().filter(|variant| !variant.selection.matches(request)).map(Rc::clone).collect())
    }

    /// These with a copy of the answer to a request, in place of what answered it before.
    pub fn with(&self, request: &Fields, variant: Variant) -> Self {
        let mut kept = self.without(request);
        let surplus = kept.0.len().saturating_add(1).saturating_sub(MOST);
        kept.0.drain(..surplus);
        kept.0.push(Rc::new(variant));
        kept
    }

    /// Whether there are none.
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
    fn a_request_gets_what_the_same_request_got() {
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
    fn a_star_anywhere_means_that_no_field_tells() {
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
    fn the_oldest_variant_gives_way() {
        let of = |number: usize| fields(&[("a", &number.to_string())]);
        let variants = (0..=MOST).fold(Variants::default(), |all, n| all.with(&of(n), variant("a", &of(n), "x")));
        assert_eq!(
            (variants.0.len(), variants.find(&of(0)).is_none(), variants.find(&of(MOST)).is_some()),
            (MOST, true, true)
        );
    }

    proptest! {
        #[test]
        fn whoever_asked_first_is_answered_again(vary in "[a-d, ]{0,12}", lines in prop::collection::vec(("[a-d]", "[0-9, ]{0,4}"), 0..6)) {
            let request = Fields::of(lines);
            prop_assert!(Selection::of(&vary, &request).unwrap().matches(&request));
        }
    }
}
