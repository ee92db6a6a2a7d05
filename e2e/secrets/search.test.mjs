// The search for secrets finds them in every encoding, and reports nothing else.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { Search } from './search.mjs';

const KEY = `pk_live_${randomBytes(16).toString('hex')}`;
const RAW = randomBytes(32);
const WEBHOOK = `whsec_${randomBytes(24).toString('base64')}`;
const search = new Search(new Map([['a key', KEY], ['a master key', RAW.toString('hex')], ['a webhook', WEBHOOK]]));
const found = (text) => search.in(Buffer.isBuffer(text) ? text : Buffer.from(text), 'here');

describe('a secret is found', () => {
  for (const [form, text] of Object.entries({
    'as plain text': `key=${KEY};`,
    'by its first half': `${KEY.slice(0, KEY.length / 2)}…`,
    'by its last half': `…${KEY.slice(KEY.length / 2)}`,
    'in hexadecimal': Buffer.from(KEY).toString('hex'),
    'in upper case': KEY.toUpperCase(),
    'percent-encoded': Array.from(Buffer.from(KEY), (byte) => `%${byte.toString(16)}`).join(''),
    'in Basic credentials': `Basic ${Buffer.from(`u:${KEY}`).toString('base64')}`,
    'in Base64 after one byte': Buffer.from(`x${KEY}`).toString('base64'),
    'in URL-safe Base64': Buffer.from(`user:${KEY}!`).toString('base64url'),
    'as a list of numbers': JSON.stringify([...Buffer.from(KEY)]),
    'in a JSON text': JSON.stringify({ a: `{"key":"${KEY}"}` }),
    'at the end of the text': KEY,
  })) {
    test(form, () => assert.equal(new Set(found(text).map((line) => line.split(' (')[0])).size, 1, text));
  }

  test('as the bytes that its text encodes', () => {
    for (const text of [RAW, `\\x${RAW.toString('hex')}`, RAW.toString('base64'), Buffer.concat([Buffer.from([1, 2]), RAW.subarray(0, 16), Buffer.from([3])])]) {
      assert.match(found(text).join(), /a master key/);
    }
    assert.match(found(Buffer.from(WEBHOOK.slice(6), 'base64')).join(), /a webhook/);
  });
});

test('nothing is found in text without a secret', () => {
  for (const text of ['', 'x', 'pk_live_', KEY.slice(0, 12), randomBytes(1 << 20), randomBytes(1 << 19).toString('hex')]) assert.deepEqual(found(text), []);
});
