//! Query parameters as types, so that a handler reads each parameter as a value of the right type.

use super::param::{Default, Kind, OnInvalid, Param};

/// A query parameter as a type.
pub trait Parameter {
    /// The conversion of the parsed value to the handler's type.
    type Read: kinds::Read;
    /// Name, bounds and default of the parameter.
    const PARAM: Param;
}

/// The position of a parameter among the parameters of a row. It is evaluated at compile time. Compilation fails if the row does not have
/// the parameter, or if the row's parameter of this name has another type.
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

/// Whether both parameters are read as the same type. Bounds and default values may differ.
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
    let is_misfit =
        matches!(a.on_invalid, OnInvalid::SelectsNothing) == matches!(b.on_invalid, OnInvalid::SelectsNothing);
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

/// The types in which handlers receive parameters, and the conversions to them.
pub mod kinds {
    use super::super::param::Value;
    use super::Parameter;
    use crate::wire::Timestamp;
    use alloc::string::String;

    /// Converts a parsed value to the type that a handler uses.
    pub trait Read {
        /// The type that a handler uses.
        type Value<'q>;
        /// Converts the parsed value, which is `None` if the parameter is absent and has no default.
        fn read(value: Option<&Value>) -> Self::Value<'_>;
    }

    /// The type in which a handler receives the parameter `P`.
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
        /// One of the listed words, if given.
        Choice<'q> -> Option<&'static str> { Value::Choice(word) => Some(*word), _ => None }
        /// One of the listed words, with a default.
        Word<'q> -> &'static str { Value::Choice(word) => word, _ => "" }
        /// Some of the listed words, in the order of the list; empty when absent.
        Choices<'q> -> &'q [&'static str] { Value::Choices(words) => words, _ => &[] }
        /// Lower-case names; empty when absent.
        Names<'q> -> &'q [String] { Value::Names(names) => names, _ => &[] }
        /// Text, if given and not empty.
        Text<'q> -> Option<&'q str> { Value::Text(text) => Some(text.as_str()), _ => None }
        /// Text of a required parameter.
        RequiredText<'q> -> &'q str { Value::Text(text) => text.as_str(), _ => "" }
        /// An inclusive lower bound in time, if given.
        Instant<'q> -> Option<Timestamp> { Value::Instant(instant) => Some(*instant), _ => None }
        /// An inclusive upper bound in time, if given. A bound in whole milliseconds covers its whole millisecond, because responses show instants
        /// in milliseconds.
        Until<'q> -> Option<Timestamp> { Value::Instant(instant) => Some(instant.end_of_shown_millisecond()), _ => None }
    }

    kinds! {
        /// Text that a row must equal or contain, if given.
        MatchingText<'q> -> Matches<&'q str> { value => Matches::of(value, |value| match value { Value::Text(text) => Some(text.as_str()), _ => None }), _ => Matches::All }
        /// One of the listed words, which a row must have, if given.
        MatchingChoice<'q> -> Matches<&'static str> { value => Matches::of(value, |value| match value { Value::Choice(word) => Some(*word), _ => None }), _ => Matches::All }
    }

    /// The rows that a filter matches.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Matches<T> {
        /// All rows: the filter is absent.
        All,
        /// No row: the value is not accepted.
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

        /// The value that rows must have; `None` if the filter is absent or matches no row.
        pub fn only(self) -> Option<T> {
            match self {
                Matches::Only(value) => Some(value),
                Matches::All | Matches::Nothing => None,
            }
        }

        /// Whether the filter matches no row.
        pub const fn is_nothing(&self) -> bool {
            matches!(self, Matches::Nothing)
        }
    }
}

/// Defines parameters, each as a unit struct that handlers name as `params::Name`.
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
