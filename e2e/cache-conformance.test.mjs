// The edge's cache core as a shared cache before an origin that it knows nothing of, held to `http-cache-tests`. What it
// fails of the required tests stands in CACHE.md, each with its reason: neither a test more nor a test less may fail.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { run, score } from './cache-suite/suite.mjs';
import { ended, repository } from './private-stack.mjs';
import { until } from './stack.mjs';

/** Of the 160 required tests that ask for HTTP caching. */
const LEAST = 141;

const { folder, port, origin } = JSON.parse(process.env.RDS_CACHE_EDGE ?? 'null') ?? {};
const children = [];
let tests;

before(async () => {
  assert.ok(folder, 'RDS_CACHE_EDGE names no Worker; run this by `cargo xtask test e2e`');
  // The server takes its settings from npm, which would start it.
  const settings = { npm_config_protocol: 'http', npm_config_port: String(origin), npm_config_pidfile: join(folder, 'origin.pid') };
  start(process.execPath, [join(repository, 'e2e/cache-suite/origin.mjs')], { env: { ...process.env, ...settings } });
  start(process.env.RDS_WORKERD, ['serve', 'worker.capnp'], { cwd: folder });
  const door = `http://127.0.0.1:${port}`;
  await until('the suite answers through the Worker', 60, () =>
    fetch(`${door}/state/none`).then((answer) => answer.status === 404, () => false));
  tests = await run(door);
});
after(() => Promise.all(children.map((child) => ended(child, 'SIGKILL'))));

function start(program, words, options) {
  const child = spawn(program, words, { stdio: 'ignore', ...options });
  process.once('exit', () => child.kill('SIGKILL'));
  children.push(child);
}

/** The required tests that are known to fail, from the tables of CACHE.md. */
function known() {
  const rows = readFileSync(join(repository, 'e2e/CACHE.md'), 'utf8').matchAll(/^\| `([\w=-]+)` \| (\S.+) \|$/gm);
  return [...rows].map(([, id]) => id);
}

test('the required tests that fail are the ones whose reasons are written down', () => {
  const failed = tests.filter(({ kind, outcome }) => kind === 'required' && outcome !== true);
  const listed = known();
  const news = failed.filter(({ id }) => !listed.includes(id)).map(({ id, outcome }) => `${id}: ${outcome?.join(', ') ?? 'not run'}`);
  const healed = listed.filter((id) => !failed.some((test) => test.id === id));
  assert.deepEqual({ news, healed }, { news: [], healed: [] });
  assert.equal(new Set(listed).size, listed.length, 'no test is listed twice');
});

test(`at least ${LEAST} of the 160 required tests of HTTP caching pass`, (context) => {
  const of = (kind) => tests.filter((test) => test.kind === kind && !test.surrogate);
  const said = ([name, { passed, of }]) => `${name} ${passed} of ${of}`;
  const scores = ['required', 'optimal', 'check'].map((kind) => [kind, score(of(kind))]);
  const surrogate = score(tests.filter((test) => test.surrogate && test.kind === 'required'));
  context.diagnostic([...scores, ['required of Surrogate-Control', surrogate]].map(said).join(', '));
  const [[, required]] = scores;
  assert.equal(required.of, 160);
  assert.ok(required.passed >= LEAST, `${required.passed}`);
});
