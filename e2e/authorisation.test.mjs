// The authorisation matrix: every operation of the table, asked by every kind of caller at every door.
//
// What must come back follows from the table's access alone (`authorisation/rule.mjs`), so a new route is in here by itself.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { callers } from './authorisation/callers.mjs';
import { EDGE, forgeries, signed } from './authorisation/edge-link.mjs';
import { probe } from './authorisation/probe.mjs';
import { ANSWERED, expectVerdict, isOwned, verdict } from './authorisation/rule.mjs';
import { expectError } from './expect.mjs';
import { committed, operations, target } from './openapi/document.mjs';
import { Plan } from './openapi/plan.mjs';
import { bearer } from './operator.mjs';
import { originEnvironment } from './private-stack.mjs';
import { OURS, Stack, sharedStack, until } from './stack.mjs';

const stack = sharedStack();
const document = committed();
const all = operations(document);
/** The demo's webhooks go there, where nobody listens. */
const NOWHERE = 'https://127.0.0.1:8443/authorisation';
/** What the origin's relay door answers; every other path is unknown there, whoever asks. */
const AT_THE_RELAY = ['EventStream', 'Health', 'Status', 'OpenApi', 'Ready', 'Docs', 'DocsFile'];
/** Every method that a client might try. */
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

let cast;
/** Requests of the two organisations: what they ask for exists, and is their own. */
let plans;
let assertionKey;
/** The signed caller of a key, as the edge names it to the origin. */
let principals;

before(async () => {
  cast = await callers(stack);
  const of = (key) => new Plan(new Stack({ ...stack, keys: { ...stack.keys, decisioning: key } }), NOWHERE);
  plans = { owner: of(cast.decisioning.key), other: of(cast.named["another organisation's decisioning key"].key) };
  [assertionKey] = originEnvironment(stack).RDS_EDGE_ASSERTION_KEYS.split(',');
  principals = await organisationNumbers(Object.values(cast.named).filter(({ kind }) => kind === 'key'));
  await until('the exposure graph is there', 60, async () => (await probe(stack.edge, { target: '/v1/graph/breach', headers: cast.decisioning.headers })).status === 200);
});

after(async () => {
  for (const { headers } of Object.values(cast.named).filter(({ plan }) => plan === 'decisioning')) {
    for (const base of ['/v1/webhooks', '/v1/baskets/webhooks']) {
      const { json } = await probe(stack.edge, { target: base, headers });
      for (const { id, basket_id: basket } of json.data) {
        await probe(stack.edge, { method: 'DELETE', target: basket ? `/v1/baskets/${basket}/webhooks/${id}` : `${base}/${id}`, headers });
      }
    }
  }
});

/** The organisations' numbers stand in no answer; the origin is told them by the edge alone. */
async function organisationNumbers(keys) {
  const client = new pg.Client({ connectionString: stack.database_url });
  await client.connect();
  try {
    const { rows } = await client.query('select id::int, org_id::int from api_key where id = any($1)', [keys.map(({ id }) => id)]);
    return new Map(rows.map(({ id, org_id }) => [id, org_id]));
  } finally {
    await client.end();
  }
}

/** A request for an operation, as the plan has it for that caller's own organisation. */
async function request(one, plan = plans.owner) {
  const values = (await plan.request(one.id)) ?? {};
  return { method: one.method, target: target(document, one, values), body: values.body && JSON.stringify(values.body) };
}

/** Whether a success leaves nothing to ask for again. */
const isSpent = (one) => one.method === 'DELETE';

describe('at the edge', () => {
  for (const one of all) {
    test(`${one.id} (${one.operation['x-access']}) is for whom the table says, whoever asked before`, { timeout: 120_000 }, async () => {
      const kept = await request(one);
      const there = Object.entries(cast.named);
      // Refused first and then let in, then the other way round: no copy and no memory of one caller serves another.
      for (const [name, caller] of [...there, ...there.toReversed()]) {
        const expected = verdict(one, caller, cast.owner);
        const asked = expected === ANSWERED && isSpent(one) ? await request(one) : kept;
        const answer = await probe(stack.edge, { ...asked, headers: caller.headers });
        await told(name, () => expectVerdict(answer, expected));
        if (one.method !== 'GET') continue;
        const head = await probe(stack.edge, { ...asked, method: 'HEAD', headers: caller.headers });
        await told(`HEAD of ${name}`, () => assert.deepEqual([head.status, head.text], [expected.status, '']));
      }
      if (isOwned(one) && !isSpent(one)) await told('whose it is, at the end', async () => expectVerdict(await probe(stack.edge, { ...kept, headers: cast.decisioning.headers }), ANSWERED));
    });
  }

  test('a method that a path does not have says so to everybody alike', async () => {
    for (const [path, item] of Object.entries(document.paths)) {
      const filled = path.replace('/{id}', '/1').replaceAll(/\{\w+\}/g, 'x');
      for (const method of METHODS.filter((method) => !(method.toLowerCase() in item))) {
        const answers = await Promise.all(Object.values(cast.named).map(({ headers }) => probe(stack.edge, { method, target: filled, headers })));
        for (const answer of answers) expectError(answer, 405, 'METHOD_NOT_ALLOWED');
        assert.equal(new Set(answers.map(({ json, headers }) => `${json.error.message} ${headers.get('allow')}`)).size, 1, `${method} ${path}`);
      }
    }
  });

  test('what edge and origin say to each other is unknown, however it is signed', async () => {
    const answers = [await probe(stack.edge, { target: '/v1/nope' })];
    const news = JSON.stringify({ versions: 'vaults=9007199254740991' });
    for (const path of ['/__origin/tags', '/__origin/keys', '/__edge/keys', '/__edge/usage']) {
      const asked = { method: 'POST', target: path, body: news };
      const elsewhere = signed(assertionKey, { ...asked, target: `${path}/` }, '{"kind":"origin"}');
      const { 'signed as the origin': good, ...false_ } = forgeries(assertionKey, asked, principal('an embedded key'), cast.named['an embedded key'].headers);
      assert.ok(good);
      for (const headers of [...Object.values(false_), elsewhere, signed(assertionKey, asked, EDGE), ...Object.values(cast.named).map((caller) => caller.headers)]) {
        answers.push(await probe(stack.edge, { ...asked, headers }));
      }
    }
    for (const answer of answers) expectError(answer, 404, 'NOT_FOUND');
    assert.equal(new Set(answers.map(({ json }) => json.error.message)).size, 1);
  });
});

describe("what is another organisation's", () => {
  for (const one of all.filter(isOwned)) {
    test(`cannot be told from what is not there: ${one.id}`, async () => {
      const theirs = await request(one);
      const [, number] = theirs.target.match(/webhooks\/(\d+)/);
      const nowhere = { ...theirs, target: theirs.target.replace(`webhooks/${number}`, `webhooks/${Number(number) + 1_000_000}`) };
      const { headers } = cast.named["another organisation's decisioning key"];
      for (const query of ['', '?from=2026-01-01T00:00:00Z', '?from=never&limit=0']) {
        const [real, imagined] = [theirs, nowhere].map((asked) => probe(stack.edge, { ...asked, target: asked.target + query, headers }));
        assert.deepEqual(seen(await real), seen(await imagined), query);
      }
    });
  }

  /** All that a caller sees of an answer, but for what is another one every time. */
  function seen({ status, headers, text, json }) {
    const volatile = /^(date|x-request-id|x-ratelimit-.*)$/;
    const told = text.replaceAll(json.error.request_id, '');
    return { status, told, headers: [...headers].filter(([name]) => !volatile.test(name)) };
  }

  test('is in no list, and takes nothing away: not a name, not an address, not a repeated creation', async () => {
    const [ours, theirs] = [cast.decisioning, cast.named["another organisation's decisioning key"]];
    const creation = { method: 'POST', body: JSON.stringify({ url: `${NOWHERE}/same`, families: ['event.published'] }) };
    for (const base of ['/v1/webhooks', '/v1/baskets/prime-vaults/webhooks']) {
      const name = { 'idempotency-key': randomUUID() };
      const body = base === '/v1/webhooks' ? creation.body : JSON.stringify({ url: `${NOWHERE}/same` });
      const [first, second] = [ours, theirs].map(({ headers }) => probe(stack.edge, { method: 'POST', target: base, body, headers: { ...headers, ...name } }));
      const made = [(await first).json.data, (await second).json.data];
      assert.ok(made[0].id !== made[1].id && made[0].secret !== made[1].secret);
      for (const [at, { headers }] of [ours, theirs].entries()) {
        for (const list of new Set([base, base.replace('/prime-vaults', '')])) {
          const ids = (await probe(stack.edge, { target: list, headers })).json.data.map(({ id }) => id);
          assert.deepEqual(made.map(({ id }) => ids.includes(id)), [at === 0, at === 1], list);
        }
      }
    }
  });

  test('is not counted: usage is of the key that asks', async () => {
    const me = async (name) => (await probe(stack.edge, { target: '/v1/me', headers: cast.named[name].headers })).json.data;
    const [ours, theirs] = [await me('a decisioning key'), await me("another organisation's decisioning key")];
    assert.ok(!JSON.stringify(theirs).includes(cast.owner) && !JSON.stringify(ours).includes(cast.other));
    assert.ok(JSON.stringify(ours).includes(cast.owner));
  });
});

/** The signed caller for one of the cast, as the edge writes it. */
function principal(name) {
  const { kind, id, plan, headers } = cast.named[name];
  if (kind === 'key') return JSON.stringify({ kind: 'key', id, org_id: principals.get(id), plan });
  if (kind === 'token') return JSON.stringify({ kind: 'index_token', id });
  return JSON.stringify(headers.origin === OURS ? { kind: 'first_party', origin: OURS } : { kind: 'anonymous' });
}

/** Of the cast those whom the edge would vouch for. */
const VOUCHED = [
  'nobody', 'a page of ours', 'an index token', 'a data key', 'a decisioning key', 'an embedded key', "another organisation's decisioning key",
];

describe("at the origin's edge door", () => {
  for (const one of all) {
    test(`${one.id} is for whom the edge vouches for, once, and for nobody else`, { timeout: 120_000 }, async () => {
      const kept = await request(one);
      for (const name of VOUCHED) {
        const caller = cast.named[name];
        const expected = verdict(one, caller, cast.owner);
        const asked = expected === ANSWERED && isSpent(one) ? await request(one) : kept;
        // A credential beside the edge's word says nothing here.
        const headers = { ...cast.named['an embedded key'].headers, ...signed(assertionKey, asked, principal(name)) };
        const answer = await probe(stack.origin_edge, { ...asked, headers });
        await told(name, () => vouched(answer, expected));
        await told(`${name}, a second time`, async () => stranger(await probe(stack.origin_edge, { ...asked, headers })));
      }
      const embedded = cast.named['an embedded key'].headers;
      for (const [name, headers] of Object.entries(forgeries(assertionKey, kept, principal('an embedded key'), embedded))) {
        await told(name, async () => stranger(await probe(stack.origin_edge, { ...kept, headers })));
      }
      const itself = await probe(stack.origin_edge, { ...kept, headers: signed(assertionKey, kept, EDGE) });
      expectError(itself, 404, 'NOT_FOUND');
      if (isOwned(one)) assert.equal((await probe(stack.edge, { ...kept, headers: cast.decisioning.headers })).status, 200, 'it is still there');
    });
  }

  test('nobody whom the edge vouches for speaks as the edge', async () => {
    for (const path of ['/__edge/keys', '/__edge/usage']) {
      const asked = { method: 'POST', target: path, body: '{}' };
      for (const name of VOUCHED) {
        expectError(await probe(stack.origin_edge, { ...asked, headers: signed(assertionKey, asked, principal(name)) }), 404, 'NOT_FOUND');
      }
      for (const headers of Object.values(forgeries(assertionKey, asked, EDGE, cast.named['an embedded key'].headers))) {
        stranger(await probe(stack.origin_edge, { ...asked, headers }));
      }
    }
  });

  /** The one refusal for whoever is not the edge. */
  function stranger(answer) {
    assert.equal(expectError(answer, 401, 'UNAUTHORIZED').message, 'only the edge may call this listener');
  }

  /** As at the edge, but that this door has no caller to whom it would say how to send a credential. */
  function vouched(answer, { status, code, legacy }) {
    assert.equal(answer.status, status, answer.text.slice(0, 300));
    if (status !== 200) assert.deepEqual([answer.json.error.code, answer.json.error.legacy_code], [code, legacy]);
  }
});

describe("at the relay's door", () => {
  for (const one of all) {
    const isThere = AT_THE_RELAY.includes(one.id);
    test(`${one.id} is ${isThere ? 'for whom the table says' : 'unknown to everybody'}`, async () => {
      const kept = await request(one);
      for (const [name, caller] of Object.entries(cast.named)) {
        // No page and no relay's word counts here: whoever has no credential is nobody.
        const answer = await probe(stack.relay, { ...kept, headers: caller.headers });
        await told(name, () => (isThere ? expectVerdict(answer, verdict(one, caller, cast.owner)) : expectError(answer, 404, 'NOT_FOUND')));
      }
      for (const headers of [signed(assertionKey, kept, principal('an embedded key')), signed(assertionKey, kept, EDGE)]) {
        const answer = await probe(stack.relay, { ...kept, headers });
        if (isThere) expectVerdict(answer, verdict(one, cast.named.nobody, cast.owner));
        else expectError(answer, 404, 'NOT_FOUND');
      }
    });
  }
});

describe("at the operators' door", () => {
  test('nobody but an operator learns more than whether the service is ready', async () => {
    const paths = [...all.map(({ path }) => path), '/metrics', '/ingest', '/clock', '/nope'].filter((path) => path !== '/ready');
    for (const [name, { headers }] of Object.entries(cast.named).filter(([name]) => name !== "the operators' token")) {
      for (const path of paths) {
        for (const method of ['GET', 'POST', 'PUT']) {
          await told(`${name}: ${method} ${path}`, async () => expectError(await probe(stack.admin, { method, target: encodeURI(path), headers }), 401, 'UNAUTHORIZED'));
        }
      }
    }
    const operator = bearer(readFileSync(stack.origin_env, 'utf8').match(/^RDS_ADMIN_TOKEN=(.*)$/m)[1]);
    for (const { path } of all.filter(({ path }) => path !== '/ready')) {
      expectError(await probe(stack.admin, { target: encodeURI(path), headers: operator }), 404, 'NOT_FOUND');
    }
  });
});

/** Says who asked, where something is not as it should be. */
async function told(who, check) {
  try {
    await check();
  } catch (error) {
    throw new assert.AssertionError({ message: `${who}: ${error.message}`, actual: error.actual, expected: error.expected, operator: error.operator });
  }
}
