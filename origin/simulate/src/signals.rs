//! Simulated signals: every severity and every kind of entity.

use super::actor::Actor;
use super::moment::Moment;
use super::platforms::CHAIN_ID;
use super::random::Random;
use super::source::SOURCE;
use rds_engine::ingest::Observation;
use rds_facts::fact::Kind;
use rds_facts::{Entity, Share, SignalReport, StatedVault, Usd};
use rds_shared::model::money::Cents;
use rds_shared::model::signal::SignalSeverity::{self, Info, PolicyBreach, RiskChange, Watch};

enum Published {
    /// Hours before the end of the run at which it is published.
    InTheLast(u32),
    /// This many days before the run.
    DaysBefore(u32),
}

struct Story {
    key: &'static str,
    title: &'static str,
    severity: SignalSeverity,
    reason: &'static str,
    significance: f64,
    category: &'static str,
    published: Published,
    /// Kind, id and label; an empty id is looked up in the simulated market.
    entities: &'static [(&'static str, &'static str, &'static str)],
    breaches: u32,
    /// Whether the report itself states the affected vaults. If so, it states the first entity, with 25 % of its value exposed.
    given: bool,
}

const STORIES: [Story; 6] = [
    Story {
        key: "owl-ledger-signers",
        title: "Owl Ledger adds a fourth signer",
        severity: Info,
        reason: "Control is spread further than before.",
        significance: 0.15,
        category: "governance",
        published: Published::InTheLast(30),
        entities: &[("curator", "owl-ledger", "Owl Ledger")],
        breaches: 0,
        given: false,
    },
    Story {
        key: "penny-liquidity-thins",
        title: "Liquidity of Penny thins on two exchanges",
        severity: Watch,
        reason: "Half of the depth of last week, at the same price.",
        significance: 0.4,
        category: "liquidity",
        published: Published::InTheLast(20),
        entities: &[("asset", "pny", "Penny"), ("chain", "31337", "Devnet")],
        breaches: 0,
        given: false,
    },
    Story {
        key: "brambleway-audit-withdrawn",
        title: "An auditor withdraws its report on Brambleway",
        severity: RiskChange,
        reason: "The deployed version is no longer covered.",
        significance: 0.7,
        category: "audit",
        published: Published::InTheLast(12),
        entities: &[("protocol", "brambleway", "Brambleway"), ("market", "", "Its first market")],
        breaches: 1,
        given: false,
    },
    Story {
        key: "fourfold-limit-broken",
        title: "Fourfold Ether holds more of one collateral than its limit allows",
        severity: PolicyBreach,
        reason: "The limit is 40 percent; it holds 61.",
        significance: 0.95,
        category: "concentration",
        published: Published::InTheLast(6),
        entities: &[("vault", "", "Cinderloop Fourfold Ether")],
        breaches: 2,
        given: true,
    },
    Story {
        key: "feed-heartbeat-missed",
        title: "A price feed misses two heartbeats",
        severity: Watch,
        reason: "The price is older than the promised heartbeat.",
        significance: 0.55,
        category: "oracle",
        published: Published::InTheLast(3),
        entities: &[("oracle", "", "Price feed")],
        breaches: 0,
        given: false,
    },
    Story {
        key: "northlight-quarter-report",
        title: "Northlight Stewards publish their quarter",
        severity: Info,
        reason: "No action needed.",
        significance: 0.05,
        category: "disclosure",
        published: Published::DaysBefore(45),
        entities: &[("curator", "northlight-stewards", "Northlight Stewards"), ("issuer", "northlight", "Northlight")],
        breaches: 0,
        given: false,
    },
];

/// The signals observed at `moment`.
pub fn news(moment: Moment, cast: &[Actor]) -> Vec<Observation> {
    STORIES.iter().filter_map(|story| story.observed(moment, cast)).map(Box::new).map(Observation::Signal).collect()
}

impl Story {
    fn observed(&self, moment: Moment, cast: &[Actor]) -> Option<SignalReport> {
        let published_at = match self.published {
            Published::DaysBefore(days) => moment.before().is_none().then(|| moment.days_before_start(days)),
            Published::InTheLast(hours) => {
                let known_before = moment.before().is_some_and(|before| before.in_the_last(hours));
                (moment.in_the_last(hours) && !known_before).then(|| moment.at())
            }
        }?;
        let entities = self.entities.iter().map(|(kind, id, label)| {
            let id = match (*kind, *id) {
                ("vault", _) => cast.iter().find(|actor| actor.name() == *label)?.id().to_owned(),
                ("market", _) => format!("{CHAIN_ID}:{}", Random::of(0, "market", 0).address()),
                ("oracle", _) => format!("{CHAIN_ID}:{}", Random::of(0, "feed", 0).address()),
                (_, id) => id.to_owned(),
            };
            Some(Entity { kind: (*kind).to_owned(), id, label: (*label).to_owned() })
        });
        let entities = entities.collect::<Option<Vec<_>>>()?;
        let given = entities.first().filter(|_| self.given).map(|entity| {
            let share = Some(Share(250_000));
            vec![StatedVault { vault_id: entity.id.clone(), exposure_usd: Some(Usd(Cents(112_000_050))), share }]
        });
        Some(SignalReport {
            kind: Kind,
            observed_at: moment.at(),
            source: SOURCE.to_owned(),
            id: 0,
            signal_key: self.key.to_owned(),
            title: self.title.to_owned(),
            url: Some(format!("https://signals.devnet.example/{}", self.key)),
            severity: self.severity,
            severity_reason: Some(self.reason.to_owned()),
            significance: self.significance,
            category: self.category.to_owned(),
            summary: Some(format!("{}. {}", self.title, self.reason)),
            entities,
            given_vaults: given,
            given_exposure_usd: None,
            breach_count: self.breaches,
            methodology_version: Some("impact-1".to_owned()),
            source_url: Some(format!("https://desk.devnet.example/{}", self.key)),
            article_urls: vec![format!("https://news.devnet.example/{}", self.key)],
            snapshot_id: None,
            entity_words: Vec::new(),
            chain_ids: Vec::new(),
            published_at,
        })
    }
}
