// Runs `http-cache-tests` against the edge's cache core as a shared cache for any origin. CACHE.md lists the required tests
// that fail, with reasons; exactly those must fail.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { run, score } from './cache-suite/suite.mjs';
import { ended, repository } from './private-stack.mjs';
import { until } from './stack.mjs';

/** Minimum number of passes among the 160 required tests of HTTP caching. */
const MIN_PASSED = 141;

const { folder, port, origin } = JSON.parse(process.env.RDS_CACHE_EDGE ?? 'null') ?? {};
const children = [];
let tests;

before(async () => {
  assert.ok(folder, 'RDS_CACHE_EDGE is not set; run this through `cargo xtask test e2e`');
  // The server reads its settings from npm's environment variables.
  const settings = { npm_config_protocol: 'http', npm_config_port: String(origin), npm_config_pidfile: join(folder, 'origin.pid') };
  start(process.execPath, [join(repository, 'e2e/cache-suite/origin.mjs')], { env: { ...process.env, ...settings } });
  start(process.env.RDS_WORKERD, ['serve', 'worker.capnp'], { cwd: folder });
  const proxy = `http://127.0.0.1:${port}`;
  await until('the suite answers through the Worker', 60, () =>
    fetch(`${proxy}/state/none`).then((answer) => answer.status === 404, () => false));
  tests = await run(proxy);
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

test('exactly the required tests listed in CACHE.md fail', () => {
  const failed = tests.filter(({ kind, outcome }) => kind === 'required' && outcome !== true);
  const listed = known();
  const unlisted = failed.filter(({ id }) => !listed.includes(id)).map(({ id, outcome }) => `${id}: ${outcome?.join(', ') ?? 'not run'}`);
  const passing = listed.filter((id) => !failed.some((test) => test.id === id));
  assert.deepEqual({ unlisted, passing }, { unlisted: [], passing: [] });
  assert.equal(new Set(listed).size, listed.length, 'no test is listed twice');
});

test(`at least ${MIN_PASSED} of the 160 required tests of HTTP caching pass`, (context) => {
  const of = (kind) => tests.filter((test) => test.kind === kind && !test.surrogate);
  const line = ([name, { passed, of }]) => `${name} ${passed} of ${of}`;
  const scores = ['required', 'optimal', 'check'].map((kind) => [kind, score(of(kind))]);
  const surrogate = score(tests.filter((test) => test.surrogate && test.kind === 'required'));
  context.diagnostic([...scores, ['required of Surrogate-Control', surrogate]].map(line).join(', '));
  const [[, required]] = scores;
  assert.equal(required.of, 160);
  assert.ok(required.passed >= MIN_PASSED, `${required.passed}`);
});
