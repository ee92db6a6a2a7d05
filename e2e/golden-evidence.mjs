// The golden vectors of what rds-1.1.0 added, made by an independent evaluator: answers about protocols, unknown shares, and the scores and
// ranges of assets from answers. They are converted to the published form that the recomputation reads.
//
// Published instants have milliseconds, so vectors with a finer instant are left out.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { asPublished } from './golden-inputs.mjs';

const read = (folder, name) => readFileSync(join(folder, `${name}.jsonl`), 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
const points = (milli) => (milli === null || milli === undefined ? null : milli / 1_000);
const instant = (micros) => (micros === null ? null : new Date(micros / 1_000).toISOString());
const isShown = (micros) => micros === null || micros % 1_000 === 0;

/** The inputs that a vector's facts give, by their names in the provenance. */
function expectedInputs(out, now) {
  const value = (fact) => (fact === null ? null : fact[0]);
  const days = (date) => Math.floor((now - Date.parse(date)) / 86_400_000);
  return {
    version_age_days: out.version_first_seen && days(out.version_first_seen[0]),
    audits: out.audits && out.audits[0],
    newest_audit_days: out.audits && days(out.audits[1]),
    bounty_usd: value(out.bounty_usd),
    strategy: value(out.strategy),
    protocol_tvl_usd: value(out.protocol_tvl_usd),
    dependencies: out.dependencies && out.dependencies.length,
    timelock_seconds: value(out.timelock),
    signers: value(out.signers),
    exit: value(out.exit),
    source: value(out.source),
  };
}

const QUESTION = { version_age_days: 'version_first_seen', audits: 'audit', newest_audit_days: 'audit', timelock_seconds: 'timelock' };

/** Derives the inputs of every vector about a protocol; returns their number and the differences. */
function goldenProtocols({ answered }, folder) {
  const vectors = ['protocol_answers', 'dependencies'].flatMap((name) => read(folder, name))
    .filter(({ of, in: { answers } }) => of === 'protocol' && answers.every(([, , at, withdrawn]) => isShown(at) && isShown(withdrawn)));
  const differences = vectors.flatMap(({ name, in: { now: micros, answers: rows }, out }) => {
    const now = micros / 1_000;
    const answers = rows.map(([input, value, at, withdrawn]) => ({
      input, value, as_of: instant(at), withdrawn_at: instant(withdrawn), source_kind: answered.questions[input].evidence[0],
    }));
    const lapsed = answered.lapsed(answers, now);
    if (!isDeepStrictEqual(lapsed && new Set(lapsed), out.lapsed_dependencies && new Set(out.lapsed_dependencies))) {
      return [`${name}: lapsed dependencies ${JSON.stringify(out.lapsed_dependencies)} are golden, derived ${JSON.stringify(lapsed)}`];
    }
    return Object.entries(expectedInputs(out, now)).flatMap(([input, expected]) => {
      const found = answered.input(input, QUESTION[input] ?? input, answers, now);
      const same = expected === null ? found.length === 0 : found.length > 0 && found.every((one) => isDeepStrictEqual(one, expected));
      return same ? [] : [`${name} ${input}: ${JSON.stringify(expected)} is golden, derived ${JSON.stringify(found)}`];
    });
  });
  return { checked: vectors.length, differences };
}

/** Recomputes every vector of a vault whose shares are unknown. */
function goldenShares(thirdParty, folder) {
  const vectors = read(folder, 'shares_unknown').filter(({ of }) => of === 'vault');
  const differences = vectors.flatMap(({ name, in: input, out }) => {
    const found = thirdParty.recompute(asPublished(input));
    const expected = {
      vectors: Object.fromEntries(['asset', 'platform', 'control', 'history'].map((key) => [key, points(out.vectors[key])])),
      caps: out.caps.map(([id, milli, binding]) => ({ id, value: points(milli), binding })),
      raw_score: points(out.score),
    };
    return Object.keys(expected)
      .filter((key) => !isDeepStrictEqual(found[key], expected[key]))
      .map((key) => `${name} ${key}: ${JSON.stringify(expected[key])} is golden, recomputed ${JSON.stringify(found[key])}`);
  });
  return { checked: vectors.length, differences };
}

/** The asset detail that a vector describes, with the dimensions as published. */
function asDetail(input, out) {
  const answers = Object.entries(input.answers).flatMap(([dimension, rows]) => rows.map(([question, answer, at, kind, withdrawn]) => (
    { dimension, question, answer, as_of: instant(at), source_kind: kind, withdrawn_at: instant(withdrawn) })));
  return {
    slug: input.category,
    category: input.category,
    dimensions: Object.fromEntries(Object.entries(out.values).map(([name, milli]) => [name, points(milli)])),
    answers: { answers },
    risk_score_breakdown: { flags: [], overlays_applied: [], dimension_basis: out.bases },
    risk_overlays: [],
    underlying_asset: 'underlying' in input ? { risk_score: points(input.underlying) } : null,
    dependency_chain: (input.dependencies ?? []).map(([slug, milli]) => ({ slug, risk_score: points(milli) })),
    chain_overlay: null,
    review_status: input.review_status,
    hard_fail_flags: input.hard_fail_flags ?? [],
  };
}

/** Recomputes the score, the range and the limit of the supply of every vector about an asset with answers. */
function goldenAssetEvidence(assetParty, folder) {
  const vectors = ['supply', 'asset_ranges'].flatMap((name) => read(folder, name))
    .filter(({ in: { answers } }) => Object.values(answers).flat().every(([, , at, , withdrawn]) => isShown(at) && isShown(withdrawn)));
  const differences = vectors.flatMap(({ name, in: input, out }) => {
    const answered = assetParty.answered(asDetail(input, out), input.now / 1_000);
    const olderThan = assetParty.olderThan(input.age_seconds ?? 0, input.cadence_seconds ?? 1);
    const score = (one) => assetParty.recompute(one, olderThan)?.score ?? null;
    const overlays = assetParty.recompute(answered.now, olderThan)?.overlays_applied ?? [];
    const found = {
      dimensions: answered.now.dimensions,
      overlays: overlays.map(({ id, kind, before, after }) => [id, kind, before, after]),
      score: score(answered.now), lowest: score(answered.lowest), highest: score(answered.highest),
    };
    const isScored = Object.keys(out.values).length > 0;
    const expected = {
      dimensions: Object.fromEntries(Object.entries(out.values).map(([dimension, milli]) => [dimension, points(milli)])),
      overlays: out.outcome.overlays.map(([id, kind, before, after]) => [id, kind, before / 100_000, after / 100_000]),
      score: points(out.outcome.score), lowest: isScored ? points(out.lowest) : null, highest: isScored ? points(out.highest) : null,
    };
    return Object.keys(expected)
      .filter((key) => !isDeepStrictEqual(found[key], expected[key]))
      .map((key) => `${name} ${key}: ${JSON.stringify(expected[key])} is golden, recomputed ${JSON.stringify(found[key])}`);
  });
  return { checked: vectors.length, differences };
}

/** Recomputes every vector in the folder, by subject; returns the number of vectors and the differences of each. */
export const goldenEvidence = (thirdParty, assetParty, folder) =>
  ({ protocols: goldenProtocols(thirdParty, folder), shares: goldenShares(thirdParty, folder), assets: goldenAssetEvidence(assetParty, folder) });
