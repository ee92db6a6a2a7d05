// Anybody can make every published score again, out of /v1/methodology and the vault's detail alone.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { repository } from './private-stack.mjs';
import { ThirdParty, differences } from './recompute.mjs';
import { sharedStack } from './stack.mjs';

const stack = sharedStack();
let methodology;
let thirdParty;

before(async () => {
  methodology = (await stack.ok('/v1/methodology')).json.data;
  thirdParty = new ThirdParty(methodology);
});

describe('the methodology', () => {
  test('makes every scored vault of the demo again, and says of every unscored one that it has no score', async () => {
    const details = await Promise.all(
      (await stack.vaults()).map(async ({ address }) => (await stack.ok(`/v1/vault/devnet/${address}?points=1`)).json.data.vault));
    const judged = details.filter((vault) => vault.score_provenance !== null);
    const scored = judged.filter((vault) => vault.score_status === 'scored');
    assert.ok(scored.length >= 50 && judged.length > scored.length, `${scored.length} of ${judged.length}`);
    assert.deepEqual(judged.flatMap((vault) => differences(thirdParty, vault)), []);
    for (const { id, score_provenance: provenance } of judged) assert.equal(provenance.methodology_version, methodology.methodology_version, id);
  });

  test('makes the golden vectors of an independent evaluator again, which between them read every table', () => {
    const lines = ['vaults', 'random_vaults'].flatMap((name) =>
      readFileSync(join(repository, 'fixtures', 'scoring', `${name}.jsonl`), 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line)));
    assert.ok(lines.length > 100);
    for (const { name, in: input, out } of lines) {
      const found = thirdParty.recompute(asPublished(input));
      const points = (milli) => (milli === null ? null : milli / 1_000);
      assert.deepEqual(found.vectors, Object.fromEntries(Object.entries(out.vectors).map(([key, milli]) => [key, points(milli)])), name);
      assert.deepEqual(found.caps, out.caps.map(([id, milli, binding]) => ({ id, value: points(milli), binding })), name);
      assert.deepEqual([found.raw_score, found.tier], [points(out.score), out.tier], name);
      assert.equal(found.weighted_sum, out.weighted_sum === null ? null : out.weighted_sum / 100_000, name);
    }
  });

  test('holds no number that the third party does not read: another one makes another score', () => {
    const input = asPublished({
      asset_mode: 'lending', deposit_score: 9_000, exposures: [],
      platform: { version_age_days: 1_300, audits: 6, newest_audit_days: 200, bounty_usd: 0, strategy: 'lending_pool', protocol_tvl_usd: 0, worst_dependency: 'none', dependencies: 0 },
      control: { timelock: 86_400, signers: [3, 5], exit: 'instant', source: 'verified' },
      history: { vault_age_days: 900, incidents: [], drawdown_bp: 0 },
      tvl_usd: 5_000_000,
    });
    const before = thirdParty.recompute(input).raw_score;
    const changed = structuredClone(methodology);
    changed.vault.control.timelock.steps.find((step) => step.from_seconds === 86_400).counts -= 1;
    assert.ok(new ThirdParty(changed).recompute(input).raw_score < before);
  });

  test('is kept, and recognised', async () => {
    const answer = await stack.ok('/v1/methodology');
    assert.ok(answer.headers.get('etag'));
    const again = await stack.get('/v1/methodology', { headers: { 'if-none-match': answer.headers.get('etag') } });
    assert.equal(again.status, 304);
  });
});

/** An evaluator's input in the form in which a detail publishes it. */
function asPublished(input) {
  const given = (value) => ({ value: value ?? null, source: null, observed_at: null });
  const points = (milli) => (milli === null || milli === undefined ? null : milli / 1_000);
  const part = (units, scale) => (units === null || units === undefined ? null : units / scale);
  const { platform, control, history } = input;
  const signers = Array.isArray(control.signers) ? { threshold: control.signers[0], owners: control.signers[1] } : control.signers;
  return {
    asset: {
      asset_mode: input.asset_mode,
      deposit_score: given(points(input.deposit_score)),
      deposit_hard_fail: given(input.deposit_hard_fail ?? false),
      exposures_status: given(input.exposures_status ?? 'observed'),
      exposures: (input.exposures ?? []).map((one) => ({
        id: one.id, share: one.share_ppm / 1_000_000, score: points(one.score), hard_fail_cap: points(one.hard_fail_cap),
        oracle: one.oracle ?? 'none', lltv: part(one.lltv_bp, 10_000), same_peg: one.same_peg ?? false,
      })),
    },
    platform: Object.fromEntries(
      ['version_age_days', 'audits', 'newest_audit_days', 'bounty_usd', 'strategy', 'protocol_tvl_usd', 'worst_dependency', 'dependencies']
        .map((name) => [name, given(platform?.[name] ?? { worst_dependency: 'unknown', dependencies: 0 }[name])])),
    control: { timelock_seconds: given(control.timelock), signers: given(signers), exit: given(control.exit), source: given(control.source) },
    history: {
      vault_age_days: given(history.vault_age_days),
      incidents: history.incidents ?? [],
      drawdown: given(part(history.drawdown_bp, 10_000)),
      high_util_72h: given(history.high_util_72h ?? false),
      tvl_halved_7d: given(history.tvl_halved_7d ?? false),
    },
    caps: {
      tvl_usd: given(input.tvl_usd),
      utilization: given(part(input.utilization_ppm, 1_000_000)),
      bad_debt: given(part(input.bad_debt_ppm, 1_000_000)),
      needs_risk_review: given(input.needs_risk_review ?? false),
    },
  };
}
