// The verifier's package in Node: it accepts signatures of viem and ethers, and refuses some that these libraries accept.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { Wallet } from 'ethers';
import { recoverMessageAddress } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { verify } from '../shared/verifier/build/node.js';

const KEY = `0x${'5a'.repeat(32)}`;
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const account = privateKeyToAccount(KEY);
const address = account.address.toLowerCase();

/** RFC 8785 for the values that are hashed here: strings, integers, lists and objects. */
const canonical = (value) =>
  JSON.stringify(value, (_, part) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
const sha256 = (text) => createHash('sha256').update(text).digest('hex');

const VAULT = '1:0x000000000000000000000000000000000000000a';
const FINDING = {
  limit: 'maxSharePerBridge', dimension: 'bridge', key: 'Brücke "1"', kind: 'advisory', maxShare: 0.3, share: 0.475, usd: '475.000001',
  verifiedUsd: '0', verified: false, confidence: 0.9,
};
const answer = {
  snapshotId: sha256('a snapshot'), builtAt: '2026-11-21T00:00:00.000Z', verdict: 'caution', totalUsd: '999999999999999.999999',
  unresolvedVaults: [], findings: [FINDING], exposures: {}, unattributedUsd: '0',
};
const envelope = canonical({
  v: 1, portfolioRef: 'Bücher €', snapshotId: answer.snapshotId,
  positionsHash: sha256(canonical([{ amountUsd: '999999999999999.999999', vaultKey: VAULT }])),
  limits: { maxSharePerBridge: 300_000 }, verdict: 'caution',
  findingsHash: sha256(canonical({
    findings: [{
      limit: FINDING.limit, dimension: 'bridge', key: FINDING.key, kind: 'advisory', maxSharePpm: 300_000, sharePpm: 475_000,
      usd: FINDING.usd, verifiedUsd: '0', verified: false, confidencePpm: 900_000,
    }],
    unresolvedVaults: [],
  })),
  methodologyScope: 'graph.check', methodologyVersion: 'rds-1.0.0', signerAddress: address, keyId: 'ours', createdAt: '2026-11-21T00:00:00.000Z',
});
const decisionId = sha256(envelope);
const signers = JSON.stringify({ data: [{ address, keyId: 'ours', activatedAt: '2026-01-01T00:00:00.000Z', retiredAt: null }] });
const request = `{"portfolioRef":"Bücher €","positions":[{"vaultKey":"${VAULT}","amountUsd":999999999999999.999999}],"limits":{"maxSharePerBridge":0.3}}`;

const verifySignature = (signature, more = {}) => verify({ decision: JSON.stringify({ decisionId, envelope, signature }), signers, ...more });
const named = (report, outcome) => report.steps.filter((step) => step.outcome === outcome).map(({ name }) => name);
const failedSteps = (report) => {
  assert.equal(report.outcome, 'refuted', report.summary);
  assert.equal(report.decision, null);
  return named(report, 'failed');
};

describe('a decision made by another implementation', () => {
  test('is genuine when viem signed it', async () => {
    const report = verifySignature(await account.signMessage({ message: decisionId }));
    assert.equal(report.outcome, 'genuine', JSON.stringify(report.steps));
    assert.equal(report.decision.id, decisionId);
    assert.deepEqual(report.verification.decision, report.decision);
    assert.deepEqual(named(report, 'unchecked'), ['positions', 'findings', 'snapshot']);
  });

  test('is genuine when ethers signed it', async () => {
    assert.equal(verifySignature(await new Wallet(KEY).signMessage(decisionId)).outcome, 'genuine');
  });

  test('is refuted by a change in the last digit of its request or in a finding', async () => {
    const signature = await account.signMessage({ message: decisionId });
    const decision = { decisionId, signerAddress: address, keyId: 'ours', inserted: true, signature, envelope };
    const whole = JSON.stringify({ data: { ...answer, decision } });
    const report = verify({ decision: whole, signers, request });
    assert.equal(report.outcome, 'genuine', JSON.stringify(report.steps));
    assert.deepEqual(named(report, 'unchecked'), ['snapshot']);
    // As JavaScript numbers both amounts would be equal.
    assert.deepEqual(failedSteps(verify({ decision: whole, signers, request: request.replace('.999999}', '.999998}') })), ['positions']);
    assert.deepEqual(failedSteps(verify({ decision: whole.replace('0.475', '0.4750001'), signers })), ['findings']);
    assert.deepEqual(failedSteps(verify({ decision: whole.replace('"verdict":"caution"', '"verdict":"approve"'), signers })), ['beside']);
  });
});

describe('a signature is refuted', () => {
  test('if another account made it', async () => {
    const stranger = privateKeyToAccount(`0x${'77'.repeat(32)}`);
    assert.deepEqual(failedSteps(verifySignature(await stranger.signMessage({ message: decisionId }))), ['signer']);
  });

  test('if it is the variant with the higher s, which viem accepts', async () => {
    const genuine = await account.signMessage({ message: decisionId });
    const s = (ORDER - BigInt(`0x${genuine.slice(66, 130)}`)).toString(16).padStart(64, '0');
    const twin = `${genuine.slice(0, 66)}${s}${genuine.endsWith('1b') ? '1c' : '1b'}`;
    assert.equal((await recoverMessageAddress({ message: decisionId, signature: twin })).toLowerCase(), address);
    assert.deepEqual(failedSteps(verifySignature(twin)), ['signature']);
  });

  test('if it has another form: v of 0 or 1, 64 bytes, or no 0x', async () => {
    const genuine = await account.signMessage({ message: decisionId });
    assert.deepEqual(failedSteps(verifySignature(`${genuine.slice(0, 130)}${genuine.endsWith('1b') ? '00' : '01'}`)), ['signature']);
    assert.deepEqual(failedSteps(verifySignature(genuine.slice(0, 130))), ['signature']);
    assert.deepEqual(failedSteps(verifySignature(genuine.slice(2))), ['signature']);
  });

  test('if it signs the envelope or the 32 bytes instead of the id as text', async () => {
    assert.deepEqual(failedSteps(verifySignature(await account.signMessage({ message: envelope }))), ['signer']);
    assert.deepEqual(failedSteps(verifySignature(await account.signMessage({ message: { raw: `0x${decisionId}` } }))), ['signer']);
  });
});

describe('the registry', () => {
  const row = (more) => JSON.stringify([{ address, keyId: 'ours', activatedAt: '2026-01-01T00:00:00.000Z', retiredAt: null, ...more }]);
  let signature;

  test('determines who may sign, and when', async () => {
    signature = await account.signMessage({ message: decisionId });
    for (const [more, outcome] of [
      [{}, []],
      [{ retiredAt: '2026-11-21T00:00:00.001Z' }, []],
      [{ retiredAt: '2026-11-21T00:00:00.000Z' }, ['active']],
      [{ activatedAt: '2026-11-21T00:00:00.000Z' }, []],
      [{ activatedAt: '2026-11-21T00:00:00.001Z' }, ['active']],
      [{ keyId: 'theirs' }, ['known']],
      [{ address: `0x${'11'.repeat(20)}` }, ['known']],
    ]) {
      const report = verifySignature(signature, { signers: row(more) });
      assert.deepEqual(named(report, 'failed'), outcome, JSON.stringify(more));
      assert.equal(report.outcome, outcome.length === 0 ? 'genuine' : 'refuted');
    }
  });

  test('is required: without it nothing is proved', () => {
    const report = verifySignature(signature, { signers: undefined });
    assert.deepEqual([report.outcome, report.verification], ['unproven', null]);
  });
});

test('an input without a decision throws an Error with a message', () => {
  assert.throws(() => verify({ decision: 'hello' }), { name: 'Error', message: /not JSON/ });
  assert.throws(() => verify({ decision: '{"data":{"decision":null}}' }), /without a signed decision/);
  assert.throws(() => verify({}), /decision/);
});
