// Every published score can be recomputed from `/v1/methodology` and the vault's detail alone.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { AssetThirdParty } from './asset-score.mjs';
import { goldenEvidence } from './golden-evidence.mjs';
import { asPublished, golden, goldenAssets } from './golden-inputs.mjs';
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
  test('is enough to recompute every scored demo vault, and to find that every unscored one has no score', async () => {
    const details = await Promise.all(
      (await stack.vaults()).map(async ({ address }) => (await stack.ok(`/v1/vault/devnet/${address}?points=1`)).json.data.vault));
    const judged = details.filter((vault) => vault.score_provenance !== null);
    const scored = judged.filter((vault) => vault.score_status === 'scored');
    assert.ok(scored.length >= 50 && judged.length > scored.length, `${scored.length} of ${judged.length}`);
    assert.deepEqual(judged.flatMap((vault) => differences(thirdParty, vault)), []);
    for (const { id, score_provenance: provenance } of judged) assert.equal(provenance.methodology_version, methodology.methodology_version, id);
  });

  test('is enough to reproduce the golden vectors of an independent evaluator, for vaults, assets and answers', () => {
    const folder = join(repository, 'fixtures', 'scoring');
    const assetParty = new AssetThirdParty(methodology);
    const all = [golden(thirdParty, folder), goldenAssets(assetParty, folder), ...Object.values(goldenEvidence(thirdParty, assetParty, folder))];
    for (const { checked, differences: found } of all) {
      assert.ok(checked >= 80, `${checked} vectors`);
      assert.deepEqual(found, []);
    }
  });

  test('determines the score: a changed number in a table changes the score', () => {
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

  test('lists its known weaknesses and the rules for verdicts, lists and baskets', () => {
    assert.ok(methodology.known_weaknesses.length >= 5);
    assert.deepEqual([methodology.check.sure_from_confidence, methodology.check.near_from_share], [0.8, 0.9]);
    assert.deepEqual(methodology.high_confidence, { total_score_from: 7.5, apr_net_from: 0.03, apr_net_to: 0.1 });
    assert.ok(methodology.baskets.steps.length > 3 && methodology.baskets.triggers.includes('hard_fail'));
  });

  test('has an ETag and is revalidated with 304', async () => {
    const answer = await stack.ok('/v1/methodology');
    assert.ok(answer.headers.get('etag'));
    const again = await stack.get('/v1/methodology', { headers: { 'if-none-match': answer.headers.get('etag') } });
    assert.equal(again.status, 304);
  });
});
