// The event stream behind common proxies with their defaults: frames are neither delayed nor changed.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { createParser } from 'eventsource-parser';
import { organisation } from './operator.mjs';
import { ended, freePorts } from './private-stack.mjs';
import { request, sharedStack, until } from './stack.mjs';

const stack = sharedStack();
const programs = JSON.parse(process.env.RDS_PROXIES);
const target = new URL(stack.relay).host;
const folder = mkdtempSync(join(tmpdir(), 'rds-e2e-proxies-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** The configuration file of each proxy, and the arguments that start it in the foreground. */
const PROXIES = {
  nginx: (port) => ({
    text: `daemon off; pid ${folder}/nginx.pid; error_log stderr; events {}
      http {
        access_log off;
        ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/nginx-${kind};`).join(' ')}
        server { listen 127.0.0.1:${port}; location / { proxy_pass http://${target}; } }
      }`,
    words: (file) => ['-p', folder, '-e', 'stderr', '-c', file],
  }),
  haproxy: (port) => ({
    text: `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend front
  bind 127.0.0.1:${port}
  default_backend back
backend back
  server one ${target}
`,
    words: (file) => ['-db', '-f', file],
  }),
  caddy: (port) => ({
    text: `{\n  admin off\n  auto_https off\n}\nhttp://127.0.0.1:${port} {\n  reverse_proxy ${target}\n}\n`,
    words: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  }),
};

async function start(name) {
  const port = await freePorts(1);
  const { text, words } = PROXIES[name](port);
  const file = join(folder, `${name}.conf`);
  writeFileSync(file, text);
  const libraries = process.env.RDS_PROXY_LIBS;
  const env = { PATH: process.env.PATH, HOME: folder, ...(libraries && { LD_LIBRARY_PATH: libraries }) };
  const child = spawn(programs[name], words(file), { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (log += chunk));
  process.once('exit', () => child.kill('SIGKILL'));
  const base = `http://127.0.0.1:${port}`;
  await until(`${name} answers`, 20, async () => {
    assert.equal(child.exitCode, null, log);
    return (await request(base, '/ready')).status === 200;
  });
  return { base, stop: () => ended(child, 'SIGTERM') };
}

async function publish() {
  const key = organisation();
  const { now } = (await stack.operate('/clock')).json;
  const line = { kind: 'event', observed_at: now, source: 'e2e', event_key: key, event_type: 'Notice', severity: 'Info', title: `Notice ${key}`, occurred_at: now };
  assert.equal((await stack.operate('/ingest', { method: 'POST', body: `${JSON.stringify(line)}\n` })).status, 200);
  return line.title;
}

for (const name of Object.keys(PROXIES)) {
  describe(`S13: behind ${name}`, () => {
    let proxy;
    after(() => proxy?.stop());

    test('frames arrive unchanged as soon as they are published', async () => {
      proxy = await start(name);
      const stop = new AbortController();
      const response = await fetch(new URL('/v1/events/stream', proxy.base), {
        headers: { authorization: `Bearer ${stack.keys.data}`, 'accept-encoding': 'gzip' },
        signal: stop.signal,
      });
      assert.deepEqual([response.status, response.headers.get('content-encoding')], [200, null]);
      const frames = [];
      const parser = createParser({ onEvent: (frame) => frames.push(frame) });
      const decoder = new TextDecoder();
      const reading = (async () => {
        for await (const piece of response.body) parser.feed(decoder.decode(piece, { stream: true }));
      })().catch(() => {});
      await until('ready', 3, () => frames[0]?.event === 'ready');
      // One small frame at a time: a proxy that buffers would wait for the next one.
      for (let count = 0; count < 3; count += 1) {
        const title = await publish();
        await until('the frame', 3, () => frames.some(({ data }) => JSON.parse(data).title === title));
      }
      stop.abort();
      await reading;
    });
  });
}
