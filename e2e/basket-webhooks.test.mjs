// Basket webhooks through the edge: a follower of a basket gets its rebalances; a subscription pinned to a version gets the version's
// deprecation and retirement.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { verifyMessage } from 'ethers';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { BASKET } from './event-types.mjs';
import { expectError } from './expect.mjs';
import { Validator, committed } from './openapi/document.mjs';
import { expectCharged, expectRateLimited, windowWithSecondsLeft, times } from './metering.mjs';
import { bearer, mint, revoke } from './operator.mjs';
import { OwnBasket } from './own-basket.mjs';
import { up } from './private-stack.mjs';
import { Receiver, authority } from './receiver.mjs';
import { requests } from './requests.mjs';
import { newCaller } from './stack.mjs';

const stripe = new Stripe('sk_test_unused');
/** Writes per minute, per key and address, independent of the key's own limit. */
const WRITES = 30;

let stack;
let receiver;
let key;
let basket;

const { ask, done } = requests(() => ({ stack, key }));
const follow = (path, pinned_version_id, headers) => done('POST', basket.path('/webhooks'), { body: { url: receiver.url(path), pinned_version_id }, headers });
/** Event types and versions delivered to a path so far. */
const delivered = (path) => receiver.all(path).map(({ json }) => [json.event_type, json.data.version_id]);

before(async () => {
  stack = await up('--data', 'demo', '--test-clock', '--webhook-allow', '127.0.0.0/8', '--webhook-ca', (await authority()).file);
  receiver = await Receiver.start();
  key = await mint(stack, { plan: 'decisioning' });
  basket = await OwnBasket.create(stack);
}, { timeout: 400_000 });
after(async () => {
  await receiver?.stop();
  await stack?.stop();
});

describe('a subscription to a basket', () => {
  test('shows its secret once, is listed by basket and across baskets, and can be deleted', async () => {
    const { secret, ...created } = await follow('/listed', basket.version(1));
    assert.match(secret, /^whsec_[0-9a-f]{64}$/);
    assert.deepEqual(Object.keys(created), [
      'id', 'basket_id', 'url', 'pinned_version_id', 'status', 'disabled_reason', 'paused_until', 'created_at',
    ]);
    assert.deepEqual([created.basket_id, created.pinned_version_id, created.status], [basket.id, basket.version(1), 'active']);
    const elsewhere = await done('POST', '/v1/baskets/prime-vaults/webhooks', { body: { url: receiver.url('/elsewhere') } });
    assert.equal(elsewhere.pinned_version_id, null);
    assert.deepEqual(await done('GET', basket.path('/webhooks')), [created]);
    assert.deepEqual((await done('GET', '/v1/baskets/webhooks')).map(({ id }) => id), [created.id, elsewhere.id]);
    assert.deepEqual(await done('GET', '/v1/webhooks'), [], 'it is not a generic subscription');
    expectError(await ask('DELETE', `/v1/baskets/prime-vaults/webhooks/${created.id}`), 404, 'NOT_FOUND');
    assert.deepEqual(await done('DELETE', basket.path(`/webhooks/${created.id}`)), { id: created.id, deleted: true });
    await done('DELETE', `/v1/baskets/prime-vaults/webhooks/${elsewhere.id}`);
    assert.deepEqual(await done('GET', '/v1/baskets/webhooks'), []);
  });

  test('that is requested twice with one Idempotency-Key is created once', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const [one, two] = await Promise.all([follow('/once', null, headers), follow('/once', undefined, headers)]);
    assert.deepEqual(one, two);
    const other = await ask('POST', basket.path('/webhooks'), { body: { url: receiver.url('/other') }, headers });
    expectError(other, 409, 'IDEMPOTENCY_KEY_REUSED');
    await done('DELETE', basket.path(`/webhooks/${one.id}`));
  });

  test('is for decisioning and embedded keys', async () => {
    const [data, embedded] = [await mint(stack), await mint(stack, { plan: 'embedded' })];
    const id = 1;
    for (const [method, target] of [
      ['POST', basket.path('/webhooks')], ['GET', basket.path('/webhooks')], ['GET', '/v1/baskets/webhooks'],
      ['DELETE', basket.path(`/webhooks/${id}`)], ['POST', basket.path(`/webhooks/${id}/replay`)], ['POST', basket.path(`/webhooks/${id}/enable`)],
    ]) {
      expectError(await stack.get(target, { method }), 401, 'UNAUTHORIZED');
      expectError(await stack.get(target, { method, headers: bearer(stack.index_token) }), 401, 'UNAUTHORIZED');
      expectError(await stack.get(target, { method, headers: data.headers }), 403, 'FORBIDDEN');
    }
    assert.equal((await stack.get('/v1/baskets/webhooks', { headers: embedded.headers })).status, 200);
  });

  test('is refused for a target that is not public, by name', async () => {
    for (const url of ['http://example.com/', 'https://10.0.0.1/', 'https://localhost/', 'https://[::1]/', 'https://metadata.internal/', 'no url']) {
      const answer = await ask('POST', basket.path('/webhooks'), { body: { url } });
      assert.equal(expectError(answer, 400, 'WEBHOOK_URL_REJECTED').details[0].name, 'url', url);
    }
    const faults = async (body) => expectError(await ask('POST', basket.path('/webhooks'), { body }), 400, 'INVALID_BODY').details?.map(({ name }) => name);
    assert.deepEqual(await faults({ pinned_version_id: 1, families: [] }), ['url', 'pinned_version_id', 'families']);
    assert.equal(await faults('{"url":'), undefined);
    const plain = await ask('POST', basket.path('/webhooks'), { body: '{}', headers: { 'content-type': 'text/plain' } });
    expectError(plain, 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  test('is 404 for an unknown basket, version or subscription', async () => {
    const body = { url: receiver.url('/nowhere') };
    expectError(await ask('POST', '/v1/baskets/no-such-basket/webhooks', { body }), 404, 'NOT_FOUND');
    expectError(await ask('GET', '/v1/baskets/no-such-basket/webhooks'), 404, 'NOT_FOUND');
    expectError(await ask('POST', basket.path('/webhooks'), { body: { ...body, pinned_version_id: basket.version(99) } }), 404, 'NOT_FOUND');
    expectError(await ask('POST', basket.path('/webhooks'), { body: { ...body, pinned_version_id: 'prime-vaults-v1' } }), 404, 'NOT_FOUND');
    expectError(await ask('POST', basket.path('/webhooks/one/enable')), 404, 'NOT_FOUND');
  });

  test('of another organisation is 404', async () => {
    const { id } = await follow('/owned');
    const stranger = await mint(stack, { plan: 'decisioning' });
    assert.deepEqual(await done('GET', basket.path('/webhooks'), { headers: stranger.headers }), []);
    for (const [method, rest] of [['DELETE', ''], ['POST', '/replay'], ['POST', '/enable']]) {
      expectError(await ask(method, basket.path(`/webhooks/${id}${rest}`), { headers: stranger.headers }), 404, 'NOT_FOUND');
    }
    const colleague = await mint(stack, { plan: 'decisioning', org: key.org });
    assert.equal((await done('GET', basket.path('/webhooks'), { headers: colleague.headers })).length, 1);
    await done('DELETE', basket.path(`/webhooks/${id}`), { headers: colleague.headers });
  });
});

describe('a delivery', () => {
  let follower;
  let seen;

  test('of a rebalance goes to followers of the basket, not to pinned subscriptions', async () => {
    follower = await follow('/follower');
    await follow('/first', basket.version(1));
    await done('POST', '/v1/webhooks', { body: { url: receiver.url('/generic'), families: ['event.published', 'rating.changed'] } });
    await basket.rebalance();
    seen = await receiver.got('/follower');
    assert.deepEqual(delivered('/follower'), [['basket.rebalanced', basket.version(2)]]);
    assert.deepEqual(Object.keys(seen.json), ['event_id', 'event_type', 'occurred_at', 'data']);
    assert.match(seen.json.occurred_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    assert.deepEqual(
      ['user-agent', 'x-service-delivery-attempt', 'x-service-event-id'].map((name) => seen.headers[name]),
      ['service-webhooks/1.0', '1', seen.json.event_id],
    );
  });

  test('verifies in stripe and standardwebhooks with the secret shown at creation', () => {
    assert.equal(stripe.webhooks.constructEvent(seen.body, seen.headers['x-service-signature'], follower.secret).event_id, seen.json.event_id);
    assert.deepEqual(new Webhook(follower.secret).verify(seen.body, seen.headers), seen.json);
    assert.throws(() => stripe.webhooks.constructEvent(`${seen.body} `, seen.headers['x-service-signature'], follower.secret), /signature/i);
  });

  test('contains the version as listed, its changes and a valid signature', async () => {
    const { changes, ...version } = seen.json.data;
    const [row] = (await stack.ok(basket.path('/versions'))).json.data;
    for (const [name, value] of Object.entries(row)) assert.deepEqual(version[name], value, name);
    const [{ added, removed, weight_changed }] = (await stack.ok(basket.path('/changes'))).json.data;
    assert.deepEqual(changes, { added, removed, weight_changed });
    assert.equal(verifyMessage(version.content_hash, version.signature).toLowerCase(), version.signer_address);
  });

  test('of a deprecation, and then of the retirement, goes to the subscriptions pinned to the version, with its successor', async () => {
    await follow('/second', basket.version(2));
    await basket.say('deprecate', 1, 2);
    const deprecated = await receiver.got('/first');
    await basket.say('retire', 1, 2);
    const retired = await receiver.got('/first', ({ json }) => json.event_type === 'basket.version.retired');
    assert.deepEqual(delivered('/first'), [['basket.version.deprecated', basket.version(1)], ['basket.version.retired', basket.version(1)]]);
    for (const [{ json }, status] of [[deprecated, 'deprecated'], [retired, 'retired']]) {
      assert.deepEqual([json.data.support_status, json.data.successor_version_id, json.data.changes], [status, basket.version(2), null]);
    }
    // Once this last delivery has arrived, no earlier one is outstanding.
    await basket.rebalance();
    await receiver.got('/follower', ({ json }) => json.data.version_id === basket.version(3));
    assert.equal(receiver.all('/follower').length, 2);
    assert.deepEqual([delivered('/second'), delivered('/generic').filter(([type]) => type.startsWith('basket.'))], [[], []]);
  });

  test('matches the OpenAPI document', () => {
    const document = committed();
    const validator = new Validator(document);
    const sent = ['/follower', '/first'].flatMap((path) => receiver.all(path));
    assert.deepEqual(new Set(sent.map(({ json }) => json.event_type)), new Set(BASKET));
    for (const { json, headers } of sent) {
      const { requestBody, parameters } = document.webhooks[json.event_type].post;
      assert.deepEqual(validator.faults(requestBody.content['application/json'].schema, json), [], json.event_type);
      for (const { name } of parameters) assert.ok(headers[name.toLowerCase()], name);
    }
  });

  test('of a retired version cannot be subscribed to any more', async () => {
    const answer = await ask('POST', basket.path('/webhooks'), { body: { url: receiver.url('/late'), pinned_version_id: basket.version(1) } });
    assert.equal(expectError(answer, 410, 'VERSION_RETIRED').successor, basket.version(2));
    assert.equal(answer.headers.get('link'), `<${basket.path(`/version/${basket.version(2)}`)}>; rel="successor-version"`);
  });

  test('is replayed only for a valid window', async () => {
    const replay = (query = '') => ask('POST', basket.path(`/webhooks/${follower.id}/replay${query}`));
    assert.deepEqual((await replay()).json.data, { enqueued: 0 }, 'no delivery had failed for good');
    for (const [query, name] of [['?from=noon', 'from'], ['?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z', 'from']]) {
      assert.equal(expectError(await replay(query), 400, 'INVALID_PARAMETER').details[0].name, name, query);
    }
  });

  test('stops when the key of the subscription is revoked, and resumes when a key of the same organisation enables it', async () => {
    const first = key;
    key = await mint(stack, { plan: 'embedded', org: first.org });
    await revoke(stack, first);
    const state = async () => (await done('GET', basket.path('/webhooks'))).find(({ id }) => id === follower.id);
    assert.deepEqual(await state().then(({ status, disabled_reason }) => [status, disabled_reason]), ['disabled', 'key_revoked']);
    const before = receiver.all('/follower').length;
    const enabled = await done('POST', basket.path(`/webhooks/${follower.id}/enable`));
    assert.deepEqual([enabled.status, enabled.disabled_reason, 'secret' in enabled], ['active', null, false]);
    await basket.rebalance();
    await receiver.got('/follower', ({ json }) => json.data.version_id === basket.version(4));
    assert.equal(receiver.all('/follower').length, before + 1);
  });
});

describe('writes', () => {
  test('are limited to thirty a minute per key and address, and reads only by the limit of the key', async () => {
    const busy = await mint(stack, { plan: 'embedded' });
    const from = { 'cf-connecting-ip': newCaller(), ...busy.headers };
    const write = (headers) => stack.get(basket.path('/webhooks/1'), { method: 'DELETE', headers });
    const end = await windowWithSecondsLeft(20);
    for (const [index, answer] of (await times(WRITES, () => write(from))).entries()) {
      expectError(answer, 404, 'NOT_FOUND');
      expectCharged(answer, { limit: WRITES, remaining: WRITES - 1 - index, end });
    }
    expectRateLimited(await write(from), { limit: WRITES, end });
    assert.equal((await stack.get(basket.path('/webhooks'), { headers: from })).status, 200);
    assert.equal((await write({ ...from, 'cf-connecting-ip': newCaller() })).status, 404, 'another address has some left');
  });
});
