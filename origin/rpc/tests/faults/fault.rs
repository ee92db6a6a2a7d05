//! What a provider may do wrong, and where its operator's meter must show it.

use rds_rpc::meters::{Kind, OperatorMeter};
use std::sync::atomic::Ordering::Relaxed;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// 429.
    RateLimit,
    /// 429 with `Retry-After`.
    RateLimitWithWait,
    /// 503 with HTML.
    ServerError,
    /// 200 with HTML.
    Html,
    /// The body breaks off.
    CutBody,
    /// 200 with an error of no known meaning.
    ErrorText,
    /// The answer belongs to another request.
    WrongId,
    /// The JSON occurs twice.
    TwiceJson,
    /// The result occurs twice, with two values.
    TwiceResult,
    /// The result is null.
    NullResult,
    /// The answer comes after 30 seconds.
    Slow,
    /// The gas of a call is less than what was asked for.
    GasStarved,
    /// Calls are answered of an older block.
    OlderBlock,
    /// Calls are answered of the newest block.
    IgnoredHash,
    /// There are no logs.
    EmptyLogs,
    /// The last log is missing.
    FewerLogs,
    /// A word has another bit.
    FlippedWord,
    /// A call is said to have reverted.
    FalseRevert,
    /// The node is many blocks behind.
    Behind,
    /// Another chain id.
    OtherChain,
    /// Final blocks are other ones.
    Fork,
    /// Batches are refused.
    NoBatches,
}

impl Fault {
    pub const ALL: [Fault; 22] = [
        Fault::RateLimit,
        Fault::RateLimitWithWait,
        Fault::ServerError,
        Fault::Html,
        Fault::CutBody,
        Fault::ErrorText,
        Fault::WrongId,
        Fault::TwiceJson,
        Fault::TwiceResult,
        Fault::NullResult,
        Fault::Slow,
        Fault::GasStarved,
        Fault::OlderBlock,
        Fault::IgnoredHash,
        Fault::EmptyLogs,
        Fault::FewerLogs,
        Fault::FlippedWord,
        Fault::FalseRevert,
        Fault::Behind,
        Fault::OtherChain,
        Fault::Fork,
        Fault::NoBatches,
    ];

    /// Faults with which a node does not answer, or says itself that it cannot.
    pub const WITHOUT_LIE: [Fault; 8] = [
        Fault::RateLimit,
        Fault::ServerError,
        Fault::Html,
        Fault::CutBody,
        Fault::ErrorText,
        Fault::NullResult,
        Fault::GasStarved,
        Fault::Slow,
    ];

    /// How often the meter of an operator shows this fault, or that its answer was not waited for.
    pub fn shown(self, meter: &OperatorMeter) -> u64 {
        let of = |kinds: &[Kind]| kinds.iter().map(|kind| meter.failures(*kind)).sum::<u64>();
        let other = meter.dissent.load(Relaxed) + meter.disputed.load(Relaxed);
        let unseen = meter.given_up.load(Relaxed) + of(&[Kind::Slow, Kind::Timeout]);
        unseen
            + match self {
                Fault::RateLimit | Fault::RateLimitWithWait => of(&[Kind::RateLimited]),
                Fault::ServerError => of(&[Kind::Http]),
                Fault::CutBody => of(&[Kind::Connection]),
                // A batch that is answered with one error counts as not served.
                Fault::ErrorText => of(&[Kind::Damaged, Kind::Unsupported]),
                Fault::Html | Fault::WrongId | Fault::TwiceJson | Fault::TwiceResult => of(&[Kind::Damaged]),
                Fault::NullResult => of(&[Kind::UnknownBlock]),
                Fault::Slow => 0,
                Fault::GasStarved => of(&[Kind::Gas]) + other,
                Fault::OlderBlock | Fault::IgnoredHash => of(&[Kind::OtherBlock]) + other,
                Fault::EmptyLogs | Fault::FewerLogs => of(&[Kind::OtherLogs]) + other,
                Fault::FlippedWord | Fault::FalseRevert => of(&[Kind::Damaged]) + other,
                Fault::Behind => of(&[Kind::Behind, Kind::UnknownBlock]),
                Fault::OtherChain => of(&[Kind::OtherChain]),
                Fault::Fork => of(&[Kind::OtherBlock, Kind::UnknownBlock]) + other,
                Fault::NoBatches => of(&[Kind::Unsupported]),
            }
    }

    /// Whether each answer with this fault is a failure of its own. Of the others, several can show up as one.
    pub fn fails_each_request(self) -> bool {
        use Fault as F;
        matches!(
            self,
            F::RateLimit
                | F::RateLimitWithWait
                | F::ServerError
                | F::Html
                | F::CutBody
                | F::ErrorText
                | F::WrongId
                | F::TwiceJson
                | F::TwiceResult
                | F::NullResult
                | F::Slow
                | F::NoBatches
        )
    }
}
