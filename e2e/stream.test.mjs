// The event stream through the edge and at the relay listener, read by an EventSource, a parser and curl.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { EventSource } from 'eventsource';
import { createParser } from 'eventsource-parser';
import { after, describe, test } from 'node:test';
import { expectError, expectRetry } from './expect.mjs';
import { mint, organisation, revoke, verb } from './operator.mjs';
import { newCaller, newIpv4Caller, sharedStack, until } from './stack.mjs';

const stack = sharedStack();
const STREAM = '/v1/events/stream';
const ENDPOINTS = { 'through the edge': stack.edge, 'at the relay listener': stack.relay };
const OPERATIONS = ['published', 'promoted', 'retracted'];
const open = new Set();

after(() => {
  for (const reader of open) reader.close();
});

/** The service's clock, which other tests may have moved. */
const clock = async () => (await stack.operate('/clock')).json.now;

/** Publishes a new event with optional `fields`; returns its key. */
async function publish(fields = {}) {
  const key = organisation();
  const now = await clock();
  const line = { kind: 'event', observed_at: now, source: 'e2e', event_key: key, event_type: 'Notice', severity: 'Info', title: `Notice ${key}`, occurred_at: now, ...fields };
  const answer = await stack.operate('/ingest', { method: 'POST', body: `${JSON.stringify(line)}\n` });
  assert.equal(answer.status, 200, answer.text);
  return key;
}

/** Reads a stream with a third-party parser. `frames` of the result accumulates the frames. */
async function read(base, { key = stack.keys.data, query = '', headers = {} } = {}) {
  const stop = new AbortController();
  const response = await fetch(new URL(`${STREAM}${query}`, base), {
    headers: { 'cf-connecting-ip': newCaller(), ...(key && { authorization: `Bearer ${key}` }), ...headers },
    signal: stop.signal,
  });
  const reader = { response, frames: [], comments: 0, ended: false, close: () => stop.abort() };
  if (response.status !== 200) {
    const text = await response.text();
    return Object.assign(reader, { status: response.status, headers: response.headers, text, json: JSON.parse(text) });
  }
  open.add(reader);
  const parser = createParser({
    onEvent: ({ id, event, data }) => reader.frames.push({ id, event, data: JSON.parse(data) }),
    onComment: () => (reader.comments += 1),
    onError: (error) => (reader.error = error),
  });
  const decoder = new TextDecoder();
  reader.done = (async () => {
    try {
      for await (const piece of response.body) parser.feed(decoder.decode(piece, { stream: true }));
    } catch (error) {
      if (error.name !== 'AbortError') reader.error = error;
    }
    reader.ended = true;
    open.delete(reader);
  })();
  await until('the ready frame', 10, () => reader.frames.length > 0);
  assert.equal(reader.frames[0].event, 'ready');
  return reader;
}

const named = (key) => (frame) => OPERATIONS.includes(frame.event) && frame.data.title === `Notice ${key}`;

/** Waits for `count` frames about an event. */
const about = (reader, key, count = 1) =>
  until(`${count} frames about ${key}`, 15, () => {
    assert.equal(reader.error, undefined);
    const found = reader.frames.filter(named(key));
    return found.length >= count && found;
  });

for (const [where, base] of Object.entries(ENDPOINTS)) {
  describe(where, () => {
    test('a stream has its headers, and its first frame gives the start cursor', async () => {
      const reader = await read(base, { query: '?vaultId=no-such-vault' });
      const header = (name) => reader.response.headers.get(name);
      assert.equal(header('content-type'), 'text/event-stream');
      assert.match(header('cache-control'), /no-store/);
      assert.match(header('x-request-id'), /^[0-9a-f]{32}$/);
      assert.equal(header('content-length'), null);
      assert.equal(header('content-encoding'), null);
      const { data } = reader.frames[0];
      assert.match(data.replay.cursor, /^v2:\d+$/);
      assert.deepEqual(data, { vaultId: 'no-such-vault', version: 2, replay: { cursor: data.replay.cursor, window_seconds: 86_400, max_rows: 1_000 } });
      reader.close();
    });

    test('each transition of an event is one frame with its own cursor', async () => {
      const reader = await read(base);
      const key = await publish();
      const { id } = (await about(reader, key))[0].data;
      await verb(stack, 'events', 'retract', id, '--reason', 'for the test');
      await verb(stack, 'events', 'publish', id);
      await verb(stack, 'events', 'promote', id);
      const frames = await about(reader, key, 4);
      assert.deepEqual(frames.map((frame) => frame.event), ['published', 'retracted', 'published', 'promoted']);
      assert.deepEqual(frames.map((frame) => frame.data.id), [id, id, id, id]);
      assert.deepEqual([frames[1].data.retracted_reason, frames[0].data.retracted_reason ?? null], ['for the test', null]);
      const numbers = frames.map((frame) => BigInt(frame.id.slice(3)));
      assert.ok(numbers.every((number, place) => place === 0 || number > numbers[place - 1]));
      // A stream resumed after a frame's id sends the same remaining frames.
      for (const place of [0, 2]) {
        const again = await read(base, { headers: { 'last-event-id': frames[place].id }, query: '?since=v2:0' });
        assert.deepEqual(await about(again, key, 3 - place), frames.slice(place + 1));
        again.close();
      }
      reader.close();
    });

    test("a filter shows the vault's events, and a cursor for the others", async () => {
      const [vault] = await stack.vaults();
      const reader = await read(base, { query: `?vaultId=${vault.id}` });
      const hidden = await publish();
      const cursor = await until('a cursor', 10, () => reader.frames.find((frame) => frame.event === 'cursor'));
      assert.match(cursor.id, /^v2:\d+$/);
      const shown = await publish({ vault_ids: [vault.id] });
      await about(reader, shown);
      assert.equal(reader.frames.filter(named(hidden)).length, 0);
      reader.close();
    });

    test('an unusable cursor is answered with a gap and the retained window', async () => {
      for (const [cursor, reason] of [['7', 'cursor_legacy'], ['v2:999999999999999', 'cursor_unknown'], ['v1:7', 'cursor_invalid'], ['', 'cursor_invalid']]) {
        const reader = await read(base, { query: `?since=${cursor}` });
        const [gap, checkpoint] = await until('gap and checkpoint', 10, () => reader.frames.length > 2 && reader.frames.slice(1));
        assert.deepEqual([gap.event, gap.data.reason, checkpoint.event], ['gap', reason, 'cursor']);
        assert.equal(gap.data.cursor, checkpoint.id);
        reader.close();
      }
    });

    test('a request without a valid key is refused', async () => {
      assert.equal(expectError(await read(base, { key: null }), 401, 'UNAUTHORIZED').legacy_code, 'tier_required');
      const wrong = await read(base, { key: 'pk_live_00000000000000000000000000000000' });
      assert.equal(expectError(wrong, 401, 'UNAUTHORIZED').legacy_code, 'invalid_api_key');
      assert.equal(wrong.headers.get('x-ratelimit-limit'), '10', 'it counts against the anonymous limit');
    });

    test('an end viewer may open five streams, and a closed one makes room', async () => {
      const { key } = await mint(stack);
      const headers = { 'x-service-client-ip': newIpv4Caller() };
      const readers = [];
      for (let number = 0; number < 5; number += 1) readers.push(await read(base, { key, headers }));
      const refused = await read(base, { key, headers });
      expectRetry(refused, 429, 'STREAM_LIMIT_REACHED');
      assert.equal(refused.headers.get('retry-after'), '10');
      readers.pop().close();
      // Behind a proxy the origin notices a closed connection only when it writes the next frame or heartbeat.
      const next = await until('the slot is free', 40, async () => {
        await publish();
        const reader = await read(base, { key, headers });
        return reader.response.status === 200 && reader;
      }, 250);
      for (const reader of [...readers, next]) reader.close();
    });

    test('the stream of a revoked key ends', async () => {
      const minted = await mint(stack);
      const reader = await read(base, { key: minted.key });
      await revoke(stack, minted);
      await until('the stream has ended', 15, () => reader.ended);
      assert.equal(reader.error, undefined, 'the stream ended without an error');
      expectError(await read(base, { key: minted.key }), 401, 'UNAUTHORIZED');
    });

    test('an EventSource reads the stream, and resumes by itself after a broken connection', async () => {
      const { key } = await mint(stack);
      const sent = [];
      let breakConnection;
      const source = new EventSource(new URL(STREAM, base), {
        fetch: async (url, init) => {
          sent.push(init.headers['Last-Event-ID'] ?? null);
          const headers = { ...init.headers, authorization: `Bearer ${key}`, 'cf-connecting-ip': newCaller() };
          const response = await fetch(url, { ...init, headers });
          const pieces = response.body.getReader();
          const body = new ReadableStream({
            start: (controller) => {
              breakConnection = () => {
                pieces.cancel();
                controller.close();
              };
            },
            pull: async (controller) => {
              const { done, value } = await pieces.read();
              if (!done) controller.enqueue(value);
            },
          });
          return { body, url: response.url, status: response.status, redirected: false, headers: response.headers };
        },
      });
      open.add(source);
      const seen = [];
      let ready = 0;
      for (const name of OPERATIONS) source.addEventListener(name, (event) => seen.push({ id: event.lastEventId, title: JSON.parse(event.data).title }));
      source.addEventListener('ready', () => (ready += 1));
      await until('ready', 10, () => ready === 1);
      const first = await publish();
      await until('the first event', 10, () => seen.some(({ title }) => title === `Notice ${first}`));
      breakConnection();
      const second = await publish();
      await until('the second event, after the break', 30, () => seen.some(({ title }) => title === `Notice ${second}`));
      assert.equal(ready, 2);
      assert.equal(sent[0], null);
      assert.ok(seen.some(({ id }) => id === sent[1]), 'it resumed from the last cursor it got');
      assert.equal(new Set(seen.map(({ id }) => id)).size, seen.length, 'no event came twice');
      source.close();
      open.delete(source);
    });

    test('curl shows a frame as soon as it is published', async () => {
      const curl = spawn('curl', ['-sSN', '-H', `Authorization: Bearer ${stack.keys.data}`, '-H', `CF-Connecting-IP: ${newCaller()}`, `${base}${STREAM}`]);
      let output = '';
      curl.stdout.on('data', (piece) => (output += piece));
      try {
        await until('ready', 10, () => output.includes('event: ready\n'));
        const key = await publish();
        await until('the frame', 3, () => output.includes(`Notice ${key}`));
        assert.match(output, /\n\nid: v2:\d+\nevent: published\ndata: \{.*\}\n\n/);
      } finally {
        curl.kill();
      }
    });

    test('a HEAD request gets the headers of the stream', async () => {
      const response = await fetch(new URL(STREAM, base), {
        method: 'HEAD',
        headers: { authorization: `Bearer ${stack.keys.data}`, 'cf-connecting-ip': newCaller() },
      });
      assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/event-stream']);
    });
  });
}

test('an operation is the same frame through the edge and at the relay listener', async () => {
  const readers = await Promise.all(Object.values(ENDPOINTS).map((base) => read(base)));
  const key = await publish();
  const [one, other] = await Promise.all(readers.map((reader) => about(reader, key)));
  assert.deepEqual(one, other);
  for (const reader of readers) reader.close();
});
