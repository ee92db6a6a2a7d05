//! The comparison on small sets of assets, in days since 1970.

use super::report::report;
use super::study::{Counts, Pairs, Study, study};
use super::subjects::{Deployment, LOSSES, Subjects};
use rds_facts::fact::Kind;
use rds_facts::{AssetAnswer, At};
use rds_shared::scoring::asset::{AssetCategory, Dimension};
use rds_shared::scoring::rubric::SourceKind;
use rds_shared::scoring::tables::rubric::{RUBRIC_VERSION, questionnaire};
use rds_shared::wire::Timestamp;
use rds_shared::wire::time::Day;
use rds_store::research::losses::FirstLoss;

/// The day of the losses. The answers of [`asset`] are of day 100.
const LOSS: i64 = 200;

fn on(day: i64) -> Timestamp {
    Day::from_number(day).start()
}

fn answer(dimension: Dimension, question: &str, answer: &str, day: i64) -> AssetAnswer {
    AssetAnswer {
        kind: Kind,
        observed_at: At(on(day)),
        source: "test".to_owned(),
        asset_id: String::new(),
        dimension,
        question: question.to_owned(),
        answer: answer.to_owned(),
        as_of: At(on(day)),
        source_title: "Terms".to_owned(),
        source_url: "https://issuer.example/terms".to_owned(),
        source_kind: SourceKind::Document,
        note: None,
        withdrawn: false,
        rubric_version: RUBRIC_VERSION.to_owned(),
        evidence: None,
    }
}

fn suspended(day: i64) -> AssetAnswer {
    answer(Dimension::Redeemability, "who", "suspended", day)
}

/// A stablecoin with a score from day 101 on. `who` may redeem decides between assets: `any_after_kyc` is better than `institutions`.
fn asset(id: &str, who: &str) -> Deployment {
    use Dimension::{IssuerCustody, Redeemability, ReserveTransparency};
    let said = [
        (IssuerCustody, "supervision", "prudential"),
        (IssuerCustody, "custodian", "named_plural"),
        (IssuerCustody, "segregation", "statutory"),
        (ReserveTransparency, "proof", "big_four"),
        (ReserveTransparency, "cadence", "monthly"),
        (ReserveTransparency, "detail", "items"),
        (Redeemability, "who", who),
        (Redeemability, "settlement", "same_day"),
        (Redeemability, "price", "par"),
    ];
    let mut answers: Vec<_> = said.into_iter().map(|(at, question, said)| answer(at, question, said, 100)).collect();
    // The id as a source keeps two assets with the same answers apart.
    answers.iter_mut().for_each(|one| one.source_url = format!("https://{id}.example"));
    Deployment {
        asset_id: id.to_owned(),
        category: AssetCategory::FiatBackedStablecoin,
        underlying: None,
        answers,
        incidents: Vec::new(),
    }
}

/// An asset whose redemption stopped on the day of the losses, by a source 50 days younger.
fn failed(id: &str, who: &str) -> Deployment {
    let mut failed = asset(id, who);
    failed.answers.push(suspended(LOSS + 50));
    failed.incidents.push(on(LOSS));
    failed
}

/// A vault with the deposit asset that lost from incident `event`, or from a fall of its price.
fn loss(vault: &str, deposit: &str, event: Option<i64>) -> FirstLoss {
    FirstLoss {
        vault_id: vault.to_owned(),
        protocol_id: vault.split('-').next().unwrap_or_default().to_owned(),
        lost_at: At(on(LOSS).plus_seconds(50_000)),
        event_id: event,
        incident_ids: event.into_iter().collect(),
        deposit_ids: vec![deposit.to_owned()],
        share_ids: Vec::new(),
    }
}

fn studied(assets: Vec<Deployment>, losses: &[FirstLoss]) -> Study {
    study(&Subjects::new(assets), losses)
}

fn pairs(lower: u64, equal: u64, higher: u64) -> Pairs {
    Pairs { lower, equal, higher }
}

#[test]
fn ties_are_neither_lower_nor_higher_and_count_half_in_the_share() {
    let better = asset("better", "any_onchain");
    let assets = || {
        vec![failed("lost", "any_after_kyc"), better, asset("equal", "any_after_kyc"), asset("worse", "institutions")]
    };
    let subjects = Subjects::new(assets());
    let found = study(&subjects, &[]);
    assert_eq!(found.assets.pairs, pairs(1, 1, 1));
    let report = report(&subjects, &found);
    assert!(report.summary.contains("a share of 0.5 with equal pairs counting half"), "{}", report.summary);
    assert!(report.method.contains("counts half"));
    let figure = |name: &str| report.figures.iter().find(|one| one.name == name).map(|one| (one.count, one.of));
    for name in ["failed_lower", "equal", "failed_higher"] {
        assert_eq!(figure(&format!("pairs_of_assets:{name}")), Some((1, Some(3))), "{name}");
    }
}

#[test]
fn a_deposit_asset_is_not_compared_with_itself_under_any_name() {
    let mut other_name = asset("usdx", "any_after_kyc");
    other_name.asset_id = "usdx-elsewhere".to_owned();
    let alone = studied(vec![asset("usdx", "any_after_kyc"), other_name], &[loss("a-1", "usdx-elsewhere", Some(1))]);
    assert_eq!((alone.survivors, alone.vaults.pairs.all(), alone.vaults.alone), (1, 0, 1));
    let mut two_ids = loss("a-1", "usdx", None);
    two_ids.deposit_ids.push("usdx-again".to_owned());
    let assets =
        vec![asset("usdx", "any_after_kyc"), asset("usdx-again", "institutions"), asset("usdy", "any_onchain")];
    assert_eq!(studied(assets, &[two_ids]).vaults.pairs, pairs(1, 0, 0), "one contract under two ids");
}

#[test]
fn what_lost_from_the_same_incident_is_not_a_survivor_of_it() {
    let assets = || ["usdx", "usdy", "usdz", "share"].map(|id| asset(id, "any_after_kyc")).into();
    let pairs_of = |second: FirstLoss| studied(assets(), &[loss("a-1", "usdx", Some(1)), second]).vaults.pairs.all();
    let mut same = loss("b-2", "usdy", Some(1));
    same.share_ids.push("share".to_owned());
    assert_eq!(pairs_of(same.clone()), 1 + 1, "each of the two with usdz only");
    // Its first loss was another one, but the incident hit it too.
    let later = FirstLoss { event_id: Some(2), incident_ids: vec![1, 2], ..same.clone() };
    assert_eq!(pairs_of(later), 1 + 2, "usdy lost first from another incident, which the others survived");
    assert_eq!(pairs_of(FirstLoss { event_id: Some(2), incident_ids: vec![2], ..same }), 3 + 2);
    // Falls of one protocol on one day have one cause.
    let falls =
        |other: &str| studied(assets(), &[loss("a-1", "usdx", None), loss(other, "usdy", None)]).vaults.pairs.all();
    assert_eq!((falls("a-2"), falls("b-2")), (2 + 2, 3 + 3));
}

#[test]
fn what_wraps_or_holds_a_failed_asset_is_not_its_survivor() {
    let mut wrapper = asset("wrapper", "any_after_kyc");
    wrapper.underlying = Some("lost".to_owned());
    let mut outer = asset("outer", "any_after_kyc");
    outer.underlying = Some("wrapper".to_owned());
    let assets = vec![
        failed("lost", "any_after_kyc"),
        wrapper,
        outer,
        asset("share", "any_after_kyc"),
        asset("usdy", "any_onchain"),
    ];
    let mut vault = loss("a-1", "wrapper", None);
    vault.share_ids.push("share".to_owned());
    assert_eq!(studied(assets, &[vault]).assets.pairs, pairs(1, 0, 0), "usdy only");
}

#[test]
fn vaults_with_one_deposit_asset_that_lost_from_one_incident_are_paired_once() {
    let losses: Vec<_> = (0..20).map(|number| loss(&format!("a-{number}"), "usdx", Some(1))).collect();
    let found = studied(vec![asset("usdx", "institutions"), asset("usdy", "any_onchain")], &losses).vaults;
    assert_eq!((found.failed, found.compared, found.separate, found.pairs), (20, 20, 1, pairs(1, 0, 0)));
}

#[test]
fn a_withdrawn_answer_is_no_evidence_even_before_its_withdrawal() {
    let with = |withdrawn: Option<i64>| {
        let mut lost = failed("lost", "any_after_kyc");
        let mut mistake = answer(Dimension::IssuerCustody, "record", "temporary", 150);
        mistake.withdrawn = withdrawn.is_some();
        mistake.observed_at = At(on(withdrawn.unwrap_or(150)));
        lost.answers.push(mistake);
        Subjects::new(vec![lost])
    };
    let score = |subjects: &Subjects| subjects.all[0].score_before(Day::from_number(LOSS)).unwrap();
    let (standing, never) = (score(&with(None)), score(&Subjects::new(vec![failed("lost", "any_after_kyc")])));
    assert_ne!(standing, never, "the answer matters");
    for withdrawn in [160, LOSS + 10] {
        let subjects = with(Some(withdrawn));
        assert_eq!((score(&subjects), subjects.withdrawn), (never, 1), "withdrawn on day {withdrawn}");
    }
    // A loss that was stated by mistake is none.
    let mut sound = asset("usdx", "any_after_kyc");
    sound.answers.push(AssetAnswer { withdrawn: true, ..suspended(LOSS) });
    assert_eq!(studied(vec![sound], &[]).assets.failed, 0);
}

#[test]
fn a_loss_has_the_date_of_its_incident_and_not_of_its_source() {
    // The source of day 250 describes the incident of day 200; an answer of day 200 or 220 was not known before.
    let with = |answered: i64, incident: Option<i64>| {
        let mut lost = failed("lost", "any_after_kyc");
        lost.answers.iter_mut().filter(|one| one.answer != "suspended").for_each(|one| one.as_of = At(on(answered)));
        lost.incidents = incident.map(on).into_iter().collect();
        studied(vec![lost, asset("usdy", "any_onchain")], &[]).assets
    };
    let judged = |counts: Counts| (counts.answered(), counts.compared, counts.unknown);
    assert_eq!(judged(with(LOSS - 1, Some(LOSS))), (1, 1, 0));
    assert_eq!(judged(with(LOSS, Some(LOSS))), (0, 0, 0), "an answer of the same day may describe the loss");
    assert_eq!(judged(with(LOSS + 20, Some(LOSS))), (0, 0, 0));
    assert_eq!(judged(with(LOSS - 1, None)), (0, 0, 1), "no incident, no date");
    assert_eq!(judged(with(LOSS - 1, Some(LOSS + 51))), (0, 0, 1), "an incident after the source is another one");
}

#[test]
fn every_answer_that_states_an_unrecovered_loss_excludes_an_asset_from_the_survivors() {
    for (dimension, question, said) in LOSSES {
        let known = questionnaire(dimension).question(question).and_then(|asked| asked.answer(said));
        assert!(known.is_some(), "{dimension}.{question}: {said}");
        let mut lost = asset("lost", "any_after_kyc");
        lost.answers.push(answer(dimension, question, said, 150));
        let found = studied(vec![lost, asset("usdy", "any_onchain")], &[]);
        assert_eq!((found.assets.failed, found.survivors), (1, 1), "{dimension}.{question}: {said}");
    }
}

#[test]
fn of_several_incidents_of_one_asset_the_first_dates_the_failure() {
    let mut lost = failed("lost", "any_after_kyc");
    lost.incidents.extend([on(LOSS + 30), on(LOSS - 40)]);
    let subjects = Subjects::new(vec![lost]);
    assert_eq!(subjects.all[0].failed_on(), Some(Day::from_number(LOSS - 40)));
    assert_eq!(study(&subjects, &[]).assets.failed, 1);
}

#[test]
fn every_loss_is_compared_or_counted_as_not_judged_with_its_reason() {
    let mut few = asset("few", "any_after_kyc");
    few.answers.truncate(1);
    let mut none = loss("a-4", "", None);
    none.deposit_ids.clear();
    let losses = [loss("a-1", "usdx", None), loss("a-2", "few", None), loss("a-3", "unheard", None), none];
    let mut early = loss("b-5", "usdx", None);
    early.lost_at = At(on(100));
    let losses: Vec<_> = losses.into_iter().chain([early]).collect();
    let assets = vec![asset("usdx", "any_after_kyc"), few, asset("usdy", "any_onchain")];
    let subjects = Subjects::new(assets);
    let found = study(&subjects, &losses);
    let Counts { failed, unknown, unanswered, unscored, alone, compared, .. } = found.vaults;
    assert_eq!((failed, unknown, unanswered, unscored, alone, compared), (5, 2, 1, 1, 0, 1));
    let report = report(&subjects, &found);
    let not_judged = report.figures.iter().find(|one| one.name == "failed_vaults:not_judged").unwrap();
    assert_eq!((not_judged.count, not_judged.of), (4, Some(5)));
    assert!(
        report.summary.contains("2 of these vaults could not be judged for lack of evidence"),
        "{}",
        report.summary
    );
    let said = report.weaknesses.concat();
    assert!(said.contains("Of the 4 vaults that are not judged, 1 have no deposit asset in the registry, 1 one without answers, 1 no answer"), "{said}");
}

#[test]
fn the_study_does_not_depend_on_the_order_of_the_losses() {
    let assets = || ["usdx", "usdy", "usdz"].map(|id| asset(id, "any_after_kyc")).into();
    let mut losses = vec![
        loss("a-1", "usdx", Some(1)),
        loss("a-2", "usdy", None),
        loss("b-3", "usdx", None),
        loss("a-4", "usdz", Some(1)),
    ];
    let found = studied(assets(), &losses);
    losses.reverse();
    assert_eq!(studied(assets(), &losses), found);
}

#[test]
fn without_any_failure_the_report_says_that_nothing_is_shown() {
    for assets in [vec![], vec![asset("usdx", "any_after_kyc")]] {
        let subjects = Subjects::new(assets);
        let report = report(&subjects, &study(&subjects, &[]));
        assert!(report.summary.contains("nothing is shown") && !report.weaknesses.is_empty(), "{}", report.summary);
    }
}
