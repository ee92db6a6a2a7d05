//! Simulated price feeds: every kind, and feeds that keep their heartbeat, break it, or have none.

use super::moment::Moment;
use super::platforms::CHAIN_ID;
use super::random::Random;
use super::source::SOURCE;
use super::tokens::Token;
use rds_engine::ingest::Observation;
use rds_facts::fact::Kind;
use rds_facts::{OracleFeed, contract};
use rds_shared::model::oracle::FeedKind;
use std::collections::BTreeMap;

/// When a feed was last updated.
#[derive(Clone, Copy)]
enum Updates {
    /// Every hour.
    Hourly,
    /// Hourly until this many hours before the end of the run.
    UntilTheLast(u32),
    /// The feed's answer and update time were not read.
    Unread,
}

struct Feed {
    kind: FeedKind,
    token: Option<&'static str>,
    quote: &'static str,
    vendor: Option<&'static str>,
    heartbeat: Option<i64>,
    updates: Updates,
}

const DAY: Option<i64> = Some(86_400);
const LAMPLIGHT: Option<&str> = Some("lamplight");
const TALLOW: Option<&str> = Some("tallow");

const fn price(token: &'static str, vendor: Option<&'static str>) -> Feed {
    Feed { kind: FeedKind::Price, token: Some(token), quote: "USD", vendor, heartbeat: DAY, updates: Updates::Hourly }
}

const FEEDS: [Feed; 12] = [
    price("deth", LAMPLIGHT),
    price("pny", LAMPLIGHT),
    price("dbtc", LAMPLIGHT),
    price("flrn", TALLOW),
    price("quill", None),
    // No updates since its token lost its peg.
    Feed { heartbeat: Some(3_600), updates: Updates::UntilTheLast(20), ..price("mrg", TALLOW) },
    Feed { heartbeat: None, ..price("wisp", TALLOW) },
    Feed { updates: Updates::Unread, ..price("shrd", None) },
    Feed { kind: FeedKind::ExchangeRate, quote: "dETH", ..price("sdeth", LAMPLIGHT) },
    Feed { kind: FeedKind::Nav, ..price("dtb", TALLOW) },
    Feed { kind: FeedKind::ProofOfReserves, ..price("tpny", LAMPLIGHT) },
    Feed {
        kind: FeedKind::SequencerUptime,
        token: None,
        quote: "",
        vendor: LAMPLIGHT,
        heartbeat: DAY,
        updates: Updates::Hourly,
    },
];

/// The contracts of each vendor's feeds.
pub fn vendors() -> BTreeMap<&'static str, Vec<String>> {
    let mut vendors: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (number, feed) in (0..).zip(&FEEDS) {
        if let Some(vendor) = feed.vendor {
            vendors.entry(vendor).or_default().push(contract(CHAIN_ID, &Random::of(0, "feed", number).address()));
        }
    }
    vendors
}

/// The feeds' observations at `moment`.
pub fn news(moment: Moment) -> Vec<Observation> {
    (0..).zip(&FEEDS).map(|(number, feed)| Observation::OracleFeed(Box::new(feed.observed(number, moment)))).collect()
}

impl Feed {
    fn observed(&self, number: u64, moment: Moment) -> OracleFeed {
        let token = self.token.map(Token::named);
        let name = token.map_or("Devnet sequencer", |token| token.symbol);
        let silent_since = match self.updates {
            Updates::UntilTheLast(hours) if moment.in_the_last(hours) => Some(moment.start_of_the_last(hours)),
            _ => None,
        };
        let spoken = !matches!(self.updates, Updates::Unread);
        OracleFeed {
            kind: Kind,
            observed_at: moment.at(),
            source: SOURCE.to_owned(),
            contract: String::new(),
            chain_id: CHAIN_ID,
            address: Random::of(0, "feed", number).address(),
            feed_kind: self.kind,
            asset: token.map(|token| token.symbol.to_owned()),
            quote: (!self.quote.is_empty()).then(|| self.quote.to_owned()),
            description: Some(if self.quote.is_empty() { name.to_owned() } else { format!("{name} / {}", self.quote) }),
            other_descriptions: Vec::new(),
            vendor: self.vendor.map(str::to_owned),
            heartbeat_seconds: self.heartbeat,
            deviation_threshold: self.heartbeat.map(|_| 0.005),
            last_answer: token.filter(|_| spoken).map(|token| format!("{:.8}", token.usd)),
            last_update_at: spoken.then(|| silent_since.unwrap_or(moment.at())),
            used_by: if self.kind == FeedKind::Price { vec!["Quillfish Core".to_owned()] } else { Vec::new() },
            reserve_symbols: token
                .filter(|_| self.kind == FeedKind::Price)
                .map(|token| vec![token.symbol.to_owned()])
                .unwrap_or_default(),
        }
    }
}
