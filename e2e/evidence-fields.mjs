// The fields that say what scores rest on, as data. All of them are beyond the interface.

import { anything, count, flag, fraction, instant, listOf, nullable, number, oneOf, record, score, text } from './shape.mjs';

/** What a score rests on, and how far evidence could still move it. Beyond the interface. */
export const scoreEvidence = {
  score_basis: oneOf('complete', 'partial', 'bound', 'assumed', 'missing'),
  score_coverage: fraction,
  lowest_score: nullable(score),
  highest_score: nullable(score),
};

const sourceKind = oneOf('document', 'repository', 'dataset', 'chain');

/** An answer's source with its date, as vaults and assets cite it; `when` is the form of the instants. */
export const citation = (when) => ({
  as_of: when,
  source_title: text,
  source_url: text,
  source_kind: sourceKind,
  note: nullable(text),
  withdrawn_at: nullable(when),
  given_by: text,
});

/** What a vault's inputs rest on. */
export const scoreSources = record({
  exposures: nullable(
    record({
      rule: oneOf(
        'isolated_market', 'isolated_pair', 'wrapped_vault', 'deposit_share', 'single_asset', 'constant_product', 'pool_members', 'strategy_debt',
        'market_supply',
      ),
      source_title: text,
      source_url: text,
      source_kind: sourceKind,
      as_of: instant,
    }),
  ),
  answers: listOf(
    record({
      subject: text,
      input: oneOf(
        'version_first_seen', 'audit', 'bounty_usd', 'strategy', 'protocol_tvl_usd', 'dependencies', 'timelock', 'signers', 'exit', 'source',
      ),
      value: anything,
      counts: flag,
      question_state: oneOf('answered', 'contradicted', 'aged', 'withdrawn', 'unknown'),
      ...citation(instant),
    }),
  ),
});

/** How much of the published scores rests on evidence, as health tells it. */
export const EvidenceCoverage = record({
  assetAnswers: count,
  answeredAssets: count,
  protocolAnswers: count,
  scoredTvlPercent: nullable(number),
  knownExposuresTvlPercent: nullable(number),
});
