//! Tests of what is written of a reading: what is new, what is withdrawn, and what stays as it is.

use super::*;
use crate::chain::observed::AgreedCall;
use mapping::Powers;
use rds_chain::adapt::governance::{Controlled, Delay, Link, Signers, Step};
use rds_shared::scoring::provenance::{CallMethod, ChainCall};

const HOUR: i64 = 3_600;

/// The block `hours` after the first one.
fn block(hours: i64) -> ReadBlock {
    let time = At(Timestamp::from_seconds(1_780_000_000 + hours * HOUR));
    ReadBlock { chain_id: 1, number: hours, hash: format!("0x{hours:064x}"), time, asked: 3 }
}

fn token() -> Address {
    Address([7; 20])
}

/// What was read of a token that can be replaced by this many keys after this delay; `admin` is the controller.
fn seen(delay: Delay, needed: u32, admin: u8) -> Seen {
    let path = vec![Step { link: Link::ProxyAdmin, address: Address([admin; 20]) }];
    let signers = Signers::Threshold { needed, of: needed };
    let controlled = Controlled { timelock: delay, signers, path, doubt: None };
    let call = ChainCall {
        method: CallMethod::Storage,
        contract: token().to_string(),
        data: Some(format!("0x{:064x}", 1)),
        answer: Some(format!("0x{admin:064x}")),
        overrides: BTreeMap::new(),
        gas: None,
    };
    Seen {
        powers: Powers {
            is_upgradeable: Some(true),
            is_controlled: true,
            controlled,
            can_freeze: false,
            can_pause: false,
            key_mints: false,
        },
        control: vec![AgreedCall { call, agreed: 2 }],
        freezing: Vec::new(),
        pausing: Vec::new(),
        minting: Vec::new(),
    }
}

/// What is written at `hours` about the delay beside the answers in `known`.
fn written(hours: i64, seen: &Seen, known: &[AssetAnswer]) -> Vec<AssetAnswer> {
    let asset = HeldAsset { id: "pusd".into(), address: token().to_string(), category: "cdp_stablecoin".into() };
    let held = Held { asset: &asset, contract: token(), category: AssetCategory::CdpStablecoin, known };
    to_write(&block(hours), &held, Topic::Delay, seen)
}

fn answers(written: &[AssetAnswer]) -> Vec<(&str, bool)> {
    written.iter().map(|one| (one.answer.as_str(), one.withdrawn)).collect()
}

#[test]
fn an_answer_is_written_when_it_is_new_when_its_calls_changed_and_once_a_day() {
    let at_once = seen(Delay::Seconds(0), 1, 9);
    let first = written(0, &at_once, &[]);
    assert_eq!(answers(&first), [("none", false)]);
    assert_eq!(first[0].source_url, format!("eip155:1:{}", token()));
    let evidence = first[0].evidence.as_ref().unwrap();
    assert_eq!((evidence.block_number, evidence.agreed, evidence.asked, evidence.calls.len()), (0, 2, 3, 1));
    assert_eq!(answers(&written(23, &at_once, &first)), []);
    assert_eq!(answers(&written(24, &at_once, &first)), [("none", false)]);
    assert_eq!(answers(&written(1, &seen(Delay::Seconds(0), 1, 8), &first)), [("none", false)]);
}

#[test]
fn what_the_chain_does_not_show_any_more_is_withdrawn() {
    let first = written(0, &seen(Delay::Seconds(0), 1, 9), &[]);
    let moved = written(1, &seen(Delay::Seconds(172_800), 3, 8), &first);
    assert_eq!(answers(&moved), [("none", true), ("ge_2d", false)]);
    // The withdrawn row is the same one, observed later.
    let is_same = (&moved[0].as_of, &moved[0].source_url, &moved[0].evidence)
        == (&first[0].as_of, &first[0].source_url, &first[0].evidence);
    assert!(is_same && moved[0].observed_at > first[0].observed_at);
    assert_eq!(answers(&written(1, &seen(Delay::Unknown, 1, 8), &first)), [("none", true)], "not understood any more");
    // What is withdrawn already stays as it is.
    assert_eq!(answers(&written(2, &seen(Delay::Unknown, 1, 8), &moved[..1])), []);
}

#[test]
fn a_token_is_due_when_it_was_never_read_and_a_day_after_its_newest_answer() {
    let known = written(0, &seen(Delay::Seconds(0), 1, 9), &[]);
    let asset = HeldAsset { id: "pusd".into(), address: token().to_string(), category: "cdp_stablecoin".into() };
    let held = |known| Held { asset: &asset, contract: token(), category: AssetCategory::CdpStablecoin, known };
    let none = LastReadings::default();
    assert_eq!(held(&[]).due(&none), None);
    assert_eq!(held(&known).due(&none), Some(block(24).time.0));
    assert_eq!(held(&known).watched(&none), [token().to_string()].into());
    let contracts = [Address([3; 20]).to_string()].into();
    let last_readings =
        LastReadings([("pusd".to_owned(), LastReading { block: 5, due: block(30).time.0, contracts })].into());
    assert_eq!(held(&[]).due(&last_readings), Some(block(30).time.0), "a reading without an answer counts");
    assert_eq!(held(&known).watched(&last_readings).len(), 2);
}

#[test]
fn a_reviewers_answer_is_the_one_that_counts_now() {
    let given = |answer: &str, hours: i64, withdrawn| AssetAnswer {
        answer: answer.into(),
        source_kind: SourceKind::Document,
        as_of: block(hours).time,
        evidence: None,
        withdrawn,
        ..written(0, &seen(Delay::Seconds(0), 1, 9), &[]).remove(0)
    };
    let counts = |known: &[AssetAnswer], hours| of_reviewers(known, Topic::Delay, block(hours).time).map(|it| it.id);
    assert_eq!(counts(&[given("ge_7d", 0, false), given("none", 0, false)], 1), Some("none"));
    assert_eq!(counts(&[given("ge_7d", 48, false), given("none", 0, false)], 49), Some("ge_7d"));
    assert_eq!(counts(&[given("ge_7d", 0, true)], 1), None);
    assert_eq!(counts(&[given("ge_7d", 0, false)], 24 * 2_000), None, "too old to be evidence");
    let read = written(0, &seen(Delay::Seconds(0), 1, 9), &[]);
    assert_eq!(counts(&read, 1), None, "what was read is not a reviewer's answer");
}
