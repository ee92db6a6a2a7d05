// The library in every runtime that it is made for: Node, Deno, a browser, and a Worker.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { start } from '../../behaviours/server.mjs';
import { installed, project } from './installed.mjs';
import { scenario } from './runtimes/scenario.mjs';

const run = promisify(execFile);
const here = fileURLToPath(new URL('.', import.meta.url));
const fixture = (name) => readFileSync(join(here, '../../../fixtures', name), 'utf8').split('\n')[0];
const meta = (page) => ({ page, limit: 2, total: 3, totalPages: 2, hasMore: page < 2 });
const vaults = (page, ...names) => ({ when: { path: '/v1/vaults', query: { page: `${page}` } }, json: { data: names.map((name) => ({ name })), meta: meta(page) } });
const error = (code) => ({ error: { code, message: 'told', request_id: 'r', details: [], detail_count: 0 } });
const SCRIPT = [
  { ...vaults(1, 'a', 'b'), when: { path: '/v1/vaults' } },
  vaults(2, 'c'),
  { when: { path: '/v1/status' }, status: 429, headers: { 'Retry-After': '0' }, json: error('RATE_LIMITED') },
  { when: { path: '/v1/status' }, json: { status: 'ok' } },
  { when: { path: '/v1/vaults/missing' }, status: 404, json: error('NOT_FOUND') },
  { when: { path: '/v1/events/stream' }, chunks: ['event: ready\ndata: {"replay":{"cursor":"v2:0"}}\n\n', 'id: v2:1\nevent: published\ndata: {}\n\n', { cut: '/v1/stats' }] },
  { when: { path: '/v1/stats' }, json: { data: {} } },
  { when: { path: '/v1/events/stream' }, chunks: ['id: v2:2\nevent: published\ndata: {}\n\n'] },
];
const EXPECTED = {
  vaults: ['a', 'b', 'c'], tries: 2, missing: 'NOT_FOUND', frames: ['ready', 'v2:1', 'v2:2'], genuine: 'event.published', altered: 'no_match', decision: true,
};

describe('Runtimes', () => {
  let server, given, folder;
  before(async () => {
    server = await start();
    given = { baseUrl: server.address, webhook: webhook(), decision: decision() };
    folder = mkdtempSync(join(project, '.runtimes-'));
    cpSync(join(here, 'runtimes/scenario.mjs'), join(folder, 'scenario.mjs'));
  });
  after(() => {
    server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Plays the scenario with `play`, which gets what the scenario needs. */
  const plays = async (play) => {
    await fetch(`${server.control}/script`, { method: 'PUT', body: JSON.stringify({ exchanges: SCRIPT }) });
    assert.deepEqual(await play(given), EXPECTED);
    const { unplayed } = await (await fetch(`${server.control}/seen`)).json();
    assert.equal(unplayed, 0);
  };
  const module = (name, rest) => {
    const imports = "import * as library from '@risk-data/client';\nimport { verifyDecision } from '@risk-data/client/decisions';\n";
    writeFileSync(join(folder, name), `${imports}import { scenario } from './scenario.mjs';\n${rest}`);
    return join(folder, name);
  };
  const bundled = async (entry) => {
    const { build } = createRequire(import.meta.url)('esbuild');
    const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: 'esm', target: 'es2022', write: false });
    return outputFiles[0].text;
  };

  test('Node', async () => {
    const { verifyDecision } = await installed('@risk-data/client/decisions');
    const library = await installed('@risk-data/client');
    await plays((given) => scenario(library, verifyDecision, given));
  });

  test('Deno', async () => {
    const entry = module('deno.mjs', 'console.log(JSON.stringify(await scenario(library, verifyDecision, JSON.parse(Deno.args[0]))));\n');
    const deno = join(here, '../node_modules/.bin/deno');
    await plays(async (given) => {
      const words = ['run', '--no-config', '--node-modules-dir=manual', '--no-remote', '--allow-net=127.0.0.1', entry, JSON.stringify(given)];
      const { stdout } = await run(deno, words, { cwd: folder, timeout: 60_000, env: { ...process.env, DENO_NO_UPDATE_CHECK: '1', DENO_DIR: join(folder, 'deno') } });
      return JSON.parse(stdout);
    });
  });

  test('a browser', { skip: !process.env.RDS_CHROMIUM && 'RDS_CHROMIUM is not set' }, async () => {
    const script = await bundled(module('browser.mjs', 'globalThis.play = (given) => scenario(library, verifyDecision, given);\n'));
    const site = await siteOf(script, server.address);
    const { chromium } = createRequire(import.meta.url)('playwright-core');
    const env = process.env.RDS_CHROMIUM_LIBS ? { ...process.env, LD_LIBRARY_PATH: process.env.RDS_CHROMIUM_LIBS } : process.env;
    const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
    const browser = await chromium.launch({ executablePath: process.env.RDS_CHROMIUM, args, env });
    try {
      const page = await browser.newPage();
      await page.goto(site.address);
      await plays((given) => page.evaluate((given) => globalThis.play(given), { ...given, baseUrl: site.address }));
    } finally {
      await browser.close();
      site.stop();
    }
  });

  test('a Worker', { skip: !process.env.RDS_WORKERD && 'RDS_WORKERD is not set' }, async () => {
    const body = 'async fetch(request) {\n    return Response.json(await scenario(library, verifyDecision, await request.json()));\n  },';
    writeFileSync(join(folder, 'worker.js'), await bundled(module('worker.mjs', `export default {\n  ${body}\n};\n`)));
    writeFileSync(join(folder, 'worker.capnp'), CAPNP);
    const workerd = spawn(process.env.RDS_WORKERD, ['serve', 'worker.capnp', '--control-fd=3'], { cwd: folder, stdio: ['ignore', 'inherit', 'inherit', 'pipe'] });
    try {
      const [told] = await once(workerd.stdio[3], 'data');
      const { port } = JSON.parse(told.toString().split('\n')[0]);
      await plays(async (given) => (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: JSON.stringify(given) })).json());
    } finally {
      workerd.kill();
    }
  });
});

const CAPNP = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (modules = [(name = "worker.js", esModule = embed "worker.js")], compatibilityDate = "2026-01-01", globalOutbound = "local")),
    (name = "local", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`;

/** A page with the script; other requests go to the scripted server, so that the page calls its own origin. */
async function siteOf(script, target) {
  const site = createServer((incoming, response) => {
    if (incoming.url === '/') response.writeHead(200, { 'content-type': 'text/html' }).end(`<script type="module">${script}</script>`);
    else {
      const outgoing = request(new URL(incoming.url, target), { method: incoming.method, headers: incoming.headers }, (answer) => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.on('error', () => response.destroy());
        answer.pipe(response);
      });
      outgoing.on('error', () => response.destroy());
      response.on('close', () => outgoing.destroy());
      incoming.pipe(outgoing);
    }
  });
  await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${site.address().port}`,
    stop: () => {
      site.close();
      site.closeAllConnections();
    },
  };
}

/** A delivery and its signature. */
function webhook() {
  const [secret, now] = [`whsec_${'5a'.repeat(32)}`, 1_795_219_200];
  const body = JSON.stringify({ event_id: 'evt_1', event_type: 'event.published', occurred_at: '2026-11-20T00:00:00Z', data: {} });
  const signature = createHmac('sha256', secret).update(`${now}.${body}`).digest('hex');
  const headers = { 'X-Service-Signature': `t=${now},v1=${signature}`, 'X-Service-Event-Id': 'evt_1', 'X-Service-Event-Type': 'event.published' };
  return { headers, body, secrets: secret, now };
}

/** A signed decision, and its signers. */
function decision() {
  const { in: input } = JSON.parse(fixture('decisions/verifications.jsonl'));
  const signers = input.registry.map((it) => ({ address: it.address, keyId: it.key_id, activatedAt: it.activated_at, retiredAt: it.retired_at }));
  return { decisionId: input.id, envelope: input.envelope, signature: input.signature, signers };
}
