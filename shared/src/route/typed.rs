//! Parameters as types: a handler reads a parameter with the parameter's own type.

use super::param::{Default, Kind, OnInvalid, Param};

/// A query parameter as a type.
pub trait Parameter {
    /// What reading it gives.
    type Read: kinds::Read;
    /// Its name, bounds and default.
    const PARAM: Param;
}

/// The place of a parameter among the parameters of a row. Fails in constant evaluation, which is at compile time, where the row does
/// not have the parameter, or has another one of the same name.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time, within the bounds that the loop checks")]
pub(super) const fn position(params: &[Param], wanted: &Param) -> usize {
    let mut index = 0;
    while index < params.len() {
        if is_equal(params[index].name, wanted.name) {
            assert!(is_read_alike(&params[index], wanted), "the row's parameter of this name has another type");
            return index;
        }
        index += 1;
    }
    assert!(index < params.len(), "the row does not have this parameter");
    index
}

/// Whether both parameters give values of the same type. Bounds and defaults may differ.
const fn is_read_alike(a: &Param, b: &Param) -> bool {
    let is_kind = matches!(
        (&a.kind, &b.kind),
        (Kind::Int { .. }, Kind::Int { .. })
            | (Kind::Decimal { .. }, Kind::Decimal { .. })
            | (Kind::Flag, Kind::Flag)
            | (Kind::Choice(_) | Kind::Word(_), Kind::Choice(_) | Kind::Word(_))
            | (Kind::Choices(_), Kind::Choices(_))
            | (Kind::Names, Kind::Names)
            | (Kind::Text { .. } | Kind::Verbatim, Kind::Text { .. } | Kind::Verbatim)
            | (Kind::Instant, Kind::Instant)
    );
    let is_default = matches!(
        (&a.default, &b.default),
        (Default::Absent, Default::Absent)
            | (Default::Required, Default::Required)
            | (Default::Int(_), Default::Int(_))
            | (Default::Choice(_), Default::Choice(_))
    );
    let is_misfit = matches!(a.misfit, OnInvalid::SelectsNothing) == matches!(b.misfit, OnInvalid::SelectsNothing);
    is_kind && is_default && is_misfit
}

const fn is_equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut index = 0;
    while index < a.len() && index < b.len() {
        #[expect(clippy::indexing_slicing, reason = "within the bounds that the loop checks")]
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    a.len() == b.len()
}

/// What reading a parameter gives, by its kind.
pub mod kinds {
    use super::super::param::Value;
    use super::Parameter;
    use crate::wire::Timestamp;
    use alloc::string::String;

    /// How a parsed value becomes what a handler works with.
    pub trait Read {
        /// What a handler works with.
        type Value<'q>;
        /// Reads the parsed value; `None` when it is absent and has no default.
        fn read(value: Option<&Value>) -> Self::Value<'_>;
    }

    /// What reading the parameter `P` gives.
    pub type ValueOf<'q, P> = <<P as Parameter>::Read as Read>::Value<'q>;

    macro_rules! kinds {
        ($($(#[$doc:meta])* $name:ident<$q:lifetime> -> $value:ty { $pattern:pat => $read:expr, _ => $absent:expr })*) => { $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy)]
            pub enum $name {}

            impl Read for $name {
                type Value<$q> = $value;
                fn read(value: Option<&Value>) -> Self::Value<'_> {
                    match value { Some($pattern) => $read, _ => $absent }
                }
            }
        )* };
    }

    kinds! {
        /// A whole number with a default.
        Count<'q> -> u32 { Value::Int(number) => u32::try_from(*number).unwrap_or(u32::MAX), _ => 0 }
        /// A whole number, if given.
        OptionalCount<'q> -> Option<u32> { Value::Int(number) => u32::try_from(*number).ok(), _ => None }
        /// A decimal number, if given.
        Decimal<'q> -> Option<f64> { Value::Decimal(number) => Some(*number), _ => None }
        /// `true` or `false`, if given.
        Flag<'q> -> Option<bool> { Value::Flag(flag) => Some(*flag), _ => None }
        /// One of a few words, if given.
        Choice<'q> -> Option<&'static str> { Value::Choice(word) => Some(*word), _ => None }
        /// One of a few words, with a default.
        Word<'q> -> &'static str { Value::Choice(word) => word, _ => "" }
        /// Words out of a few, in the table's order; empty when absent.
        Choices<'q> -> &'q [&'static str] { Value::Choices(words) => words, _ => &[] }
        /// Lower-case names; empty when absent.
        Names<'q> -> &'q [String] { Value::Names(names) => names, _ => &[] }
        /// Text, if given and not empty.
        Text<'q> -> Option<&'q str> { Value::Text(text) => Some(text.as_str()), _ => None }
        /// Text that a request must have.
        RequiredText<'q> -> &'q str { Value::Text(text) => text.as_str(), _ => "" }
        /// An inclusive lower bound in time, if given.
        Instant<'q> -> Option<Timestamp> { Value::Instant(instant) => Some(*instant), _ => None }
        /// An inclusive upper bound in time, if given. One without microseconds covers all of its millisecond, because answers show instants in
        /// milliseconds.
        Until<'q> -> Option<Timestamp> { Value::Instant(instant) => Some(instant.last_shown_alike()), _ => None }
    }

    kinds! {
        /// Text that a row must have or contain, if given.
        MatchingText<'q> -> Matches<&'q str> { value => Matches::of(value, |value| match value { Value::Text(text) => Some(text.as_str()), _ => None }), _ => Matches::All }
        /// One of a few words that a row must have, if given.
        MatchingChoice<'q> -> Matches<&'static str> { value => Matches::of(value, |value| match value { Value::Choice(word) => Some(*word), _ => None }), _ => Matches::All }
    }

    /// What a filter matches.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Matches<T> {
        /// Everything: the filter is absent.
        All,
        /// Nothing: the value is outside the vocabulary.
        Nothing,
        /// Rows with this value.
        Only(T),
    }

    impl<T> Matches<T> {
        fn of<'q>(value: &'q Value, read: impl Fn(&'q Value) -> Option<T>) -> Self {
            match value {
                Value::Nothing => Matches::Nothing,
                value => read(value).map_or(Matches::All, Matches::Only),
            }
        }

        /// The value, if rows must have one.
        pub fn only(self) -> Option<T> {
            match self {
                Matches::Only(value) => Some(value),
                Matches::All | Matches::Nothing => None,
            }
        }

        /// Whether nothing can match.
        pub const fn is_nothing(&self) -> bool {
            matches!(self, Matches::Nothing)
        }
    }
}

/// Defines parameters: a unit struct each, named in handlers as `params::Name`.
macro_rules! params {
    ($($(#[$doc:meta])* $name:ident: $kind:ty = $param:expr;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`")]
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;

        impl $crate::route::typed::Parameter for $name {
            type Read = $kind;
            const PARAM: Param = $param;
        }
    )* };
}

pub(in crate::route) use params;
