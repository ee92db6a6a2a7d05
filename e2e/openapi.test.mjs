// The OpenAPI document: it is served as committed, passes Redocly's rules, describes every response, and suffices to generate a client.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { EVENT_TYPES } from './event-types.mjs';
import { FILE, Validator, committed, exampleRequest, operations, target } from './openapi/document.mjs';
import { ERROR_REQUESTS } from './openapi/errors.mjs';
import { RUN_SPECIFIC_PARAMETERS, Plan } from './openapi/plan.mjs';
import { deliveries, frames } from './openapi/pushed.mjs';
import { bearer, mint } from './operator.mjs';
import { ALLOWED_ORIGIN, OTHER_ORIGIN, newCaller, sharedStack, until } from './stack.mjs';

const run = promisify(execFile);
const here = dirname(fileURLToPath(import.meta.url));
const stack = sharedStack();
const document = committed();
const validator = new Validator(document);
/** The URL of this run's webhooks; nothing listens there. */
const UNUSED_URL = 'https://127.0.0.1:8443/openapi';
const plan = new Plan(stack, UNUSED_URL);

const FRAMES = ['ready', 'published', 'promoted', 'retracted', 'cursor', 'gap', 'draining'];
const stream = document.paths['/v1/events/stream'].get.responses[200].content['text/event-stream'];
const delivery = (name) => document.webhooks[name].post.requestBody.content['application/json'];

before(async () => {
  // These tests send more requests in a minute than the demo's keys allow.
  stack.keys.decisioning = (await mint(stack, { plan: 'decisioning', rpm: 60_000 })).key;
  await until('the exposure graph is built', 60, async () => {
    const headers = bearer(stack.keys.decisioning);
    return (await stack.get('/v1/graph/incident-exposure/summary', { headers })).status === 200;
  });
});

after(async () => {
  const headers = bearer(stack.keys.decisioning);
  for (const base of ['/v1/webhooks', '/v1/baskets/webhooks']) {
    for (const { id, url, basket_id: basket } of (await stack.ok(base, { headers })).json.data) {
      if (url !== UNUSED_URL) continue;
      await stack.get(basket ? `/v1/baskets/${basket}/webhooks/${id}` : `${base}/${id}`, { method: 'DELETE', headers });
    }
  }
});

describe('the document', () => {
  test('is the committed one, with the version that the health route reports', async () => {
    const answer = await stack.get('/v1/openapi.json');
    assert.equal(answer.status, 200);
    assert.equal(answer.text, readFileSync(FILE, 'utf8'));
    assert.equal(answer.headers.get('content-type'), 'application/json');
    assert.equal(answer.headers.get('cache-control'), 'public, max-age=300, must-revalidate');
    assert.equal(answer.json.info.version, (await stack.get('/v1/health')).json.version);
  });

  test('is not sent again to a client that has it', async () => {
    const { headers } = await stack.get('/v1/openapi.json');
    const etag = headers.get('etag');
    assert.match(etag, /^"[\w-]{22}"$/);
    const again = await stack.get('/v1/openapi.json', { headers: { 'if-none-match': etag } });
    assert.deepEqual([again.status, again.text, again.headers.get('etag')], [304, '', etag]);
    const head = await stack.get('/v1/openapi.json', { method: 'HEAD' });
    assert.deepEqual([head.status, head.text, head.headers.get('etag')], [200, '', etag]);
  });

  test('may be read by our pages and by no others', async () => {
    const granted = async (origin) => (await stack.get('/v1/openapi.json', { headers: { origin } })).headers.get('access-control-allow-origin');
    assert.deepEqual([await granted(ALLOWED_ORIGIN), await granted(OTHER_ORIGIN)], [ALLOWED_ORIGIN, null]);
  });

  test("passes Redocly's recommended rules", { timeout: 120_000 }, async () => {
    const words = ['--extends', 'recommended', '--format', 'json', '--max-problems', '20', fileURLToPath(FILE)];
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
    const { stdout } = await run(join(here, 'node_modules/.bin/redocly'), ['lint', ...words], { env }).catch((failed) => failed);
    const { totals, problems } = JSON.parse(stdout.slice(stdout.indexOf('{')));
    assert.deepEqual(problems.map(({ message, ruleId }) => `${ruleId}: ${message}`), []);
    assert.deepEqual([totals.errors, totals.warnings], [0, 0]);
  });
});

describe('every example', () => {
  for (const one of operations(document)) {
    const media = one.operation.responses[200].content['application/json'];
    // Only JSON responses have examples, and the document does not contain itself.
    if (media && one.id !== 'OpenApi') {
      test(`of ${one.id}'s response exists and matches its schema`, () => {
        assert.notEqual(media.example, undefined);
        assert.deepEqual(validator.faults(media.schema, media.example), []);
      });
    }
    const body = one.operation.requestBody?.content['application/json'];
    if (body) test(`of ${one.id}'s request body matches its schema`, () => assert.deepEqual(validator.faults(body.schema, body.example), []));
  }
  for (const name of FRAMES) {
    test(`of the frame ${name} exists and matches its schema`, () => {
      const example = stream.examples[name];
      assert.notEqual(example, undefined);
      assert.equal(example.value.event, name);
      assert.deepEqual(validator.faults(stream.schema, example.value), []);
    });
  }
  for (const name of EVENT_TYPES) {
    test(`of the event type ${name} exists and matches its schema`, () => {
      const { schema, example } = delivery(name);
      assert.notEqual(example, undefined);
      assert.deepEqual(validator.faults(schema, example), []);
    });
  }
  test('of an event type or a frame belongs to one that exists', () => {
    assert.deepEqual(Object.keys(document.webhooks).toSorted(), EVENT_TYPES.toSorted());
    assert.deepEqual(Object.keys(stream.examples).toSorted(), FRAMES.toSorted());
  });
});

describe('an error', () => {
  const errorExamples = Object.values(document.components.responses).flatMap(({ content }) => Object.entries(content?.['application/json']?.examples ?? {}));
  for (const [code, provoke] of Object.entries(ERROR_REQUESTS)) {
    test(`${code} has the members of the document's example`, async () => {
      const { headers } = await mint(stack, { plan: 'decisioning', rpm: 60_000 });
      const examples = errorExamples.filter(([name]) => name === code);
      assert.ok(examples.length > 0, 'the document has an example');
      const { json } = await provoke(stack, headers);
      assert.equal(json.error.code, code);
      const members = ({ request_id, ...error }) => Object.keys(error).toSorted();
      for (const [, { value }] of examples) assert.deepEqual(members(value.error), members(json.error));
      assert.deepEqual(validator.faults({ $ref: '#/components/schemas/Error' }, json), []);
    });
  }
});

describe('a pushed message', () => {
  test('to a webhook matches the document', { timeout: 120_000 }, async () => {
    const bodies = await deliveries(stack, UNUSED_URL);
    assert.deepEqual([...bodies.keys()].toSorted(), EVENT_TYPES.filter((name) => !name.startsWith('basket.')).toSorted());
    for (const [name, body] of bodies) assert.deepEqual(validator.faults(delivery(name).schema, body), [], name);
  });

  test('on the stream matches the document', { timeout: 180_000 }, async () => {
    const received = await frames(stack);
    for (const [name, frame] of received) assert.deepEqual(validator.faults(stream.schema, frame), [], name);
    // A `promoted` frame comes only if earlier tests on this stack caused a promotion.
    const always = FRAMES.filter((name) => name !== 'promoted');
    for (const name of always) assert.ok(received.has(`stream.${name}`), name);
  });
});

describe('the example request', () => {
  for (const one of operations(document).filter(({ id }) => id !== 'EventStream')) {
    test(`of ${one.id} is answered as documented`, async () => {
      const values = exampleRequest(document, one);
      const live = await plan.request(one.id);
      // Ids that existed only in the recording's run are replaced by ids of this run.
      for (const name of RUN_SPECIFIC_PARAMETERS[one.id] ?? []) {
        for (const part of ['path', 'query']) if (live[part]?.[name] !== undefined) values[part][name] = live[part][name];
      }
      if (values.body?.url) values.body = { ...values.body, url: UNUSED_URL };
      const body = values.body && JSON.stringify(values.body);
      const headers = { ...plan.headers(one.operation), ...(body && { 'content-type': 'application/json' }) };
      const answer = await stack.get(target(document, one, values), { method: one.method, headers, body });
      assert.equal(answer.status, 200, answer.text.slice(0, 500));
      assert.deepEqual(validator.responseDeviations(one.operation, answer), []);
    });
  }
});

/** Listed values that are valid only with another parameter: the loss board has these severities, the registry does not. */
const INVALID_ALONE = new Set(['low', 'medium', 'high'].map((word) => `SecurityEventList severity=${word}`));

describe('a response matches the document', () => {
  const reads = operations(document).filter(({ id, method }) => method === 'GET' && id !== 'EventStream');
  for (const one of reads) {
    test(`of ${one.id}: with the required parameters only, without a key, and for a path of nothing that exists`, async () => {
      const { path } = await plan.request(one.id);
      const required = one.operation.parameters.filter(({ required: needed, in: place }) => needed && place === 'query');
      const query = required.length > 0 ? (await plan.request(one.id)).query : {};
      const unknownPath = path && Object.fromEntries(Object.keys(path).map((name) => [name, 'no-such-thing']));
      for (const [values, headers] of [[{ path, query }, plan.headers(one.operation)], [{ path, query }, {}], [{ path: unknownPath, query }, {}]]) {
        const answer = await stack.get(target(document, one, values), { headers });
        assert.deepEqual(validator.responseDeviations(one.operation, answer), [], `${answer.status}`);
        if (headers.authorization) assert.equal(answer.status, 200, answer.text.slice(0, 300));
      }
    });

    const choices = one.operation.parameters.filter(({ in: place }) => place === 'query').flatMap(({ name, schema }) => {
      const words = schema.enum ?? schema.items?.enum ?? schema.examples ?? (schema.type === 'boolean' ? [true, false] : []);
      return words.map((word) => [name, schema.type === 'array' ? [word] : word]);
    });
    if (choices.length > 0) {
      test(`of ${one.id}: with each listed value of each parameter`, async () => {
        const { path, query } = await plan.request(one.id);
        const needed = one.operation.parameters.filter(({ required, in: place }) => required && place === 'query');
        const always = Object.fromEntries(needed.map(({ name }) => [name, query[name]]));
        for (const [name, value] of choices) {
          const answer = await stack.get(target(document, one, { path, query: { ...always, [name]: value } }), { headers: plan.headers(one.operation) });
          assert.deepEqual(validator.responseDeviations(one.operation, answer), [], `${name}=${value}`);
          assert.ok(answer.status === 200 || INVALID_ALONE.has(`${one.id} ${name}=${value}`), `${name}=${value}: ${answer.text.slice(0, 300)}`);
        }
      });
    }

    if (one.operation.responses[304]) {
      test(`of ${one.id}: to a client that has it`, async () => {
        const { path, query } = await plan.request(one.id);
        const url = target(document, one, { path, query });
        const { headers } = await stack.get(url, { headers: plan.headers(one.operation) });
        const again = await stack.get(url, { headers: { ...plan.headers(one.operation), 'if-none-match': headers.get('etag') } });
        // A response that changes with every request is sent again.
        assert.ok([200, 304].includes(again.status));
        assert.deepEqual(validator.responseDeviations(one.operation, again), []);
      });
    }
  }
});

describe('a client in TypeScript', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rds-openapi-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('is generated, compiles strictly, and runs', { timeout: 240_000 }, async () => {
    for (const file of ['client.ts', 'tsconfig.json']) cpSync(join(here, 'openapi', file), join(folder, file));
    symlinkSync(join(here, 'node_modules'), join(folder, 'node_modules'));
    const tool = (name, ...words) => run(join(here, 'node_modules/.bin', name), words, { cwd: folder }).catch(({ stdout, stderr }) => assert.fail(`${stdout}${stderr}`));
    await tool('openapi-typescript', fileURLToPath(FILE), '--output', join(folder, 'generated.ts'));
    await tool('tsc', '--project', 'tsconfig.json', '--outDir', '.');
    const { report } = await import(pathToFileURL(join(folder, 'client.js')));
    const summary = await report(stack.edge, stack.keys.decisioning, stack.index_token, newCaller());
    assert.ok(summary.vaults > 0 && summary.best.total_score > 0 && summary.levels > 0);
    assert.equal(summary.rowOfDetail, summary.best.id);
    assert.deepEqual([summary.refused, summary.missing], ['UNAUTHORIZED', 'NOT_FOUND']);
    assert.ok(['approve', 'caution', 'reject'].includes(summary.verdict));
  });
});
