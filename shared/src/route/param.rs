//! Query parameters as data: type, bounds, default, and what happens out of range.

use crate::wire::Timestamp;

/// What becomes of a whole number above its maximum. Below the minimum, and for anything that is no number, it is always 400.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnOverflow {
    /// The maximum is taken instead: page sizes, points, days.
    Clamp,
    /// 400 `INVALID_PARAMETER`.
    Reject,
}

/// What becomes of a value that a parameter does not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnInvalid {
    /// 400 `INVALID_PARAMETER`: the rule.
    Reject,
    /// It counts as not given, where the interface says "ignored".
    Ignore,
    /// Nothing can match it, where the interface answers an empty page: [`Value::Nothing`].
    SelectsNothing,
}

/// A parameter's type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A whole number.
    Int {
        /// Smallest value taken.
        min: i64,
        /// Greatest value taken.
        max: i64,
        /// What becomes of greater ones.
        above: OnOverflow,
    },
    /// A decimal number; out of range is 400.
    Decimal {
        /// Smallest value taken.
        min: f64,
        /// Greatest value taken.
        max: f64,
    },
    /// `true` or `false`, in any case.
    Flag,
    /// One of a few words, exactly as listed.
    Choice(&'static [&'static str]),
    /// One of a few words, in any case.
    Word(&'static [&'static str]),
    /// A comma-separated list out of a few words, in any case.
    Choices(&'static [&'static str]),
    /// A comma-separated list of names or ids, folded to lower case, sorted, without repeats; at most 50.
    Names,
    /// Free text of at most so many characters, trimmed.
    Text {
        /// Most characters taken.
        max: usize,
    },
    /// Text whose meaning is the route's affair, so that none is refused here: taken as it came, empty too. Of a longer one
    /// only the first [`VERBATIM`] characters and one more are kept, enough to see that it is longer.
    Verbatim,
    /// An ISO 8601 instant.
    Instant,
}

/// Characters of a verbatim text that may mean something.
pub const VERBATIM: usize = 64;

/// What the names of a filter are looked up in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    /// Chains, by slug or number.
    Chains,
    /// The same on the loss board, where `0` and `unmapped` select cases without a chain of ours.
    ChainsOrUnmapped,
    /// Protocols, by id.
    Protocols,
    /// Curators, by id.
    Curators,
}

impl Registry {
    /// Whether a filter takes `name` though it is no entry.
    pub fn has_word(self, name: &str) -> bool {
        self == Registry::ChainsOrUnmapped && matches!(name, "0" | "unmapped")
    }
}

/// The value an absent parameter has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Default {
    /// None: absent is a meaning of its own.
    Absent,
    /// None: absent is 400 `MISSING_PARAMETER`.
    Required,
    /// This number.
    Int(i64),
    /// This word.
    Choice(&'static str),
}

/// One query parameter of a route.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Param {
    /// The name the document uses.
    pub name: &'static str,
    /// Other names that mean the same.
    pub aliases: &'static [&'static str],
    /// Type and bounds.
    pub kind: Kind,
    /// The value when it is absent.
    pub default: Default,
    /// What becomes of other values.
    pub misfit: OnInvalid,
    /// How a text is written that the route takes, as a regular expression, where it refuses others ([`crate::model::spelling`]).
    pub pattern: Option<&'static str>,
    /// What the names of this filter are looked up in, where callers are told of unknown ones.
    pub registry: Option<Registry>,
    /// Which of the aliases are on their way out.
    pub former: &'static [&'static str],
    /// One sentence for the document.
    pub about: &'static str,
}

impl Param {
    const fn new(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Param {
            name,
            aliases: &[],
            kind,
            default: Default::Absent,
            misfit: OnInvalid::Reject,
            pattern: None,
            registry: None,
            former: &[],
            about,
        }
    }

    /// A whole number from `min` to `max` with a default.
    pub const fn int(
        name: &'static str,
        min: i64,
        max: i64,
        default: i64,
        above: OnOverflow,
        about: &'static str,
    ) -> Self {
        Param { default: Default::Int(default), ..Self::new(name, Kind::Int { min, max, above }, about) }
    }

    /// A whole number from `min` to `max` whose absence is a meaning of its own; it reads as 0, which lies below `min`.
    pub const fn optional_int(name: &'static str, min: i64, max: i64, above: OnOverflow, about: &'static str) -> Self {
        Self::new(name, Kind::Int { min, max, above }, about)
    }

    /// `page`, counted from 1.
    pub const fn page(name: &'static str) -> Self {
        Self::int(name, 1, u32::MAX as i64, 1, OnOverflow::Clamp, "The page, counted from 1.")
    }

    /// A page size: clamped to `max`.
    pub const fn size(name: &'static str, default: i64, max: i64) -> Self {
        Self::int(name, 1, max, default, OnOverflow::Clamp, "Rows per page; a greater number counts as the maximum.")
    }

    /// `limit` of a list that is given whole where it is absent.
    pub const fn optional_size() -> Self {
        Self::optional_int(
            "limit",
            1,
            1_000,
            OnOverflow::Clamp,
            "Rows per page; a greater number counts as the maximum. Without it every row is on the first page.",
        )
    }

    /// A decimal number between two bounds.
    pub const fn decimal(name: &'static str, min: f64, max: f64, about: &'static str) -> Self {
        Self::new(name, Kind::Decimal { min, max }, about)
    }

    /// `true` or `false`.
    pub const fn flag(name: &'static str, about: &'static str) -> Self {
        Self::new(name, Kind::Flag, about)
    }

    /// One of a few words, without a default.
    pub const fn choice(name: &'static str, words: &'static [&'static str], about: &'static str) -> Self {
        Self::new(name, Kind::Choice(words), about)
    }

    /// One of a few words in any case, without a default.
    pub const fn word(name: &'static str, words: &'static [&'static str], about: &'static str) -> Self {
        Self::new(name, Kind::Word(words), about)
    }

    /// A comma-separated list out of a few words.
    pub const fn choices(name: &'static str, words: &'static [&'static str], about: &'static str) -> Self {
        Self::new(name, Kind::Choices(words), about)
    }

    /// A comma-separated list of names or ids.
    pub const fn names(name: &'static str, about: &'static str) -> Self {
        Self::new(name, Kind::Names, about)
    }

    /// Free text.
    pub const fn text(name: &'static str, max: usize, about: &'static str) -> Self {
        Self::new(name, Kind::Text { max }, about)
    }

    /// Text that the route itself judges.
    pub const fn verbatim(name: &'static str, about: &'static str) -> Self {
        Self::new(name, Kind::Verbatim, about)
    }

    /// An ISO 8601 instant.
    pub const fn instant(name: &'static str, about: &'static str) -> Self {
        Self::new(name, Kind::Instant, about)
    }

    /// The same with other names that mean the same.
    pub const fn alias(self, aliases: &'static [&'static str]) -> Self {
        Param { aliases, ..self }
    }

    /// The same with former names, which go on meaning it until they are gone.
    pub const fn former(self, names: &'static [&'static str]) -> Self {
        Param { aliases: names, former: names, ..self }
    }

    /// The same, and the route refuses a text that is not written so.
    pub const fn written(self, pattern: &'static str) -> Self {
        Param { pattern: Some(pattern), ..self }
    }

    /// The same, and callers are told of names that the registry does not have.
    pub const fn of(self, registry: Registry) -> Self {
        Param { registry: Some(registry), ..self }
    }

    /// The same, and absent is an error.
    pub const fn required(self) -> Self {
        Param { default: Default::Required, ..self }
    }

    /// The same with a word as the default.
    pub const fn default(self, word: &'static str) -> Self {
        Param { default: Default::Choice(word), ..self }
    }

    /// The same, and what it does not take counts as not given.
    pub const fn or_ignored(self) -> Self {
        Param { misfit: OnInvalid::Ignore, ..self }
    }

    /// The same, and what it does not take matches nothing.
    pub const fn or_nothing(self) -> Self {
        Param { misfit: OnInvalid::SelectsNothing, ..self }
    }

    /// Whether `name` means this parameter.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// A parsed value. Lists are sorted and without repeats, so that equal requests are equal values.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A whole number within its bounds.
    Int(i64),
    /// A finite decimal within its bounds.
    Decimal(f64),
    /// `true` or `false`.
    Flag(bool),
    /// The listed word.
    Choice(&'static str),
    /// The listed words, in the table's order.
    Choices(alloc::vec::Vec<&'static str>),
    /// Lower-cased names, sorted.
    Names(alloc::vec::Vec<alloc::string::String>),
    /// Trimmed, never empty.
    Text(alloc::string::String),
    /// An instant.
    Instant(Timestamp),
    /// A value that nothing can match, whatever it was.
    Nothing,
}
