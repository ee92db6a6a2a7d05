// Webhooks end to end: real deliveries to a receiver with TLS, verified by third-party libraries.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { FAMILIES } from './event-types.mjs';
import { expectError } from './expect.mjs';
import { bearer, mint, revoke, verb } from './operator.mjs';
import { ended, isAlive, serve, up } from './private-stack.mjs';
import { Receiver, authority } from './receiver.mjs';
import { requests } from './requests.mjs';
import { until } from './stack.mjs';

const stripe = new Stripe('sk_test_unused');

let stack;
let origin;
let receiver;
let key;

const { ask, done } = requests(() => ({ stack, key }));
const subscribe = (path, families = FAMILIES, headers) =>
  done('POST', '/v1/webhooks', { body: { url: receiver.url(path), families, description: 'e2e' }, headers });
const subscription = (id) => done('GET', `/v1/webhooks/${id}`);
const deliveries = (id) => done('GET', `/v1/webhooks/${id}/deliveries`);
const newest = async (id) => (await deliveries(id))[0];

/** Publishes an event; resolves to its title. */
async function publish(more = {}) {
  const title = `e2e ${randomUUID()}`;
  const now = (await stack.operate('/clock')).json.now;
  const line = {
    kind: 'event', observed_at: now, occurred_at: now, source: 'e2e', event_key: `e2e-${randomUUID()}`,
    event_type: 'AllocationChange', severity: 'Info', title, vault_ids: [stack.vault], ...more,
  };
  const answer = await stack.operate('/ingest', { method: 'POST', body: JSON.stringify(line) });
  assert.equal(answer.status, 200, answer.text);
  return title;
}

before(async () => {
  stack = await up('--data', 'demo', '--test-clock', '--webhook-allow', '127.0.0.0/8', '--webhook-ca', (await authority()).file);
  receiver = await Receiver.start();
  key = await mint(stack, { plan: 'decisioning' });
  stack.vault = (await stack.ok('/v1/vaults?limit=1')).json.data[0].id;
  // Fault case W7 of FAULTS.md: the origin's environment names proxies. Nothing listens at their address, so a delivery through one fails.
  process.kill(stack.pids.origin, 'SIGTERM');
  await until('the origin is gone', 30, () => !isAlive(stack.pids.origin));
  const unusedProxy = 'http://127.0.0.1:9';
  origin = serve(stack, { HTTPS_PROXY: unusedProxy, https_proxy: unusedProxy, HTTP_PROXY: unusedProxy, ALL_PROXY: unusedProxy, all_proxy: unusedProxy });
  await until('the origin answers again', 60, async () => (await stack.get('/ready')).status === 200);
});

after(async () => {
  await receiver?.stop();
  if (origin) await ended(origin, 'SIGTERM');
  await stack?.stop();
});

describe('a delivery', () => {
  let created;
  let title;
  let seen;

  before(async () => {
    created = await subscribe('/verified');
    title = await publish();
    seen = await receiver.got('/verified');
  });

  test('of a published event arrives at once, without the proxies of the environment', () => {
    assert.equal(seen.json.event_type, 'event.published');
    assert.equal(seen.json.data.title, title);
    assert.match(seen.json.occurred_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    assert.deepEqual(Object.keys(seen.json), ['event_id', 'event_type', 'occurred_at', 'data']);
    assert.equal(seen.headers['user-agent'], 'service-webhooks/1.0');
    assert.equal(seen.headers['x-service-delivery-attempt'], '1');
    assert.equal(seen.headers['x-service-event-id'], seen.json.event_id);
  });

  test('carries the event as its route serves it', async () => {
    const served = (await stack.ok(`/v1/events/${seen.json.data.id}`)).json?.data;
    assert.deepEqual(seen.json.data, served);
  });

  test('is verified by stripe', () => {
    const event = stripe.webhooks.constructEvent(seen.body, seen.headers['x-service-signature'], created.secret);
    assert.equal(event.event_id, seen.json.event_id);
    const forged = () => stripe.webhooks.constructEvent(`${seen.body} `, seen.headers['x-service-signature'], created.secret);
    assert.throws(forged, /signature/i);
  });

  test('is verified by standardwebhooks', () => {
    assert.deepEqual(new Webhook(created.secret).verify(seen.body, seen.headers), seen.json);
    assert.throws(() => new Webhook(created.secret).verify(`${seen.body} `, seen.headers));
  });

  test('is listed with a curl command that repeats its request', async () => {
    const row = await until('it is listed as delivered', 10, async () => {
      const found = await newest(created.id);
      return found.status === 'delivered' && found;
    });
    assert.deepEqual([row.event_id, row.response_status, row.error, row.attempt], [seen.json.event_id, 200, null, 1]);
    const before = receiver.all('/verified').length;
    await promisify(execFile)('sh', ['-c', `${row.request.curl} --insecure`]);
    const again = receiver.all('/verified').at(before);
    assert.equal(again.body, seen.body);
    stripe.webhooks.constructEvent(again.body, again.headers['x-service-signature'], created.secret);
  });

  test('of type webhook.test can be requested', async () => {
    const { event_id } = await done('POST', `/v1/webhooks/${created.id}/test`);
    const tested = await receiver.got('/verified', (one) => one.json.event_id === event_id);
    assert.deepEqual([tested.json.event_type, tested.json.data], ['webhook.test', { subscription_id: created.id }]);
  });

  test('stops with the subscription', async () => {
    assert.deepEqual(await done('DELETE', `/v1/webhooks/${created.id}`), { id: created.id, deleted: true });
    expectError(await ask('GET', `/v1/webhooks/${created.id}`), 404, 'NOT_FOUND');
  });
});

describe('a creation', () => {
  test('needs a key of plan decisioning', async () => {
    const body = { url: receiver.url('/nobody'), families: FAMILIES };
    expectError(await stack.post('/v1/webhooks', body), 401, 'UNAUTHORIZED');
    expectError(await stack.post('/v1/webhooks', body, bearer(stack.keys.data)), 403, 'FORBIDDEN');
    expectError(await stack.get('/v1/webhooks', { method: 'DELETE', headers: key.headers }), 405, 'METHOD_NOT_ALLOWED');
  });

  test('takes effect once per Idempotency-Key', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const [one, two] = await Promise.all([subscribe('/once', ['rating.changed'], headers), subscribe('/once', ['rating.changed'], headers)]);
    assert.deepEqual(one, two);
    const other = await ask('POST', '/v1/webhooks', { body: { url: receiver.url('/other'), families: FAMILIES }, headers });
    expectError(other, 409, 'IDEMPOTENCY_KEY_REUSED');
    await done('DELETE', `/v1/webhooks/${one.id}`);
  });

  test('for a target that is not public is refused', async () => {
    for (const url of ['http://example.com/', 'https://10.0.0.1/', 'https://[::1]/', 'https://metadata.internal/', 'https://user@example.com/']) {
      const answer = await ask('POST', '/v1/webhooks', { body: { url, families: FAMILIES } });
      assert.equal(expectError(answer, 400, 'WEBHOOK_URL_REJECTED').details[0].name, 'url');
    }
  });
});

describe('a receiver that fails', () => {
  test('gets retries by the schedule, and its subscription is paused after three failures', async () => {
    const { id } = await subscribe('/failing');
    receiver.answer('/failing', 500);
    await publish();
    for (const [attempt, delay] of [[1, 0], [2, 10], [3, 60]]) {
      if (delay) await stack.advance(delay);
      await receiver.got('/failing', (one) => one.headers['x-service-delivery-attempt'] === String(attempt));
      await until('the attempt is recorded', 10, async () => (await newest(id)).attempt === attempt + 1);
    }
    const paused = await subscription(id);
    assert.deepEqual([paused.status, paused.failure_count, paused.disabled_reason], ['paused', 3, null]);
    receiver.answer('/failing', 200);
    const enabled = await done('POST', `/v1/webhooks/${id}/enable`);
    assert.deepEqual([enabled.status, enabled.failure_count, enabled.paused_until], ['active', 0, null]);
    await stack.advance(300);
    await until('the event arrives after all', 15, async () => (await newest(id)).status === 'delivered');
    await done('DELETE', `/v1/webhooks/${id}`);
  });
});

describe('a rotated secret', () => {
  test('signs together with the old one for the overlap', async () => {
    const { id, secret: old } = await subscribe('/rotated');
    const { secret: next } = await verb(stack, 'webhooks', 'rotate', String(id), '--overlap', '1');
    assert.match(next, /^whsec_[0-9a-f]{64}$/);
    const verifies = (seen, secret) => {
      try {
        stripe.webhooks.constructEvent(seen.body, seen.headers['x-service-signature'], secret);
        return new Webhook(secret).verify(seen.body, seen.headers) !== undefined;
      } catch {
        return false;
      }
    };
    const tested = async () => {
      const { event_id } = await done('POST', `/v1/webhooks/${id}/test`);
      return receiver.got('/rotated', (one) => one.json.event_id === event_id);
    };
    const during = await tested();
    assert.deepEqual([verifies(during, old), verifies(during, next)], [true, true]);
    // The service loads a rotation within a second; the overlap begins then.
    await until('the overlap is over', 15, async () => {
      await stack.advance(3600);
      const later = await tested();
      return verifies(later, next) && !verifies(later, old);
    });
    await done('DELETE', `/v1/webhooks/${id}`);
  });
});

describe('a revoked key', () => {
  test('disables its webhooks, and another key of the organisation enables them again', async () => {
    const first = key;
    const created = await subscribe('/revoked');
    key = await mint(stack, { plan: 'embedded', org: first.org });
    await revoke(stack, first);
    const disabled = await subscription(created.id);
    assert.deepEqual([disabled.status, disabled.disabled_reason], ['disabled', 'key_revoked']);
    const enabled = await done('POST', `/v1/webhooks/${created.id}/enable`);
    assert.deepEqual([enabled.status, enabled.api_key_id, enabled.id], ['active', key.id, created.id]);
    await publish();
    const seen = await receiver.got('/revoked');
    stripe.webhooks.constructEvent(seen.body, seen.headers['x-service-signature'], created.secret);
    await done('DELETE', `/v1/webhooks/${created.id}`);
  });
});

describe('doctor', () => {
  test('warns about the networks that webhooks may reach', async () => {
    const targets = (await verb(stack, 'doctor')).find((check) => check.name === 'webhook targets');
    assert.match(targets.detail, /WARNING.*127\.0\.0\.0\/8/);
  });
});
