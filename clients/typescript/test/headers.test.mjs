// Values that cannot be a header are the caller's mistake: they are refused at once, and nothing is sent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installed } from './installed.mjs';

const { Client, infoOf } = await installed('@risk-data/client');
const BROKEN = 'a\nb';

/** A client whose requests are counted and answered with an empty object. */
function counted(options = {}) {
  const sent = [];
  const fetch = async (url, init) => {
    sent.push(init);
    return new Response('{}', { headers: { 'x-request-id': 'r-1', 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': '1790000000' } });
  };
  return { sent, client: () => new Client({ baseUrl: 'https://rds.example', fetch, ...options }) };
}

for (const [name, options] of Object.entries({ 'an API key': { apiKey: BROKEN }, 'a subclient': { subclient: BROKEN }, 'a header': { headers: { 'x-own': BROKEN } } })) {
  test(`${name} that is no header is refused when the client is made`, () => {
    assert.throws(() => counted(options).client(), TypeError);
  });
}

test('what is no header is refused before a request is sent', async () => {
  const { sent, client } = counted();
  const desk = client();
  await assert.rejects(async () => desk.service.status({ headers: { 'x-own': BROKEN } }), TypeError);
  await assert.rejects(async () => desk.webhooks.create({ url: 'https://hooks.example.com' }, { idempotencyKey: BROKEN }), TypeError);
  await assert.rejects(async () => desk.events.stream({}, { cursor: BROKEN })[Symbol.asyncIterator]().next(), TypeError);
  assert.equal(sent.length, 0);
});

test('headers of one request outrank those of the client, whatever their case', async () => {
  const { sent, client } = counted({ apiKey: 'pk_live_0123456789abcdef0123456789abcdef', headers: { 'X-Own': 'client' } });
  await client().service.status({ headers: { 'x-OWN': 'request' } });
  assert.equal(sent[0].headers['x-own'], 'request');
  assert.equal(sent[0].headers.authorization, 'Bearer pk_live_0123456789abcdef0123456789abcdef');
});

test('what the headers of an answer told can be asked for later, and more than once', async () => {
  const desk = counted().client();
  assert.equal(desk.rateLimit, null);
  const answer = await desk.service.status();
  assert.equal(infoOf(answer).requestId, 'r-1');
  assert.equal(infoOf(answer), infoOf(answer));
  assert.equal(desk.rateLimit.remaining, 59);
});
