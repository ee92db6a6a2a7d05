// The OpenAPI document: served as it is committed, valid by others' rules, true of every answer, and enough to make a client of.

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
import { PROVOKED } from './openapi/errors.mjs';
import { FLEETING, Plan } from './openapi/plan.mjs';
import { deliveries, frames } from './openapi/pushed.mjs';
import { bearer, mint } from './operator.mjs';
import { OURS, THEIRS, newCaller, sharedStack, until } from './stack.mjs';

const run = promisify(execFile);
const here = dirname(fileURLToPath(import.meta.url));
const stack = sharedStack();
const document = committed();
const validator = new Validator(document);
/** Webhooks of this run go there, where nobody listens. */
const NOBODY = 'https://127.0.0.1:8443/openapi';
const plan = new Plan(stack, NOBODY);

/** The stream's frames. */
const FRAMES = ['ready', 'published', 'promoted', 'retracted', 'cursor', 'gap', 'draining'];
const stream = document.paths['/v1/events/stream'].get.responses[200].content['text/event-stream'];
const delivery = (name) => document.webhooks[name].post.requestBody.content['application/json'];

before(async () => {
  // More is asked here than a key of the demo may ask in a minute.
  stack.keys.decisioning = (await mint(stack, { plan: 'decisioning', rpm: 60_000 })).key;
  await until('the exposure graph is there', 60, async () => {
    const headers = bearer(stack.keys.decisioning);
    return (await stack.get('/v1/graph/incident-exposure/summary', { headers })).status === 200;
  });
});

after(async () => {
  const headers = bearer(stack.keys.decisioning);
  for (const base of ['/v1/webhooks', '/v1/baskets/webhooks']) {
    for (const { id, url, basket_id: basket } of (await stack.ok(base, { headers })).json.data) {
      if (url !== NOBODY) continue;
      await stack.get(basket ? `/v1/baskets/${basket}/webhooks/${id}` : `${base}/${id}`, { method: 'DELETE', headers });
    }
  }
});

describe('the document', () => {
  test('is the committed one, at the version that health tells', async () => {
    const answer = await stack.get('/v1/openapi.json');
    assert.equal(answer.status, 200);
    assert.equal(answer.text, readFileSync(FILE, 'utf8'));
    assert.equal(answer.headers.get('content-type'), 'application/json');
    assert.equal(answer.headers.get('cache-control'), 'public, max-age=300, must-revalidate');
    assert.equal(answer.json.info.version, (await stack.get('/v1/health')).json.version);
  });

  test('is not sent again to whoever has it', async () => {
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
    assert.deepEqual([await granted(OURS), await granted(THEIRS)], [OURS, null]);
  });

  test('is clean under the rules that Redocly recommends', { timeout: 120_000 }, async () => {
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
    // What is not JSON has none, and the document is not in itself.
    if (media && one.id !== 'OpenApi') {
      test(`of ${one.id}'s answer is there and what its schema says`, () => {
        assert.notEqual(media.example, undefined);
        assert.deepEqual(validator.faults(media.schema, media.example), []);
      });
    }
    const body = one.operation.requestBody?.content['application/json'];
    if (body) test(`of ${one.id}'s body is what its schema says`, () => assert.deepEqual(validator.faults(body.schema, body.example), []));
  }
  for (const name of FRAMES) {
    test(`of the frame ${name} is there and what its schema says`, () => {
      const example = stream.examples[name];
      assert.notEqual(example, undefined);
      assert.equal(example.value.event, name);
      assert.deepEqual(validator.faults(stream.schema, example.value), []);
    });
  }
  for (const name of EVENT_TYPES) {
    test(`of ${name} is there and what its schema says`, () => {
      const { schema, example } = delivery(name);
      assert.notEqual(example, undefined);
      assert.deepEqual(validator.faults(schema, example), []);
    });
  }
  test('of an event or a frame belongs to one that the document has', () => {
    assert.deepEqual(Object.keys(document.webhooks).toSorted(), EVENT_TYPES.toSorted());
    assert.deepEqual(Object.keys(stream.examples).toSorted(), FRAMES.toSorted());
  });
});

describe('an error', () => {
  const told = Object.values(document.components.responses).flatMap(({ content }) => Object.entries(content?.['application/json']?.examples ?? {}));
  for (const [code, provoke] of Object.entries(PROVOKED)) {
    test(`${code} is answered as the document's example of it`, async () => {
      const { headers } = await mint(stack, { plan: 'decisioning', rpm: 60_000 });
      const examples = told.filter(([name]) => name === code);
      assert.ok(examples.length > 0, 'the document has an example');
      const { json } = await provoke(stack, headers);
      assert.equal(json.error.code, code);
      const members = ({ request_id, ...error }) => Object.keys(error).toSorted();
      for (const [, { value }] of examples) assert.deepEqual(members(value.error), members(json.error));
      assert.deepEqual(validator.faults({ $ref: '#/components/schemas/Error' }, json), []);
    });
  }
});

describe('what is pushed', () => {
  test('to a webhook is what the document says', { timeout: 120_000 }, async () => {
    const made = await deliveries(stack, NOBODY);
    assert.deepEqual([...made.keys()].toSorted(), EVENT_TYPES.filter((name) => !name.startsWith('basket.')).toSorted());
    for (const [name, body] of made) assert.deepEqual(validator.faults(delivery(name).schema, body), [], name);
  });

  test('on the stream is what the document says', { timeout: 180_000 }, async () => {
    const caught = await frames(stack);
    for (const [name, frame] of caught) assert.deepEqual(validator.faults(stream.schema, frame), [], name);
    // Whether something was promoted is a matter of what this stack has seen.
    const always = FRAMES.filter((name) => name !== 'promoted');
    for (const name of always) assert.ok(caught.has(`stream.${name}`), name);
  });
});

describe('the request that is given as an example', () => {
  for (const one of operations(document).filter(({ id }) => id !== 'EventStream')) {
    test(`of ${one.id} is answered as documented`, async () => {
      const values = exampleRequest(document, one);
      const live = await plan.request(one.id);
      // What was only there in the recording's run is replaced by what is there now.
      for (const name of FLEETING[one.id] ?? []) {
        for (const part of ['path', 'query']) if (live[part]?.[name] !== undefined) values[part][name] = live[part][name];
      }
      if (values.body?.url) values.body = { ...values.body, url: NOBODY };
      const body = values.body && JSON.stringify(values.body);
      const headers = { ...plan.headers(one.operation), ...(body && { 'content-type': 'application/json' }) };
      const answer = await stack.get(target(document, one, values), { method: one.method, headers, body });
      assert.equal(answer.status, 200, answer.text.slice(0, 500));
      assert.deepEqual(validator.answerFaults(one.operation, answer), []);
    });
  }
});

/** Listed values that only fit beside another one: the registry has no such severities, the loss board does. */
const UNFITTING = new Set(['low', 'medium', 'high'].map((word) => `SecurityEventList severity=${word}`));

describe('an answer is what the document says', () => {
  const reads = operations(document).filter(({ id, method }) => method === 'GET' && id !== 'EventStream');
  for (const one of reads) {
    test(`of ${one.id}: with nothing but what it needs, without a key, and to a path that leads nowhere`, async () => {
      const { path } = await plan.request(one.id);
      const required = one.operation.parameters.filter(({ required: needed, in: place }) => needed && place === 'query');
      const query = required.length > 0 ? (await plan.request(one.id)).query : {};
      const nowhere = path && Object.fromEntries(Object.keys(path).map((name) => [name, 'no-such-thing']));
      for (const [values, headers] of [[{ path, query }, plan.headers(one.operation)], [{ path, query }, {}], [{ path: nowhere, query }, {}]]) {
        const answer = await stack.get(target(document, one, values), { headers });
        assert.deepEqual(validator.answerFaults(one.operation, answer), [], `${answer.status}`);
        if (headers.authorization) assert.equal(answer.status, 200, answer.text.slice(0, 300));
      }
    });

    const choices = one.operation.parameters.filter(({ in: place }) => place === 'query').flatMap(({ name, schema }) => {
      const words = schema.enum ?? schema.items?.enum ?? schema.examples ?? (schema.type === 'boolean' ? [true, false] : []);
      return words.map((word) => [name, schema.type === 'array' ? [word] : word]);
    });
    if (choices.length > 0) {
      test(`of ${one.id}: with each value that a parameter lists`, async () => {
        const { path, query } = await plan.request(one.id);
        const needed = one.operation.parameters.filter(({ required, in: place }) => required && place === 'query');
        const always = Object.fromEntries(needed.map(({ name }) => [name, query[name]]));
        for (const [name, value] of choices) {
          const answer = await stack.get(target(document, one, { path, query: { ...always, [name]: value } }), { headers: plan.headers(one.operation) });
          assert.deepEqual(validator.answerFaults(one.operation, answer), [], `${name}=${value}`);
          assert.ok(answer.status === 200 || UNFITTING.has(`${one.id} ${name}=${value}`), `${name}=${value}: ${answer.text.slice(0, 300)}`);
        }
      });
    }

    if (one.operation.responses[304]) {
      test(`of ${one.id}: to whoever has it`, async () => {
        const { path, query } = await plan.request(one.id);
        const asked = target(document, one, { path, query });
        const { headers } = await stack.get(asked, { headers: plan.headers(one.operation) });
        const again = await stack.get(asked, { headers: { ...plan.headers(one.operation), 'if-none-match': headers.get('etag') } });
        // What changes with every answer is sent again.
        assert.ok([200, 304].includes(again.status));
        assert.deepEqual(validator.answerFaults(one.operation, again), []);
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
    const said = await report(stack.edge, stack.keys.decisioning, stack.index_token, newCaller());
    assert.ok(said.vaults > 0 && said.best.total_score > 0 && said.levels > 0);
    assert.equal(said.rowOfDetail, said.best.id);
    assert.deepEqual([said.refused, said.missing], ['UNAUTHORIZED', 'NOT_FOUND']);
    assert.ok(['approve', 'caution', 'reject'].includes(said.verdict));
  });
});
