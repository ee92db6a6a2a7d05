//! Query parameters as data: type, bounds, default, and what happens out of range.

use crate::wire::Timestamp;

/// Handling of a whole number above its maximum. A number below the minimum, or a value that is not a number, is always answered with 400.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnOverflow {
    /// The maximum is used instead, for example for page sizes and for numbers of points or days.
    Clamp,
    /// 400 `INVALID_PARAMETER`.
    Reject,
}

/// Handling of a value that a parameter does not accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnInvalid {
    /// 400 `INVALID_PARAMETER`, the default.
    Reject,
    /// The parameter counts as absent.
    Ignore,
    /// The filter matches nothing, so the page is empty: [`Value::Nothing`].
    SelectsNothing,
}

/// A parameter's type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A whole number.
    Int {
        /// Minimum, inclusive.
        min: i64,
        /// Maximum, inclusive.
        max: i64,
        /// Handling of larger numbers.
        above: OnOverflow,
    },
    /// A decimal number; a number out of range is not accepted.
    Decimal {
        /// Minimum, inclusive.
        min: f64,
        /// Maximum, inclusive.
        max: f64,
    },
    /// `true` or `false`, in any letter case.
    Flag,
    /// One of the listed words, written exactly as listed.
    Choice(&'static [&'static str]),
    /// One of the listed words, in any letter case.
    Word(&'static [&'static str]),
    /// A comma-separated list of the listed words, in any letter case.
    Choices(&'static [&'static str]),
    /// A comma-separated list of names or ids, at most 50 different ones. The value is lower-cased, sorted and without duplicates.
    Names,
    /// Free text, trimmed.
    Text {
        /// Maximum length, in characters.
        max: usize,
    },
    /// Text that the route itself interprets. It is accepted unchanged, even if it is empty, but truncated to [`MAX_VERBATIM_CHARS`] + 1
    /// characters; the extra character shows that the text was too long.
    Verbatim,
    /// An ISO 8601 instant.
    Instant,
}

/// Maximum length of a verbatim text that a route can accept, in characters.
pub const MAX_VERBATIM_CHARS: usize = 64;

/// The registry in which the names of a filter are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    /// Chains, by slug or chain id.
    Chains,
    /// Chains on the loss board, where `0` and `unmapped` select cases without a known chain.
    ChainsOrUnmapped,
    /// Protocols, by id.
    Protocols,
    /// Curators, by id.
    Curators,
}

impl Registry {
    /// Whether a filter accepts `name` although the registry has no such entry.
    pub fn has_word(self, name: &str) -> bool {
        self == Registry::ChainsOrUnmapped && matches!(name, "0" | "unmapped")
    }
}

/// The value of an absent parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Default {
    /// No value; each route defines what absence means.
    Absent,
    /// No value: absence is answered with 400 `MISSING_PARAMETER`.
    Required,
    /// This number.
    Int(i64),
    /// This word.
    Choice(&'static str),
}

/// One query parameter of a route.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Param {
    /// The name that the OpenAPI document uses.
    pub name: &'static str,
    /// Other names of the parameter.
    pub aliases: &'static [&'static str],
    /// Type and bounds.
    pub kind: Kind,
    /// The value if the parameter is absent.
    pub default: Default,
    /// Handling of values that are not accepted.
    pub on_invalid: OnInvalid,
    /// Regular expression of the texts that the route accepts ([`crate::model::spelling`]), for the OpenAPI document. The handler checks the text.
    pub pattern: Option<&'static str>,
    /// The registry in which the names of this filter are looked up, if unknown names are reported to the caller.
    pub registry: Option<Registry>,
    /// The aliases that are deprecated.
    pub former: &'static [&'static str],
    /// The description in the OpenAPI document.
    pub about: &'static str,
}

impl Param {
    const fn new(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Param {
            name,
            aliases: &[],
            kind,
            default: Default::Absent,
            on_invalid: OnInvalid::Reject,
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

    /// A whole number from `min` to `max` without a default. `Query::count` reads an absent one as 0, which is below `min`.
    pub const fn optional_int(name: &'static str, min: i64, max: i64, above: OnOverflow, about: &'static str) -> Self {
        Self::new(name, Kind::Int { min, max, above }, about)
    }

    /// `page`, counted from 1.
    pub const fn page(name: &'static str) -> Self {
        Self::int(name, 1, u32::MAX as i64, 1, OnOverflow::Clamp, "Page number, counted from 1.")
    }

    /// A page size, clamped to `max`.
    pub const fn size(name: &'static str, default: i64, max: i64) -> Self {
        Self::int(name, 1, max, default, OnOverflow::Clamp, "Maximum number of rows; a larger number is reduced to it.")
    }

    /// `limit` of a list that is returned in full when `limit` is absent.
    pub const fn optional_size() -> Self {
        Self::optional_int(
            "limit",
            1,
            1_000,
            OnOverflow::Clamp,
            "Rows per page; a larger number counts as the maximum. When absent, the first page contains all rows.",
        )
    }

    /// A decimal number from `min` to `max`.
    pub const fn decimal(name: &'static str, min: f64, max: f64, about: &'static str) -> Self {
        Self::new(name, Kind::Decimal { min, max }, about)
    }

    /// `true` or `false`.
    pub const fn flag(name: &'static str, about: &'static str) -> Self {
        Self::new(name, Kind::Flag, about)
    }

    /// One of the listed words, without a default.
    pub const fn choice(name: &'static str, words: &'static [&'static str], about: &'static str) -> Self {
        Self::new(name, Kind::Choice(words), about)
    }

    /// One of the listed words in any letter case, without a default.
    pub const fn word(name: &'static str, words: &'static [&'static str], about: &'static str) -> Self {
        Self::new(name, Kind::Word(words), about)
    }

    /// A comma-separated list of the listed words.
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

    /// Text that the route itself interprets.
    pub const fn verbatim(name: &'static str, about: &'static str) -> Self {
        Self::new(name, Kind::Verbatim, about)
    }

    /// An ISO 8601 instant.
    pub const fn instant(name: &'static str, about: &'static str) -> Self {
        Self::new(name, Kind::Instant, about)
    }

    /// Adds alternative names of the parameter.
    pub const fn alias(self, aliases: &'static [&'static str]) -> Self {
        Param { aliases, ..self }
    }

    /// Adds deprecated names, which are accepted until they are removed.
    pub const fn former(self, names: &'static [&'static str]) -> Self {
        Param { aliases: names, former: names, ..self }
    }

    /// Adds the regular expression of accepted values to the OpenAPI document. Parsing does not use it.
    pub const fn pattern(self, pattern: &'static str) -> Self {
        Param { pattern: Some(pattern), ..self }
    }

    /// Looks the names up in `registry` and reports unknown ones to the caller.
    pub const fn of(self, registry: Registry) -> Self {
        Param { registry: Some(registry), ..self }
    }

    /// Makes the parameter required.
    pub const fn required(self) -> Self {
        Param { default: Default::Required, ..self }
    }

    /// Makes `word` the default.
    pub const fn default(self, word: &'static str) -> Self {
        Param { default: Default::Choice(word), ..self }
    }

    /// Ignores values that are not accepted, as if the parameter were absent.
    pub const fn or_ignored(self) -> Self {
        Param { on_invalid: OnInvalid::Ignore, ..self }
    }

    /// Makes a filter match nothing if its value is not accepted.
    pub const fn or_nothing(self) -> Self {
        Param { on_invalid: OnInvalid::SelectsNothing, ..self }
    }

    /// Whether `name` is the name or an alias of this parameter.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// A parsed value. Lists are sorted and without duplicates, so that equivalent requests have equal values.
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
    /// Text: trimmed and not empty, except for a verbatim text, which is unchanged.
    Text(alloc::string::String),
    /// An instant.
    Instant(Timestamp),
    /// A value that matches nothing; its text is not kept.
    Nothing,
}
