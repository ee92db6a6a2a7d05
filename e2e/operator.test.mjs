// The operator's command line: every subcommand prints JSON, and the API shows its changes.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failing, verb } from './operator.mjs';
import { originEnvironment } from './private-stack.mjs';
import { sharedStack } from './stack.mjs';

const stack = sharedStack();
const json = (...words) => verb(stack, ...words);

/** The list in a subcommand's output, which is either the list itself or an object with a list member. */
const rowsOf = (answer) => (Array.isArray(answer) ? answer : Object.values(answer).find(Array.isArray));

describe('doctor', () => {
  test('finds nothing wrong with a running stack', async () => {
    const checks = rowsOf(await json('doctor'));
    assert.ok(checks.length >= 3);
    for (const check of checks) assert.equal(check.ok, true, JSON.stringify(check));
  });

  test('fails with the reason when the database is unreachable', async () => {
    const environment = { ...originEnvironment(stack), DATABASE_URL: 'postgres://nobody:none@127.0.0.1:1/none' };
    const error = await failing(stack, environment, 'doctor', '--json');
    assert.notEqual(error.code, 0);
    const checks = rowsOf(JSON.parse(error.stdout));
    assert.match(checks.find(({ name }) => name === 'database').detail, /refused/);
  });
});

describe('keys', () => {
  test('minted are printed once, listed without the secret, and revoked for good', async () => {
    const minted = await json('keys', 'mint', '--org', 'e2e', '--plan', 'data');
    assert.match(minted.key, /^pk_live_[0-9a-f]{32}$/);
    const listed = async () => rowsOf(await json('keys', 'list')).find((row) => row.id === minted.id);
    assert.equal((await listed()).is_active, true);
    assert.ok(!JSON.stringify(await json('keys', 'list')).includes(minted.key.slice(-24)), 'the list shows no secret');
    await json('keys', 'revoke', String(minted.id));
    assert.equal((await listed()).is_active, false);
  });

  test('exist in a new stack for every plan', async () => {
    const plans = rowsOf(await json('keys', 'list')).map((row) => row.plan);
    for (const plan of ['data', 'decisioning', 'embedded']) assert.ok(plans.includes(plan), plan);
  });

  test('for an unknown plan are refused', async () => {
    const error = await failing(stack, originEnvironment(stack), 'keys', 'mint', '--org', 'e2e', '--plan', 'gold');
    assert.match(error.stderr, /gold/);
  });

  test('for indices have their own prefix', async () => {
    const minted = await json('index-tokens', 'mint', '--org', 'e2e');
    assert.match(minted.token, /^ix_live_[0-9a-f]{32}$/);
    await json('index-tokens', 'revoke', String(minted.id));
    const row = rowsOf(await json('index-tokens', 'list')).find((candidate) => candidate.id === minted.id);
    assert.equal(row.is_active, false);
  });
});

describe('serve', () => {
  test('names every variable that is missing or wrong, and shows no secret', async () => {
    const environment = { PATH: process.env.PATH, RDS_MASTER_KEY: 'secretsecret', RDS_EDGE_ADDR: 'nowhere' };
    const error = await failing(stack, environment, 'serve');
    const output = error.stdout + error.stderr;
    for (const name of ['DATABASE_URL', 'RDS_ADMIN_TOKEN', 'RDS_EDGE_ASSERTION_KEYS', 'RDS_MASTER_KEY', 'RDS_EDGE_ADDR']) assert.match(output, new RegExp(name));
    assert.ok(!output.includes('secretsecret'));
  });
});

describe('score run', () => {
  test('reports its result, and a second run changes nothing that is published', async () => {
    const published = async () => (await stack.vaults()).map((row) => [row.id, row.total_score, row.score_updated_at]);
    await json('score', 'run');
    const before = await published();
    const second = await json('score', 'run');
    assert.ok(second.score_run_id.length > 0);
    assert.ok(second.vaults >= before.length);
    assert.equal(second.score_changes, 0);
    assert.deepEqual(await published(), before);
  });
});
