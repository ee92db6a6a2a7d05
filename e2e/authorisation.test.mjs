// The authorisation matrix: every operation of the route table, requested by every kind of caller at every listener.
//
// The expected response follows from the table's access alone (`authorisation/rule.mjs`), so a new route is covered automatically.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { callers } from './authorisation/callers.mjs';
import { EDGE, forgeries, signed } from './authorisation/edge-link.mjs';
import { probe } from './authorisation/probe.mjs';
import { ANSWERED, MISSING, expectVerdict, isOfEdgeAlone, isOwned, verdict } from './authorisation/rule.mjs';
import { expectError } from './expect.mjs';
import { committed, operations, target } from './openapi/document.mjs';
import { Plan } from './openapi/plan.mjs';
import { bearer } from './operator.mjs';
import { originEnvironment } from './private-stack.mjs';
import { ALLOWED_ORIGIN, Stack, sharedStack, until } from './stack.mjs';

const stack = sharedStack();
const document = committed();
const all = operations(document);
/** Target of the test webhooks; nothing listens there. */
const WEBHOOK_URL = 'https://127.0.0.1:8443/authorisation';
/** Operations that the origin's relay listener serves; every other path is 404 there for every caller. */
const RELAY_OPERATIONS = ['EventStream', 'Health', 'Status', 'OpenApi', 'Ready', 'Docs', 'DocsFile'];
/** Methods tried on every path. */
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

let cast;
/** Requests of the two organisations, each for existing objects of its own. */
let plans;
let assertionKey;
/** Organisation ids by key id, for the principals that the edge signs. */
let principals;

before(async () => {
  cast = await callers(stack);
  const of = (key) => new Plan(new Stack({ ...stack, keys: { ...stack.keys, decisioning: key } }), WEBHOOK_URL);
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

/** Reads the organisations' database ids, which no response contains: only the edge sends them to the origin. */
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

/** The plan's request for an operation, for an object of the caller's own organisation. */
async function request(one, plan = plans.owner) {
  const values = (await plan.request(one.id)) ?? {};
  return { method: one.method, target: target(document, one, values), body: values.body && JSON.stringify(values.body) };
}

/** Whether a success removes the object, so that the next success needs a new request. */
const isSpent = (one) => one.method === 'DELETE';

describe('at the edge', () => {
  for (const one of all) {
    test(`${one.id} (${one.operation['x-access']}) is open to exactly the callers of its access class, in any order`, { timeout: 120_000 }, async () => {
      const kept = await request(one);
      const there = Object.entries(cast.named);
      // Forward and then reversed, so that a response cached for one caller would show up for another.
      for (const [name, caller] of [...there, ...there.toReversed()]) {
        const expected = verdict(one, caller, cast.owner);
        const asked = expected === ANSWERED && isSpent(one) ? await request(one) : kept;
        const answer = await probe(stack.edge, { ...asked, headers: caller.headers });
        await withCaller(name, () => expectVerdict(answer, expected));
        if (one.method !== 'GET') continue;
        const head = await probe(stack.edge, { ...asked, method: 'HEAD', headers: caller.headers });
        await withCaller(`HEAD of ${name}`, () => assert.deepEqual([head.status, head.text], [expected.status, '']));
      }
      if (isOwned(one) && !isSpent(one)) await withCaller('the owner, at the end', async () => expectVerdict(await probe(stack.edge, { ...kept, headers: cast.decisioning.headers }), ANSWERED));
    });
  }

  test('an unsupported method gets the same 405 for every caller', async () => {
    for (const [path, item] of Object.entries(document.paths)) {
      const filled = path.replace('/{id}', '/1').replaceAll(/\{\w+\}/g, 'x');
      for (const method of METHODS.filter((method) => !(method.toLowerCase() in item))) {
        const answers = await Promise.all(Object.values(cast.named).map(({ headers }) => probe(stack.edge, { method, target: filled, headers })));
        for (const answer of answers) expectError(answer, 405, 'METHOD_NOT_ALLOWED');
        assert.equal(new Set(answers.map(({ json, headers }) => `${json.error.message} ${headers.get('allow')}`)).size, 1, `${method} ${path}`);
      }
    }
  });

  test('the routes between edge and origin are 404, however the request is signed', async () => {
    const answers = [await probe(stack.edge, { target: '/v1/nope' })];
    const body = JSON.stringify({ versions: 'vaults=9007199254740991' });
    for (const path of ['/__origin/tags', '/__origin/keys', '/__edge/keys', '/__edge/usage']) {
      const asked = { method: 'POST', target: path, body };
      const forOtherTarget = signed(assertionKey, { ...asked, target: `${path}/` }, '{"kind":"origin"}');
      const { 'signed as the origin': good, ...bad } = forgeries(assertionKey, asked, principal('an embedded key'), cast.named['an embedded key'].headers);
      assert.ok(good);
      for (const headers of [...Object.values(bad), forOtherTarget, signed(assertionKey, asked, EDGE), ...Object.values(cast.named).map((caller) => caller.headers)]) {
        answers.push(await probe(stack.edge, { ...asked, headers }));
      }
    }
    for (const answer of answers) expectError(answer, 404, 'NOT_FOUND');
    assert.equal(new Set(answers.map(({ json }) => json.error.message)).size, 1);
  });
});

describe("another organisation's webhook", () => {
  for (const one of all.filter(isOwned)) {
    test(`gets the same response as one that does not exist: ${one.id}`, async () => {
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

  /** The parts of a response that a caller sees, without those that differ between identical requests. */
  function seen({ status, headers, text, json }) {
    const volatile = /^(date|x-request-id|x-ratelimit-.*)$/;
    const body = text.replaceAll(json.error.request_id, '');
    return { status, body, headers: [...headers].filter(([name]) => !volatile.test(name)) };
  }

  test('is in no list, and the same URL and Idempotency-Key create a separate one', async () => {
    const [ours, theirs] = [cast.decisioning, cast.named["another organisation's decisioning key"]];
    const creation = { method: 'POST', body: JSON.stringify({ url: `${WEBHOOK_URL}/same`, families: ['event.published'] }) };
    for (const base of ['/v1/webhooks', '/v1/baskets/prime-vaults/webhooks']) {
      const name = { 'idempotency-key': randomUUID() };
      const body = base === '/v1/webhooks' ? creation.body : JSON.stringify({ url: `${WEBHOOK_URL}/same` });
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

  test('is not in the usage, which covers only the calling key', async () => {
    const me = async (name) => (await probe(stack.edge, { target: '/v1/me', headers: cast.named[name].headers })).json.data;
    const [ours, theirs] = [await me('a decisioning key'), await me("another organisation's decisioning key")];
    assert.ok(!JSON.stringify(theirs).includes(cast.owner) && !JSON.stringify(ours).includes(cast.other));
    assert.ok(JSON.stringify(ours).includes(cast.owner));
  });
});

/** The principal of a named caller, as the edge writes it into an assertion. */
function principal(name) {
  const { kind, id, plan, headers } = cast.named[name];
  if (kind === 'key') return JSON.stringify({ kind: 'key', id, org_id: principals.get(id), plan });
  if (kind === 'token') return JSON.stringify({ kind: 'index_token', id });
  return JSON.stringify(headers.origin === ALLOWED_ORIGIN ? { kind: 'first_party', origin: ALLOWED_ORIGIN } : { kind: 'anonymous' });
}

/** Callers for whom the edge signs an assertion. */
const ASSERTED = [
  'nobody', 'a page of ours', 'an index token', 'a data key', 'a decisioning key', 'an embedded key', "another organisation's decisioning key",
];

describe("at the origin's edge listener", () => {
  for (const one of all) {
    test(`${one.id} accepts each edge assertion once, and no other credential`, { timeout: 120_000 }, async () => {
      const kept = await request(one);
      for (const name of ASSERTED) {
        const caller = cast.named[name];
        const allowed = verdict(one, caller, cast.owner);
        const expected = isOfEdgeAlone(one) && allowed === ANSWERED ? MISSING : allowed;
        const asked = expected === ANSWERED && isSpent(one) ? await request(one) : kept;
        // A credential beside the edge assertion is ignored here.
        const headers = { ...cast.named['an embedded key'].headers, ...signed(assertionKey, asked, principal(name)) };
        const answer = await probe(stack.origin_edge, { ...asked, headers });
        await withCaller(name, () => expectAtEdgeListener(answer, expected));
        await withCaller(`${name}, a second time`, async () => expectNotEdge(await probe(stack.origin_edge, { ...asked, headers })));
      }
      const embedded = cast.named['an embedded key'].headers;
      for (const [name, headers] of Object.entries(forgeries(assertionKey, kept, principal('an embedded key'), embedded))) {
        await withCaller(name, async () => expectNotEdge(await probe(stack.origin_edge, { ...kept, headers })));
      }
      const itself = await probe(stack.origin_edge, { ...kept, headers: signed(assertionKey, kept, EDGE) });
      expectError(itself, 404, 'NOT_FOUND');
      if (isOwned(one)) assert.equal((await probe(stack.edge, { ...kept, headers: cast.decisioning.headers })).status, 200, 'the object still exists');
    });
  }

  test("an assertion for a caller does not open the edge's own routes", async () => {
    for (const path of ['/__edge/keys', '/__edge/usage']) {
      const asked = { method: 'POST', target: path, body: '{}' };
      for (const name of ASSERTED) {
        expectError(await probe(stack.origin_edge, { ...asked, headers: signed(assertionKey, asked, principal(name)) }), 404, 'NOT_FOUND');
      }
      for (const headers of Object.values(forgeries(assertionKey, asked, EDGE, cast.named['an embedded key'].headers))) {
        expectNotEdge(await probe(stack.origin_edge, { ...asked, headers }));
      }
    }
  });

  /** Expects the refusal that every request without a valid edge assertion gets. */
  function expectNotEdge(answer) {
    assert.equal(expectError(answer, 401, 'UNAUTHORIZED').message, 'only the edge may call this listener');
  }

  /** As `expectVerdict`, but without `WWW-Authenticate`, which this listener does not send. */
  function expectAtEdgeListener(answer, { status, code, legacy }) {
    assert.equal(answer.status, status, answer.text.slice(0, 300));
    if (status !== 200) assert.deepEqual([answer.json.error.code, answer.json.error.legacy_code], [code, legacy]);
  }
});

describe('at the relay listener', () => {
  for (const one of all) {
    const isThere = RELAY_OPERATIONS.includes(one.id);
    test(`${one.id} is ${isThere ? 'open to exactly the callers of its access class' : '404 for every caller'}`, async () => {
      const kept = await request(one);
      for (const [name, caller] of Object.entries(cast.named)) {
        // The Origin header and edge assertions have no effect here: a caller without a credential is anonymous.
        const answer = await probe(stack.relay, { ...kept, headers: caller.headers });
        await withCaller(name, () => (isThere ? expectVerdict(answer, verdict(one, caller, cast.owner)) : expectError(answer, 404, 'NOT_FOUND')));
      }
      for (const headers of [signed(assertionKey, kept, principal('an embedded key')), signed(assertionKey, kept, EDGE)]) {
        const answer = await probe(stack.relay, { ...kept, headers });
        if (isThere) expectVerdict(answer, verdict(one, cast.named.nobody, cast.owner));
        else expectError(answer, 404, 'NOT_FOUND');
      }
    });
  }
});

describe('at the admin listener', () => {
  test('only an operator gets more than readiness', async () => {
    const paths = [...all.map(({ path }) => path), '/metrics', '/ingest', '/clock', '/nope'].filter((path) => path !== '/ready');
    for (const [name, { headers }] of Object.entries(cast.named).filter(([name]) => name !== "the operators' token")) {
      for (const path of paths) {
        for (const method of ['GET', 'POST', 'PUT']) {
          await withCaller(`${name}: ${method} ${path}`, async () => expectError(await probe(stack.admin, { method, target: encodeURI(path), headers }), 401, 'UNAUTHORIZED'));
        }
      }
    }
    const operator = bearer(readFileSync(stack.origin_env, 'utf8').match(/^RDS_ADMIN_TOKEN=(.*)$/m)[1]);
    for (const { path } of all.filter(({ path }) => path !== '/ready')) {
      expectError(await probe(stack.admin, { target: encodeURI(path), headers: operator }), 404, 'NOT_FOUND');
    }
  });
});

/** Runs `check` and names the caller in the message of a failed assertion. */
async function withCaller(who, check) {
  try {
    await check();
  } catch (error) {
    throw new assert.AssertionError({ message: `${who}: ${error.message}`, actual: error.actual, expected: error.expected, operator: error.operator });
  }
}
