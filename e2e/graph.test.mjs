// The graph routes through the real Worker: the fields of every response, access, and the responses without a graph.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { expectError, expectRetry, expectShape } from './expect.mjs';
import {
  BreachPreview,
  CheckResult,
  IncidentExposure,
  IncidentSummary,
  LookedThrough,
  Manifest,
  Verification,
} from './graph-fields.mjs';
import { mint } from './operator.mjs';
import { ended, serve, up } from './private-stack.mjs';
import { sharedStack, until } from './stack.mjs';

const UNKNOWN = '1:0x00000000000000000000000000000000000000ff';
const UNKNOWN_ID = '0'.repeat(64);
/** Targets that need a key, and targets that do not. */
const KEYED = ['look-through', 'incident-exposure'].map((name) => `/v1/graph/${name}?vaults=${UNKNOWN}`);
KEYED.push('/v1/graph/incident-exposure/summary', '/v1/graph/breach');
const PUBLIC = [`/v1/graph/snapshot/${UNKNOWN_ID}`, `/v1/graph/decision/${UNKNOWN_ID}/verify`];
const portfolio = (more = {}) => ({ portfolioRef: 'book', positions: [{ vaultKey: UNKNOWN, amountUsd: 1 }], ...more });

/** A decimal dollar amount in millionths. */
const micros = (text) => {
  const [whole, fraction = ''] = text.split('.');
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0'));
};
const sum = (list) => list.reduce((total, value) => total + value, 0);

describe('the graph of the demo', () => {
  const stack = sharedStack();
  let holder;
  let keys;
  const getGraph = (target) => stack.get(`/v1/graph/${target}`, { headers: holder.headers });

  before(async () => {
    holder = await mint(stack, { plan: 'decisioning' });
    keys = (await stack.vaults()).map((row) => `${row.chain_id}:${row.address}`);
    await until('the exposure graph is there', 60, async () => (await getGraph('breach')).status === 200);
  });

  test('a look-through resolves vaults into shares that add up to one', async () => {
    const answer = await getGraph(`look-through?vaults=${[...keys.slice(0, 49), UNKNOWN].join(',')}`);
    expectShape(answer, LookedThrough);
    const { results } = answer.json.data;
    assert.equal(Object.keys(results).length, 50);
    assert.equal(results[UNKNOWN], null, 'an unknown vault');
    for (const key of keys.slice(0, 49)) {
      const { vaultKey, assets, unattributed } = results[key];
      assert.equal(vaultKey, key);
      assert.ok(Math.abs(sum([...assets, ...unattributed].map((part) => part.share)) - 1) < 1e-9, key);
    }
    assert.ok(Object.values(results).some((vault) => vault?.assets.length > 0));
  });

  test('missing, malformed or too many vault keys are refused with the parameter name', async () => {
    for (const route of ['look-through', 'incident-exposure']) {
      for (const [query, code] of [
        ['', 'MISSING_PARAMETER'],
        ['?vaults=1:0x12', 'INVALID_PARAMETER'],
        [`?vaults=${Array(51).fill(UNKNOWN).join(',')}`, 'TOO_MANY_ITEMS'],
      ]) {
        assert.equal(expectError(await getGraph(route + query), 400, code).details[0].name, 'vaults', route + query);
      }
    }
  });

  test('incident exposure is listed by vault, and its summary adds up', async () => {
    const exposure = await getGraph(`incident-exposure?vaults=${[...keys.slice(0, 49), UNKNOWN].join(',')}`);
    expectShape(exposure, IncidentExposure);
    assert.equal(exposure.json.data.results[UNKNOWN], null);
    const summary = await getGraph('incident-exposure/summary');
    expectShape(summary, IncidentSummary);
    const { issuers, issuerCount, totalIncidentExposureUsd } = summary.json.data;
    assert.equal(issuers.length, issuerCount);
    const total = issuers.reduce((all, { incidentExposureUsd }) => all + micros(incidentExposureUsd), 0n);
    assert.equal(total, micros(totalIncidentExposureUsd));
  });

  test('the breach preview repeats its first protocol in the deprecated fields', async () => {
    const answer = await getGraph('breach');
    expectShape(answer, BreachPreview);
    const { protocols, shockPcts, ...top } = answer.json.data;
    assert.ok(protocols.length > 0);
    for (const name of ['observedAt', 'protocolId', 'source', 'chains', 'topMarkets']) assert.deepEqual(top[name], protocols[0][name]);
    for (const { shocks } of protocols) assert.deepEqual(shocks.map((shock) => shock.shockPct), shockPcts);
  });

  test('a check has the whole shape, and its snapshot and decision are public', async () => {
    const checked = await stack.post(
      '/v1/graph/check',
      portfolio({
        positions: keys.slice(0, 20).map((vaultKey, place) => ({ vaultKey, amountUsd: place + 1 })),
        limits: { maxSharePerAsset: 0.05, maxSharePerChain: 1 },
        issue: true,
      }),
      holder.headers,
    );
    expectShape(checked, CheckResult);
    const { snapshotId, decision, exposures, totalUsd, unattributedUsd } = checked.json.data;
    const traced = sum(exposures.asset.map(({ share }) => share));
    assert.ok(traced > 0 && Math.abs(traced + Number(unattributedUsd) / Number(totalUsd) - 1) < 2e-6, `${traced}`);

    const manifest = await stack.get(`/v1/graph/snapshot/${snapshotId}`);
    expectShape(manifest, Manifest);
    assert.equal(manifest.json.data.snapshotId, snapshotId);
    const names = manifest.json.data.publications.map(({ name }) => name);
    assert.deepEqual(Object.keys(manifest.json.data.cursors).toSorted(), names);
    expectError(await stack.get(PUBLIC[0]), 404, 'NOT_FOUND');

    const verified = await stack.get(`/v1/graph/decision/${decision.decisionId}/verify`);
    expectShape(verified, Verification);
    assert.equal(verified.json.data.decision.snapshotId, snapshotId);
    const unknown = await stack.get(PUBLIC[1]);
    expectShape(unknown, Verification);
    assert.equal(unknown.json.data.found, false);
  });

  test('a body with a repeated field or an invalid number is refused with the field name', async () => {
    const text = JSON.stringify(portfolio({ limits: { maxSharePerAsset: 0.5 } }));
    for (const [body, name] of [
      [text.replace('"amountUsd":1', '"amountUsd":1,"amountUsd":2'), 'positions[0].amountUsd'],
      [text.replace('{', '{"portfolioRef":"other",'), 'portfolioRef'],
      [text.replace('0.5', '0.5,"maxSharePerAsset":1'), 'limits.maxSharePerAsset'],
      [text.replace('"amountUsd":1', '"amountUsd":NaN'), 'positions[0].amountUsd'],
      [text.replace('"amountUsd":1', '"amountUsd":-Infinity'), 'positions[0].amountUsd'],
      [text.replace('0.5', '1.00000000000000001'), 'limits.maxSharePerAsset'],
    ]) {
      const error = expectError(await stack.post('/v1/graph/check', body, holder.headers), 400, 'INVALID_BODY');
      assert.deepEqual(error.details.map((detail) => detail.name), [name], body);
    }
  });

  test('needs a decisioning key, except for the public routes', async () => {
    const [data, embedded] = [await mint(stack), await mint(stack, { plan: 'embedded' })];
    for (const target of KEYED) {
      assert.equal(expectError(await stack.get(target), 401, 'UNAUTHORIZED').legacy_code, 'tier_required');
      expectError(await stack.get(target, { headers: data.headers }), 403, 'FORBIDDEN');
      assert.equal((await stack.get(target, { headers: embedded.headers })).status, 200, target);
    }
    expectError(await stack.post('/v1/graph/check', portfolio()), 401, 'UNAUTHORIZED');
    expectError(await stack.post('/v1/graph/check', portfolio(), data.headers), 403, 'FORBIDDEN');
  });
});

describe('without data to build the graph from', () => {
  let stack;
  let headers;

  before(async () => {
    stack = await up('--data', 'none', '--test-clock');
    ({ headers } = await mint(stack, { plan: 'decisioning' }));
  }, { timeout: 400_000 });
  after(() => stack?.stop());

  test('valid requests get 503 with Retry-After, and invalid ones are refused', async () => {
    const answers = await Promise.all([...KEYED, PUBLIC[0]].map((target) => stack.get(target, { headers })));
    answers.push(await stack.post('/v1/graph/check', portfolio(), headers), await stack.get(PUBLIC[0]));
    for (const answer of answers) {
      expectRetry(answer, 503, 'MATERIALIZATION_UNAVAILABLE');
      assert.equal(answer.headers.get('retry-after'), '600');
    }
    expectError(await stack.get('/v1/graph/look-through?vaults=1:0x12', { headers }), 400, 'INVALID_PARAMETER');
    expectError(await stack.post('/v1/graph/check', portfolio({ positions: [] }), headers), 400, 'INVALID_BODY');
    expectShape(await stack.get(PUBLIC[1]), Verification);
  });

  // Last, because it stops the stack's origin.
  test('a service without the graph answers 404 on its routes', async () => {
    process.kill(stack.pids.origin, 'SIGTERM');
    await until('the origin is down', 30, async () => (await stack.get('/ready')).status !== 200);
    const restarted = serve(stack, { RDS_GRAPH: '0' });
    try {
      await until('another origin serves', 60, async () => (await stack.get('/ready')).status === 200);
      for (const target of [...KEYED, ...PUBLIC]) expectError(await stack.get(target, { headers }), 404, 'NOT_FOUND');
      for (const target of PUBLIC) expectError(await stack.get(target), 404, 'NOT_FOUND');
      expectError(await stack.post('/v1/graph/check', portfolio(), headers), 404, 'NOT_FOUND');
    } finally {
      await ended(restarted, 'SIGKILL');
    }
  });
});
