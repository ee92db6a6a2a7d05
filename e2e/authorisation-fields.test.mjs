// Responses with extra fields for callers with a key: callers without a key get exactly the other fields, and callers with and without a
// key never share a cached response.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { callers } from './authorisation/callers.mjs';
import { probe } from './authorisation/probe.mjs';
import { ANSWERED, expectVerdict, verdict } from './authorisation/rule.mjs';
import { committed, operations, target } from './openapi/document.mjs';
import { Plan } from './openapi/plan.mjs';
import { Stack, sharedStack } from './stack.mjs';

const stack = sharedStack();
const all = operations(committed());
/** Fields that change with time alone. */
const TIME_FIELDS = /^(timestamp|generated_at|verified_at|verifiedAt|freshness_|age_|.*_age_|.*_seconds$|.*_hours$|status$)/;

let cast;
let plan;
let found;

const ask = (name, asked) => probe(stack.edge, { target: asked, headers: cast.named[name].headers });

before(async () => {
  cast = await callers(stack);
  plan = new Plan(new Stack({ ...stack, keys: { ...stack.keys, decisioning: cast.decisioning.key } }), 'https://127.0.0.1:8443/fields');
  const rows = async (list) => (await ask('a data key', list)).json.data;
  found = { assets: (await rows('/v1/assets/enriched?limit=100')).filter(({ address }) => address), products: await rows('/v1/rwa?limit=100') };
});

/** The target of each operation for the order of callers number `at`. Each order has its own target and thus no cached response yet. */
const MORE_WITH_A_KEY = {
  AssetList: (at) => `/v1/assets/enriched?limit=${51 + at}&include_quality=true`,
  RwaList: (at) => `/v1/rwa?limit=${51 + at}`,
  AssetDetail: (at) => `/v1/assets/${found.assets.at(-1 - at).chain_id}/${found.assets.at(-1 - at).address}`,
  RwaById: (at) => `/v1/rwa/${found.products.at(-1 - at).asset_id}`,
};
const WITHOUT = ['nobody', 'a page of ours', "a stranger's page", 'one who claims to be the edge'];
const WITH = ['a data key', 'a shared data key', 'an embedded key', "another organisation's decisioning key"];
const BAD = ['a revoked key', 'a key that nobody has', 'an index token'];

describe('fields that need a key', () => {
  const orders = { 'first requested without one': [...WITHOUT, ...BAD, ...WITH], 'first requested with one': [...WITH, ...BAD, ...WITHOUT] };
  for (const [id, address] of Object.entries(MORE_WITH_A_KEY)) {
    for (const [at, [order, names]] of Object.entries(orders).entries()) {
      test(`of ${id} are withheld from callers without one, ${order}`, async () => {
        const answers = new Map();
        // Twice, so that the second requests can be served from the cache.
        for (const name of [...names, ...names]) {
          const answer = await ask(name, address(at));
          if (BAD.includes(name)) expectVerdict(answer, verdict({ operation: { 'x-access': 'public' } }, cast.named[name]));
          else {
            assert.equal(answer.status, 200, answer.text);
            answers.set(name, answer);
          }
        }
        const [open, full] = [WITHOUT, WITH].map((group) => group.map((name) => answers.get(name)));
        for (const answer of open) assert.match(answer.headers.get('cache-control'), /^public/);
        for (const answer of full) assert.match(answer.headers.get('cache-control'), /^private/);
        for (const answer of [...open, ...full]) assert.match(answer.headers.get('vary'), /Authorization/);
        for (const group of [open, full]) for (const answer of group) assert.deepEqual(settled(answer.json), settled(group[0].json));
        const rows = (answer) => [answer.json.data].flat();
        rows(full[0]).forEach((row, number) => expectWithheld(rows(open[0])[number], row));
        // The two variants have different ETags, so neither group gets a 304 for the other's variant.
        for (const [name, other] of [['nobody', full[0]], ['a data key', open[0]]]) {
          const again = await probe(stack.edge, { target: address(at), headers: { ...cast.named[name].headers, 'if-none-match': other.headers.get('etag') } });
          assert.equal(again.status, 200, name);
        }
      });
    }
  }

  /** Expects that the keyless row is the keyed row without exactly the fields listed in `restricted_fields`. */
  function expectWithheld(open, full) {
    assert.deepEqual(full.restricted_fields, []);
    assert.ok(open.restricted_fields.length > 0);
    for (const name of Object.keys(full).filter((name) => name !== 'restricted_fields')) {
      if (!open.restricted_fields.includes(name)) assert.deepEqual(settled(open[name]), settled(full[name]), name);
      else assert.ok(isEmpty(open[name]), `${name}: ${JSON.stringify(open[name])}`);
    }
    assert.deepEqual(Object.keys(open), Object.keys(full));
    assert.ok(open.restricted_fields.some((name) => !isEmpty(full[name])) || full.risk_score === null, 'at least one withheld field has a value');
  }

  const isEmpty = (value) => value === null || (typeof value === 'object' && Object.values(value).every(isEmpty));
});

test('every other public response is the same with and without a key', { timeout: 120_000 }, async () => {
  for (const one of all.filter(({ id, method, operation }) => method === 'GET' && operation['x-access'] === 'public' && !(id in MORE_WITH_A_KEY))) {
    const values = await plan.request(one.id);
    const asked = target(committed(), one, values);
    const [open, full] = [await ask('nobody', asked), await ask('an embedded key', asked)];
    expectVerdict(open, ANSWERED);
    if (open.json) assert.deepEqual(settled(open.json), settled(full.json), one.id);
    else assert.equal(open.text, full.text, one.id);
  }
});

/** A JSON value without the fields that change with time. */
function settled(value) {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(settled);
  return Object.fromEntries(Object.entries(value).filter(([name, one]) => !TIME_FIELDS.test(name) || typeof one === 'object').map(([name, one]) => [name, settled(one)]));
}
