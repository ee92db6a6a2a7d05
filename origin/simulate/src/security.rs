//! The simulated security registry and loss cases, with at least one row in every state and one case for every severity band and basis.

use super::actor::Actor;
use super::moment::Moment;
use super::platforms::CHAIN_ID;
use super::random::Random;
use super::source::SOURCE;
use rds_engine::clock::Clock;
use rds_engine::ingest::Observation;
use rds_engine::security::editing;
use rds_facts::fact::Kind;
use rds_facts::{Contamination, LossCase, Reference, SecurityReport, Usd, security_event_id};
use rds_shared::model::ids::VaultId;
use rds_shared::model::loss::LossBasis;
use rds_shared::model::money::Cents;
use rds_shared::model::security::RegistryState::{self, Dismissed, Published, Purged, Removed, Retracted};
use rds_shared::model::status::Severity::{self, Critical, Info, Warning};
use rds_shared::rules::losses::LossSeverity;
use rds_store::{Db, StoreError, security as registry};

/// Source of the registry's rows. `{source}-{key}` of a row is also the event key of the simulated incident about the same attack.
const REGISTRY: &str = "devnet";

/// The attacked contract.
enum Victim {
    /// The vault of this name; the attack happens this many hours before the end of the run.
    Vault(&'static str, u32),
    /// A contract that is not tracked; the attack happens this many days before the run.
    Stranger(u32),
}

/// A row of the registry. Editors change it after the automatic publication.
struct Row {
    key: &'static str,
    title: &'static str,
    story: &'static str,
    victim: Victim,
    severity: Severity,
    votes: (u32, u32),
    loss: Option<i64>,
    case: Option<Case>,
    /// The states that editors give the row, in order.
    edited: &'static [RegistryState],
}

/// The loss case of a row.
struct Case {
    basis: LossBasis,
    /// Whether the case states a severity, which is then the band of its loss.
    labelled: bool,
    returned: Option<i64>,
    /// Whether the case is still listed by its source.
    active: bool,
    /// Set if the loss is also counted in another case; the inner value is the person who verified that.
    contamination: Option<Option<&'static str>>,
}

const CLEAN: Case =
    Case { basis: LossBasis::Stated, labelled: true, returned: None, active: true, contamination: None };
const DEFAULT_ROW: Row = Row {
    key: "",
    title: "",
    story: "",
    victim: Victim::Stranger(0),
    severity: Info,
    votes: (0, 0),
    loss: None,
    case: None,
    edited: &[],
};

const ROWS: [Row; 16] = [
    Row {
        key: "fourfold-drained",
        title: "Fourfold Ether drained through its unwinding path",
        story: "A callback during the repayment of a loan left the collateral with the caller.",
        victim: Victim::Vault("Cinderloop Fourfold Ether", 15),
        severity: Critical,
        votes: (3, 0),
        loss: Some(4_480_000),
        case: Some(CLEAN),
        ..DEFAULT_ROW
    },
    Row {
        key: "penny-pool-donation",
        title: "Share price of Penny Pool moved by a donation",
        story: "Tokens sent to the pool moved its share price for two blocks. Nobody lost anything.",
        victim: Victim::Vault("Quillfish Penny Pool", 40),
        votes: (1, 2),
        ..DEFAULT_ROW
    },
    Row {
        key: "gullwing-bridge-keys",
        title: "Gullwing Bridge emptied with stolen keys",
        story: "Five of nine guardians signed a withdrawal that none of them had seen.",
        victim: Victim::Stranger(210),
        severity: Critical,
        votes: (7, 0),
        loss: Some(84_000_000),
        case: Some(Case { returned: Some(12_500_000), ..CLEAN }),
        ..DEFAULT_ROW
    },
    Row {
        key: "mudlark-oracle",
        title: "Mudlark Markets borrowed empty against a bent price",
        story: "A thin pool served as the price of a collateral.",
        victim: Victim::Stranger(160),
        severity: Critical,
        votes: (4, 1),
        loss: Some(17_250_000),
        case: Some(CLEAN),
        ..DEFAULT_ROW
    },
    Row {
        key: "thimble-reentrancy",
        title: "Thimble Staking re-entered on withdrawal",
        story: "The balance was lowered after the transfer.",
        victim: Victim::Stranger(120),
        severity: Warning,
        loss: Some(1_930_000),
        case: Some(Case { basis: LossBasis::UnitAssumed, ..CLEAN }),
        ..DEFAULT_ROW
    },
    Row {
        key: "wickerbot-approval",
        title: "Wickerbot users drained through an old approval",
        story: "A router kept the right to move its users' tokens.",
        victim: Victim::Stranger(90),
        loss: Some(36_400),
        case: Some(Case { basis: LossBasis::Partial, ..CLEAN }),
        ..DEFAULT_ROW
    },
    Row {
        key: "sedge-swap-fee",
        title: "Sedge Swap paid its fee twice",
        story: "A fee token was counted before and after the transfer.",
        victim: Victim::Stranger(75),
        severity: Warning,
        loss: Some(212_900),
        case: Some(Case { labelled: false, ..CLEAN }),
        ..DEFAULT_ROW
    },
    Row {
        key: "bogbean-token-mint",
        title: "Bogbean Token minted without end",
        story: "An overflow minted the project's own token; its value is unknown.",
        victim: Victim::Stranger(60),
        severity: Warning,
        case: Some(Case { basis: LossBasis::Doubtful, labelled: false, ..CLEAN }),
        ..DEFAULT_ROW
    },
    Row {
        key: "cloudberry-double-count",
        title: "Cloudberry Pools, counted with its parent",
        story: "The figure is that of the protocol it was forked from.",
        victim: Victim::Stranger(58),
        loss: Some(3_300_000),
        case: Some(Case { contamination: Some(Some("casebook desk")), ..CLEAN }),
        ..DEFAULT_ROW
    },
    Row {
        key: "dunlin-lend-overlap",
        title: "Dunlin Lend, perhaps counted twice",
        story: "An automatic match found the same transactions in another case; not yet reviewed.",
        victim: Victim::Stranger(57),
        loss: Some(640_000),
        case: Some(Case { contamination: Some(None), ..CLEAN }),
        ..DEFAULT_ROW
    },
    Row {
        key: "eelgrass-withdrawn",
        title: "Eelgrass Vaults, withdrawn by the casebook",
        story: "The casebook no longer lists it.",
        victim: Victim::Stranger(50),
        loss: Some(150_000),
        case: Some(Case { active: false, ..CLEAN }),
        ..DEFAULT_ROW
    },
    Row {
        key: "harrier-rumour",
        title: "Rumour of a hole in Harrier Finance",
        story: "A post without a transaction.",
        victim: Victim::Stranger(9),
        votes: (0, 1),
        ..DEFAULT_ROW
    },
    Row {
        key: "ibis-frontend",
        title: "Ibis application served from another domain",
        story: "Names pointed elsewhere for an hour.",
        victim: Victim::Stranger(30),
        severity: Warning,
        votes: (2, 0),
        edited: &[Published],
        ..DEFAULT_ROW
    },
    Row {
        key: "jackdaw-false-alarm",
        title: "Jackdaw Vault reported drained",
        story: "It was a migration.",
        victim: Victim::Stranger(21),
        severity: Warning,
        votes: (1, 6),
        edited: &[Published, Retracted],
        ..DEFAULT_ROW
    },
    Row {
        key: "kestrel-spam",
        title: "Kestrel giveaway",
        story: "An advertisement.",
        victim: Victim::Stranger(14),
        edited: &[Dismissed],
        ..DEFAULT_ROW
    },
    Row {
        key: "lapwing-duplicate",
        title: "Lapwing Exchange, reported again",
        story: "The attack is already reported in another row.",
        victim: Victim::Stranger(12),
        edited: &[Removed],
        ..DEFAULT_ROW
    },
];

/// A row that editors purge.
const PURGED: Row = Row {
    key: "magpie-names",
    title: "A person's name",
    story: "Personal data, to be removed.",
    victim: Victim::Stranger(11),
    edited: &[Purged],
    ..DEFAULT_ROW
};

/// The rows and cases observed at `moment`. Vaults that the run does not contain are left out.
pub fn news(moment: Moment, cast: &[Actor]) -> Vec<Observation> {
    let rows = (0..).zip(ROWS.iter().chain([&PURGED]));
    let mut news: Vec<Observation> = rows.flat_map(|(number, row)| row.observed(number, moment, cast)).collect();
    if moment.before().is_none() {
        news.push(Observation::LossCase(Box::new(unmapped(moment))));
    }
    news
}

/// Applies the editors' changes after the run. A row that is already in its last state is skipped, so repeating a run changes nothing.
pub async fn edit(db: &Db, clock: &Clock) -> Result<(), StoreError> {
    for row in ROWS.iter().chain([&PURGED]) {
        let id = security_event_id(REGISTRY, row.key);
        let known = registry::entry(db, id).await?;
        if known.is_none_or(|known| row.edited.last().is_none_or(|last| *last == known.state)) {
            continue;
        }
        for state in row.edited {
            editing::run(db, clock, id, *state, Some(row.story)).await?;
        }
    }
    Ok(())
}

impl Row {
    fn observed(&self, number: u64, moment: Moment, cast: &[Actor]) -> Vec<Observation> {
        let first = moment.before().is_none();
        let (attacked_at, victim, is_news) = match self.victim {
            Victim::Stranger(days) => {
                (moment.days_before_start(days), Some(Random::of(0, "victim", number).address()), first)
            }
            Victim::Vault(name, hours) => {
                let known_before = moment.before().is_some_and(|before| before.in_the_last(hours));
                let vault = cast.iter().find(|actor| actor.name() == name);
                let address =
                    vault.and_then(|vault| VaultId::parse(vault.id())?.as_str().rsplit('-').next().map(str::to_owned));
                (moment.at(), address, moment.in_the_last(hours) && !known_before)
            }
        };
        let Some(victim) = victim.filter(|_| is_news) else { return Vec::new() };
        let attacker = Random::of(0, "attacker", number).address();
        let transaction = format!("0x{:064x}", security_event_id(REGISTRY, self.key));
        let links = vec![Reference {
            label: "Report".to_owned(),
            url: format!("https://registry.devnet.example/{}", self.key),
        }];
        let report = SecurityReport {
            kind: Kind,
            observed_at: moment.at(),
            source: REGISTRY.to_owned(),
            id: 0,
            source_id: self.key.to_owned(),
            chain_id: Some(CHAIN_ID),
            protocol_id: None,
            title: self.title.to_owned(),
            description: Some(self.story.to_owned()),
            attackers: vec![attacker],
            victims: vec![victim],
            confirmations: self.votes.0,
            disconfirmations: self.votes.1,
            loss_usd: self.loss.map(dollars),
            severity: self.severity,
            tx_hash: Some(transaction.clone()),
            native_url: links.first().map(|link| link.url.clone()),
            links: links.clone(),
            attacked_at,
        };
        let case = self.case.as_ref().map(|case| LossCase {
            kind: Kind,
            observed_at: moment.at(),
            source: SOURCE.to_owned(),
            case_id: format!("{REGISTRY}-{}", self.key),
            source_id: self.key.to_owned(),
            title: self.title.to_owned(),
            loss_usd: self.loss.map(dollars),
            returned_usd: case.returned.map(dollars),
            loss_text: self.loss.map(|loss| format!("{loss} USD")),
            loss_basis: case.basis,
            note: Some(self.story.to_owned()).filter(|_| case.basis == LossBasis::Doubtful),
            severity: self.loss.filter(|_| case.labelled).map(|loss| LossSeverity::of(dollars(loss).0).to_string()),
            classification: Some("exploit".to_owned()),
            technique: Some(self.story.to_owned()),
            mechanism: None,
            chain_ids: vec![CHAIN_ID],
            protocol_id: None,
            protocol_name: self.title.split_whitespace().next().map(str::to_owned),
            attacked_at,
            tx_hashes: vec![transaction],
            links,
            is_active: case.active,
            contamination: case.contamination.map(|by| Contamination {
                reason: "counted in another case".to_owned(),
                verified_by: by.map(str::to_owned),
            }),
            security_source: Some(REGISTRY.to_owned()),
            security_source_id: Some(self.key.to_owned()),
        });
        let case = case.map(|case| Observation::LossCase(Box::new(case)));
        std::iter::once(Observation::SecurityEvent(Box::new(report))).chain(case).collect()
    }
}

/// A case without chain, severity and registry row.
fn unmapped(moment: Moment) -> LossCase {
    LossCase {
        kind: Kind,
        observed_at: moment.at(),
        source: SOURCE.to_owned(),
        case_id: format!("{REGISTRY}-nightjar-custody"),
        source_id: "nightjar-custody".to_owned(),
        title: "Nightjar Custody paid out to a stranger".to_owned(),
        loss_usd: Some(Usd(Cents(7_500_025))),
        returned_usd: None,
        loss_text: None,
        loss_basis: LossBasis::Stated,
        note: None,
        severity: None,
        classification: Some("custody".to_owned()),
        technique: None,
        mechanism: None,
        chain_ids: Vec::new(),
        protocol_id: None,
        protocol_name: Some("Nightjar Custody".to_owned()),
        attacked_at: moment.days_before_start(33),
        tx_hashes: Vec::new(),
        links: Vec::new(),
        is_active: true,
        contamination: None,
        security_source: None,
        security_source_id: None,
    }
}

const fn dollars(dollars: i64) -> Usd {
    Usd(Cents::dollars(dollars))
}
