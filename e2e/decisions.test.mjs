// Portfolio checks and signed decisions: anyone can verify them with third-party libraries, without calling the service.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { verifyMessage as ethersRecover } from 'ethers';
import { recoverMessageAddress, verifyMessage } from 'viem';
import { expectError, expectStale } from './expect.mjs';
import { mint, verb } from './operator.mjs';
import { ended, serve, up } from './private-stack.mjs';
import { pythonSkipReason, python } from './python.mjs';
import { until } from './stack.mjs';

const VERIFY_FLAGS = ['found', 'envelopeIntact', 'signatureValid', 'signerRecognized', 'signerActiveAtIssuance'];

let stack;
let holder;
let vaults;

before(async () => {
  stack = await up('--data', 'demo', '--test-clock');
  holder = await mint(stack, { plan: 'decisioning' });
  vaults = (await stack.vaults()).map((row) => `${row.chain_id}:${row.address}`);
  await until('the exposure graph is there', 60, async () => (await check(portfolio())).status === 200);
}, { timeout: 400_000 });
after(() => stack?.stop());

/** A portfolio that has not been checked before. */
const portfolio = (more = {}) => ({
  portfolioRef: `Bücher "${randomUUID()}" \u2028 €`,
  positions: [
    { vaultKey: vaults[0], amountUsd: 0.1 },
    { vaultKey: vaults[1], amountUsd: 123456.789 },
    { vaultKey: vaults[0], amountUsd: 0.2 },
  ],
  limits: { maxSharePerCurator: 0.9, maxSharePerChain: 1 },
  ...more,
});
const check = (body, headers = holder.headers) => stack.post('/v1/graph/check', body, headers);
const verify = (id, options) => stack.get(`/v1/graph/decision/${id}/verify`, options);
const flags = (answer) => VERIFY_FLAGS.map((name) => answer.json.data[name]);

/** Runs a check that must succeed; returns its `data`. */
async function checked(body) {
  const answer = await check(body);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  return answer.json.data;
}
const issued = async (more) => (await checked(portfolio({ issue: true, ...more }))).decision;

/** A decimal dollar amount in millionths. */
const micros = (text) => {
  assert.match(text, /^\d+(\.\d{1,6})?$/);
  const [whole, fraction = ''] = text.split('.');
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0'));
};

describe('a check', () => {
  test('reports the exposures of the portfolio, in amounts that add up', async () => {
    const result = await checked(portfolio());
    assert.deepEqual(Object.keys(result).sort(), [
      'builtAt', 'decision', 'exposures', 'findings', 'snapshotId', 'totalUsd', 'unattributedUsd', 'unresolvedVaults', 'verdict',
    ]);
    assert.match(result.snapshotId, /^[0-9a-f]{64}$/);
    assert.equal(result.totalUsd, '123457.089', 'positions in the same vault are added');
    assert.equal(result.decision, null);
    const sum = (dimension) => result.exposures[dimension].reduce((total, { usd }) => total + micros(usd), 0n);
    assert.equal(sum('chain'), micros(result.totalUsd));
    assert.equal(sum('asset') + micros(result.unattributedUsd), micros(result.totalUsd));
    assert.deepEqual(Object.keys(result.exposures).length, 9);
  });

  test('gives the same result for any order of positions, and never a better verdict under a stricter limit', async () => {
    const given = portfolio();
    const [one, other] = [await checked(given), await checked({ ...given, positions: given.positions.toReversed() })];
    assert.deepEqual(one, other);
    const order = ['approve', 'caution', 'reject'];
    let worst = 0;
    for (const limit of [1, 0.9, 0.5, 0.1, 0.001]) {
      const { verdict, findings } = await checked({ ...given, limits: { maxSharePerChain: limit } });
      assert.ok(order.indexOf(verdict) >= worst, `${limit}: ${verdict}`);
      worst = order.indexOf(verdict);
      for (const finding of findings) assert.equal(typeof finding.verified, 'boolean');
    }
    assert.equal(worst, 2, 'the whole portfolio is on one chain');
  });

  test('names unknown vaults, which lead to the verdict caution', async () => {
    const unknown = '1:0x00000000000000000000000000000000000000ff';
    const { unresolvedVaults, verdict } = await checked(portfolio({ positions: [{ vaultKey: unknown, amountUsd: 1 }], limits: {} }));
    assert.deepEqual([unresolvedVaults, verdict], [[unknown], 'caution']);
  });

  const good = { vaultKey: '1:0x00000000000000000000000000000000000000ff', amountUsd: 1 };
  for (const [what, change, name, code = 'INVALID_BODY'] of [
    ['a bad vault key', { positions: [{ ...good, vaultKey: '1:0x12' }] }, 'positions[0].vaultKey'],
    ['an amount below zero', { positions: [good, { ...good, amountUsd: -1 }] }, 'positions[1].amountUsd'],
    ['an amount of 16 digits', { positions: [{ ...good, amountUsd: 1e15 }] }, 'positions[0].amountUsd'],
    ['an amount that is not a number', { positions: [{ ...good, amountUsd: Number.NaN }] }, 'positions[0].amountUsd'],
    ['a limit of 0', { limits: { maxSharePerAsset: 0 } }, 'limits.maxSharePerAsset'],
    ['a limit above 1', { limits: { maxSharePerBridge: 1.1 } }, 'limits.maxSharePerBridge'],
    ['an unknown limit', { limits: { maxShare: 0.5 } }, 'limits.maxShare'],
    ['no positions', { positions: [] }, 'positions'],
    ['1001 positions', { positions: Array(1001).fill(good) }, 'positions', 'TOO_MANY_ITEMS'],
  ]) {
    test(`refuses ${what} and names the field`, async () => {
      const error = expectError(await check(portfolio(change)), 400, code);
      assert.deepEqual(error.details.map((detail) => detail.name), [name]);
    });
  }

  test('an amount too large for a float is refused by its field name', async () => {
    const text = JSON.stringify(portfolio()).replace('123456.789', '1e999');
    assert.equal(expectError(await check(text), 400, 'INVALID_BODY').details[0].name, 'positions[1].amountUsd');
  });

  test('is for decisioning keys', async () => {
    expectError(await check(portfolio(), {}), 401, 'UNAUTHORIZED');
    expectError(await check(portfolio(), (await mint(stack)).headers), 403, 'FORBIDDEN');
  });
});

describe('a signed decision', () => {
  test('contains all that viem and ethers need to recover its signer', async () => {
    const { decisionId, signerAddress, signature, keyId, inserted } = await issued();
    assert.equal(inserted, true);
    assert.ok(keyId.length > 0);
    assert.equal((await recoverMessageAddress({ message: decisionId, signature })).toLowerCase(), signerAddress);
    assert.equal(await verifyMessage({ address: signerAddress, message: decisionId, signature }), true);
    assert.equal(ethersRecover(decisionId, signature).toLowerCase(), signerAddress);
    const other = decisionId.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
    assert.notEqual(ethersRecover(other, signature).toLowerCase(), signerAddress);
  });

  test('has an id that Python can recompute from the envelope, which is canonical JSON', { skip: pythonSkipReason }, async () => {
    const { decisionId, envelope, signerAddress, keyId } = await issued();
    const script = [
      'import hashlib, json, sys',
      'text = sys.stdin.buffer.read().decode()',
      'again = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False)',
      'assert again == text, again',
      'print(hashlib.sha256(text.encode()).hexdigest())',
    ].join('\n');
    assert.equal(python(script, envelope), decisionId);
    const members = JSON.parse(envelope);
    assert.deepEqual([members.v, members.signerAddress, members.keyId], [1, signerAddress, keyId]);
    assert.deepEqual(members.limits, { maxSharePerChain: 1_000_000, maxSharePerCurator: 900_000 });
    assert.equal(members.methodologyScope, 'graph.check');
  });

  test('is the same for the same check, and does not include the loss scenario', async () => {
    const body = portfolio({ issue: true, loss: { shockPct: 30 } });
    const [first, again] = [await checked(body), await checked({ ...body, loss: 'anything', positions: body.positions.toReversed() })];
    assert.deepEqual(again.decision, { ...first.decision, inserted: false });
    assert.doesNotMatch(first.decision.envelope, /loss|shock/);
    const elsewhere = await mint(stack, { plan: 'decisioning' });
    assert.equal((await check(body, elsewhere.headers)).json.data.decision.inserted, true, 'another organisation has its own');
  });

  test('can be verified at the edge without a key', async () => {
    const { decisionId, signerAddress, keyId, envelope } = await issued();
    const answer = await verify(decisionId);
    assert.deepEqual(flags(answer), [true, true, true, true, true], answer.text);
    const { portfolioRef, snapshotId, verdict, methodologyScope, methodologyVersion, createdAt } = JSON.parse(envelope);
    assert.deepEqual(answer.json.data.decision, {
      id: decisionId, portfolioRef, snapshotId, verdict, methodologyScope, methodologyVersion, signerAddress, keyId, createdAt,
    });
    assert.equal((await verify(decisionId.toUpperCase())).headers.get('x-cache'), 'HIT');
  });

  test('that was never issued is not found, and a malformed id is refused', async () => {
    const answer = await verify('0'.repeat(64));
    assert.deepEqual(flags(answer), [false, false, false, false, false]);
    assert.equal(answer.json.data.decision, null);
    for (const id of ['0'.repeat(63), 'g'.repeat(64), '0x' + '0'.repeat(62)]) {
      assert.equal(expectError(await verify(id), 400, 'INVALID_PARAMETER').details[0].name, 'id');
    }
  });
});

// Last, because these tests retire the stack's signing key and stop its origin.
describe('the signer', () => {
  /** The body and the decision id of a check that is signed after the time of the signer's retirement, so its decision becomes void. */
  const overtaken = {};
  test('a retired key signs no more, and decisions signed after its retirement lose their signer at once', async () => {
    const [{ key_id: keyId }] = await verb(stack, 'signers', 'list');
    const { decisionId } = await issued();
    assert.deepEqual(flags(await verify(decisionId)), [true, true, true, true, true]);
    await stack.advance(3_600);
    const now = (await stack.operate('/clock')).json.now;
    overtaken.body = portfolio({ issue: true });
    const late = (await checked(overtaken.body)).decision;
    overtaken.id = late.decisionId;
    const retired = await verb(stack, 'signers', 'retire', keyId, '--at', now);
    assert.deepEqual([retired.changed, retired.edge], [true, 'acknowledged']);
    assert.deepEqual(flags(await verify(decisionId)), [true, true, true, true, true], 'it was signed before the retirement');
    assert.deepEqual(flags(await verify(late.decisionId)), [true, true, true, true, false]);
    for (const body of [portfolio({ issue: true }), overtaken.body]) {
      assert.equal((await checked(body)).decision, null, 'the check succeeds without a new decision and without the void one');
    }
  });

  test('a decision that was verified before stays verifiable while the origin is down', async () => {
    const origin = stack.pids.origin;
    const another = `0x${'11'.repeat(32)}`;
    process.kill(origin, 'SIGTERM');
    await until('the origin is down', 30, async () => (await stack.get('/ready')).status !== 200);
    const restarted = serve(stack, { RDS_SIGNING_KEY: another });
    let id;
    try {
      await until('another origin serves', 60, async () => (await stack.get('/ready')).status === 200);
      await until('its graph is there', 30, async () => (await check(portfolio())).status === 200);
      assert.equal((await checked(portfolio({ issue: true }))).decision, null, 'its key is not registered yet');
      await verb(stack, 'signers', 'add', '--address', '0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a', '--key-id', 'next', '--at', '2020-01-01');
      const decision = await issued();
      assert.deepEqual([decision.keyId, decision.signerAddress], ['next', '0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a']);
      id = decision.decisionId;
      const reissued = (await checked(overtaken.body)).decision;
      assert.deepEqual([reissued.inserted, reissued.keyId], [true, 'next'], 'a check with a void decision gets a new one');
      assert.deepEqual(flags(await verify(reissued.decisionId)), [true, true, true, true, true]);
      assert.deepEqual(flags(await verify(overtaken.id)), [true, true, true, true, false]);
      assert.deepEqual(flags(await verify(id)), [true, true, true, true, true]);
    } finally {
      await ended(restarted, 'SIGKILL');
    }
    const stale = await until('the cached response is served stale', 120, async () => {
      const answer = await verify(id);
      assert.equal(answer.status, 200, answer.text);
      return answer.headers.get('x-cache') === 'STALE-ERROR' && answer;
    });
    expectStale(stale);
    assert.deepEqual(flags(stale), [true, true, true, true, true]);
  });
});
