//! The report of the study: its figures, how they were obtained, and what they do not show.

use super::study::{Counts, Study};
use super::subjects::Subjects;
use rds_shared::model::research::{Figure, ReportType, ValidationReport};
use rds_shared::research::discrimination::share;
use rds_shared::scoring::METHODOLOGY_VERSION;
use rds_shared::wire::time::Day;

const METHOD: &str = "An asset failed if an answer states an unrecovered loss: a price that did not come back, a stopped redemption, a loss of holders \
     through custody or a bridge, or a loss through its own code or keys. The failure is dated by the earliest published incident of its own \
     contract that is not after the earliest source of such an answer; a failure without such an incident is not judged. A vault failed at its \
     first loss: a published incident, on its own date, or a fall of the price per share in a sampled window, when a price first shows it. \
     Scores on the eve use only answers dated before the day of the loss that are not withdrawn, under the present rules, without chains, dependencies and \
     hard-fail flags; a vault counts with the score of its deposit asset. Each loss is paired with every surviving asset, that is, one without such an answer, \
     except with those that lost from the same cause: the asset itself, what wraps it, and the deposit assets and share tokens of the vaults of the same \
     incident, or of the same protocol's falls on the same day. Vaults with the same deposit asset that lost from one cause are paired once. Pairs with the same score are \
     stated separately; where a share of all pairs is given, an equal pair counts half (Mann-Whitney).";

/// The report of `study`.
pub fn report(subjects: &Subjects, study: &Study) -> ValidationReport {
    ValidationReport {
        model_version: METHODOLOGY_VERSION.into(),
        report_type: ReportType::Hindsight,
        summary: summary(subjects.all.len(), study),
        method: METHOD.into(),
        weaknesses: weaknesses(subjects, study),
        figures: figures(study),
        backtests: Vec::new(),
    }
}

fn summary(assets: usize, study: &Study) -> String {
    let Study { assets: failed, vaults, .. } = study;
    // The failures with a date, and the vaults with answers about their deposit asset, that were still not judged.
    let [assets_without, vaults_without] = [failed, vaults].map(|counts| counts.not_judged() - counts.unknown);
    format!(
        "{} of {assets} assets with answers failed, and {} vaults lost value. {assets_without} of these assets and {vaults_without} of these vaults could not \
         be judged for lack of evidence before the loss, {} more assets for lack of an incident that dates the failure, and {} more vaults for lack of a deposit \
         asset with answers. Of the judged assets, {}. Of the deposit assets of the judged vaults, {}.",
        failed.failed,
        vaults.failed,
        failed.unknown,
        vaults.unknown,
        result(failed),
        result(vaults),
    )
}

/// The result as the end of a sentence.
fn result(counts: &Counts) -> String {
    let pairs = counts.pairs;
    let Some(area) = share(2 * pairs.lower + pairs.equal, 2 * pairs.all()) else {
        return "none could be compared, so nothing is shown".to_owned();
    };
    format!(
        "{} of {} with a score were Core or better on the eve; in {} pairs with a surviving asset they stood lower in {}, equal in {} and higher in {}, \
         which is a share of {area} with equal pairs counting half",
        counts.core,
        counts.scored(),
        pairs.all(),
        pairs.lower,
        pairs.equal,
        pairs.higher
    )
}

fn figures(study: &Study) -> Vec<Figure> {
    let assets = of("assets", &study.assets);
    let vaults = of("vaults", &study.vaults);
    let (failed_assets, failed_vaults) = (&study.assets, &study.vaults);
    assets
        .into_iter()
        .chain([
            Figure::part("failed_assets:dated", failed_assets.failed - failed_assets.unknown, failed_assets.failed),
            Figure::number("surviving_assets", study.survivors),
        ])
        .chain(vaults)
        .chain([
            Figure::part("failed_vaults:first_loss_is_an_incident", study.by_incident, failed_vaults.failed),
            Figure::part(
                "failed_vaults:deposit_asset_has_answers",
                failed_vaults.failed - failed_vaults.unknown,
                failed_vaults.failed,
            ),
            Figure::number("separate_losses_of_vaults", failed_vaults.separate),
        ])
        .collect()
}

fn of(what: &str, counts: &Counts) -> [Figure; 8] {
    let (failed, pairs) = (counts.failed, counts.pairs);
    [
        Figure::number(format!("failed_{what}"), failed),
        Figure::part(format!("failed_{what}:answered_before"), counts.answered(), failed),
        Figure::part(format!("failed_{what}:scored_before"), counts.scored(), failed),
        Figure::part(format!("failed_{what}:core_or_better_before"), counts.core, counts.scored()),
        Figure::part(format!("failed_{what}:not_judged"), counts.not_judged(), failed),
        Figure::part(format!("pairs_of_{what}:failed_lower"), pairs.lower, pairs.all()),
        Figure::part(format!("pairs_of_{what}:equal"), pairs.equal, pairs.all()),
        Figure::part(format!("pairs_of_{what}:failed_higher"), pairs.higher, pairs.all()),
    ]
}

fn weaknesses(subjects: &Subjects, study: &Study) -> Vec<String> {
    let Study { assets, vaults, .. } = study;
    vec![
        format!(
            "{} judged assets and {} separate judged losses of vaults are too few for a rate, whatever it is. Pairs share losses and \
             survivors, so they are not independent, and no interval is given.",
            assets.compared, vaults.separate
        ),
        format!(
            "Of the {} failed assets that are not judged, {} have no incident that dates the failure, {} no answer dated before, {} too few for a score, \
             and {} no surviving asset with a score to compare with.",
            assets.not_judged(),
            assets.unknown,
            assets.unanswered,
            assets.unscored,
            assets.alone
        ),
        format!(
            "Of the {} vaults that are not judged, {} have no deposit asset in the registry, {} one without answers, {} no answer dated before, {} too few \
             for a score, and {} no surviving asset with a score to compare with.",
            vaults.not_judged(),
            study.without_asset,
            vaults.unknown - study.without_asset,
            vaults.unanswered,
            vaults.unscored,
            vaults.alone
        ),
        "An asset without an answer before its failure has no score on the eve. That is caution by ignorance and no prediction.".to_owned(),
        subjects.first_answer().map_or_else(
            || "There are no answers.".to_owned(),
            |first| format!("The oldest answer is of {}; earlier losses cannot be judged.", Day::of(first)),
        ),
        format!(
            "{} withdrawn answers are left out, also before their withdrawal. A withdrawal has no reason in the data; reviewers withdraw mistakes and give \
             a newer answer when a fact changes. If an answer was withdrawn because the fact had changed, evidence that was known is missing here.",
            subjects.withdrawn
        ),
        "The earliest incident of an asset's contract may be another one than that of the loss; the score on the eve is then older than it could be.".to_owned(),
        "A fall is dated by the first price that shows it, which may be younger than the loss.".to_owned(),
        "Answers dated before a loss may have been chosen after it: the registry is younger than most of its sources.".to_owned(),
        "Survivors are the assets that somebody answered questions about, which are the larger ones. That they have not failed is known only today. \
         Deployments of one product with different answers count separately."
            .to_owned(),
        "The deposit asset is one input of a vault's score. A loss through a vault's own code or management says nothing about it.".to_owned(),
        "Falls are known only of vaults with observed prices, and incidents only if they are published and linked to a vault, to its protocol or to a contract."
            .to_owned(),
    ]
}
