// Plays the behaviours with the TypeScript library; `clients/typescript/test/behaviours.test.mjs` calls it.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { start } from './server.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const ROOT = join(HERE, '../..');
const { operations } = JSON.parse(readFileSync(join(HERE, 'generated/operations.json'), 'utf8'));
const camel = (words) => words.map((word, at) => (at === 0 ? word : word[0].toUpperCase() + word.slice(1))).join('');
const lines = (path) => readFileSync(join(ROOT, path), 'utf8').trim().split('\n').map((line) => JSON.parse(line));

/** Registers a test per behaviour. `library` is the package, `decisions` its part for decisions. */
export function run(library, decisions) {
  let server;
  before(async () => {
    server = await start();
  });
  after(() => server.stop());
  for (const file of readdirSync(HERE).filter((name) => name.endsWith('.json')).sort()) {
    const { subject, behaviours } = JSON.parse(readFileSync(join(HERE, file), 'utf8'));
    describe(subject, () => {
      for (const behaviour of behaviours) {
        const skip = behaviour.stack && !process.env.RDS_STACK ? 'needs a running service' : false;
        test(behaviour.name, { skip, timeout: behaviour.stack ? 120_000 : 20_000 }, () => play(behaviour, server, library, decisions));
      }
    });
  }
}

async function play(behaviour, server, library, decisions) {
  if (behaviour.webhook) return playWebhook(behaviour, library);
  if (behaviour.decision) return playDecision(behaviour, decisions);
  const { keys } = await control(server, 'PUT', '/script', { exchanges: behaviour.script ?? [] });
  const waits = [];
  const waiting = { cancel: undefined };
  const client = clientOf(behaviour, server, library, keys, waits, waiting);
  for (const step of behaviour.steps) await playStep(step, client, server, library, waiting);
  const seen = await control(server, 'GET', '/seen');
  if (behaviour.requests) compareRequests(seen.requests, behaviour.requests);
  for (const name of behaviour.same_header ?? []) {
    const values = new Set(seen.requests.map((it) => it.headers[name.toLowerCase()]));
    assert.equal(values.size, 1, `${name} differs: ${[...values]}`);
    assert.ok([...values][0], `${name} is empty`);
  }
  if (behaviour.script) assert.equal(seen.unplayed, 0, 'exchanges that were never asked for');
  if (behaviour.waits) {
    assert.equal(waits.length, behaviour.waits.length, `waited ${waits}`);
    behaviour.waits.forEach(({ at_least: least = 0, at_most: most = Infinity }, at) => {
      assert.ok(waits[at] >= least && waits[at] <= most, `wait ${at} was ${waits[at]} ms`);
    });
  }
}

function clientOf({ client = {}, stack }, server, library, keys, waits, waiting) {
  const sleep = async (ms, signal) => {
    waits.push(ms);
    waiting.cancel?.();
    signal?.throwIfAborted();
  };
  return new library.Client({
    baseUrl: server.address,
    // A behaviour against the running service names a plan.
    apiKey: keys[client.key] ?? client.key,
    maxRetries: client.max_retries,
    timeoutMs: client.timeout_ms,
    etagEntries: client.etag_entries,
    strict: client.strict,
    subclient: client.subclient,
    clock: { now: Date.now, random: Math.random, sleep: stack ? (ms) => new Promise((done) => setTimeout(done, ms)) : sleep },
  });
}

async function playStep(step, client, server, library, waiting) {
  const cancel = new AbortController();
  if (step.cancel === 'before') cancel.abort();
  waiting.cancel = step.cancel === 'waiting' ? () => cancel.abort() : undefined;
  const given = called(step, client, cancel.signal);
  const outcome = collected(step, given, cancel).then((value) => ({ value }), (error) => ({ error }));
  if (step.cancel === 'during') {
    while ((await control(server, 'GET', '/seen')).requests.length === 0) await new Promise(setImmediate);
    cancel.abort();
  }
  const { value, error } = await outcome;
  const { expect = {} } = step;
  if (expect.error) {
    assert.ok(error, `no error, but ${JSON.stringify(value)?.slice(0, 300)}`);
    compareError(error, expect.error, library);
    return;
  }
  if (error) throw error;
  if (expect.answer !== undefined) contains(value, expect.answer, 'answer');
  for (const list of ['rows', 'pages', 'frames']) if (expect[list]) contains(value, expect[list], list);
  const ofKind = (kind) => value.filter((frame) => frame.kind === kind);
  if (expect.published) assert.deepEqual(ofKind('published').map((frame) => frame.data.title), expect.published);
  for (const kind of expect.kinds ?? []) assert.ok(ofKind(kind).length > 0, `no frame ${kind}`);
  if (expect.count !== undefined) assert.equal(value.length, expect.count);
  if (expect.info) contains(infoOf(library.infoOf(value), client), expect.info, 'info');
}

/** Calls the method of the operation. */
function called(step, client, signal) {
  const it = operations[step.operation];
  assert.ok(it, `no operation ${step.operation}`);
  const options = {
    signal,
    timeoutMs: step.options?.timeout_ms,
    maxRetries: step.options?.max_retries,
    idempotencyKey: step.options?.idempotency_key,
    repeat: step.options?.repeat,
    cursor: step.options?.cursor,
  };
  const given = it.path_parameters.map((name) => step.path[name]);
  if (it.has_body) given.push(step.body);
  if (it.query_parameters.length > 0) given.push(step.query ?? {});
  const resource = client[camel(it.resource)];
  return () => resource[camel(it.method)](...given, options);
}

async function collected({ read = 'answer', take = Infinity, until_published: untilPublished = Infinity }, call) {
  if (read === 'answer') return await call();
  const list = read === 'pages' ? call().pages() : call();
  const items = [];
  let published = 0;
  for await (const item of list) {
    items.push(item);
    if (item.kind === 'published') published += 1;
    if (items.length >= take || published >= untilPublished) break;
  }
  return items;
}

function infoOf(info, client) {
  const limit = (it) => (it ? { limit: it.limit, remaining: it.remaining, reset: it.reset.getTime() / 1000 } : null);
  return {
    request_id: info.requestId,
    status: info.status,
    rate_limit: limit(info.rateLimit),
    client_rate_limit: limit(client.rateLimit),
    data_version: info.dataVersion,
    cache: info.cache,
    is_stale: info.isStale,
    ignored_parameters: info.ignoredParameters,
    unknown_values: info.unknownValues,
    from_etag_cache: info.fromEtagCache,
  };
}

function compareError(error, expected, library) {
  const found = {
    kind: error.kind,
    code: error.code,
    status: error.status,
    request_id: error.requestId,
    retry_after: error.retryAfter,
    details: error.details,
    legacy_code: error.legacyCode,
    successor: error.successor,
  };
  const { class: name, ...rest } = expected;
  if (error.kind === undefined) throw error;
  contains(found, rest, 'error');
  if (name === null) assert.equal(error.constructor, library.ApiError);
  if (typeof name === 'string') {
    const words = name.replace(/_ERROR$/, '').toLowerCase().split('_');
    const Class = library[`${words.map((word) => word[0].toUpperCase() + word.slice(1)).join('')}Error`];
    assert.ok(Class && error instanceof Class && error instanceof library.ApiError, `not of the class of ${name}: ${error.name}`);
  }
}

function compareRequests(found, expected) {
  const told = found.map((it) => `${it.method} ${it.path} ${JSON.stringify(it.query)}`);
  assert.equal(found.length, expected.length, `requests: ${told.join('; ')}`);
  expected.forEach((want, at) => {
    const { headers = {}, body, ...rest } = want;
    const got = found[at];
    for (const [name, value] of Object.entries(rest)) assert.deepEqual(got[name], value, `request ${at}: ${name}`);
    if (body !== undefined) assert.deepEqual(JSON.parse(got.body), body, `request ${at}: body`);
    for (const [name, value] of Object.entries(headers)) {
      const header = got.headers[name.toLowerCase()] ?? null;
      if (value === '*') assert.ok(header, `request ${at}: no ${name}`);
      else assert.equal(header, value, `request ${at}: ${name}`);
    }
  });
}

/** Fails unless `found` has everything that `wanted` names. */
function contains(found, wanted, where) {
  if (Array.isArray(wanted)) {
    assert.ok(Array.isArray(found), `${where} is no array`);
    assert.equal(found.length, wanted.length, `${where}: ${JSON.stringify(found).slice(0, 500)}`);
    wanted.forEach((it, at) => contains(found[at], it, `${where}[${at}]`));
  } else if (typeof wanted === 'object' && wanted !== null) {
    assert.ok(typeof found === 'object' && found !== null, `${where} is ${found}`);
    for (const [name, value] of Object.entries(wanted)) contains(found[name], value, `${where}.${name}`);
  } else {
    assert.deepEqual(found ?? null, wanted, where);
  }
}

async function playWebhook({ webhook }, { verifyWebhook, WebhookError }) {
  if (webhook.vectors) {
    const vectors = lines(webhook.vectors);
    assert.ok(vectors.length > 0);
    for (const it of vectors) {
      const both = serviceHeaders(it.ours, it.event_id, it.seconds, it.standard);
      for (const scheme of ['service', 'standard']) {
        for (const secrets of it.secrets) {
          const genuine = verifyWebhook({ headers: both, body: it.body, secrets, now: it.seconds, scheme });
          const outcome = await refusal(genuine, WebhookError);
          // The vectors' bodies are any bytes: what is not an event is refused after its signature was accepted.
          assert.ok(outcome === 'ok' || outcome === 'malformed_body', `${scheme}: ${outcome}`);
          const altered = verifyWebhook({ headers: both, body: `${it.body}x`, secrets, now: it.seconds, scheme });
          assert.equal(await refusal(altered, WebhookError), 'no_match', `${scheme}, altered`);
        }
      }
    }
    return;
  }
  const { secret, body, seconds, id = 'evt_1' } = webhook.sign ?? { secret: '', body: '', seconds: 0 };
  const signers = [].concat(secret);
  const ours = signers.map((it) => `v1=${createHmac('sha256', it).update(`${seconds}.${body}`).digest('hex')}`);
  const keys = signers.map((it) => Buffer.from(it.replace(/^whsec_/, ''), 'base64'));
  const standard = keys.map((key) => `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`);
  const signed = serviceHeaders(`t=${seconds},${ours.join(',')}`, id, seconds, standard.join(' '));
  const headers = { ...signed, ...webhook.headers };
  for (const [name, value] of Object.entries(headers)) if (value === null) delete headers[name];
  const { secrets = signers, now, tolerance: toleranceSeconds, scheme } = webhook;
  const input = { headers, body, secrets, now, toleranceSeconds, scheme };
  change(webhook.change, input);
  const promise = verifyWebhook(input);
  if (webhook.expect.ok) contains(await promise, JSON.parse(body), 'event');
  else assert.equal(await refusal(promise, WebhookError), webhook.expect.refused);
}

function serviceHeaders(ours, id, seconds, standard) {
  return {
    'X-Service-Signature': ours,
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': standard,
  };
}

function change(what, input) {
  const { headers } = input;
  if (what === 'body') input.body = input.body.replace('{', '{ ');
  if (what === 'secret') input.secrets = [`whsec_${'0'.repeat(64)}`];
  if (what === 'id') headers['webhook-id'] = 'evt_2';
  if (what === 'time') {
    headers['X-Service-Signature'] = headers['X-Service-Signature'].replace(/t=(\d+)/, (_, time) => `t=${Number(time) + 1}`);
    headers['webhook-timestamp'] = String(Number(headers['webhook-timestamp']) + 1);
  }
  if (what === 'signature') {
    const other = (text, [one, two]) => text.replace(/(v1[=,])(.)/g, (_, start, char) => start + (char === one ? two : one));
    headers['X-Service-Signature'] = other(headers['X-Service-Signature'], '01');
    headers['webhook-signature'] = other(headers['webhook-signature'], 'AB');
  }
}

async function refusal(promise, WebhookError) {
  try {
    await promise;
    return 'ok';
  } catch (error) {
    if (error instanceof WebhookError) return error.reason;
    throw error;
  }
}

function playDecision({ decision }, { verifyDecision }) {
  const vectors = lines(decision.vectors);
  const results = ({ id, envelope, signature, registry }) => {
    const signers = registry.map((it) => {
      return { address: it.address, keyId: it.key_id, activatedAt: it.activated_at, retiredAt: it.retired_at };
    });
    const it = verifyDecision({ decisionId: id, envelope, signature }, signers);
    const out = [it.envelopeIntact, it.signatureValid, it.signerRecognized, it.signerActiveAtIssuance];
    assert.equal(it.isGenuine, out.every(Boolean));
    return [true, ...out];
  };
  if (decision.alter === undefined) {
    assert.ok(vectors.length > 0);
    for (const { name, in: input, out } of vectors) assert.deepEqual(results(input), out, name);
    return;
  }
  const [{ in: first }] = vectors;
  const envelope = JSON.parse(first.envelope);
  assert.notDeepEqual(envelope[decision.alter], decision.with, 'nothing would be altered');
  const altered = { ...envelope, [decision.alter]: decision.with };
  const sorted = Object.fromEntries(Object.keys(altered).sort().map((name) => [name, altered[name]]));
  assert.deepEqual(results({ ...first, envelope: JSON.stringify(sorted) }), decision.expect);
}

async function control(server, method, path, body) {
  const response = await fetch(`${server.control}${path}`, { method, body: body && JSON.stringify(body) });
  return await response.json();
}
